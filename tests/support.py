"""What several tests share."""

from __future__ import annotations

from typing import Any

from vqpu import VQKMeansClassifier


def fast_classifier(**parameters: Any) -> VQKMeansClassifier:
    """A small, quick classifier for tests that are not about accuracy."""
    settings: dict[str, Any] = {
        "max_steps": 60,
        "check_every": 20,
        "codebook_size": 16,
        "vector_dim": 8,
        "n_vectors": 4,
        "n_members": 1,
        "random_state": 0,
    }
    return VQKMeansClassifier(**{**settings, **parameters})
