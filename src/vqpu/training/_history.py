"""What was seen at every check: a row of the history, and what a callback may look at."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import nn

from vqpu.base._source import ArraySource
from vqpu.errors import InputTypeError

Row = dict[str, Any]


class History:
    """What was seen at every check, in order.

    Attributes
    ----------
    rows : list of dict
        Plain numbers and booleans, ready for JSON or ``pandas.DataFrame(history.rows)``.
    """

    def __init__(self, rows: list[Row] | None = None) -> None:
        self.rows: list[Row] = [] if rows is None else rows

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __getitem__(self, index: int) -> Row:
        return self.rows[index]

    def __repr__(self) -> str:
        columns = list(self.rows[0]) if self.rows else []
        return f"History({len(self.rows)} checks, columns {columns})"

    def append(self, row: Row) -> None:
        """Add the row of one check."""
        self.rows.append(row)

    def column(self, name: str) -> list[Any]:
        """Return one column as a list."""
        return [row[name] for row in self.rows]

    def rounds(self) -> list[int]:
        """Return the round of every check, from 1; methods without rounds have one."""
        return [int(row.get("round", 1)) for row in self.rows]

    def mark_largest(self, name: str, count: int, mark: str) -> None:
        """Set ``mark`` to True in the ``count`` rows with the largest ``name``, else to False.

        Only rows of the last round are marked: those before are of other networks.
        """
        rounds = self.rounds()
        last = [index for index, number in enumerate(rounds) if number == rounds[-1]]
        ranked = sorted(last, key=lambda index: -self.rows[index][name])
        chosen = set(ranked[:count])
        for index, row in enumerate(self.rows):
            row[mark] = index in chosen


class ScoringRule(Protocol):
    """How a network's output becomes a score."""

    def scores(
        self, network: Any, source: ArraySource, device: torch.device
    ) -> NDArray[np.float64]:
        """Return the log odds of being positive of all samples of a source."""


class CheckResult(NamedTuple):
    """What a callback is given at every check, by every method.

    Attributes
    ----------
    row : dict
        The new row of the history.
    stage : int
        0 for the stage that decides, others for what is trained before: 1 for a warm-up, 2 for a
        network that only estimates alpha, 3 for a generator.
    network : Module
        The averaged network as it is now; batch norm is folded where there is a decision rule.
        Look, do not touch.
    device : torch.device
        Where the network is.
    decision_rule : ScoringRule or None
        How it would decide if training stopped here; None for methods that decide nothing.
    held_out : HeldOut or None
        The held-out samples that the rule was fitted on, for VQ K-means.
    """

    row: Row
    stage: int
    network: nn.Module
    device: torch.device
    decision_rule: Any = None
    held_out: Any = None

    def __repr__(self) -> str:
        return f"CheckResult(stage={self.stage}, row={self.row})"

    def log_odds(self, X: ArraySource | ArrayLike) -> NDArray[np.float64]:
        """Return the scores of samples, if training stopped here.

        Parameters
        ----------
        X : ArraySource or array-like of the shape given to ``fit``
        """
        if self.decision_rule is None:
            raise InputTypeError("This check is of a method or a stage that decides nothing.")
        rule: ScoringRule = self.decision_rule
        source = X if isinstance(X, ArraySource) else ArraySource(np.asarray(X))
        return rule.scores(self.network, source, self.device)


Callback = Callable[[CheckResult], None]


class RowMaker:
    """Makes rows of the history: counts steps, epochs and seconds of a stage.

    Parameters
    ----------
    steps_per_epoch : int
    before : dict or None
        The last row of the stage before, if its steps and epochs are counted on.
    marks : dict or None
        What every row begins with.
    """

    def __init__(
        self, steps_per_epoch: int, before: Row | None = None, marks: Row | None = None
    ) -> None:
        self._marks = marks or {}
        self._steps_per_epoch = steps_per_epoch
        self._before = {"step": 0, "epoch": 0.0} if before is None else before
        self._started = time.perf_counter()

    def __call__(self, step: int, terms: dict[str, float], measured: Row) -> Row:
        """Return the row of a check.

        Parameters
        ----------
        step : int
            Steps taken in this stage.
        terms : dict of float
            Mean terms of the loss since the last check.
        measured : dict
            What the check saw.
        """
        return {
            **self._marks,
            "step": self._before["step"] + step,
            "epoch": self._before["epoch"] + step / self._steps_per_epoch,
            **terms,
            **measured,
            "seconds": time.perf_counter() - self._started,
        }
