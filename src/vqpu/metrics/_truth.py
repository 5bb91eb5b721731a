"""Scores with the truth: for benchmarks and studies, never for training."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vqpu.base._parameters import check_integer, check_real
from vqpu.errors import InputError, ParameterError
from vqpu.metrics._inputs import read_labels, read_predictions, read_scores


class TruthScores(NamedTuple):
    """Every score that needs true labels.

    Attributes
    ----------
    accuracy, balanced_accuracy, f1 : float
        Of the predictions.
    auc, average_precision : float
        Of the ranking.
    brier, calibration_error : float
        Of the probabilities; the smaller the better.
    alpha_error : float or None
        Distance of the estimated from the true alpha, if both were given.
    """

    accuracy: float
    balanced_accuracy: float
    f1: float
    auc: float
    average_precision: float
    brier: float
    calibration_error: float
    alpha_error: float | None


def score_with_truth(
    y_true: ArrayLike,
    predictions: ArrayLike,
    probabilities: ArrayLike,
    *,
    scores: ArrayLike | None = None,
    alpha: float | None = None,
    alpha_estimate: float | None = None,
) -> TruthScores:
    """Compute all scores that need true labels.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels: two values, the larger for positives.
    predictions : array-like of shape (n_samples,)
        Members of the same two values.
    probabilities : array-like of shape (n_samples,)
        Of the positive class, in [0, 1].
    scores : array-like of shape (n_samples,) or None
        What ranks the samples; the probabilities if None.
    alpha, alpha_estimate : float or None
        The true and the estimated share of positives inside U: both or neither.

    Examples
    --------
    >>> result = score_with_truth([1, 1, 0, 0], [1, 0, 0, 0], [0.9, 0.4, 0.2, 0.1])
    >>> result.accuracy, result.auc
    (0.75, 1.0)
    """
    from sklearn import metrics

    is_positive, classes = _read_truth(y_true)
    is_called = read_predictions(predictions, classes, len(is_positive))
    chances = _read_probabilities(probabilities, len(is_positive))
    ranking = chances if scores is None else read_scores("scores", scores, len(is_positive))
    if (alpha is None) != (alpha_estimate is None):
        raise ParameterError(
            "Give alpha and alpha_estimate both or not at all. Got "
            f"alpha={alpha!r} and alpha_estimate={alpha_estimate!r} instead."
        )
    error = alpha_error(alpha, alpha_estimate) if alpha is not None else None
    return TruthScores(
        accuracy=float(metrics.accuracy_score(is_positive, is_called)),
        balanced_accuracy=float(metrics.balanced_accuracy_score(is_positive, is_called)),
        f1=float(metrics.f1_score(is_positive, is_called)),
        auc=float(metrics.roc_auc_score(is_positive, ranking)),
        average_precision=float(metrics.average_precision_score(is_positive, ranking)),
        brier=float(np.mean((chances - is_positive) ** 2)),
        calibration_error=_calibration_error(is_positive, chances, 15),
        alpha_error=error,
    )


def expected_calibration_error(
    y_true: ArrayLike, probabilities: ArrayLike, *, n_bins: int = 15
) -> float:
    """Mean distance of probability and frequency, over equally wide bins of the probability.

    A bin counts with its share of the samples; bins are closed below, the last one on both sides.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels: two values, the larger for positives.
    probabilities : array-like of shape (n_samples,)
        Of the positive class, in [0, 1].
    n_bins : int
        The smaller, the more is averaged out.

    References
    ----------
    Guo et al., "On Calibration of Modern Neural Networks", ICML 2017; here for the probability of
    the positive class.

    Examples
    --------
    >>> expected_calibration_error([1, 0], [0.75, 0.75], n_bins=2)
    0.25
    """
    check_integer("n_bins", n_bins, 1)
    is_positive, _ = _read_truth(y_true)
    chances = _read_probabilities(probabilities, len(is_positive))
    return _calibration_error(is_positive, chances, n_bins)


def alpha_error(alpha: float | None, alpha_estimate: float | None) -> float:
    """Distance of an estimated from the true share of positives inside U."""
    check_real("alpha", alpha, 0, 1, open_high=False)
    check_real("alpha_estimate", alpha_estimate, 0, 1, open_high=False)
    assert alpha is not None
    assert alpha_estimate is not None
    return float(abs(alpha_estimate - alpha))


def _calibration_error(
    is_positive: NDArray[np.bool_], chances: NDArray[np.float64], n_bins: int
) -> float:
    bins = np.minimum((chances * n_bins).astype(np.int64), n_bins - 1)
    # Summed within a bin, |sum of (y - p)| / n is the bin's share times its distance.
    gaps = np.bincount(bins, weights=is_positive - chances, minlength=n_bins)
    return float(np.abs(gaps).sum() / len(chances))


def _read_truth(y_true: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[np.generic]]:
    classes, inverse = np.unique(read_labels("y_true", y_true), return_inverse=True)
    if len(classes) != 2:
        raise InputError(
            "y_true must hold two values, the larger for positives, and both of them. Got "
            f"{len(classes)} values instead: {classes[:5].tolist()}."
        )
    return inverse.astype(bool), classes


def _read_probabilities(probabilities: ArrayLike, n_samples: int) -> NDArray[np.float64]:
    chances = read_scores("probabilities", probabilities, n_samples)
    if chances.min() < 0 or chances.max() > 1:
        raise InputError(
            f"probabilities must be in [0, 1]. Got values from {chances.min():g} to "
            f"{chances.max():g} instead; pass decision values as scores."
        )
    return chances
