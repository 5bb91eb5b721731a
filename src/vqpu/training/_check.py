"""A check: one row of the history, and what a callback may look at."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from vqpu.base._source import ArraySource
from vqpu.errors import InputTypeError
from vqpu.training._history import Row


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
        0 for the stage that the answer comes from, others for what is trained before: 1 for a
        warm-up, 2 for a network that only estimates alpha.
    network : Module
        The averaged network as it is now, batch norm folded. Look, do not touch.
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

    def log_odds(self, source: ArraySource) -> NDArray[np.float64]:
        """Return the scores of all samples of a source, if training stopped here."""
        if self.decision_rule is None:
            raise InputTypeError("This check is of a method that decides nothing.")
        rule: ScoringRule = self.decision_rule
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
