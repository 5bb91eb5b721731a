"""Several encoders side by side, each with vectors of its own."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class EncoderEnsemble(nn.Module):
    """A normaliser and one encoder or more behind it; their vectors are put side by side.

    Parameters
    ----------
    normalizer : Module
        Raw samples in, float32 out; shared.
    members : sequence of Module
        Encoders of one architecture: (n, K, p) vectors each.
    """

    def __init__(self, normalizer: nn.Module, members: Sequence[nn.Module]) -> None:
        super().__init__()
        self.normalizer = normalizer
        self.members = nn.ModuleList(members)

    def forward(self, x: Tensor) -> Tensor:
        """Return the vectors of all members, shape (n, n_members * K, p)."""
        normal = self.normalizer(x)
        if len(self.members) == 1:
            only: Tensor = self.members[0](normal)
            return only
        return torch.cat([member(normal) for member in self.members], dim=1)

    def forward_member(self, x: Tensor, member: int) -> Tensor:
        """Return the vectors of one member, shape (n, K, p)."""
        vectors: Tensor = self.members[member](self.normalizer(x))
        return vectors
