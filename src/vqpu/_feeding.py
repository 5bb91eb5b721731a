"""Batches as a network gets them: fetched, augmented, on the device, with dropout seeded."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from vqpu._seeding import Stream, derive_seed, torch_generator
from vqpu._sources import ArraySource
from vqpu.nn import Augmentation
from vqpu.training import BalancedBatches


class Feed(NamedTuple):
    """Where the samples of a step come from, and what is done to them.

    Attributes
    ----------
    source : ArraySource
    batches : BalancedBatches
    augmentation : Augmentation
    seed : int
    device : torch.device
    """

    source: ArraySource
    batches: BalancedBatches
    augmentation: Augmentation
    seed: int
    device: torch.device

    def take(self, step: int) -> tuple[Tensor, int]:
        """Return the samples of step ``step``, positives first, and the number of positives.

        Also seeds torch for this step, so that dropout depends on the seed and the step alone.
        """
        batch = self.batches[step]
        x = torch.cat([self.source.batch(batch.positive), self.source.batch(batch.unlabeled)])
        x = self.augmentation(x, torch_generator(self.seed, Stream.AUGMENTATION, step))
        torch.manual_seed(derive_seed(self.seed, Stream.DROPOUT, step))
        return x.to(self.device), len(batch.positive)
