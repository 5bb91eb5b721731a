"""Which samples are trained on and which are kept apart."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu._seeding import Stream, numpy_generator

Indices = NDArray[np.int64]

_SMALLEST_HOLDOUT = 4
_MOST_POSITIVE = 256  # they only say which cluster is theirs
_MOST_UNLABELED = 512
_MOST_HELD_OUT = 2048


class Split(NamedTuple):
    """Labelled positives and unlabelled samples, as indices.

    Attributes
    ----------
    positive, unlabeled : ndarray of int
        Trained on.
    holdout_positive, holdout_unlabeled : ndarray of int
        Never trained on; where nothing was kept apart, the same arrays as the first two.
    """

    positive: Indices
    unlabeled: Indices
    holdout_positive: Indices
    holdout_unlabeled: Indices

    @property
    def n_holdout(self) -> tuple[int, int]:
        """How many labelled positives and unlabelled samples were kept apart."""
        if self.holdout_positive is self.positive:
            return 0, 0
        return len(self.holdout_positive), len(self.holdout_unlabeled)


def split_holdout(is_positive: NDArray[np.bool_], share: float, seed: int) -> Split:
    """Keep a share of both sets apart, unless one is too small to be split.

    Parameters
    ----------
    is_positive : ndarray of bool, shape (n_samples,)
    share : float
    seed : int
    """
    generator = numpy_generator(seed, Stream.HOLDOUT)
    orders = [generator.permutation(np.flatnonzero(mask)) for mask in (is_positive, ~is_positive)]
    counts = [round(share * len(order)) for order in orders]
    if min(counts) < _SMALLEST_HOLDOUT:
        return Split(orders[0], orders[1], orders[0], orders[1])
    kept = [np.sort(order[:count]) for order, count in zip(orders, counts, strict=True)]
    rest = [np.sort(order[count:]) for order, count in zip(orders, counts, strict=True)]
    return Split(rest[0], rest[1], kept[0], kept[1])


def thin_out(split: Split, seed: int) -> Split:
    """Return a fixed random part of each set: a check must stay cheap next to an epoch.

    Parameters
    ----------
    split : Split
    seed : int
    """
    generator = numpy_generator(seed, Stream.CHECK_SAMPLE)

    def some(indices: Indices, count: int) -> Indices:
        if len(indices) <= count:
            return indices
        return np.sort(generator.choice(indices, count, replace=False))

    seen = some(split.positive, _MOST_POSITIVE), some(split.unlabeled, _MOST_UNLABELED)
    if split.holdout_positive is split.positive:
        return Split(*seen, *seen)
    kept = (
        some(split.holdout_positive, _MOST_HELD_OUT),
        some(split.holdout_unlabeled, _MOST_HELD_OUT),
    )
    return Split(*seen, *kept)
