"""Runs on Ray: one record a cell, whatever dies on the way. Skipped where Ray is not installed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from experiments.__main__ import main
from experiments.errors import FailedRunsError
from experiments.item import Record
from experiments.records import locked, read_record, write_record
from experiments.workers import Engine, run_jobs
from vqpu.errors import InputError

pytestmark = pytest.mark.filterwarnings("ignore")


def make_cell(folder: Path, number: int) -> int:
    """Record a cell; every third one's worker dies half-way the first time."""
    config, path = {"number": number}, folder / "item" / f"{number}.json"
    with locked(path):
        begun = folder / f"begun-{number}"
        is_first = not begun.exists()
        begun.touch()
        if number % 3 == 0 and is_first:
            os.kill(os.getpid(), signal.SIGKILL)
        if read_record(path, config).metrics is None:
            write_record(path, Record(config, {"pid": os.getpid()}, [], {}))
            with open(folder / "made", "a") as log:
                log.write(f"{number}\n")
    if number == 4:
        raise InputError("the fourth cannot be")
    return number


@pytest.mark.scale
def test_cells_on_ray__workers_killed__one_record_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("ray")
    (tmp_path / "item").mkdir()
    jobs = {number: (tmp_path, number) for number in range(7)}
    found: list[tuple[int, int]] = []
    with pytest.raises(FailedRunsError, match=r"1 of 7 runs failed.*the first that failed is 4"):
        found.extend(run_jobs(make_cell, jobs, Engine(2, is_ray=True)))
    assert sorted(found) == [(number, number) for number in (0, 1, 2, 3, 5, 6)]
    assert sorted((tmp_path / "made").read_text().split()) == [*map(str, range(7))]
    assert len(list((tmp_path / "item").glob("*.json"))) == 7


def test_options__only_together(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table1", "--engine", "spark"]) == 2
    assert main(["table1", "--address", "host:1"]) == 2
    assert "--engine must be ray" in capsys.readouterr().err
