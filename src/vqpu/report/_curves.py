"""The parts that are curves: the stopping signal per check and the histogram of the scores."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.training import SIGNALS
from vqpu.vq._classifier import VQKMeansClassifier

Floats = NDArray[np.float64]

_BINS = 40
_INSIDE = 0.95  # share of either kind of samples that the axis takes in; scores have long tails
_COLUMNS = (
    "step", "epoch", "holdout_loss", "center_distance", "positive_share", "alpha", "codes_in_use",
    "seconds",
)  # fmt: skip


class StoppingCurve(NamedTuple):
    """What was seen at every check.

    Attributes
    ----------
    signal : str
        The parameter ``stopping_signal``.
    larger_is_better : bool
    rounds, steps : list of int
    values : list of float
        Of the signal.
    positive_shares, alphas : list of float
    best : int
        Index of the chosen check.
    stop_reason : str
    """

    signal: str
    larger_is_better: bool
    rounds: list[int]
    steps: list[int]
    values: list[float]
    positive_shares: list[float]
    alphas: list[float]
    best: int
    stop_reason: str


def stopping_curve(model: VQKMeansClassifier) -> StoppingCurve:
    """Return the trace of the signal that chose the check.

    Parameters
    ----------
    model : VQKMeansClassifier
    """
    signal, history = SIGNALS[model.variant_.stopping_signal], model.history_
    return StoppingCurve(
        signal=model.variant_.stopping_signal,
        larger_is_better=signal.sign > 0,
        rounds=history.rounds(),
        steps=history.column("step"),
        values=history.column(signal.column),
        positive_shares=history.column("positive_share"),
        alphas=history.column("alpha"),
        best=model.best_check_,
        stop_reason=model.stop_reason_,
    )


def check_rows(model: VQKMeansClassifier) -> tuple[list[str], list[list[str]]]:
    """Return headings and, for every check, their values as text.

    Parameters
    ----------
    model : VQKMeansClassifier
    """
    signal = SIGNALS[model.variant_.stopping_signal].column
    columns = [*_COLUMNS, *([] if signal in _COLUMNS else [signal])]
    if model.n_rounds_ > 1:
        columns.insert(0, "round")
    rows = [[shown(row[name]) for name in columns] for row in model.history_]
    return [name.replace("_", " ") for name in columns], rows


class ScoreHistogram(NamedTuple):
    """Where the scores of held-out samples lie.

    Attributes
    ----------
    edges : ndarray of shape (n_bins + 1,)
        Log odds; one edge is 0, the border. Scores beyond the outermost edges are counted in the
        outermost bins.
    positive, unlabeled : ndarray of shape (n_bins,)
        Shares of the labelled positives and of the unlabelled samples; each sums to 1.
    n_positive, n_unlabeled : int
    positive_above, unlabeled_above : float
        Shares above 0.
    n_beyond : int
        Scores beyond the outermost edges.
    are_held_out : bool
        False if nothing was kept apart, so that the samples were trained on.
    """

    edges: Floats
    positive: Floats
    unlabeled: Floats
    n_positive: int
    n_unlabeled: int
    positive_above: float
    unlabeled_above: float
    n_beyond: int
    are_held_out: bool


def score_histogram(model: VQKMeansClassifier) -> ScoreHistogram:
    """Count the scores that the model keeps of its held-out samples.

    Parameters
    ----------
    model : VQKMeansClassifier
    """
    positive, unlabeled = (np.asarray(part, np.float64) for part in model.holdout_log_odds_)
    reach = max(1.0, *(float(np.quantile(np.abs(part), _INSIDE)) for part in (positive, unlabeled)))
    edges = np.linspace(-reach, reach, _BINS + 1)
    return ScoreHistogram(
        edges=edges,
        positive=_shares(positive, edges),
        unlabeled=_shares(unlabeled, edges),
        n_positive=len(positive),
        n_unlabeled=len(unlabeled),
        positive_above=float((positive > 0).mean()),
        unlabeled_above=float((unlabeled > 0).mean()),
        n_beyond=int((np.abs(np.concatenate([positive, unlabeled])) > reach).sum()),
        are_held_out=any(model.n_holdout_),
    )


def _shares(scores: Floats, edges: Floats) -> Floats:
    counts, _ = np.histogram(np.clip(scores, edges[0], edges[-1]), edges)
    return counts / len(scores)


def shown(value: Any) -> str:
    """Return a value as a reader wants it: four significant digits, whole numbers whole.

    Examples
    --------
    >>> shown(0.123456), shown(1234567), shown(True), shown(12345.678)
    ('0.1235', '1,234,567', 'yes', '12,346')
    """
    if value is None:
        return "(missing)"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        whole = value.is_integer() and abs(value) < 1e15
        return f"{value:,.0f}" if whole or 1e4 <= abs(value) < 1e15 else f"{value:.4g}"
    return str(value)
