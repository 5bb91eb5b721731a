"""Encoder and codebook as one network, and what it says of many samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vqpu.base._inference import encode_in_chunks
from vqpu.base._source import ArraySource
from vqpu.nn import Codebook, EncoderEnsemble, nearest_code, project_on_anchors

Search = Callable[[Tensor, Tensor], Tensor]

ENCODINGS = ("codes", "constant", "distribution")


class Encodings(NamedTuple):
    """What the network says of n samples.

    Attributes
    ----------
    representation : ndarray of shape (n, n_members * K) or (n, n_members * K * p)
        Code indices, or the vectors themselves where the encoding is continuous.
    member_projections : ndarray of float64, shape (n, n_members)
        s(x), the place between the anchors, according to each member.
    """

    representation: NDArray[Any]
    member_projections: NDArray[np.float64]

    def at(self, places: NDArray[np.int64]) -> Encodings:
        """Return the encodings of some of the samples."""
        return Encodings(self.representation[places], self.member_projections[places])

    def and_also(self, other: Encodings) -> Encodings:
        """Return the encodings of these samples and of those."""
        return Encodings(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))

    @property
    def projection(self) -> NDArray[np.float64]:
        """s(x), the mean over the members, shape (n,)."""
        return np.asarray(self.member_projections.mean(axis=1))


class SampleEncoder(Protocol):
    """What gives the encodings of a source: a network, or trees."""

    codebook: Codebook

    def encode(
        self, source: ArraySource, indices: NDArray[np.int64] | None, device: torch.device, /
    ) -> Encodings:
        """Return the encodings of some samples of a source, or of all of them."""

    def project(self, source: ArraySource, device: torch.device, /) -> NDArray[np.float64]:
        """Return s(x) of all samples of a source, without looking up any code."""


class VQNetwork(nn.Module):
    """f_theta and the codebook.

    Parameters
    ----------
    encoder : EncoderEnsemble
        Raw samples in, K vectors of dimension p from every member out; of 2 p for distributional
        encodings.
    codebook : Codebook
    encoding : {"codes", "constant", "distribution"}
        "codes" is the method; the other two are the paper's continuous ablations.
    """

    def __init__(self, encoder: EncoderEnsemble, codebook: Codebook, encoding: str) -> None:
        super().__init__()
        self.encoder = encoder
        self.codebook = codebook
        self.encoding = encoding

    @property
    def is_quantized(self) -> bool:
        """Whether a sample is represented by code indices rather than by its vectors."""
        return self.encoding == "codes"

    def forward(self, x: Tensor) -> Tensor:
        """Return the vectors of all members; for distributional encodings, their means."""
        return self.means(self.encoder(x))

    def means(self, encoded: Tensor) -> Tensor:
        """Return the vectors in what the encoder put out."""
        return encoded.chunk(2, dim=-1)[0] if self.encoding == "distribution" else encoded

    def encode(
        self,
        source: ArraySource,
        indices: NDArray[np.int64] | None,
        device: torch.device,
        *,
        search: Search = nearest_code,
    ) -> Encodings:
        """Return the encodings of some samples of a source, or of all of them.

        Parameters
        ----------
        source : ArraySource
        indices : ndarray of int or None
            None: all of them.
        device : torch.device
        search : callable
            Q's index of every vector, from the vectors and the codebook.
        """
        representations, projections = encode_in_chunks(
            lambda x: self._describe(x, search), source, indices, device
        )
        return Encodings(representations, projections)

    def project(self, source: ArraySource, device: torch.device) -> NDArray[np.float64]:
        """Return s(x) of all samples of a source, without looking up any code."""
        (projections,) = encode_in_chunks(
            lambda x: (self._projections(self(x)),), source, None, device
        )
        return np.asarray(projections.mean(axis=1))

    def _describe(self, x: Tensor, search: Search) -> tuple[Tensor, Tensor]:
        vectors = self(x)
        if not self.is_quantized:
            return vectors.flatten(1), self._projections(vectors)
        codes = search(vectors, self.codebook.vectors)
        narrow = torch.int16 if len(self.codebook.vectors) <= 1 << 15 else torch.int32
        return codes.to(narrow), self._projections(vectors)

    def _projections(self, vectors: Tensor) -> Tensor:
        book = self.codebook
        by_member = vectors.view(len(vectors), len(self.encoder.members), -1, vectors.shape[-1])
        return project_on_anchors(by_member, book.positive_anchor, book.unlabeled_anchor)


def draw_codebook(
    size: int,
    dim: int,
    *,
    encoding: str,
    anchor_mean: float | None,
    moving_anchors: bool,
    generator: torch.Generator,
) -> Codebook:
    """Draw the codes of the method or of one of the paper's ablations.

    Parameters
    ----------
    size, dim : int
        m and p.
    encoding : str
        Continuous encodings need two anchors and nothing else: 0 and ``anchor_mean``.
    anchor_mean : float or None
        None: all codes from N(0, I). A number a: the upper half from N(a, I).
    moving_anchors : bool
    generator : torch.Generator
    """
    if encoding != "codes":
        mean = 1.0 if anchor_mean is None else anchor_mean
        return Codebook(torch.tensor([[0.0], [mean]]).expand(2, dim))
    vectors = torch.randn(size, dim, generator=generator)
    if anchor_mean is not None:
        vectors[size // 2 :] += anchor_mean
    return Codebook(vectors, moving_anchors=moving_anchors)


def blank_codebook(size: int, dim: int, *, encoding: str, moving_anchors: bool) -> Codebook:
    """Return a codebook as :func:`draw_codebook` does, whose codes are still to be filled in.

    Parameters
    ----------
    size, dim : int
    encoding : str
    moving_anchors : bool
    """
    if encoding != "codes":
        return Codebook(torch.empty(2, dim))
    return Codebook(torch.empty(size, dim), moving_anchors=moving_anchors)
