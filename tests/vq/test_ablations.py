"""The paper's ablations are parameters of the one estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tests.support import with_parts
from vqpu.vq._network import draw_codebook

Blobs = tuple[NDArray[Any], NDArray[Any]]

ABLATIONS: dict[str, dict[str, Any]] = {
    "literal": {
        "anchors": "moving",
        "codebook_update": "adam",
        "codebook_learning_rate": 1e-3,
        "schedule": "constant",
    },
    "constant encodings": {"encoding": "constant", "anchor_mean": 5},
    "distributional encodings": {"encoding": "distribution", "anchor_mean": 5},
    "2 updated codes": {"codebook_size": 2},
    "no updates": {"codebook_update": "none", "anchor_mean": 5, "codebook_size": 64},
    "2 fixed codes": {"codebook_update": "none", "anchor_mean": 5, "codebook_size": 2},
}


# Each by one of the two: a rule sees scores and codes, not how they came about.
@pytest.mark.parametrize(
    ("name", "decision"), list(zip(ABLATIONS, ["posterior", "nearest-center"] * 3, strict=True))
)
def test_ablation__easy_blobs__solved(
    blobs: Blobs, blobs_truth: NDArray[Any], name: str, decision: str
) -> None:
    model = with_parts(
        n_members=1,
        decision=decision,
        max_steps=200,
        patience=99,
        random_state=0,
        **ABLATIONS[name],
    ).fit(*blobs)
    assert model.score(blobs[0], blobs_truth) > 0.85


def test_no_updates__codes_stay_as_drawn(blobs: Blobs) -> None:
    model = with_parts(
        codebook_update="none",
        anchor_mean=5,
        codebook_size=8,
        max_steps=40,
        n_members=1,
        random_state=0,
    ).fit(*blobs)
    again = with_parts(
        codebook_update="none",
        anchor_mean=5,
        codebook_size=8,
        max_steps=20,
        n_members=1,
        random_state=0,
    ).fit(*blobs)
    assert torch.equal(model.network_.codebook.vectors, again.network_.codebook.vectors)


@pytest.mark.parametrize("update", ["follow", "adam"])
def test_updates__codes_in_use_move(blobs: Blobs, update: str) -> None:
    model = with_parts(codebook_update=update, max_steps=60, random_state=0).fit(*blobs)
    book = model.network_.codebook
    assert not torch.equal(book.vectors[-1], book.initial_positive_anchor)


def test_bimodal_codebook__half_of_each() -> None:
    book = draw_codebook(
        200,
        16,
        encoding="codes",
        anchor_mean=50.0,
        moving_anchors=False,
        generator=torch.Generator().manual_seed(0),
    )
    means = book.vectors.mean(dim=1)
    assert (means[:100].abs() < 2).all()
    assert ((means[100:] - 50).abs() < 2).all()


def test_distribution__clusters_the_means(blobs: Blobs) -> None:
    model = with_parts(
        encoding="distribution",
        vector_dim=4,
        n_vectors=3,
        max_steps=20,
        n_members=2,
        random_state=0,
    ).fit(*blobs)
    representation = model.transform(blobs[0])
    assert representation.shape == (180, 2 * 12)
    assert np.issubdtype(representation.dtype, np.floating)
    assert {"positive_target", "unlabeled_target"} <= set(model.history_[0])
