"""Scores without any negative.

All rest on two assumptions. Labelled positives look like all positives (selected completely at
random), so shares of P are shares of the positive class. And the scenario is known: it says which
samples are a draw from the population, U alone (case-control) or P and U together (single-set).

With r = Pr[f = 1 | y = 1], q = Pr[f = 1] and pi = Pr[y = 1], all in the population, every score
of predictions below follows: r is the share of P that is called positive, q the share of the draw
from the population. Nothing is clipped: an estimate outside its range says that the sample is
small, that the class prior is wrong or that an assumption is broken.

To judge on U itself, as it is now, say ``scenario="case-control"`` with its ``alpha``: U is then
the population.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vqpu.errors import InputError, ParameterError
from vqpu.metrics._inputs import read_predictions, read_pu_labels, read_scores
from vqpu.scenarios import Proportions, Scenario


def pu_recall_score(y_pu: ArrayLike, predictions: ArrayLike) -> float:
    """Estimate recall: the share of labelled positives that is called positive.

    The same in both scenarios; no class prior is needed.

    Parameters
    ----------
    y_pu : array-like of shape (n_samples,)
        Two values, the larger for labelled positives.
    predictions : array-like of shape (n_samples,)
        Members of the same two values.

    Examples
    --------
    >>> pu_recall_score([1, 1, 0, 0], [1, 0, 1, 0])
    0.5
    """
    labels = read_pu_labels(y_pu)
    is_called = read_predictions(predictions, labels.classes, len(labels.is_positive))
    return float(is_called[labels.is_positive].mean())


def lee_liu_score(y_pu: ArrayLike, predictions: ArrayLike, *, scenario: str) -> float:
    """Estimate Lee and Liu's ``r^2 / Pr[f = 1]`` in the population.

    It is precision times recall over pi, so it ranks like that product and needs no class prior;
    between 0 and 1/pi. 0 if nothing is called positive.

    Parameters
    ----------
    y_pu, predictions : array-like of shape (n_samples,)
    scenario : {"case-control", "single-set"}

    References
    ----------
    Lee and Liu, "Learning with Positive and Unlabeled Examples Using Weighted Logistic
    Regression", ICML 2003.

    Examples
    --------
    >>> lee_liu_score([1, 1, 0, 0], [1, 0, 1, 0], scenario="case-control")
    0.5
    """
    rates = _rates(y_pu, predictions, scenario)
    return _over_called(rates.recall**2, rates)


def pu_precision_score(
    y_pu: ArrayLike,
    predictions: ArrayLike,
    *,
    scenario: str,
    class_prior: float | None = None,
    alpha: float | None = None,
) -> float:
    """Estimate precision in the population: ``pi r / q``; 0 if nothing is called positive.

    Parameters
    ----------
    y_pu, predictions : array-like of shape (n_samples,)
    scenario : {"case-control", "single-set"}
    class_prior, alpha : float
        Share of positives in the population, or inside U: give one of them.

    Examples
    --------
    >>> pu_precision_score([1, 1, 0, 0], [1, 0, 1, 0], scenario="case-control", class_prior=0.5)
    0.5
    """
    rates = _rates(y_pu, predictions, scenario)
    pi = _proportions(rates.is_labeled, scenario, class_prior, alpha).class_prior
    return _over_called(pi * rates.recall, rates)


def pu_f1_score(
    y_pu: ArrayLike,
    predictions: ArrayLike,
    *,
    scenario: str,
    class_prior: float | None = None,
    alpha: float | None = None,
) -> float:
    """Estimate F1 in the population: ``2 pi r / (pi + q)``.

    Parameters
    ----------
    y_pu, predictions : array-like of shape (n_samples,)
    scenario : {"case-control", "single-set"}
    class_prior, alpha : float
        Share of positives in the population, or inside U: give one of them.

    Examples
    --------
    >>> pu_f1_score([1, 1, 0, 0], [1, 0, 1, 0], scenario="case-control", class_prior=0.5)
    0.5
    """
    rates = _rates(y_pu, predictions, scenario)
    pi = _proportions(rates.is_labeled, scenario, class_prior, alpha).class_prior
    return 2 * pi * rates.recall / (pi + rates.called)


def pu_zero_one_risk(
    y_pu: ArrayLike,
    predictions: ArrayLike,
    *,
    scenario: str,
    class_prior: float | None = None,
    alpha: float | None = None,
    non_negative: bool = False,
) -> float:
    """Estimate the share of errors in the population: ``pi (1 - r) + (q - pi r)``.

    Parameters
    ----------
    y_pu, predictions : array-like of shape (n_samples,)
    scenario : {"case-control", "single-set"}
    class_prior, alpha : float
        Share of positives in the population, or inside U: give one of them.
    non_negative : bool
        Count the second part, the false positives, as 0 where its estimate is below 0 (Kiryo et
        al. 2017). Biased upwards, but no longer rewards what cannot be.

    Examples
    --------
    >>> pu_zero_one_risk([1, 1, 0, 0], [1, 0, 1, 0], scenario="case-control", class_prior=0.5)
    0.5
    """
    rates = _rates(y_pu, predictions, scenario)
    pi = _proportions(rates.is_labeled, scenario, class_prior, alpha).class_prior
    false_positives = rates.called - pi * rates.recall
    if non_negative:
        false_positives = max(false_positives, 0.0)
    return pi * (1 - rates.recall) + false_positives


def proxy_accuracy(
    y_pu: ArrayLike,
    predictions: ArrayLike,
    *,
    scenario: str,
    class_prior: float | None = None,
    alpha: float | None = None,
) -> float:
    """Estimate PA, accuracy in the population plus pi: ``2 pi r + Pr[f = 0]``.

    With pi fixed it ranks as accuracy does.

    Parameters
    ----------
    y_pu, predictions : array-like of shape (n_samples,)
    scenario : {"case-control", "single-set"}
    class_prior, alpha : float
        Share of positives in the population, or inside U: give one of them.

    Notes
    -----
    PA is the criterion of two benchmarks of ICLR 2026 (PU-Bench and PUBench). For case-control
    data this is what their programs compute. For single-set data ``Pr[f = 0]`` is the share of P
    and U together that is called negative; their programs count, among P, those that are called
    *positive* instead, which adds ``c pi (2 r - 1)`` and no longer ranks as accuracy does.

    Examples
    --------
    >>> proxy_accuracy([1, 1, 0, 0], [1, 0, 1, 0], scenario="case-control", class_prior=0.5)
    1.0
    """
    rates = _rates(y_pu, predictions, scenario)
    pi = _proportions(rates.is_labeled, scenario, class_prior, alpha).class_prior
    return 2 * pi * rates.recall + 1 - rates.called


def proxy_auc(y_pu: ArrayLike, scores: ArrayLike) -> float:
    """Estimate PAUC, the area under the ROC curve of P against U.

    In both scenarios it is ``alpha / 2 + (1 - alpha) AUC``, so it ranks as the AUC of positives
    against negatives does, and needs no class prior. `pu_roc_auc_score` undoes the mixture.

    Parameters
    ----------
    y_pu : array-like of shape (n_samples,)
        Two values, the larger for labelled positives.
    scores : array-like of shape (n_samples,)
        The larger, the more positive.

    Examples
    --------
    >>> proxy_auc([1, 1, 0, 0], [3.0, 1.0, 2.0, 0.0])
    0.75
    """
    is_labeled, values = _labels_and_scores(y_pu, scores)
    return _auc(is_labeled, values)


def pu_roc_auc_score(
    y_pu: ArrayLike,
    scores: ArrayLike,
    *,
    scenario: str,
    class_prior: float | None = None,
    alpha: float | None = None,
) -> float:
    """Estimate the AUC of positives against negatives: ``(PAUC - alpha / 2) / (1 - alpha)``.

    alpha is that of U as it is, also in single-set data, where it is below the class prior.

    Parameters
    ----------
    y_pu, scores : array-like of shape (n_samples,)
    scenario : {"case-control", "single-set"}
    class_prior, alpha : float
        Share of positives in the population, or inside U: give one of them.

    Examples
    --------
    >>> pu_roc_auc_score([1, 1, 0, 0], [3, 1, 2, 0], scenario="case-control", alpha=0.25)
    0.8333333333333334
    """
    is_labeled, values = _labels_and_scores(y_pu, scores)
    share = _proportions(is_labeled, scenario, class_prior, alpha).alpha
    return (_auc(is_labeled, values) - share / 2) / (1 - share)


def pu_average_precision_score(
    y_pu: ArrayLike,
    scores: ArrayLike,
    *,
    scenario: str,
    class_prior: float | None = None,
    alpha: float | None = None,
) -> float:
    """Estimate average precision in the population.

    The sum over thresholds t of ``(r(t) - r(t')) min(1, pi r(t) / q(t))``, t' the next higher
    one: what scikit-learn's ``average_precision_score`` tends to on fully labelled data with the
    same class prior. Precision is held to 1 at each threshold, because q is estimated from few
    samples at the top of the ranking (in case-control data from none, sometimes); this vanishes
    as U grows. It is the noisiest of the scores here: far noisier than with all labels.

    Parameters
    ----------
    y_pu, scores : array-like of shape (n_samples,)
    scenario : {"case-control", "single-set"}
    class_prior, alpha : float
        Share of positives in the population, or inside U: give one of them.

    Examples
    --------
    >>> pu_average_precision_score([1, 1, 0, 0], [3, 1, 2, 0], scenario="single-set", alpha=0)
    0.8333333333333333
    """
    is_labeled, values = _labels_and_scores(y_pu, scores)
    pi = _proportions(is_labeled, scenario, class_prior, alpha).class_prior
    order = np.argsort(-values, kind="stable")
    last_of_ties = np.flatnonzero(np.append(np.diff(values[order]) != 0, True))
    in_population = Scenario.parse(scenario).population_mask(is_labeled)
    recall = np.cumsum(is_labeled[order])[last_of_ties] / is_labeled.sum()
    called = np.cumsum(in_population[order])[last_of_ties] / in_population.sum()
    precision = np.ones_like(recall)
    np.divide(pi * recall, called, out=precision, where=called > pi * recall)
    return float(np.sum(np.diff(recall, prepend=0) * precision))


class _Rates(NamedTuple):
    """r = Pr[f = 1 | y = 1] and q = Pr[f = 1], both in the population."""

    is_labeled: NDArray[np.bool_]
    recall: float
    called: float


def _rates(y_pu: ArrayLike, predictions: ArrayLike, scenario: str) -> _Rates:
    parsed = Scenario.parse(scenario)
    is_labeled, classes = read_pu_labels(y_pu)
    is_called = read_predictions(predictions, classes, len(is_labeled))
    in_population = parsed.population_mask(is_labeled)
    return _Rates(
        is_labeled, float(is_called[is_labeled].mean()), float(is_called[in_population].mean())
    )


def _labels_and_scores(
    y_pu: ArrayLike, scores: ArrayLike
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    is_labeled = read_pu_labels(y_pu).is_positive
    return is_labeled, read_scores("scores", scores, len(is_labeled))


def _proportions(
    is_labeled: NDArray[np.bool_], scenario: str, class_prior: float | None, alpha: float | None
) -> Proportions:
    """Complete whichever of the two shares is given; both classes must exist in the population."""
    if (class_prior is None) == (alpha is None):
        raise ParameterError(
            "Give either class_prior, the share of positives in the population, or alpha, their "
            f"share inside U. Got class_prior={class_prior!r} and alpha={alpha!r} instead."
        )
    n_positive = int(is_labeled.sum())
    sizes = {"n_positive": n_positive, "n_unlabeled": len(is_labeled) - n_positive}
    if alpha is not None:
        shares = Proportions.from_alpha(alpha, scenario=scenario, **sizes)
    else:
        assert class_prior is not None
        shares = Proportions.from_class_prior(class_prior, scenario=scenario, **sizes)
    if not (0 < shares.class_prior < 1 and shares.alpha < 1):
        raise ParameterError(
            f"class_prior={shares.class_prior:g} leaves one class empty, so there is nothing to "
            "score. Give a share above 0 and below 1."
        )
    return shares


def _over_called(numerator: float, rates: _Rates) -> float:
    if rates.called > 0:
        return numerator / rates.called
    if rates.recall > 0:
        raise InputError(
            f"A share of {rates.recall:g} of the labelled positives is called positive, but not "
            "one unlabelled sample, so precision cannot be estimated. Use more unlabelled samples, "
            "or the zero-one risk."
        )
    return 0.0


def _auc(is_labeled: NDArray[np.bool_], scores: NDArray[np.float64]) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(is_labeled, scores))
