"""Best bin estimation (Garg et al. 2021, "Mixture proportion estimation and PU learning")."""

from __future__ import annotations

import numpy as np

from vqpu.errors import InputError
from vqpu.priors._best_bin import find_best_bin
from vqpu.priors._prior_estimate import Finding, Floats


def bbe(positive: Floats, unlabeled: Floats, generator: np.random.Generator) -> Finding:  # noqa: ARG001
    """Estimate alpha by the ratio of shares above the best threshold.

    The interval is the method's own bound at that threshold. It holds the ratio there; alpha is
    at most that ratio and equals it if no negative scores that high. So the upper end always
    speaks of alpha, the lower end only where some scores are reached by positives alone.

    Parameters
    ----------
    positive, unlabeled : ndarray of shape (n_p,) and (n_u,)
        Any scores; only their order counts.
    generator : Generator
        Not used: nothing is drawn.
    """
    found = find_best_bin(positive, unlabeled)
    if found is None:
        raise InputError(
            f"All but one of the {len(positive)} positives score below every unlabelled sample, so "
            "no threshold has two of each above it. Larger scores must mean more positive."
        )
    return Finding(found.ratio, (found.ratio - found.chance, found.ratio + found.chance))
