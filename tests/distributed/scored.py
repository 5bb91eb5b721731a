"""What tests of scoring in parts share: models, inputs, and a cluster that is none."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from pyarrow import csv, parquet

from tests.command_line import QUICK, fit_table, write_table
from vqpu.cli import main
from vqpu.distributed import _ray_scoring

N_ROWS = 300


class ThisProcess:
    """Calls tasks here, in an order of its own; some are called twice, as after a death."""

    at_once = 2

    def __init__(self, seed: int = 0) -> None:
        self._rng = random.Random(seed)
        self.calls: list[str] = []

    def results(
        self, function: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], **_: Any
    ) -> Iterator[tuple[int, Any]]:
        places = list(range(len(tasks)))
        self._rng.shuffle(places)
        for place in places:
            for _again in range(self._rng.choice([1, 2])):
                self.calls.append(function.__name__)
                found = function(*tasks[place])
            yield place, found


def use_this_process(monkeypatch: pytest.MonkeyPatch) -> ThisProcess:
    """Let engines run here, where no Ray is installed."""
    cluster = ThisProcess()

    @contextlib.contextmanager
    def opened(*_: Any) -> Iterator[ThisProcess]:
        yield cluster

    monkeypatch.setattr(_ray_scoring, "opened_cluster", opened)
    monkeypatch.setattr(_ray_scoring, "require_ray", lambda: None)
    monkeypatch.setattr("vqpu.distributed._ray.require_ray", lambda: None)
    return cluster


def assert_same_answers(there: dict[str, Any], here: dict[str, Any]) -> None:
    """Compare what commands say with an engine and without, drift too."""
    assert here["drift"] is not None
    assert {**there, "out": ""} == {**here, "out": ""}


def make_table_model(folder: Path) -> None:
    """A model with ids, and the same rows as Parquet in row groups, and as CSV in files."""
    write_table(folder / "data.csv")
    assert fit_table(folder, folder / "model") == 0
    write_table(folder / "rows.csv", N_ROWS, seed=1)
    table = csv.read_csv(folder / "rows.csv")
    parquet.write_table(table, folder / "rows.parquet", row_group_size=40)
    (folder / "files").mkdir()
    for number, start in enumerate(range(0, N_ROWS, 100)):
        csv.write_csv(table.slice(start, 100), folder / "files" / f"{number}.csv")


def make_image_model(folder: Path) -> None:
    """A model on pictures, 20 of them in a folder, one torn, and a CSV of labels."""
    rng = np.random.default_rng(0)
    for name in ("positives", "pictures"):
        (folder / name).mkdir()
        for number in range(20):
            is_light = name == "positives" or number % 2 == 0
            pixels = rng.integers(0, 120, (16, 16, 3)) + 130 * is_light
            Image.fromarray(pixels.astype(np.uint8)).save(folder / name / f"{number:02}.png")
    lines = [f"{number:02}.png,{'light' if number % 2 == 0 else 'dark'}" for number in range(20)]
    (folder / "labels.csv").write_text("\n".join(["file,kind", *lines]) + "\n")
    arguments = ["--positives", folder / "positives", "--unlabeled", folder / "pictures"]
    out = ["--image-size", 16, "--out", folder / "model"]
    assert main([*map(str, ["fit", *arguments, *out]), *QUICK]) == 0
    torn = folder / "pictures" / "07.png"
    torn.write_bytes(torn.read_bytes()[:60])
