"""One function for every class-prior estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from vqpu.base._parameters import check_choice, draw_seed
from vqpu.errors import InputError, ParameterError
from vqpu.priors._bbe import bbe
from vqpu.priors._checks import check_pair, check_samples, check_scores
from vqpu.priors._dedpul import dedpul
from vqpu.priors._elkan_noto import elkan_noto
from vqpu.priors._geometry import geometry
from vqpu.priors._km2 import km2
from vqpu.priors._prior_estimate import Finding, Floats
from vqpu.priors._scores import cross_fit_scores
from vqpu.priors._tice import tice
from vqpu.scenarios import Proportions, Scenario

Method = Callable[[Floats, Floats, np.random.Generator], Finding]

_ON_SCORES: dict[str, Method] = {
    "bbe": bbe,
    "dedpul": dedpul,
    "elkan-noto": elkan_noto,
    "geometry": geometry,
}
_ON_PROBABILITIES = ("dedpul", "elkan-noto")
_ON_SAMPLES: dict[str, Method] = {"km2": km2, "tice": tice}

_ALLOWANCE = 0.05  # how far chance may take an estimate out of [0, 1]

PRIOR_METHODS = (*_ON_SCORES, *_ON_SAMPLES)


class PriorEstimate(NamedTuple):
    """How many positives there are.

    Attributes
    ----------
    alpha : float
        Share of positives inside U, in [0, 1]. What a formula puts outside by up to 0.05 is 0 or 1;
        beyond that it is an error.
    class_prior : float
        pi, their share in the population, by the scenario.
    interval : tuple of float or None
        "bbe": its bound, which holds alpha with 90 % confidence if some scores are reached by
        positives alone, and whose upper end holds always. None for the others.
    method, scenario : str
    """

    alpha: float
    class_prior: float
    interval: tuple[float, float] | None
    method: str
    scenario: str


def estimate_prior(
    method: str,
    positive: ArrayLike,
    unlabeled: ArrayLike,
    *,
    scenario: str = "case-control",
    classifier: Any = None,
    random_state: Any = None,
) -> PriorEstimate:
    """Estimate the share of positives among unlabelled samples.

    Parameters
    ----------
    method : {"bbe", "dedpul", "elkan-noto", "geometry", "km2", "tice"}
        The first four work on scores, the last two on samples.

        - "bbe": share of U over share of P above the best threshold (Garg et al. 2021).
        - "dedpul": ratio of the score densities of P and U, and EM (Ivanov 2020).
        - "elkan-noto": mean probability of being labelled over P (Elkan and Noto 2008).
        - "geometry": where the positives sit on the projection s(x) of VQ K-means.
        - "km2": kernel embeddings (Ramaswamy et al. 2016).
        - "tice": bounds from the subsets of a decision tree (Bekker and Davis 2018).
    positive, unlabeled : array-like of shape (n_p,) and (n_u,), or (n_p, d) and (n_u, d)
        Scores or samples. Scores must be of samples that were not trained on, larger meaning more
        positive. "dedpul", "elkan-noto" and "geometry" read them as s(x), the probability of P
        against U if both weighed the same (`balanced_scores` makes it of others); "bbe" takes any.
        Samples given to a method on scores are scored by `cross_fit_scores`.
    scenario : {"case-control", "single-set"}
        How the data came about. Case-control: P and U were drawn apart, ``class_prior`` is alpha.
        Single set: part of the positives of one sample were labelled and taken out of U; then the
        numbers of samples given must stand in the proportion they had there.
    classifier : scikit-learn classifier with ``predict_proba`` or None
        For `cross_fit_scores`.
    random_state : int, RandomState, Generator or None
        Draws folds, and samples where a set is too large for a method.

    Examples
    --------
    >>> import numpy as np
    >>> from vqpu.priors import estimate_prior
    >>> scores_p = np.array([0.6, 0.7, 0.8, 0.9])
    >>> scores_u = np.array([0.65, 0.55, 0.1, 0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 0.2])
    >>> estimate_prior("bbe", scores_p, scores_u).alpha
    0.2
    >>> round(estimate_prior("bbe", scores_p, scores_u, scenario="single-set").class_prior, 3)
    0.429
    """
    check_choice("method", method, PRIOR_METHODS)
    Scenario.parse(scenario)
    seed = draw_seed(random_state)
    positive, unlabeled = check_pair(positive, unlabeled)
    if classifier is not None and (positive.ndim == 1 or method in _ON_SAMPLES):
        raise ParameterError(
            f"classifier is for scoring samples, but '{method}' was given "
            f"{'scores' if positive.ndim == 1 else 'samples and needs no scores'}. Leave it out."
        )
    sizes = len(positive), len(unlabeled)
    generator = np.random.default_rng(seed)
    if method in _ON_SAMPLES:
        check_samples(positive, unlabeled, method)
        finding = _ON_SAMPLES[method](positive, unlabeled, generator)
    else:
        if positive.ndim == 2:
            positive, unlabeled = cross_fit_scores(
                positive, unlabeled, classifier=classifier, random_state=seed
            )
        check_scores(positive, unlabeled, as_probabilities=method in _ON_PROBABILITIES)
        finding = _ON_SCORES[method](positive, unlabeled, generator)
    return _conclude(finding, method, scenario, *sizes)


def _conclude(
    finding: Finding, method: str, scenario: str, n_positive: int, n_unlabeled: int
) -> PriorEstimate:
    """Refuse a share that cannot be, and put one that misses [0, 1] by little at its end."""
    alpha, interval = finding
    if not -_ALLOWANCE <= alpha <= 1 + _ALLOWANCE:
        cause = (
            "Either nearly all of U is positive, or the scores do not tell P from U"
            if alpha > 1
            else "Scores of P or U lie beyond the ends that they should lie between"
        )
        raise InputError(
            f"'{method}' finds alpha = {alpha:.3g}, but a share lies in [0, 1]. {cause}: give "
            "better ones, or try 'bbe'."
        )
    alpha = _cut(alpha)
    proportions = Proportions.from_alpha(
        alpha, scenario=scenario, n_positive=n_positive, n_unlabeled=n_unlabeled
    )
    ends = None if interval is None else (_cut(interval[0]), _cut(interval[1]))
    return PriorEstimate(alpha, proportions.class_prior, ends, method, scenario)


def _cut(share: float) -> float:
    return min(max(share, 0.0), 1.0)
