"""Changes of VQ K-means that are no parameters of it, for questions of sensitivity."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn

from vqpu.base._seeding import Stream, torch_generator
from vqpu.errors import InputError
from vqpu.nn import Codebook, ConvEncoder
from vqpu.vq import _rounds
from vqpu.vq._network import draw_codebook


@contextmanager
def varied_codebook(
    codebook_seed: int | None = None, anchor_gap: float | None = None
) -> Iterator[None]:
    """Let fits within the block draw or place the codebook differently.

    The function ``draw_codebook`` is replaced in every module of ours that has it.

    Parameters
    ----------
    codebook_seed : int or None
        Draws the codebook alone; everything else is drawn with ``random_state``.
    anchor_gap : float or None
        Moves c_m towards c_1, to this share of the distance that was drawn: mu_P near mu_U.
    """

    def draw(*sizes: int, generator: torch.Generator, **how: Any) -> Codebook:
        if codebook_seed is not None:
            generator = torch_generator(codebook_seed, Stream.CODEBOOK)
        book = draw_codebook(*sizes, generator=generator, **how)
        if anchor_gap is not None:
            _move_anchor(book, anchor_gap)
        return book

    users = [
        module
        for name, module in sys.modules.items()
        if name.startswith("vqpu.") and getattr(module, "draw_codebook", None) is draw_codebook
    ]
    with ExitStack() as stack:
        for module in users:
            stack.enter_context(patch.object(module, "draw_codebook", draw))
        yield


@contextmanager
def varied_margin(margin: float) -> Iterator[None]:
    """Let fits of trees within the block take alpha another margin larger in their borders.

    Parameters
    ----------
    margin : float
        Standard errors.
    """
    with patch.object(_rounds, "RAISED_FOR_TREES", margin):
        yield


@torch.no_grad()
def _move_anchor(book: Codebook, share: float) -> None:
    moved = torch.lerp(book.vectors[0], book.vectors[-1], share)
    book.vectors[-1] = moved
    book.initial_positive_anchor.copy_(moved)


class PooledConvEncoder(nn.Module):
    """The convolutional encoder with its last feature map averaged down to fewer places.

    Parameters
    ----------
    input_shape : tuple (channels, height, width)
    vector_dim : int
    n_places : int
        K, a square.
    """

    def __init__(self, input_shape: tuple[int, ...], vector_dim: int, n_places: int) -> None:
        super().__init__()
        self.encoder = ConvEncoder(input_shape, vector_dim, 0.0)
        self.pool = nn.AdaptiveAvgPool2d(math.isqrt(n_places))

    def forward(self, x: Tensor) -> Tensor:
        """Return vectors of shape (n, n_places, vector_dim)."""
        vectors = self.encoder(x)  # (n, height * width, p)
        height = math.isqrt(vectors.shape[1])  # images of the tasks are square
        grid = vectors.transpose(1, 2).unflatten(2, (height, -1))
        pooled: Tensor = self.pool(grid).flatten(2).transpose(1, 2)
        return pooled


def pooled_encoder(n_places: int) -> Callable[[tuple[int, ...], int], nn.Module]:
    """Return an ``encoder=`` with K = ``n_places`` vectors, for square images."""
    if math.isqrt(n_places) ** 2 != n_places:
        raise InputError(f"n_places must be a square such as 4 or 16. Got {n_places} instead.")

    def build(input_shape: tuple[int, ...], vector_dim: int) -> nn.Module:
        return PooledConvEncoder(input_shape, vector_dim, n_places)

    return build
