"""The best bin: where labelled positives and unlabelled samples are most alike (NumPy only)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_CONFIDENCE = 0.1  # delta of the bound
_SLACK = 0.01  # gamma of the bound


class BestBin(NamedTuple):
    """All scores above the best threshold.

    Attributes
    ----------
    ratio : float
        Share of U in the bin divided by the share of P in it; at least alpha, but for chance.
    chance : float
        What chance may add to ``ratio`` or take from it, with confidence 1 - delta.
    """

    ratio: float
    chance: float


def find_best_bin(positive: Floats, unlabeled: Floats) -> BestBin | None:
    r"""Choose the threshold by best bin estimation (Garg et al. 2021, algorithm 1).

    Above any threshold the share of U cannot be less than alpha times the share of P, with equality
    if no negative is there. The threshold is chosen where

    .. math:: \frac{q_U}{q_P} + \frac{1 + \gamma}{q_P} \left(
        \sqrt{\frac{\log(4/\delta)}{2 n_u}} + \sqrt{\frac{\log(4/\delta)}{2 n_p}} \right)

    is least, q being the shares above it.

    Parameters
    ----------
    positive, unlabeled : ndarray of shape (n_p,) and (n_u,)
        Scores of samples that were not trained on; larger means more positive.

    Returns
    -------
    BestBin or None
        None if no bin holds two samples of each set.
    """
    ascending = np.sort(unlabeled)
    descending = ascending[::-1]
    n_above = np.arange(1, len(unlabeled) + 1)
    n_positive = _count_reaching(np.sort(positive), ascending)[::-1]
    # Both counts only grow, so the bins that hold enough are the last ones.
    first = max(1, int(np.searchsorted(n_positive, 1, side="right")))
    if first >= len(unlabeled):
        return None
    share_positive = n_positive[first:] / len(positive)
    ratio = n_above[first:] / len(unlabeled)
    ratio /= share_positive
    chance = term_of_chance(len(positive), len(unlabeled))
    bound = ratio + (1 + _SLACK) * chance / share_positive
    # Unlabelled samples of one score enter a bin together, or the ratio would be too small.
    bound[:-1][descending[first + 1 :] == descending[first:-1]] = np.inf
    best = int(np.argmin(bound))
    return BestBin(float(ratio[best]), float(bound[best] - ratio[best]))


def term_of_chance(n_positive: float, n_unlabeled: float) -> float:
    r"""Return what the bound divides by q_P: the sum of both roots, without the slack gamma.

    Parameters
    ----------
    n_positive, n_unlabeled : float
        Samples of both sets.
    """
    of_both = 1 / math.sqrt(n_unlabeled) + 1 / math.sqrt(n_positive)
    return math.sqrt(math.log(4 / _CONFIDENCE) / 2) * of_both


def _count_reaching(positive: Floats, thresholds: Floats) -> NDArray[np.int64]:
    """Count, for each of the ascending thresholds, the (ascending) positives at or above it."""
    # Looking up the fewer P among U, not U among P, is what keeps this near the cost of sorting.
    n_reached = np.searchsorted(thresholds, positive, side="right")
    n_lost = np.cumsum(np.bincount(n_reached, minlength=len(thresholds) + 1))
    return len(positive) - n_lost[:-1]
