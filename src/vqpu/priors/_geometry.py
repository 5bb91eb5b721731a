"""The geometric estimate of VQ K-means: positives sit at s = 1 / (1 + alpha)."""

from __future__ import annotations

import math

import numpy as np

from vqpu._posterior import theoretical_alpha
from vqpu.errors import InputError
from vqpu.priors._finding import CONFIDENCE, Finding, Floats


def geometry(positive: Floats, unlabeled: Floats, generator: np.random.Generator) -> Finding:  # noqa: ARG001
    """Estimate alpha by 1 / median(s_P) - 1.

    What a fitted `VQKMeansClassifier` calls ``theoretical_alpha_`` (its ``alpha_`` is "bbe" on the
    same projections). The interval is that of the median by order statistics, so it holds for any
    distribution of s, but says nothing of a network that has not converged or classes that overlap:
    both make alpha too large.

    Parameters
    ----------
    positive, unlabeled : ndarray of shape (n_p,) and (n_u,)
        Projections s(x), or balanced probabilities of P against U.
    generator : Generator
        Not used: nothing is drawn.
    """
    middle = float(np.median(positive))
    if middle <= 0:
        raise InputError(
            f"The median projection of the positives is {middle:.3g}, but 1 / (1 + alpha) is at "
            "least 0.5. Give projections s(x) with unlabelled samples at 0 and positives near 1."
        )
    alpha = theoretical_alpha(positive) if middle > 0.5 else 1 / middle - 1
    low, high = (1 / max(end, 1e-9) - 1 for end in _median_interval(positive))
    return Finding(alpha, (high, low))


def _median_interval(values: Floats) -> tuple[float, float]:
    """Return the order statistics between which the true median lies with 90 % confidence."""
    from scipy.stats import binom

    n = len(values)
    ordered = np.sort(values)
    # The k-th smallest lies above the median with probability P(Binomial(n, 1/2) < k).
    rank = int(binom.ppf((1 - CONFIDENCE) / 2, n, 0.5))
    if rank == 0:
        return -math.inf, math.inf
    return float(ordered[rank - 1]), float(ordered[n - rank])
