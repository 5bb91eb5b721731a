"""What tests of the commands share: a quick fit, a generated table, and running a line."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vqpu.cli import main

QUICK = [
    "--set=max_steps=60", "--set=variant__check_every=20", "--set=n_members=1", "--set=n_rounds=1",
    "--set=encoder=network",
    "--set=codebook_size=32", "--set=vector_dim=8", "--set=n_vectors=4", "--seed=0", "--quiet",
]  # fmt: skip


def run(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> str:
    """Run a command, compare its exit code, return what it printed."""
    found = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    assert found == code, captured.err
    if code:
        assert captured.err.strip(), "an error says something"
        return captured.err
    return captured.out


def run_json(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    return json.loads(run(capsys, *arguments, "--json"))


def write_table(path: Path, n: int = 240, seed: int = 0) -> None:
    """x1 and the colour tell the classes apart; a third of the positives is labelled."""
    rng = np.random.default_rng(seed)
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["key", "x1", "x2", "colour", "flag", "known", "truth"])
        for number in range(n):
            is_positive = number % 2 == 0
            center = 3.0 if is_positive else -3.0
            colour = rng.choice(["red", "pink"] if is_positive else ["blue", "pink"])
            known = "yes" if is_positive and number % 3 == 0 else ""
            row = [f"r{number}", rng.normal(center), rng.normal(), colour, number % 5 == 0]
            rows.writerow([*row, known, int(is_positive)])


def read_csv(path: Path) -> list[dict[str, str]]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def fit_table(table: Path, out: Path, *more: object) -> int:
    arguments = ["fit", table / "data.csv", "--label", "known", "--positive", "yes", "--id", "key"]
    return main(
        [*map(str, arguments), "--drop", "truth", "--out", str(out), *QUICK, *map(str, more)]
    )
