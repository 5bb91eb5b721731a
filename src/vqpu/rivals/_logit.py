"""Networks that end in one logit: the module, its scores and how they decide."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from vqpu.base._inference import encode_in_chunks
from vqpu.base._source import ArraySource
from vqpu.nn import EncoderEnsemble, TableNormalizer
from vqpu.rivals._mixup import Mix

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


class PooledLogit(nn.Module):
    """Encoder, mean over each member's K vectors, one linear layer.

    Parameters
    ----------
    encoder : EncoderEnsemble
    vector_dim : int
        p.
    """

    def __init__(self, encoder: EncoderEnsemble, vector_dim: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(vector_dim, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return a logit per sample and member, shape (n, n_members)."""
        by_member = self.encoder(x).unflatten(1, (len(self.encoder.members), -1))
        return self._logits(by_member)

    def forward_member(self, x: Tensor, member: int) -> Tensor:
        """Return the logits of one member, shape (n,)."""
        return self._logits(self.encoder.forward_member(x, member))

    def pool_member(self, x: Tensor, member: int) -> Tensor:
        """Return the mean of one member's K vectors, shape (n, p)."""
        return self.encoder.forward_member(x, member).mean(dim=-2)

    def forward_mixed(self, mix: Mix, first: Tensor, second: Tensor, member: int) -> Tensor:
        """Return the logits of one member for samples half-way between others, shape (n,).

        Tables with gaps or categories are mixed as the network takes them: there is nothing
        half-way between two codes.
        """
        if not isinstance(self.encoder.normalizer, TableNormalizer):
            return self.forward_member(mix.blend(first, second), member)
        normalizer = self.encoder.normalizer
        blended = mix.blend(normalizer(first), normalizer(second))
        return self._logits(self.encoder.forward_normal(blended, member))

    def _logits(self, vectors: Tensor) -> Tensor:
        logits: Tensor = self.head(vectors.mean(dim=-2)).squeeze(-1)
        return logits


class LogitRule(NamedTuple):
    """The mean logit of the members, shifted so that 0 is the border.

    Attributes
    ----------
    offset : float
        What is added to the logit.
    """

    offset: float = 0.0

    def scores(self, network: nn.Module, source: ArraySource, device: torch.device) -> Floats:
        """Return the log odds of all samples of a source."""
        logits = network_logits(network, source, None, device)
        return np.asarray(logits.mean(axis=1) + self.offset)


def network_logits(
    network: nn.Module, source: ArraySource, indices: Indices | None, device: torch.device
) -> Floats:
    """Return the logits of every member, shape (n, n_members).

    Parameters
    ----------
    network : Module
        A batch in, logits of shape (n, n_members) out.
    source : ArraySource
    indices : ndarray of int or None
        Which samples; None means all.
    device : torch.device
    """
    (logits,) = encode_in_chunks(lambda x: (network(x),), source, indices, device)
    return logits.astype(np.float64)


def balanced_cross_entropy(logits: Tensor, n_positive: int) -> Tensor:
    """Return the mean of two cross entropies, that of the positives and that of the rest.

    Parameters
    ----------
    logits : Tensor of shape (n,)
        Those of positives first.
    n_positive : int
    """
    positive, other = logits[:n_positive], logits[n_positive:]
    first = binary_cross_entropy_with_logits(positive, torch.ones_like(positive))
    second = binary_cross_entropy_with_logits(other, torch.zeros_like(other))
    return (first + second) / 2
