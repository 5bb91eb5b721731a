"""PU samples from fully labelled data, in either scenario, with the truth kept apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vqpu.base._parameters import check_integer, check_real, draw_seed
from vqpu.datasets._labeling import draw_weighted, labeling_propensity
from vqpu.errors import InputError, ParameterError
from vqpu.scenarios import Proportions, Scenario


class PUSample(NamedTuple):
    """A PU problem whose truth is known but kept apart.

    Attributes
    ----------
    X : ndarray of shape (n_positive + n_unlabeled, ...)
        Labelled positives first, then unlabelled samples in random order.
    y : ndarray of int64
        1 for labelled positives, 0 for unlabelled samples.
    truth : ndarray of int64
        1 for positives, labelled or hidden, 0 for negatives. Never for training.
    rest : ndarray of int64
        Indices of the given samples that are in neither set.
    scenario : Scenario
        What the following three refer to.
    alpha : float
        Share of positives inside U, as drawn.
    class_prior : float
        Share of positives in the population: in U (case-control), or in P and U together
        (single-set).
    label_frequency : float
        Share of the positives in P and U together that are labelled.
    """

    X: NDArray[Any]
    y: NDArray[np.int64]
    truth: NDArray[np.int64]
    rest: NDArray[np.int64]
    scenario: Scenario
    alpha: float
    class_prior: float
    label_frequency: float


class _Counts(NamedTuple):
    positive: int
    unlabeled: int
    hidden: int


def make_pu(
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_positive: int | None = None,
    n_unlabeled: int | None = None,
    alpha: float | None = None,
    n_samples: int | None = None,
    class_prior: float | None = None,
    label_frequency: float | None = None,
    scenario: str = "case-control",
    labeling: str | ArrayLike | Callable[[NDArray[Any]], ArrayLike] = "scar",
    random_state: Any = None,
) -> PUSample:
    """Draw labelled positives and unlabelled samples, disjoint and of exact sizes.

    Give ``n_positive``, ``n_unlabeled`` and ``alpha``; or, in the single-set scenario, what was
    there before labelling: ``n_samples``, ``class_prior`` and ``label_frequency``.

    Parameters
    ----------
    X : array-like of shape (n, ...)
    y : array-like of shape (n,)
        True labels: 1 positive, one other value (0) negative.
    n_positive, n_unlabeled : int
        Sizes of P and U.
    alpha : float
        Share of positives inside U; their number is rounded.
    n_samples : int
        Size of P and U together.
    class_prior : float
        Share of positives in P and U together; their number is rounded.
    label_frequency : float
        Share of those positives that is labelled; their number is rounded.
    scenario : {"case-control", "single-set"}
        Whether P and U are drawn apart, or one sample is drawn and some of its positives are then
        labelled and taken out of U. See `vqpu.scenarios`.
    labeling : {"scar", "sar-easy", "sar-hard"}, callable or array-like of shape (n,)
        Which positives are labelled. "scar": all are equally likely. The others break the
        assumption that all of PU learning here rests on, for stress tests: labels are given one
        after another, each time in proportion to a propensity, which is the given array, the
        given function of X, or (built in) logistic in the position along the difference of the
        class means, so that positives far from the negatives ("sar-easy") or near them
        ("sar-hard") are preferred. In case-control data P alone is biased; in single-set data
        the positives that remain in U are biased the other way.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    PUSample

    Examples
    --------
    >>> import numpy as np
    >>> sample = make_pu(np.arange(20).reshape(10, 2), [1] * 6 + [0] * 4, n_positive=3,
    ...                  n_unlabeled=4, alpha=0.5, random_state=0)
    >>> sample.X.shape, int(sample.truth[sample.y == 0].sum()), len(sample.rest)
    ((7, 2), 2, 3)
    >>> sample = make_pu(np.arange(20).reshape(10, 2), [1] * 6 + [0] * 4, n_samples=8,
    ...                  class_prior=0.5, label_frequency=0.25, scenario="single-set")
    >>> int(sample.y.sum()), sample.class_prior, sample.label_frequency
    (1, 0.5, 0.25)
    """
    parsed = Scenario.parse(scenario)
    counts = _count(
        parsed, (n_positive, n_unlabeled, alpha), (n_samples, class_prior, label_frequency)
    )
    X, y = np.asarray(X), np.asarray(y)
    is_positive = _check_truth(X, y)
    n_negative = counts.unlabeled - counts.hidden
    _check_enough("positives", counts.positive + counts.hidden, int(is_positive.sum()))
    _check_enough("negatives", n_negative, int((~is_positive).sum()))
    propensity = labeling_propensity(labeling, X, is_positive)
    generator = np.random.default_rng(draw_seed(random_state))
    positives = generator.permutation(np.flatnonzero(is_positive))
    negatives = generator.permutation(np.flatnonzero(~is_positive))
    labeled, hidden, spare = _split_positives(positives, counts, parsed, propensity, generator)
    unlabeled = generator.permutation(np.concatenate([hidden, negatives[:n_negative]]))
    chosen = np.concatenate([labeled, unlabeled])
    labels = np.repeat(np.array([1, 0], np.int64), [counts.positive, counts.unlabeled])
    shares = Proportions.from_alpha(
        counts.hidden / counts.unlabeled,
        scenario=parsed,
        n_positive=counts.positive,
        n_unlabeled=counts.unlabeled,
    )
    return PUSample(
        X[chosen],
        labels,
        is_positive[chosen].astype(np.int64),
        np.sort(np.concatenate([spare, negatives[n_negative:]])),
        parsed,
        shares.alpha,
        shares.class_prior,
        shares.label_frequency,
    )


def _count(scenario: Scenario, by_sets: tuple[Any, ...], by_sample: tuple[Any, ...]) -> _Counts:
    """Turn either way of asking into the three numbers that are drawn."""
    given = ([value is not None for value in way] for way in (by_sets, by_sample))
    match tuple((all(way), any(way)) for way in given):
        case (True, _), (_, False):
            return _count_by_sets(*by_sets)
        case (_, False), (True, _) if scenario is Scenario.SINGLE_SET:
            return _count_by_sample(*by_sample)
    alternative = ", or n_samples, class_prior and label_frequency, but not of both"
    raise ParameterError(
        f"scenario={scenario.value!r} needs all of n_positive, n_unlabeled and alpha"
        f"{alternative if scenario is Scenario.SINGLE_SET else ' and none of the other sizes'}. "
        f"Got (n_positive, n_unlabeled, alpha)={by_sets} and (n_samples, class_prior, "
        f"label_frequency)={by_sample} instead."
    )


def _count_by_sets(n_positive: int, n_unlabeled: int, alpha: float) -> _Counts:
    check_integer("n_positive", n_positive, 1)
    check_integer("n_unlabeled", n_unlabeled, 1)
    check_real("alpha", alpha, 0, 1, open_high=False)
    return _Counts(n_positive, n_unlabeled, round(alpha * n_unlabeled))


def _count_by_sample(n_samples: int, class_prior: float, label_frequency: float) -> _Counts:
    check_integer("n_samples", n_samples, 2)
    check_real("class_prior", class_prior, 0, 1, open_low=True, open_high=False)
    check_real("label_frequency", label_frequency, 0, 1, open_low=True, open_high=False)
    n_positives = round(class_prior * n_samples)
    n_labeled = round(label_frequency * n_positives)
    if not 1 <= n_labeled < n_samples:
        raise ParameterError(
            f"n_samples={n_samples}, class_prior={class_prior} and label_frequency="
            f"{label_frequency} give {n_labeled} labelled positives among {n_samples} samples. "
            "There must be at least one, and at least one unlabelled sample: change one of them."
        )
    return _Counts(n_labeled, n_samples - n_labeled, n_positives - n_labeled)


def _check_truth(X: NDArray[Any], y: NDArray[Any]) -> NDArray[np.bool_]:
    if y.shape != (len(X),):
        raise InputError(
            f"X has {len(X)} samples and y has shape {y.shape}, expected ({len(X)},): one true "
            "label for each sample."
        )
    if np.issubdtype(y.dtype, np.floating) and not np.isfinite(y).all():
        raise InputError("y holds NaN or infinity, but every sample needs a true label, 1 or 0.")
    is_positive = np.asarray(y == 1, dtype=bool)
    others = np.unique(y[~is_positive])
    if len(others) > 1:
        raise InputError(
            "y must hold true labels, 1 for positives and one other value for negatives. Got "
            f"{len(others)} other values instead, {others[0]!r} and {others[1]!r} among them."
        )
    return is_positive


def _split_positives(
    positives: NDArray[np.int64],
    counts: _Counts,
    scenario: Scenario,
    propensity: NDArray[np.float64] | None,
    generator: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Split shuffled positives into labelled, hidden and spare ones."""
    n_drawn = counts.positive + counts.hidden
    if propensity is None:
        labeled, hidden, spare = np.split(positives, [counts.positive, n_drawn])
        return labeled, hidden, spare
    if scenario is Scenario.SINGLE_SET:
        pool, spare = np.split(positives, [n_drawn])
        labeled, hidden = draw_weighted(pool, propensity[pool], counts.positive, generator)
        return labeled, hidden, spare
    # U is drawn first, so that P's preference leaves no mark on U.
    hidden, pool = np.split(positives, [counts.hidden])
    labeled, spare = draw_weighted(pool, propensity[pool], counts.positive, generator)
    return labeled, hidden, spare


def _check_enough(kind: str, needed: int, available: int) -> None:
    if needed > available:
        raise InputError(
            f"{needed} {kind} are needed, but y has {available}. Lower n_positive or n_unlabeled, "
            "or change alpha."
        )
