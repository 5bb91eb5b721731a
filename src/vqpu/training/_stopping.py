"""When to stop: signals that need no negative, and the rule that keeps the best check."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.base._two_means import two_means_line
from vqpu.errors import NonFiniteLossError

Floats = NDArray[np.float64]


class Signal(NamedTuple):
    """A column of the history that says how good a check is."""

    column: str
    sign: int  # +1: larger is better


SIGNALS = {
    "center-distance": Signal("center_distance", 1),
    "holdout-loss": Signal("holdout_loss", -1),
    "holdout-auc": Signal("holdout_auc", 1),
    "separation": Signal("separation", 1),
}


def separation(values: Floats) -> float:
    """Return the distance between the two clusters of numbers over their spread.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Projections of held-out unlabelled samples.
    """
    if len(values) < 2:
        return 0.0
    low, high = two_means_line(values)
    nearest = np.where(values > (low + high) / 2, high, low)
    spread = float(np.sqrt(np.mean((values - nearest) ** 2)))
    return (high - low) / max(spread, 1e-3 * (high - low), 1e-12)


def holdout_auc(positive: Floats, unlabeled: Floats) -> float:
    """Return the share of (positive, unlabelled) pairs in the right order, ties half.

    Under SCAR this is ``alpha / 2 + (1 - alpha) AUC``: linear in the AUC against negatives.

    Parameters
    ----------
    positive, unlabeled : ndarray of shape (n,)
        Projections of held-out samples.
    """
    ordered = np.sort(unlabeled)
    below = np.searchsorted(ordered, positive, side="left")
    not_above = np.searchsorted(ordered, positive, side="right")
    return float((below + not_above).mean() / (2 * len(unlabeled)))


class Best(NamedTuple):
    """The best check so far."""

    value: float
    check: int
    state: Any


class BestCheck:
    """The best check so far, and a copy of what was handed over at it.

    Attributes
    ----------
    best_value : float
        How good it is; larger is better.
    best_check : int
        Its index, -1 before the first.
    best_state : object
        The copy.
    """

    def __init__(self) -> None:
        self._n_checks = 0
        self._best = Best(-np.inf, -1, None)

    @property
    def best_value(self) -> float:
        return self._best.value

    @property
    def best_check(self) -> int:
        return self._best.check

    @property
    def best_state(self) -> Any:
        return self._best.state

    def resume(self, n_checks: int, best: Best) -> None:
        """Go on after ``n_checks`` checks, the best of which is given."""
        self._n_checks, self._best = n_checks, best

    def update(self, row: dict[str, Any], state: Any) -> bool:
        """Take in one check; return whether to stop."""
        raise NotImplementedError

    def _keep(self, value: float, state: Any) -> None:
        # One assignment, so that an interruption never leaves half of it.
        self._best = Best(value, self._n_checks, copy.deepcopy(state))


class StoppingRule(BestCheck):
    """Keep the state of the best check; stop after ``patience`` checks without a better one.

    Parameters
    ----------
    signal : str
        A key of :data:`SIGNALS`.
    patience : int
    """

    def __init__(self, signal: str, patience: int) -> None:
        super().__init__()
        self.signal = SIGNALS[signal]
        self._patience = patience

    def update(self, row: dict[str, Any], state: Any) -> bool:
        """Take in one check; return whether to stop.

        Improvement is absolute and strict: of equal checks the first is kept.
        """
        value = float(self.signal.sign * row[self.signal.column])
        if not np.isfinite(value):
            raise NonFiniteLossError(
                f"The stopping signal {self.signal.column} is {value} at step {row.get('step')}. "
                "Try a smaller learning_rate, and look for extreme values in X."
            )
        if value > self.best_value:
            self._keep(value, state)
        self._n_checks += 1
        return self._n_checks - 1 - self.best_check >= self._patience


class FixedBudget(BestCheck):
    """Train to the end of the budget and keep the last check, for methods without a signal."""

    def update(self, row: dict[str, Any], state: Any) -> bool:  # noqa: ARG002
        """Take in one check, the best by being the last; never stop."""
        self._keep(float(self._n_checks), state)
        self._n_checks += 1
        return False
