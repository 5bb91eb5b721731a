"""Mixup: batches half-way between samples."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from vqpu.base._seeding import Stream, numpy_generator


class Mix(NamedTuple):
    """How a batch is mixed.

    Attributes
    ----------
    share : float
        lambda, the weight of the first sample of every pair.
    order : Tensor of int, shape (n_partners,)
        A random order of those who may be second.
    """

    share: float
    order: Tensor

    def blend(self, first: Tensor, second: Tensor) -> Tensor:
        """Return ``lambda first + (1 - lambda) second``; whole numbers become floats."""
        return _floating(first) * self.share + _floating(second) * (1 - self.share)

    def partners(self, n: int) -> Tensor:
        """Return the places of n partners, all of them in turn."""
        return self.order.repeat(-(-n // len(self.order)))[:n]


def draw_mix(n_partners: int, concentration: float, seed: int, step: int) -> Mix:
    """Draw lambda from Beta(concentration, concentration) and an order, for one step.

    Parameters
    ----------
    n_partners : int
    concentration : float
    seed, step : int
    """
    generator = numpy_generator(seed, Stream.MIXUP, step)
    share = float(generator.beta(concentration, concentration))
    return Mix(share, torch.from_numpy(generator.permutation(n_partners)))


def _floating(x: Tensor) -> Tensor:
    return x if x.is_floating_point() else x.float()
