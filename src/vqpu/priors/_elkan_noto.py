"""Elkan and Noto 2008, "Learning classifiers from only positive and unlabeled data"."""

from __future__ import annotations

import numpy as np

from vqpu.errors import InputError
from vqpu.priors._prior_estimate import Finding, Floats, hidden_share


def elkan_noto(positive: Floats, unlabeled: Floats, generator: np.random.Generator) -> Finding:  # noqa: ARG001
    """Estimate alpha from c, the mean probability of being labelled over P (their e1).

    Right where the classes do not overlap and the scores are calibrated; overlap makes it too
    large, by more than its standard error even in easy cases, so no interval is given.

    Parameters
    ----------
    positive, unlabeled : ndarray of shape (n_p,) and (n_u,)
        Balanced probabilities s(x) of P against U, in [0, 1].
    generator : Generator
        Not used: nothing is drawn.
    """
    sizes = len(positive), len(unlabeled)
    frequency = float(labelled_probability(positive, *sizes).mean())
    if frequency == 0:
        raise InputError(
            "All positives have score 0, so c is 0 and alpha has no value. Larger scores must "
            "mean more positive."
        )
    return Finding(hidden_share(frequency, *sizes))


def labelled_probability(scores: Floats, n_positive: int, n_unlabeled: int) -> Floats:
    """Return g(x) = p(labelled | x) in P and U put together, from the balanced s(x)."""
    return scores * n_positive / (scores * n_positive + (1 - scores) * n_unlabeled)
