"""The limit of the paper's theorem: where positives and negatives come to rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from vqpu import Variant, VQKMeansClassifier
from vqpu.nn import project_on_anchors, target_loss


@pytest.mark.parametrize("alpha", [0.2, 0.5, 0.8])
def test_free_vectors__gradient_descent__reach_the_stated_points(alpha: float) -> None:
    """One vector for all positives and one for all negatives: what separable classes allow."""
    mu_p, mu_u = torch.tensor([3.0, 1.0]), torch.tensor([-1.0, 0.5])
    positive = torch.zeros(2, requires_grad=True)
    negative = torch.zeros(2, requires_grad=True)
    n_hidden = round(alpha * 10)
    optimizer = torch.optim.SGD([positive, negative], lr=0.1)
    for _ in range(500):
        unlabeled = torch.stack([positive] * n_hidden + [negative] * (10 - n_hidden))
        loss = target_loss(positive.view(1, 1, 2), mu_p) + target_loss(unlabeled.unsqueeze(1), mu_u)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    torch.testing.assert_close(positive.detach(), (mu_p + alpha * mu_u) / (1 + alpha))
    torch.testing.assert_close(negative.detach(), mu_u)


@pytest.mark.parametrize("alpha", [0.2, 0.5, 0.8])
def test_trained_network__constant_targets_and_separable_classes__near_the_limit(
    alpha: float,
) -> None:
    X, y, truth = separable(alpha)
    model = VQKMeansClassifier(
        variant=Variant(encoding="constant", anchor_mean=1.0),
        n_members=1,
        n_rounds=1,
        dropout=0.0,
        max_steps=400,
        patience=99,
        random_state=0,
    ).fit(X, y)
    book = model.network_.codebook
    vectors = torch.from_numpy(model.transform(X)).view(len(X), model.n_vectors, 64)
    places = project_on_anchors(vectors, book.positive_anchor, book.unlabeled_anchor).numpy()
    assert places[truth == 1].mean() == pytest.approx(1 / (1 + alpha), abs=0.05)
    assert places[truth == 0].mean() == pytest.approx(0, abs=0.05)
    assert model.theoretical_alpha_ == pytest.approx(alpha, abs=0.12)


def separable(alpha: float) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(0)
    n_hidden = round(alpha * 2000)
    positives = rng.normal(3, 0.5, (1000 + n_hidden, 2))
    X = np.vstack([positives, rng.normal(-3, 0.5, (2000 - n_hidden, 2))])
    truth = np.repeat([1, 0], [1000 + n_hidden, 2000 - n_hidden])
    return X, np.repeat([1, 0], [1000, 2000]), truth
