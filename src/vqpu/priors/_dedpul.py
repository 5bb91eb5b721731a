"""DEDPUL (Ivanov 2020, "DEDPUL: difference-of-estimated-densities-based PU learning")."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vqpu.priors._prior_estimate import Finding, Floats

LARGEST_SET = 5_000  # of P and of U; larger ones are drawn from, since densities cost n_p n_u
_BANDWIDTH_POSITIVE = 0.1  # in standard deviations, as all numbers here from the author's code
_BANDWIDTH_UNLABELED = 0.05
_LARGEST_RATIO = 50.0
_FEW_NEIGHBORS = 5
_TOLERANCE = 1e-5
_MAX_ROUNDS = 1_000
_GRID_STEP = 0.001
_LARGEST_GAP = 0.05
_NO_BEND = 1e-9  # rounding
_EDGE = 1e-5  # keeps log odds finite


def dedpul(positive: Floats, unlabeled: Floats, generator: np.random.Generator) -> Finding:
    """Estimate alpha from the ratio of the densities of P and U along the score, and EM.

    Parameters
    ----------
    positive, unlabeled : ndarray of shape (n_p,) and (n_u,)
        Probabilities of P against U, in [0, 1]; their log odds are used.
    generator : Generator
        Draws from sets of more than 5,000 samples.
    """
    parts = [
        generator.choice(part, LARGEST_SET, replace=False) if len(part) > LARGEST_SET else part
        for part in (positive, unlabeled)
    ]
    threshold = (parts[0].mean() + parts[1].mean()) / 2
    ratio = density_ratio(log_odds(parts[0]), log_odds(parts[1]))
    smooth = smooth_ratio(ratio, np.sort(parts[1]) >= threshold)
    return Finding(choose_alpha(smooth))


def log_odds(scores: Floats) -> Floats:
    """Return log(s / (1 - s)), finite at 0 and 1."""
    inner = np.clip(scores, _EDGE, 1 - _EDGE)
    return np.asarray(np.log(inner / (1 - inner)))


def density_ratio(positive: Floats, unlabeled: Floats) -> Floats:
    """Return f_P / f_U at the unlabelled samples in ascending order, by Gaussian kernels."""
    points = np.sort(unlabeled)
    above = _density(positive, points, _BANDWIDTH_POSITIVE)
    below = _density(unlabeled, points, _BANDWIDTH_UNLABELED)
    return np.minimum(above / below, _LARGEST_RATIO)


def _density(values: Floats, points: Floats, bandwidth: float) -> Floats:
    width = max(bandwidth * float(values.std(ddof=1)), 1e-9)
    density = np.empty(len(points))
    for start in range(0, len(points), 500):  # 500 rows at once keep memory small
        distance = (points[start : start + 500, None] - values) / width
        density[start : start + 500] = np.exp(-0.5 * distance**2).mean(axis=1)
    return np.asarray(density / (width * np.sqrt(2 * np.pi)))


def smooth_ratio(ratio: Floats, is_high: NDArray[np.bool_]) -> Floats:
    """Return the ratio after the paper's two corrections: monotone where high, rolling medians.

    Parameters
    ----------
    ratio : ndarray of shape (n_u,)
        In ascending order of the score.
    is_high : ndarray of bool, shape (n_u,)
        Scores above the threshold, from which on the ratio may not fall.
    """
    smooth = _rolling_median(ratio, _FEW_NEIGHBORS)
    smooth[is_high] = np.maximum.accumulate(smooth[is_high])
    return _rolling_median(smooth, len(ratio) // 20)


def _rolling_median(values: Floats, n_neighbors: int) -> Floats:
    """Medians of up to ``n_neighbors`` on each side, the window staying symmetric at the ends."""
    reach = np.minimum(np.arange(len(values)), np.arange(len(values))[::-1]).clip(max=n_neighbors)
    return np.array(
        [np.median(values[i - k : i + k + 1]) for i, k in enumerate(reach)], dtype=np.float64
    )


def posterior(ratio: Floats, alpha: float) -> Floats:
    """Return p(positive | x in U) = alpha f_P / f_U, at most 1."""
    return np.minimum(alpha * ratio, 1.0)


def converge(ratio: Floats) -> float:
    """Return where EM goes from alpha = 1: alpha is again the mean posterior."""
    alpha = 1.0
    for _ in range(_MAX_ROUNDS):
        probability = posterior(ratio, alpha)
        mean = float(probability.mean())
        # Once no posterior is cut at 1, EM has passed the true alpha and would go on to 0. A
        # large gap means that P lies where U has nothing, and then 0 is right.
        gap = abs(mean - alpha)
        if gap < _TOLERANCE or (probability.max() < 1 and gap < _LARGEST_GAP):
            break
        alpha = mean
    return alpha


def choose_alpha(ratio: Floats) -> float:
    r"""Return EM's limit, or the sharpest bend of the EM gap where EM runs past it to 0.

    The gap is :math:`D(\alpha) = \alpha - E_U[p(y = 1 \mid x)]`, 0 below the true alpha and growing
    above it. Noisy densities may leave it above 0 everywhere, and then EM falls to 0; the bend,
    the largest second difference where the gap is small, is still there.
    """
    converged = converge(ratio)
    grid = np.arange(1.0, 0.0, -_GRID_STEP)
    gap = grid - np.array([posterior(ratio, alpha).mean() for alpha in grid])
    bend = np.where(gap[1:-1] < _LARGEST_GAP, np.diff(gap, 2), -np.inf)
    sharpest = int(np.argmax(bend))
    has_root = int((gap < 0).sum()) > 1 and converged > _GRID_STEP
    if has_root or bend[sharpest] < _NO_BEND:
        return converged
    return max(converged, float(grid[1:-1][sharpest]))
