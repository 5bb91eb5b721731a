"""Elkan and Noto 2008, "Learning classifiers from only positive and unlabeled data"."""

from __future__ import annotations

import math

import numpy as np

from vqpu.errors import InputError
from vqpu.priors._finding import Finding, Floats, hidden_share

_NORMAL_QUANTILE = 1.6448536269514722  # two-sided 90 %


def elkan_noto(positive: Floats, unlabeled: Floats, generator: np.random.Generator) -> Finding:  # noqa: ARG001
    """Estimate alpha from c, the mean probability of being labelled over P (their e1).

    Right where the classes do not overlap and the scores are calibrated; overlap makes it too
    large. The interval comes from the standard error of c: chance alone, not that error.

    Parameters
    ----------
    positive, unlabeled : ndarray of shape (n_p,) and (n_u,)
        Balanced probabilities s(x) of P against U, in [0, 1].
    generator : Generator
        Not used: nothing is drawn.
    """
    sizes = len(positive), len(unlabeled)
    labeled = labelled_probability(positive, *sizes)
    frequency = float(labeled.mean())
    margin = _NORMAL_QUANTILE * float(labeled.std(ddof=1)) / math.sqrt(len(labeled))
    if frequency == 0:
        raise InputError(
            "All positives have score 0, so c is 0 and alpha has no value. Larger scores must "
            "mean more positive."
        )
    low = hidden_share(min(frequency + margin, 1.0), *sizes)
    high = hidden_share(frequency - margin, *sizes) if margin < frequency else math.inf
    return Finding(hidden_share(frequency, *sizes), (low, high))


def labelled_probability(scores: Floats, n_positive: int, n_unlabeled: int) -> Floats:
    """Return g(x) = p(labelled | x) in P and U put together, from the balanced s(x)."""
    return scores * n_positive / (scores * n_positive + (1 - scores) * n_unlabeled)
