"""Progress: a bar on a terminal, plain lines elsewhere, nothing unless asked for."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Report = Callable[[int, dict[str, Any]], None]

_logger = logging.getLogger("vqpu")


@contextmanager
def progress_reporter(verbose: int, title: str, max_steps: int) -> Iterator[Report]:
    """Give a function that takes the steps done and the row of the last check.

    Parameters
    ----------
    verbose : int
        0 is silent; 1 shows a bar on a terminal, or a line a check on standard error elsewhere.
    title : str
        What is being trained.
    max_steps : int
    """
    if not verbose:
        yield lambda step, row: _logger.debug("%s step %d: %s", title, step, row)
    elif not sys.stderr.isatty():
        yield lambda step, row: print(_line(title, step, max_steps, row), file=sys.stderr)
    else:
        with _bar(title, max_steps) as report:
            yield report


@contextmanager
def _bar(title: str, max_steps: int) -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(title, total=max_steps, note="")

        def report(step: int, row: dict[str, Any]) -> None:
            progress.update(task, completed=step, note=_note(row))

        yield report
        progress.update(task, total=progress.tasks[0].completed)


def _line(title: str, step: int, max_steps: int, row: dict[str, Any]) -> str:
    return f"{title}: step {step} of at most {max_steps}, {_note(row)}"


def _note(row: dict[str, Any]) -> str:
    shown = ("center_distance", "positive_share", "codes_in_use", "holdout_loss")
    return ", ".join(f"{name.replace('_', ' ')} {row[name]:.4g}" for name in shown if name in row)
