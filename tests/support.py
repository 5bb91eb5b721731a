"""What several tests share."""

from __future__ import annotations

from typing import Any

from torch import nn

from vqpu import VQKMeansClassifier
from vqpu.vq._variant import VARIANT_FIELDS

# For tests that are not about learning.
FAST: dict[str, Any] = {
    "max_steps": 10, "check_every": 5, "vector_dim": 4, "n_vectors": 2, "random_state": 0,
}  # fmt: skip


def fast_classifier(**parameters: Any) -> VQKMeansClassifier:
    """A small, quick classifier for tests that are not about accuracy."""
    settings: dict[str, Any] = {
        "max_steps": 60,
        "check_every": 20,
        "encoder": "network",
        "codebook_size": 16,
        "vector_dim": 8,
        "n_vectors": 4,
        "n_members": 1,
        "n_rounds": 1,
        "random_state": 0,
    }
    return with_parts(**{**settings, **parameters})


def with_parts(**parameters: Any) -> VQKMeansClassifier:
    """A classifier whose parameters may be parts of the variant by their plain names."""
    parts = {name: value for name, value in parameters.items() if name in VARIANT_FIELDS}
    plain = {name: value for name, value in parameters.items() if name not in VARIANT_FIELDS}
    named = {f"variant__{name}": value for name, value in parts.items()}
    return VQKMeansClassifier(**plain).set_params(**named)


def linear_encoder(shape: tuple[int, ...], dim: int) -> nn.Module:
    return nn.Sequential(nn.Linear(shape[0], 2 * dim), nn.Unflatten(1, (2, dim)))
