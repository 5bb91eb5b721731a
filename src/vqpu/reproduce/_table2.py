"""Table 2: test accuracy of every method on the four data sets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vqpu.reproduce._grid import GridSettings as Settings
from vqpu.reproduce._grid import expand_grid, run_cell
from vqpu.reproduce._items import Config, Outcome, Record, Shown

__all__ = ["Settings", "expand", "run", "show"]


def expand(settings: Settings) -> dict[str, Config]:
    """Return a run for every task, method and seed."""
    return expand_grid(settings)


def run(config: Config, data_dir: Path | None) -> Outcome:
    """Fit one method on one task."""
    return run_cell(config, data_dir)


def show(records: Mapping[str, Record], expected: Mapping[str, Any]) -> Shown:
    """Return the table, the paper's numbers beside ours."""
    raise NotImplementedError
