"""alpha and probabilities from the geometry of the projection s(x).

In theory hidden positives sit at ``s = 1 / (1 + alpha)`` and negatives at 0, and
``p(y=1 | x in U) = alpha s / (1 - s)``. A network that is stopped early or that overlaps has not
reached those places, so they are measured instead of assumed: the projections of unlabelled
samples are a mixture of two normal distributions, and the labelled positives, which follow the
same distribution as the hidden ones (SCAR), say where one of the two is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu._twomeans import two_means_line

Floats = NDArray[np.float64]

_ITERATIONS = 500
_TOLERANCE = 1e-9
_SMALLEST_SHARE = 1e-3


class Posterior(NamedTuple):
    """Positives and negatives as two normal distributions on a line.

    Attributes
    ----------
    alpha : float
        Share of positives among unlabelled samples.
    negative_mean, positive_mean : float
    negative_variance, positive_variance : float
    """

    alpha: float
    negative_mean: float
    positive_mean: float
    negative_variance: float
    positive_variance: float

    def log_odds(self, values: Floats) -> Floats:
        """Return the log odds of being positive, strictly increasing in ``values``.

        Between the two means this is the quadratic of two normal densities, which rises there.
        Outside it goes on along its tangent: with unequal variances the quadratic would turn,
        and a sample far beyond all positives would be called negative.
        """
        inside = np.clip(values, self.negative_mean, self.positive_mean)
        quadratic = (
            np.log(self.alpha / (1 - self.alpha))
            + 0.5 * np.log(self.negative_variance / self.positive_variance)
            + 0.5 * (inside - self.negative_mean) ** 2 / self.negative_variance
            - 0.5 * (inside - self.positive_mean) ** 2 / self.positive_variance
        )
        slope = (inside - self.negative_mean) / self.negative_variance
        slope = slope + (self.positive_mean - inside) / self.positive_variance
        return np.asarray(quadratic + slope * (values - inside))


def fit_posterior(positive: Floats, unlabeled: Floats) -> Posterior:
    """Fit the mixture by expectation maximisation; positives are known members of one part.

    Parameters
    ----------
    positive : ndarray of shape (n_p,)
        Projections of labelled positives that were not trained on.
    unlabeled : ndarray of shape (n_u,)
        Projections of unlabelled samples that were not trained on.
    """
    fitted = _first_guess(positive, unlabeled)
    floor = _variance_floor(positive, unlabeled)
    for _ in range(_ITERATIONS):
        share = 1 / (1 + np.exp(-np.clip(_raw_log_odds(fitted, unlabeled), -500, 500)))
        improved = _maximise(positive, unlabeled, share, floor)
        moved = max(abs(new - old) for new, old in zip(improved, fitted, strict=True))
        fitted = improved
        if moved < _TOLERANCE:
            break
    return fitted


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


def _first_guess(positive: Floats, unlabeled: Floats) -> Posterior:
    low, high = two_means_line(unlabeled) if len(unlabeled) > 1 else (float(unlabeled[0]),) * 2
    high = (high + float(np.median(positive))) / 2
    if high <= low:
        low, high = float(unlabeled.min()), float(positive.max())
    share = _clip_share(float((unlabeled > (low + high) / 2).mean()))
    spread = float(np.minimum((unlabeled - low) ** 2, (unlabeled - high) ** 2).mean())
    variance = max(spread, _variance_floor(positive, unlabeled))
    return Posterior(share, low, high, variance, variance)


def _maximise(positive: Floats, unlabeled: Floats, share: Floats, floor: float) -> Posterior:
    n_positive, n_negative = share.sum() + len(positive), (1 - share).sum()
    positive_mean = (positive.sum() + share @ unlabeled) / n_positive
    negative_mean = ((1 - share) @ unlabeled) / max(n_negative, 1e-12)
    scatter = share @ (unlabeled - positive_mean) ** 2 + ((positive - positive_mean) ** 2).sum()
    negative_scatter = (1 - share) @ (unlabeled - negative_mean) ** 2
    if negative_mean >= positive_mean:  # nothing below the positives: keep them in order
        negative_mean = positive_mean - np.sqrt(floor)
    return Posterior(
        alpha=_clip_share(float(share.mean())),
        negative_mean=float(negative_mean),
        positive_mean=float(positive_mean),
        negative_variance=float(negative_scatter / max(n_negative, 1e-12) + floor),
        positive_variance=float(scatter / n_positive + floor),
    )


def _raw_log_odds(fitted: Posterior, values: Floats) -> Floats:
    odds = np.log(fitted.alpha / (1 - fitted.alpha))
    odds = odds + 0.5 * np.log(fitted.negative_variance / fitted.positive_variance)
    odds = odds + 0.5 * (values - fitted.negative_mean) ** 2 / fitted.negative_variance
    return np.asarray(odds - 0.5 * (values - fitted.positive_mean) ** 2 / fitted.positive_variance)


def _variance_floor(positive: Floats, unlabeled: Floats) -> float:
    everything = np.concatenate([positive, unlabeled])
    return max(1e-4 * float(everything.var()), 1e-12)


def _clip_share(share: float) -> float:
    return float(np.clip(share, _SMALLEST_SHARE, 1 - _SMALLEST_SHARE))
