"""The geometric estimate of VQ K-means: positives sit at s = 1 / (1 + alpha)."""

from __future__ import annotations

import numpy as np

from vqpu.errors import InputError
from vqpu.priors._prior_estimate import Finding, Floats


def geometry(positive: Floats, unlabeled: Floats, generator: np.random.Generator) -> Finding:  # noqa: ARG001
    """Estimate alpha by 1 / median(s_P) - 1.

    What a fitted `VQKMeansClassifier` calls ``theoretical_alpha_``. Its ``alpha_`` is "bbe" on the
    projections of the last round; only those of the first mean what this estimate needs. A network
    that has not converged, or classes that overlap, make it too large, by more than chance does,
    so no interval is given.

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
    return Finding(1 / middle - 1)
