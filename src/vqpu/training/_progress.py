"""Progress: a bar on a terminal, plain lines elsewhere, nothing unless asked for."""

from __future__ import annotations

import logging
import sys
import time
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
        clock = _Clock(max_steps)
        yield lambda step, row: print(_line(title, step, clock, row), file=sys.stderr)
    else:
        with _bar(title, max_steps) as report:
            yield report


@contextmanager
def _bar(title: str, max_steps: int) -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        # Two lines, so that the bar keeps its place in a terminal of 80 columns.
        TextColumn("{task.description}\n{task.fields[note]}"),
        BarColumn(bar_width=12),
        TextColumn("{task.completed}/{task.total}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(title, total=max_steps, note="")

        def report(step: int, row: dict[str, Any]) -> None:
            progress.update(task, completed=step, note=_note(row, short=True))

        yield report
        progress.update(task, total=progress.tasks[0].completed)


class _Clock:
    """Guesses the time left from the pace since the first step it was told of.

    Training that is resumed begins at a later step, so that the first one must not count from 0.
    """

    def __init__(self, max_steps: int) -> None:
        self.max_steps = max_steps
        self._first: tuple[int, float] | None = None

    def time_left(self, step: int) -> str:
        """Return the longest time left, in words; empty if unknown or under a second."""
        now = time.monotonic()
        first_step, started = self._first = self._first or (step, now)
        if step >= self.max_steps or step == first_step:
            return ""
        seconds = (self.max_steps - step) * (now - started) / (step - first_step)
        return f", at most {_duration(seconds)} left" if seconds >= 1 else ""


def _duration(seconds: float) -> str:
    """Return a time in one unit or two.

    Examples
    --------
    >>> _duration(7.4), _duration(125), _duration(7_500)
    ('7 s', '2 min 5 s', '2 h 5 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _line(title: str, step: int, clock: _Clock, row: dict[str, Any]) -> str:
    left = clock.time_left(step)
    return f"{title}: step {step} of at most {clock.max_steps}, {_note(row)}{left}"


_SHOWN = {
    "center_distance": "distance",
    "positive_share": "positive",
    "codes_in_use": "codes",
    "holdout_loss": "loss",
}


def _note(row: dict[str, Any], *, short: bool = False) -> str:
    """Return what a check saw; ``short`` for a line that shares its place with a bar.

    Examples
    --------
    >>> _note({"center_distance": 3627.4, "codes_in_use": 2}, short=True)
    'distance 3627, codes 2'
    """
    return ", ".join(
        f"{brief if short else name.replace('_', ' ')} {row[name]:.4g}"
        for name, brief in _SHOWN.items()
        if name in row
    )
