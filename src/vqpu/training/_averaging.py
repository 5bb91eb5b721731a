"""Weight averaging: checks and predictions use a moving average of the encoder."""

from __future__ import annotations

import copy
from typing import Generic, TypeVar

import torch
from torch import nn

AnyModule = TypeVar("AnyModule", bound=nn.Module)


class WeightAverage(Generic[AnyModule]):
    """Exponential moving average of a module's parameters and buffers.

    Parameters
    ----------
    module : Module
        The module that is trained; it is read, never changed.
    decay : float
        Share of the average that is kept at every step, in [0, 1). 0 follows the module. Early on
        the decay is smaller, ``(1 + step) / (10 + step)``, so that the random start is forgotten.

    Attributes
    ----------
    averaged : Module
        The average, in evaluation mode.
    """

    def __init__(self, module: AnyModule, decay: float) -> None:
        self._module = module
        self._decay = decay
        self.averaged = copy.deepcopy(module).eval().requires_grad_(False)
        self._pairs = list(_matching_tensors(self.averaged, module))

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the module as it is after ``step`` (counted from 1)."""
        decay = min(self._decay, (1 + step) / (10 + step))
        for average, current in self._pairs:
            if average.dtype.is_floating_point:
                average.lerp_(current.to(average.dtype), 1 - decay)
            else:
                average.copy_(current)


def _matching_tensors(
    averaged: nn.Module, module: nn.Module
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    pairs = list(zip(averaged.parameters(), module.parameters(), strict=True))
    buffers = zip(averaged.buffers(), module.buffers(), strict=True)
    return [*pairs, *buffers]
