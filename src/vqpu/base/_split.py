"""Which samples a network is trained on, which it is kept from, and the batch of every step."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.base._groups import share_groups
from vqpu.base._labels import KnownLabels
from vqpu.base._seeding import Stream, numpy_generator

Indices = NDArray[np.int64]

_SMALLEST_HOLDOUT = 4
_MOST_POSITIVE = 256  # they only say which cluster is theirs
_MOST_UNLABELED = 512
_MOST_HELD_OUT = 1024
# Unlabelled samples that every member must have left for a further round.
_FEWEST_LEFT = 8
_FEWEST_SHARE_LEFT = 0.02
# What each of several members is kept from, until nothing is left.
_SHARE_OF_A_MEMBER = 0.2


class Sets(NamedTuple):
    """Indices of labelled positives and of unlabelled samples."""

    positive: Indices
    unlabeled: Indices


class Split(NamedTuple):
    """Who is trained on what.

    Attributes
    ----------
    is_positive : ndarray of bool, shape (n_samples,)
        Labelled positives.
    kept_from : ndarray of int, shape (n_samples,)
        The member that is never trained on the sample; -1: every member is.
    n_members : int
    is_left_out : ndarray of bool, shape (n_samples,)
        Unlabelled samples that no member is trained on: an earlier round called them positive.
    known : KnownLabels or None
        Samples that are neither labelled positive nor unlabelled, and where they are from.
    """

    is_positive: NDArray[np.bool_]
    kept_from: NDArray[np.int64]
    n_members: int
    is_left_out: NDArray[np.bool_]
    known: KnownLabels | None = None

    @property
    def is_unlabeled(self) -> NDArray[np.bool_]:
        """Samples that may be hidden positives."""
        return unlabeled_samples(self.is_positive, self.known)

    @property
    def n_holdout(self) -> tuple[int, int]:
        """How many labelled positives and unlabelled samples some member is kept from."""
        held_out = self.kept_from >= 0
        return int((held_out & self.is_positive).sum()), int((held_out & self.is_unlabeled).sum())

    @property
    def keeps_apart(self) -> bool:
        """Whether some member is kept from some samples."""
        return bool((self.kept_from >= 0).any())

    def every_set(self) -> Sets:
        """Return all labelled positives and all unlabelled samples."""
        return self._sets(np.full(len(self.is_positive), True))

    def training_sets(self, member: int) -> Sets:
        """Return what a member is trained on."""
        return self._sets((self.kept_from != member) & ~self.is_left_out)

    def training_negatives(self, member: int) -> Indices:
        """Return the known negatives that a member is trained on; none where none is known."""
        if self.known is None:
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero((self.kept_from != member) & self.known.is_negative)

    def without_confirmed(self, sets: Sets) -> Sets:
        """Return sets without the positives that a review confirmed: they are no random sample."""
        if self.known is None or self.known.is_confirmed is None:
            return sets
        return sets._replace(positive=sets.positive[~self.known.is_confirmed[sets.positive]])

    def judged_sets(self) -> Sets:
        """Return what some member is kept from; everything, if nothing was kept apart."""
        held_out = self.kept_from >= 0
        return self._sets(held_out if held_out.any() else np.full(len(held_out), True))

    def leaving_out(self, looks_positive: NDArray[np.bool_]) -> Split | None:
        """Return who is trained on what in the next round, None if there should be none.

        Members must share out all samples, so that nobody is judged by a member that was told
        that it is negative; somebody must look positive, and enough samples must not.

        Parameters
        ----------
        looks_positive : ndarray of bool, shape (n_u,)
            For every unlabelled sample, what the member says that was kept from it.
        """
        if (self.kept_from < 0).any() or not looks_positive.any():
            return None
        is_left_out = np.zeros_like(self.is_positive)
        is_left_out[self.is_unlabeled] = looks_positive
        following = self._replace(is_left_out=is_left_out)
        left = [len(following.training_sets(member).unlabeled) for member in range(self.n_members)]
        fewest = max(_FEWEST_LEFT, _FEWEST_SHARE_LEFT * len(looks_positive))
        return following if min(left) >= fewest else None

    def unseen(self, by_member: NDArray[Any], indices: Indices) -> NDArray[Any]:
        """Return, for each sample, what the member says that was kept from it.

        Parameters
        ----------
        by_member : ndarray of shape (n, n_members)
            What every member says of the samples.
        indices : ndarray of int, shape (n,)
            Which samples they are.

        Returns
        -------
        values : ndarray of shape (n,)
            The members' mean for samples that all of them were trained on.
        """
        member = self.kept_from[indices]
        chosen = by_member[np.arange(len(indices)), np.maximum(member, 0)]
        return np.where(member >= 0, chosen, by_member.mean(axis=1))

    def _sets(self, mask: NDArray[np.bool_]) -> Sets:
        return Sets(
            np.flatnonzero(mask & self.is_positive), np.flatnonzero(mask & self.is_unlabeled)
        )


def unlabeled_samples(
    is_positive: NDArray[np.bool_], known: KnownLabels | None
) -> NDArray[np.bool_]:
    """Return which samples are unlabelled: neither labelled positive nor known negatives.

    Parameters
    ----------
    is_positive : ndarray of bool, shape (n_samples,)
    known : KnownLabels or None
    """
    return ~is_positive if known is None else ~(is_positive | known.is_negative)


def weight_of_negatives(n_positive: int, n_negative: int) -> float:
    """Return the share of known negatives in what is drawn to the unlabelled anchor.

    A known negative weighs what a labelled positive weighs, all of them together at most half:
    unlabelled samples, the only ones that are spread over all negatives, keep the other.

    Parameters
    ----------
    n_positive, n_negative : int
        Labelled positives and known negatives.

    Examples
    --------
    >>> weight_of_negatives(100, 10), weight_of_negatives(100, 1000)
    (0.1, 0.5)
    """
    return min(0.5, n_negative / n_positive)


def split_holdout(
    is_positive: NDArray[np.bool_],
    share: float,
    n_members: int,
    seed: int,
    groups: NDArray[np.int64] | None = None,
    known: KnownLabels | None = None,
) -> Split:
    """Keep every member from a part of both sets, unless one of them is too small.

    One member is kept from ``share`` of the samples, two to four from a fifth each; five or more
    share all of them out, so that there is an unseen judgement of every sample.

    Parameters
    ----------
    is_positive : ndarray of bool, shape (n_samples,)
    share : float
        0 keeps nothing apart.
    n_members : int
    seed : int
    groups : ndarray of int, shape (n_samples,), or None
        Numbers from 0 of groups whose samples stay on one side.
    known : KnownLabels or None
        Known negatives are shared out like the two sets, apart from them.
    """
    generator = numpy_generator(seed, Stream.HOLDOUT)
    if groups is not None:
        return _split_groups(is_positive, share, n_members, generator, groups, known)
    kept_from = np.full(len(is_positive), -1, dtype=np.int64)
    masks = [is_positive, unlabeled_samples(is_positive, known)]
    masks += [] if known is None else [known.is_negative]
    orders = [generator.permutation(np.flatnonzero(mask)) for mask in masks]
    held_out = share if n_members == 1 else min(1.0, n_members * _SHARE_OF_A_MEMBER)
    counts = [round(held_out * len(order)) for order in orders]
    if share > 0 and min(counts[:2]) >= max(_SMALLEST_HOLDOUT, n_members):
        for order, count in zip(orders, counts, strict=True):
            kept_from[order[:count]] = np.arange(count) % n_members
    return Split(is_positive, kept_from, n_members, np.zeros_like(is_positive), known)


def _split_groups(
    is_positive: NDArray[np.bool_],
    share: float,
    n_members: int,
    generator: np.random.Generator,
    groups: NDArray[np.int64],
    known: KnownLabels | None,
) -> Split:
    """Share whole groups out, the largest first, each to the part that lacks most of its kind."""
    kept_from = np.full(len(is_positive), -1, dtype=np.int64)
    n_folds = max(round(1 / _SHARE_OF_A_MEMBER), n_members)
    if n_members == 1:
        n_folds = max(2, round(1 / share) if share > 0 else 2)
    fold_of = share_groups(is_positive, groups, n_folds, generator)
    members = fold_of[groups]
    is_kept = members < n_members
    masks = (is_positive, unlabeled_samples(is_positive, known))
    counts = [
        int((is_kept & mask & (members == member)).sum())
        for mask in masks
        for member in range(n_members)
    ]
    left = [
        int((mask & (members != member)).sum()) for mask in masks for member in range(n_members)
    ]
    fewest = 1 if n_members > 1 else _SMALLEST_HOLDOUT
    if share > 0 and min(counts) >= fewest and min(left) >= _SMALLEST_HOLDOUT:
        kept_from[is_kept] = members[is_kept]
    return Split(is_positive, kept_from, n_members, np.zeros_like(is_positive), known)


class CheckSample(NamedTuple):
    """What a check looks at.

    Attributes
    ----------
    clustered : Sets
        They are clustered.
    judged : Sets
        They say how good the check is; the same object as ``clustered`` if all members together
        are kept from everything, or from nothing.
    """

    clustered: Sets
    judged: Sets


def draw_check_sample(split: Split, seed: int) -> CheckSample:
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

    is_held_out = split.kept_from >= 0
    if is_held_out[split.is_positive | split.is_unlabeled].all():
        judged = Sets(*(some(part, _MOST_HELD_OUT) for part in split.judged_sets()))
        return CheckSample(judged, judged)
    trained = split.training_sets(0)
    clustered = Sets(
        some(trained.positive, _MOST_POSITIVE), some(trained.unlabeled, _MOST_UNLABELED)
    )
    if not is_held_out.any():
        return CheckSample(clustered, clustered)
    return CheckSample(
        clustered, Sets(*(some(part, _MOST_HELD_OUT) for part in split.judged_sets()))
    )


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
    negative : ndarray of int or None
        Known negatives: of the unlabelled half they get the share that
        :func:`weight_of_negatives` says, one at least and each of them once at most.
    is_natural : bool
        Whether each set has its own share of a batch instead, as in one shuffled list of both; at
        least one sample.
    """

    def __init__(
        self,
        positive: Indices,
        unlabeled: Indices,
        batch_size: int,
        seed: int,
        negative: Indices | None = None,
        *,
        is_natural: bool = False,
    ) -> None:
        share = len(positive) / (len(positive) + len(unlabeled)) if is_natural else 0.5
        n_positive = max(1, int(share * batch_size))
        n_unlabeled = max(1, batch_size - n_positive if is_natural else batch_size // 2)
        self._positive = _EndlessOrder(positive, n_positive, seed, Stream.POSITIVE_ORDER)
        self._negative: _EndlessOrder | None = None
        if negative is not None and len(negative):
            n_unlabeled = max(2, min(n_unlabeled, 2 * len(unlabeled)))
            share = weight_of_negatives(len(positive), len(negative))
            count = min(max(1, round(share * n_unlabeled)), len(negative))
            self._negative = _EndlessOrder(negative, count, seed, Stream.NEGATIVE_ORDER)
            n_unlabeled -= count
        self._unlabeled = _EndlessOrder(unlabeled, n_unlabeled, seed, Stream.UNLABELED_ORDER)

    @property
    def steps_per_epoch(self) -> int:
        """Steps after which the larger set has been gone through once."""
        return max(self._positive.steps_per_round, self._unlabeled.steps_per_round)

    def __getitem__(self, step: int) -> Batch:
        drawn = self._unlabeled.take(step)
        if self._negative is not None:
            drawn = np.concatenate([drawn, self._negative.take(step)])
        return Batch(self._positive.take(step), drawn)


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
