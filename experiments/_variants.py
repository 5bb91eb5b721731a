"""VQ K-means with a change that is no parameter of it, for questions of sensitivity."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from vqpu.errors import InputError
from vqpu.nn import Codebook, ConvEncoder
from vqpu.vq._classifier import VQKMeansClassifier


def varied_classifier(
    codebook_seed: int | None = None, anchor_gap: float | None = None
) -> type[VQKMeansClassifier]:
    """Return a classifier whose codebook is drawn or placed differently.

    Parameters
    ----------
    codebook_seed : int or None
        Draws the codebook alone; everything else is drawn with ``random_state``.
    anchor_gap : float or None
        Moves c_m towards c_1, to this share of the distance that was drawn: mu_P near mu_U.
    """
    if codebook_seed is None and anchor_gap is None:
        return VQKMeansClassifier

    class Varied(VQKMeansClassifier):
        def _draw_codebook(self, seed: int) -> Codebook:
            book = super()._draw_codebook(seed if codebook_seed is None else codebook_seed)
            if anchor_gap is not None:
                _move_anchor(book, anchor_gap)
            return book

    return Varied


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
