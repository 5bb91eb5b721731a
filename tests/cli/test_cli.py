from __future__ import annotations

from pathlib import Path

import pytest

import vqpu
from vqpu.cli import main
from vqpu.training._stage import Budget


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"vqpu {vqpu.__version__}\n"


def test_help__names_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    words = capsys.readouterr().out.split()
    names = "fit predict rank inspect report evaluate export compare data demo"
    assert not [name for name in names.split() if name not in words]
    assert "reproduce" not in words, "the paper's experiments are not shipped"


def test_unknown_command__usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["conjure"]) == 2
    assert "conjure" in capsys.readouterr().err


def test_demo__no_such_folder__refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "--out", str(tmp_path / "nowhere" / "x.png")]) == 1
    error = capsys.readouterr().err
    assert "cannot be written" in error
    assert error.count("\n") == 1


def test_demo__short__table_and_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    budget = Budget(40, 20, "cosine")
    for module in ("vq._rounds", "rivals._training"):
        monkeypatch.setattr(f"vqpu.{module}.plan_budget", lambda *_, **__: budget)
    assert main(["demo", "--out", str(tmp_path / "demo.png")]) == 0
    captured = capsys.readouterr()
    for name in ("VQ K-means", "naive P against U", "supervised oracle", "alpha (true 0.50)"):
        assert name in captured.out
    assert "step 40 of at most 40" in captured.err
    assert (tmp_path / "demo.png").read_bytes()[:4] == b"\x89PNG"
