"""alpha and probabilities from the geometry of the projection s(x).

In theory hidden positives sit at ``s = 1 / (1 + alpha)`` and negatives at 0, and
``p(y=1 | x in U) = alpha s / (1 - s)``. A network that is stopped early, or classes that overlap,
have not reached those places, so what the theory assumes is measured instead, on samples that were
not trained on: alpha where labelled positives and unlabelled samples are most alike, and the odds
of positive against negative as the exponential of a line in s.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.priors._best_bin import find_best_bin

Floats = NDArray[np.float64]

_SMALLEST_SHARE = 1e-3
RAISED_BY = 3.0  # standard errors; see results/study/summary.md
_LARGEST_SLOPE = math.exp(6.0)


class Posterior(NamedTuple):
    """Log odds of being positive, a line in the projection.

    Attributes
    ----------
    alpha : float
        Share of positives among unlabelled samples.
    slope, intercept : float
        Of that line; the slope is above 0.
    """

    alpha: float
    slope: float
    intercept: float

    def log_odds(self, values: Floats) -> Floats:
        """Return the log odds of being positive in U, strictly increasing in ``values``."""
        return np.asarray(self.slope * values + self.intercept)

    def aimed_at(self, alpha: float) -> Posterior:
        """Return the same for a population with another share of positives.

        The ratio of the densities of positives and negatives stays, the odds of a positive change.
        """
        shift = log_odds_of_share(alpha) - log_odds_of_share(self.alpha)
        return Posterior(alpha, self.slope, self.intercept + shift)

    def balanced(self) -> Posterior:
        """Return log odds as if both classes were as frequent; alpha stays what it is."""
        return self._replace(intercept=self.intercept - log_odds_of_share(self.alpha))


def positive_probability(log_odds: Floats) -> Floats:
    """Return the logistic function of log odds, without overflow at either end.

    Parameters
    ----------
    log_odds : ndarray
    """
    return np.asarray(1 / (1 + np.exp(-np.clip(log_odds, -700, 700))))


def fit_posterior(
    positive: Floats,
    unlabeled: Floats,
    *,
    alpha: float | None = None,
    raised_by: float = RAISED_BY,
) -> Posterior:
    r"""Fit the log odds to two samples of projections.

    With :math:`p_U = \alpha p_P + (1 - \alpha) p_N` and :math:`p_P / p_N = e^{a s + b}`, a sample
    is labelled rather than unlabelled (both sets weighing the same) with log odds
    :math:`-\log(\alpha + (1 - \alpha) e^{-(a s + b)})`. These saturate where only positives are,
    as a plain logistic regression of P against U cannot. a and b maximise that likelihood.

    The fit takes an alpha that was estimated some standard errors larger: one that is too small
    makes the model see negatives among clear positives, one that is too large does next to no harm.

    Parameters
    ----------
    positive : ndarray of shape (n_p,)
        Projections of labelled positives that were not trained on.
    unlabeled : ndarray of shape (n_u,)
        Projections of unlabelled samples that were not trained on.
    alpha : float or None
        Share of positives in U; None: it is estimated by best bin.
    raised_by : float
        By how many standard errors the fit takes alpha larger; 0 for one that is known.
    """
    from scipy.optimize import minimize

    if alpha is None:
        alpha = best_bin_alpha(positive, unlabeled)
    alpha = _clip_share(alpha)
    raised = _clip_share(alpha + raised_by * _standard_error(alpha, len(unlabeled)))
    center, scale = float(unlabeled.mean()), float(np.concatenate([positive, unlabeled]).std())
    scale = max(scale, 1e-9)
    standard = ((positive - center) / scale, (unlabeled - center) / scale)
    bounds = [(-3.0, math.log(_LARGEST_SLOPE)), (-100.0, 100.0)]
    # Threads for matrices of two by two make a fit of milliseconds last a tenth of a second.
    with _blas().limit(limits=1):
        fits = [
            minimize(_loss, [start, 0.0], args=(*standard, raised), jac=True, bounds=bounds)
            for start in (0.5, 2.0)
        ]
    log_slope, intercept = min(fits, key=lambda fit: float(fit.fun)).x
    slope = math.exp(log_slope) / scale
    prior = math.log(raised / (1 - raised))
    return Posterior(alpha, slope, float(intercept) - slope * center + prior)


def log_odds_of_share(share: float) -> float:
    """Return log(share / (1 - share)), finite at 0 and 1.

    Parameters
    ----------
    share : float
    """
    inner = _clip_share(share)
    return math.log(inner / (1 - inner))


def share_of_log_odds(log_odds: float) -> float:
    """Return the share with these log odds.

    Parameters
    ----------
    log_odds : float
    """
    return 1 / (1 + math.exp(-log_odds))


@cache
def _blas() -> Any:
    """Return what limits the threads of matrix libraries; finding them takes as long as a fit."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


def best_bin_alpha(positive: Floats, unlabeled: Floats) -> float:
    """Return the share of positives in U by best bin estimation, never quite 0 or 1.

    Parameters
    ----------
    positive, unlabeled : ndarray of shape (n,)
        Scores of samples that were not trained on; larger means more positive.
    """
    found = find_best_bin(positive, unlabeled)
    return _SMALLEST_SHARE if found is None else _clip_share(found.ratio)


def theoretical_alpha(positive: Floats) -> float:
    """Return ``1 / s_P - 1``, the paper's limit solved for alpha, clipped to [0, 1].

    Right once the network has converged and where classes separate; too large before.

    Parameters
    ----------
    positive : ndarray of shape (n_p,)
        Projections of labelled positives.
    """
    middle = float(np.median(positive))
    return 1.0 if middle <= 0.5 else float(np.clip(1 / middle - 1, 0.0, 1.0))


def _standard_error(share: float, count: int) -> float:
    return math.sqrt(max(share * (1 - share), 0.25 / count) / count)


def _clip_share(share: float) -> float:
    return min(max(share, _SMALLEST_SHARE), 1 - _SMALLEST_SHARE)


def _loss(
    parameters: Floats, positive: Floats, unlabeled: Floats, alpha: float
) -> tuple[float, Floats]:
    """Return minus the mean log likelihood of both sets and its gradient."""
    slope = math.exp(parameters[0])
    total, gradient = 1e-4 * parameters[0] ** 2, np.array([2e-4 * parameters[0], 0.0])
    for values, label in ((positive, 1.0), (unlabeled, -1.0)):
        odds = slope * values + parameters[1]
        negative_part = np.log1p(-alpha) - odds
        log_ratio = -np.logaddexp(math.log(alpha), negative_part)
        total += float(np.logaddexp(0.0, -label * log_ratio).mean())
        wrong = -label / (1 + np.exp(np.clip(label * log_ratio, -700, 700)))
        by_odds = wrong * np.exp(negative_part + log_ratio) / len(values)
        gradient += [float(by_odds @ values) * slope, float(by_odds.sum())]
    return total, gradient
