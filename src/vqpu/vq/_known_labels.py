r"""Known labels in the decision rule: they move the border, and are no hidden positives.

Labels that a review told say :math:`p(y \mid s)` wherever they were looked for: a queue chooses by
x, and the share of positives among samples of one score does not depend on how many of them were
looked at. So the log odds :math:`l` of the posterior are corrected to :math:`e^c l + d`, with c and
d of the greatest likelihood of those labels, drawn to 0 by normal priors (Platt's scaling, begun
from a posterior that was fitted without a single negative).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.base._split import Sets
from vqpu.priors._posterior import positive_probability
from vqpu.vq._clusters import Clusters
from vqpu.vq._decision_rule import DecisionRule, HeldOut, fit_decision_rule
from vqpu.vq._network import Encodings

Floats = NDArray[np.float64]
ShareOf = Callable[[Floats, Floats], "InUse"]

# Standard deviations of c and d before a label is seen.
_SPREAD_OF_SCALE, _SPREAD_OF_SHIFT = 0.5, 1.0
_LEAST_HIDDEN = 1e-3


class InUse(NamedTuple):
    """The alpha that the border is fitted with.

    Attributes
    ----------
    alpha : float or None
        None: best bin's.
    raised_by : float
        By how many standard errors the fit takes it larger.
    """

    alpha: float | None
    raised_by: float


class LabeledScores(NamedTuple):
    """Log odds of samples whose labels are known, for the correction.

    Attributes
    ----------
    log_odds : ndarray of shape (n,)
    is_positive : ndarray of bool, shape (n,)
    weights : ndarray of shape (n,)
        How many labels each stands for.
    """

    log_odds: Floats
    is_positive: NDArray[np.bool_]
    weights: Floats


def fit_known_rule(
    decision: str, clusters: Clusters, every: HeldOut, negative: Encodings, share_of: ShareOf
) -> DecisionRule:
    """Fit the decision rule where some labels are known; its alpha is that of the rest of U.

    After a review, reviewed samples count as unlabelled for the posterior: their queue emptied a
    part of U, and confirmed positives are no random sample of positives. Then they correct it.
    Known negatives without a review stand for all negatives, and labelled positives for the
    positives that would have been met among as many.

    Parameters
    ----------
    decision : str
    clusters : Clusters
        Of unlabelled samples.
    every : HeldOut
        All labelled positives and unlabelled samples.
    negative : Encodings
        Of all known negatives, in the order of their indices.
    share_of : callable
        The alpha to fit with, from projections of positives and of unlabelled samples.
    """
    if decision == "balanced":  # labels correct the odds in U, which are balanced afterwards
        rule = fit_known_rule("posterior", clusters, every, negative, share_of)
        posterior = rule.projection_posterior.balanced()
        return rule._replace(decision=decision, projection_posterior=posterior)
    split, known = every.split, every.split.known
    assert known is not None
    indices = np.concatenate([*every.indices, np.flatnonzero(known.is_negative)])
    encodings = every.positive.and_also(every.unlabeled).and_also(negative).at(np.argsort(indices))
    is_judged = split.kept_from >= 0
    is_judged = is_judged if is_judged.any() else np.full(len(is_judged), True)
    is_labeled, is_unlabeled = split.is_positive, split.is_unlabeled
    if known.is_confirmed is not None:
        is_labeled = is_labeled & ~known.is_confirmed
        is_unlabeled = is_unlabeled | known.is_negative | known.is_confirmed
    labeled = np.flatnonzero(is_labeled & is_judged)
    if not len(labeled):  # all that a single member was kept from were confirmed in review
        labeled = np.flatnonzero(is_labeled)
    sets = Sets(labeled, np.flatnonzero(is_unlabeled & is_judged))
    population = HeldOut(split, sets, *map(encodings.at, sets))
    in_use = share_of(*population.projections())
    rule = fit_decision_rule(decision, clusters, population, *in_use)
    projections = split.unseen(encodings.member_projections, np.arange(len(is_judged)))
    scores = rule.projection_posterior.log_odds(projections)
    if known.is_confirmed is None:
        negatives = np.flatnonzero(known.is_negative & is_judged)
        return _corrected(rule, _with_stand_ins(rule, scores[labeled], scores[negatives]))
    reviewed = np.flatnonzero((known.is_negative | known.is_confirmed) & is_judged)
    told = LabeledScores(scores[reviewed], known.is_confirmed[reviewed], np.ones(len(reviewed)))
    rest = np.flatnonzero(split.is_unlabeled & is_judged)
    return _of_the_rest(_corrected(rule, told), projections[rest])


def _with_stand_ins(rule: DecisionRule, positives: Floats, negatives: Floats) -> LabeledScores:
    """Return known negatives, and labelled positives in the proportion of U beside them."""
    alpha = rule.projection_posterior.alpha
    is_positive = np.arange(len(positives) + len(negatives)) < len(positives)
    n_met = alpha / (1 - alpha) * len(negatives)
    weights = np.where(is_positive, n_met / len(positives), 1.0)
    return LabeledScores(np.concatenate([positives, negatives]), is_positive, weights)


def _corrected(rule: DecisionRule, labeled: LabeledScores) -> DecisionRule:
    if not len(labeled.log_odds):
        return rule
    scale, shift = fit_correction(labeled)
    posterior = rule.projection_posterior
    return rule._replace(
        projection_posterior=posterior._replace(
            slope=scale * posterior.slope, intercept=scale * posterior.intercept + shift
        )
    )


def fit_correction(labeled: LabeledScores) -> tuple[float, float]:
    r"""Return :math:`e^c` and d, by which log odds l become :math:`e^c l + d`.

    Parameters
    ----------
    labeled : LabeledScores
    """
    from scipy.optimize import minimize

    sign = np.where(labeled.is_positive, 1.0, -1.0)
    log_odds = np.clip(labeled.log_odds, -50, 50)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        c, d = parameters
        scaled = math.exp(c) * log_odds
        margin = sign * (scaled + d)
        prior = (c / _SPREAD_OF_SCALE) ** 2 / 2 + (d / _SPREAD_OF_SHIFT) ** 2 / 2
        total = float(labeled.weights @ np.logaddexp(0.0, -margin)) + prior
        by_score = -sign * labeled.weights / (1 + np.exp(np.clip(margin, -700, 700)))
        gradient = [
            float(by_score @ scaled) + c / _SPREAD_OF_SCALE**2,
            float(by_score.sum()) + d / _SPREAD_OF_SHIFT**2,
        ]
        return total, np.array(gradient)

    found = minimize(loss, [0.0, 0.0], jac=True, bounds=[(-3.0, 3.0), (-20.0, 20.0)])
    return math.exp(found.x[0]), float(found.x[1])


def _of_the_rest(rule: DecisionRule, unlabeled: Floats) -> DecisionRule:
    """Take alpha for the mean probability of what is left of U: its best is gone, or its worst."""
    posterior = rule.projection_posterior
    alpha = float(positive_probability(posterior.log_odds(unlabeled)).mean())
    alpha = min(max(alpha, _LEAST_HIDDEN), 1 - _LEAST_HIDDEN)
    return rule._replace(projection_posterior=posterior._replace(alpha=alpha))
