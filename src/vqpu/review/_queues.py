"""Which samples are asked about, and in which order; arrays only, whatever their number."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.priors._posterior import positive_probability
from vqpu.review._audit import audit_order, make_strata, stratum_weights

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Places = NDArray[np.int32]  # there may be millions of them, in every queue
Flags = NDArray[np.bool_]

# Names and what the page says of them; "audit" alone has sampling weights.
QUEUES = {
    "likely": "Most likely hidden positives",
    "doubtful": "Most doubtful",
    "audit": "Random audit",
    "labeled": "Labelled positives that look wrong",
}


class Queues(NamedTuple):
    """The order of every queue, as places among all samples.

    Attributes
    ----------
    orders : dict of ndarray of int
        By the names of :data:`QUEUES`.
    unlabeled : ndarray of int, shape (n_u,)
        Places of unlabelled samples that have a score: what the audit is about.
    strata : ndarray of int, shape (n_u,)
    weights : ndarray of float, shape (n_strata,)
        How many samples one of each stratum stands for, 1 on average.
    """

    orders: dict[str, Places]
    unlabeled: Places
    strata: Ints
    weights: Floats

    def weight_of(self, queue: str, place: int) -> float | None:
        """Return the sampling weight of a decision, None where a queue chooses by score."""
        if queue != "audit":
            return None
        found = int(np.searchsorted(self.unlabeled, place))
        return float(self.weights[self.strata[found]])


def make_queues(scores: Floats, is_labeled: Flags, seed: int) -> Queues:
    """Return all queues; samples without a score are in none.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Log odds; NaN where a sample cannot be judged.
    is_labeled : ndarray of bool, shape (n,)
        Labelled positives.
    seed : int
        Of the audit.
    """
    has_score = np.isfinite(scores)
    unlabeled, labeled = (
        np.flatnonzero(has_score & part).astype(np.int32) for part in (~is_labeled, is_labeled)
    )
    own = scores[unlabeled]
    strata = make_strata(positive_probability(own))
    orders = {
        "likely": unlabeled[np.argsort(-own, kind="stable")],
        "doubtful": unlabeled[np.argsort(np.abs(own), kind="stable")],
        "audit": unlabeled[audit_order(strata, seed)],
        "labeled": labeled[np.argsort(scores[labeled], kind="stable")],
    }
    return Queues(orders, unlabeled, strata, stratum_weights(strata))


class ThresholdCurve(NamedTuple):
    """Expected hidden positives above and below every threshold, for the slider.

    Attributes
    ----------
    sorted_scores : ndarray of shape (n_u,)
        Of unlabelled samples, ascending.
    below : ndarray of shape (n_u + 1,)
        Sum of the probabilities of the first so many.
    """

    sorted_scores: Floats
    below: Floats

    def at(self, threshold: float) -> dict[str, float | int]:
        """Return how many samples, and how many expected positives, lie on either side."""
        place = int(np.searchsorted(self.sorted_scores, threshold, side="right"))
        n, total = len(self.sorted_scores), float(self.below[-1])
        return {
            "n_above": n - place,
            "n_below": place,
            "expected_above": total - float(self.below[place]),
            "expected_below": float(self.below[place]),
        }


def threshold_curve(scores: Floats) -> ThresholdCurve:
    """Return the curve of unlabelled samples.

    Parameters
    ----------
    scores : ndarray of shape (n_u,)
    """
    ordered = np.sort(scores)
    return ThresholdCurve(
        ordered, np.concatenate([[0.0], np.cumsum(positive_probability(ordered))])
    )
