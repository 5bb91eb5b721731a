from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.loopback import Server, names, serving
from vqpu.cli import main
from vqpu.datasets import DATASETS
from vqpu.datasets._catalogue import Dataset


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


def toy(server: Server, *paths: str) -> Dataset:
    def read(*_: object) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros((3, 8, 8), np.uint8), np.array([0, 1, 1])

    remote = server.remote(*paths)
    return Dataset(
        read,
        (8, 8),
        ((1, 2), (1, 2)),
        files=((remote.place,),),
        digests={remote.place: remote.sha256},
        remotes=(remote,),
    )


def test_data_command__list_fetch_check(
    server: Server,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(DATASETS, "toy", toy(server, "good"))
    there = ["--data-dir", str(tmp_path)]
    assert main(["data", "list", *there]) == 0
    assert "toy               0.3 MB  missing" in capsys.readouterr().out.replace("\n", " ")
    assert main(["data", "check", "toy", *there]) == 1
    captured = capsys.readouterr()
    assert captured.out == f"FAULT  {tmp_path}/toy/file does not exist.\n"
    assert captured.err == "vqpu: toy is not as published: see the lines marked FAULT (1).\n"
    assert main(["data", "fetch", "toy", *there]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/toy/file has the official digest.\n"
    assert main(["data", "check", "toy", *there]) == 0
    assert "ok     train: 3 x 8 x 8, class counts as published." in capsys.readouterr().out
    assert main(["data", "list", *there]) == 0
    assert "0.3 MB  there" in capsys.readouterr().out


def test_data_command__terminal__bar_drawn(
    server: Server,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(DATASETS, "toy", toy(server, "good"))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert main(["data", "fetch", "toy", "--data-dir", str(tmp_path)]) == 0
    assert "toy/file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fetch", "afhq"], "afhq cannot be fetched: its authors publish no digest"),
        (["fetch", "digits"], "digits cannot be fetched: it comes with scikit-learn"),
        (["fetch", "nope"], "Unknown data set 'nope'"),
        (["check", "nope"], "Unknown data set 'nope'"),
        (["fetch", "toy"], "answers 404"),
    ],
)
def test_data_command__refused__one_line(
    server: Server,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.setitem(DATASETS, "toy", toy(server, "status/404"))
    assert main(["data", *arguments, "--data-dir", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert names(tmp_path) == []
