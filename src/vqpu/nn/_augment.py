"""Augmentation of image batches: mirror and shift, before anything else touches the pixels."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class Augmentation(NamedTuple):
    """What may be done to an image without changing what it shows.

    Attributes
    ----------
    flip : bool
        Mirror left and right with probability one half.
    shift : int
        Largest shift in pixels, up, down, left and right; border pixels are repeated.
    """

    flip: bool = False
    shift: int = 0

    def __call__(self, images: Tensor, generator: torch.Generator | None) -> Tensor:
        """Return a randomly changed copy of ``images`` of shape (n, channels, height, width).

        Gradients go through it. Without a generator it draws from torch's own.
        """
        if not (self.flip or self.shift):
            return images
        n, _, height, width = images.shape
        rows = _shifted_places(n, height, self.shift, generator)
        columns = _shifted_places(n, width, self.shift, generator)
        if self.flip:
            mirrored = torch.rand(n, 1, generator=generator) < 0.5
            columns = torch.where(mirrored, columns.flip(1), columns)
        # One flat look-up of whole pixels; images come with their channels side by side.
        pixels = images.permute(0, 2, 3, 1).reshape(n * height * width, -1)
        lines = torch.arange(n).unsqueeze(1) * height + rows
        places = (lines * width).unsqueeze(2) + columns.unsqueeze(1)
        moved = pixels.index_select(0, places.flatten().to(pixels.device)).view(
            n, height, width, -1
        )
        return moved.permute(0, 3, 1, 2)


def _shifted_places(n: int, size: int, shift: int, generator: torch.Generator | None) -> Tensor:
    """Return (n, size) source places along one axis, clamped to the image."""
    offsets = torch.randint(-shift, shift + 1, (n, 1), generator=generator)
    return (torch.arange(size) + offsets).clamp_(0, size - 1)
