"""Batches of one half labelled positives and one half unlabelled samples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.base._seeding import Stream, numpy_generator

Indices = NDArray[np.int64]


class Batch(NamedTuple):
    """Indices of one step's samples."""

    positive: Indices
    unlabeled: Indices


class BalancedBatches:
    """Batch number ``step``, computed from the seed and the step alone.

    Each set is gone through in a new random order every round; no state is carried from step to
    step, so training can be taken up again at any of them.

    Parameters
    ----------
    positive, unlabeled : ndarray of int
        Indices of the samples to train on.
    batch_size : int
        Half of it is drawn from each set, or the whole set where that is smaller.
    seed : int
    """

    def __init__(self, positive: Indices, unlabeled: Indices, batch_size: int, seed: int) -> None:
        half = max(1, batch_size // 2)
        self._positive = _EndlessOrder(positive, half, seed, Stream.POSITIVE_ORDER)
        self._unlabeled = _EndlessOrder(unlabeled, half, seed, Stream.UNLABELED_ORDER)

    @property
    def steps_per_epoch(self) -> int:
        """Steps after which the larger set has been gone through once."""
        return max(self._positive.steps_per_round, self._unlabeled.steps_per_round)

    def __getitem__(self, step: int) -> Batch:
        return Batch(self._positive.take(step), self._unlabeled.take(step))


class PlainBatches:
    """Batches of one set alone, the other part empty; otherwise like :class:`BalancedBatches`.

    Parameters
    ----------
    indices : ndarray of int
        Indices of the samples to train on.
    batch_size : int
    seed : int
    """

    def __init__(self, indices: Indices, batch_size: int, seed: int) -> None:
        self._order = _EndlessOrder(indices, batch_size, seed, Stream.POSITIVE_ORDER)

    @property
    def steps_per_epoch(self) -> int:
        """Steps after which the set has been gone through once."""
        return self._order.steps_per_round

    def __getitem__(self, step: int) -> Batch:
        return Batch(self._order.take(step), np.empty(0, dtype=np.int64))


class _EndlessOrder:
    """One random order of a set after another, cut into pieces of equal size."""

    def __init__(self, indices: Indices, size: int, seed: int, stream: Stream) -> None:
        self._indices = indices
        self._size = min(size, len(indices))
        self._seed, self._stream = seed, stream
        self._orders: dict[int, Indices] = {}

    @property
    def steps_per_round(self) -> int:
        return -(-len(self._indices) // self._size)

    def take(self, step: int) -> Indices:
        places = np.arange(step * self._size, (step + 1) * self._size)
        rounds, offsets = np.divmod(places, len(self._indices))
        first, last = int(rounds[0]), int(rounds[-1])
        if first == last:
            return self._order(first)[offsets]
        return np.where(rounds == first, self._order(first)[offsets], self._order(last)[offsets])

    def _order(self, number: int) -> Indices:
        if number not in self._orders:
            generator = numpy_generator(self._seed, self._stream, number)
            kept = {key: order for key, order in self._orders.items() if key == number - 1}
            self._orders = {**kept, number: generator.permutation(self._indices)}
        return self._orders[number]
