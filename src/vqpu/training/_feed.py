"""Batches as a network gets them: fetched, augmented, on the device, with dropout seeded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from vqpu.base._seeding import Stream, derive_seed, seed_torch, torch_generator
from vqpu.base._source import ArraySource
from vqpu.base._split import BalancedBatches, PlainBatches, Split
from vqpu.nn import Augmentation
from vqpu.training._ranks import ALONE, RankBatches, Ranks


class Feed(NamedTuple):
    """Where the samples of a step come from, and what is done to them.

    Attributes
    ----------
    source : ArraySource
    batches : BalancedBatches, PlainBatches or RankBatches
    augmentation : Augmentation
    seed : int
    device : torch.device
    """

    source: ArraySource
    batches: BalancedBatches | PlainBatches | RankBatches
    augmentation: Augmentation
    seed: int
    device: torch.device

    def take(self, step: int) -> tuple[Tensor, int]:
        """Return the samples of step ``step``, positives first, and the number of positives.

        Also seeds torch for this step, so that dropout depends on the seed and the step alone.
        """
        batch = self.batches[step]
        x = torch.cat([self.source.batch(part) for part in batch if len(part)])
        x = self.augmentation(x, torch_generator(self.seed, Stream.AUGMENTATION, step))
        seed_torch(self.device, self.seed, Stream.DROPOUT, step)
        return x.to(self.device), len(batch.positive)


def make_feeds(
    source: ArraySource,
    split: Split,
    *,
    batch_size: int,
    augmentation: Augmentation,
    seed: int,
    device: torch.device,
    is_natural: bool = False,
    ranks: Ranks = ALONE,
) -> list[Feed]:
    """Return a feed of balanced batches for every member, each with a seed of its own.

    Parameters
    ----------
    source : ArraySource
    split : Split
        What each member is trained on.
    batch_size : int
    augmentation : Augmentation
    seed : int
    device : torch.device
    is_natural : bool
        Whether a batch has as many labelled positives as their share of all samples instead.
    ranks : Ranks
        Of several, each has its own part of every batch, and its own augmentation and dropout.
    """
    feeds = []
    for member in range(split.n_members):
        own_seed = derive_seed(seed, Stream.MEMBER, member)
        sets, negatives = split.training_sets(member), split.training_negatives(member)
        batches = BalancedBatches(*sets, batch_size, own_seed, negatives, is_natural=is_natural)
        if ranks.size == 1:
            feeds.append(Feed(source, batches, augmentation, own_seed, device))
            continue
        rank_seed = derive_seed(own_seed, Stream.RANK, ranks.rank)
        feeds.append(Feed(source, RankBatches(batches, ranks), augmentation, rank_seed, device))
    return feeds


def encode_batches(
    encode: Callable[[Tensor, int], Tensor], feeds: Sequence[Feed], step: int
) -> tuple[Tensor, int]:
    """Give every member the batch of its own and join what comes out, positives first.

    Parameters
    ----------
    encode : callable
        Takes a batch and the number of a member, returns one row a sample.
    feeds : sequence of Feed
        One for each member.
    step : int

    Returns
    -------
    encoded : Tensor of shape (n, ...)
    n_positive : int
        How many of its first rows are of labelled positives.
    """
    positive, unlabeled = [], []
    for member, feed in enumerate(feeds):
        x, n_positive = feed.take(step)
        encoded = encode(x, member)
        if len(feeds) == 1:
            return encoded, n_positive
        positive.append(encoded[:n_positive])
        unlabeled.append(encoded[n_positive:])
    return torch.cat(positive + unlabeled), sum(map(len, positive))
