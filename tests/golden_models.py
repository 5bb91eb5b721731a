"""Writes the model files in ``tests/golden``: ``python -m tests.golden_models``.

They are never written again, unless a new one is added: what is there must load for ever.
Most weights are set to 0, so that the repository grows by little, and the scores are those of the
thinned network.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

import vqpu
from vqpu.nn import fold_batch_norm

GOLDEN = Path(__file__).parent / "golden"
ENCODERS: dict[str, Any] = {}


def small_encoder(shape: tuple[int, ...], dim: int) -> nn.Module:
    return nn.Sequential(
        nn.Linear(shape[0], 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2 * dim),
        nn.Unflatten(1, (2, dim)),
    )  # fmt: skip


ENCODERS["rival"] = small_encoder


def golden_samples(name: str) -> NDArray[Any]:
    """Samples without a random generator, whose streams may change: sines, and stripes."""
    places = np.arange(60.0)
    if name == "images":
        pixels = np.arange(144).reshape(12, 12)
        stripes = np.where(places[:, None, None] < 40, pixels // 12 % 2, pixels % 2)
        return np.asarray(90 * stripes + places[:, None, None], dtype=np.uint8)
    X = np.sin(np.outer(places + 1, [1.0, 2.3, 3.7]))
    X[:40] += 1.5
    return X


def _models() -> dict[str, Any]:
    small: dict[str, Any] = {"max_steps": 60, "vector_dim": 4, "n_members": 1, "random_state": 0}
    return {
        "vectors": vqpu.VQKMeansClassifier(**small, n_vectors=2, codebook_size=8),
        "images": vqpu.VQKMeansClassifier(**small, codebook_size=8),
        "rival": vqpu.rivals.NNPUClassifier(**small, encoder=small_encoder, alpha=0.5),
    }


@torch.no_grad()
def _thin_out(model: Any) -> None:
    """Keep every 16th weight of large layers, larger, and the answer of the thinned network."""
    for parameter in model.network_.parameters():
        if parameter.numel() > 1000:
            kept = torch.arange(parameter.numel()).view(parameter.shape) % 16 == 0
            parameter.mul_(kept * 4.0)
    model._folded = fold_batch_norm(model.network_)


def main() -> None:
    y = np.repeat(["unlabelled", "wanted"], [40, 20])[::-1]
    scores = {}
    for name, model in _models().items():
        X = golden_samples(name)
        model.fit(X, y)
        _thin_out(model)
        model.save(GOLDEN / name)
        scores[name] = model.decision_function(X).tolist()
    (GOLDEN / "scores.json").write_text(json.dumps(scores, indent=1) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    main()
