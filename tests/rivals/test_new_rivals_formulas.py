"""Robust-PU, P3Mix and NcPU: their formulas by hand, and against slow references."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from tests.reference import rivals as reference
from vqpu.base._source import ArraySource
from vqpu.base._split import CheckSample, Split
from vqpu.rivals._ncpu import Memory, alignment_loss, nearer_to_positive, phantom_targets
from vqpu.rivals._p3mix import (
    _P3MixRecipe,
    corrected_targets,
    marginal_negatives,
    mixed_loss,
    nearest_the_border,
)
from vqpu.rivals._recipes import misordered_share
from vqpu.rivals._robustpu import (
    _RobustPURecipe,
    growing_threshold,
    self_paced_weights,
    weighted_cross_entropy,
)
from vqpu.rivals._training import LogitTraining
from vqpu.training import FitContext


def test_self_paced_weights__hand_computed() -> None:
    weights = self_paced_weights(torch.tensor([0.0, 0.1, 0.4, 0.5]), 0.4)
    assert weights.tolist() == pytest.approx([1.0, 0.75, 0.0, 0.0])


@pytest.mark.parametrize("threshold", [0.1, 0.55, 1.0])
def test_self_paced_weights__minimise_what_they_are_said_to(threshold: float) -> None:
    hardness = torch.tensor([0.02, 0.3, 0.7, 2.0], dtype=torch.float64)
    expected = [reference.self_paced_weight(h, threshold) for h in hardness.tolist()]
    found = self_paced_weights(hardness, threshold).tolist()
    assert found == pytest.approx(expected, abs=1e-4)


def test_threshold__grows_evenly_from_a_tenth_to_one() -> None:
    found = [growing_threshold(iteration, 4) for iteration in range(4)]
    assert found == pytest.approx([0.1, 0.4, 0.7, 1.0])
    assert growing_threshold(0, 1) == 0.1


def test_weighted_cross_entropy__hand_computed() -> None:
    logits = torch.tensor([0.0, 5.0, math.log(3), 9.0])
    weights = torch.tensor([1.0, 0.0, 0.5, 0.0])
    # P: log 2 alone; U: -log(1 - 3/4) alone
    expected = (math.log(2) + math.log(4)) / 2
    assert weighted_cross_entropy(logits, weights, 2).item() == pytest.approx(expected)


def test_weighted_cross_entropy__a_set_without_weight__adds_nothing() -> None:
    logits = torch.zeros(3, requires_grad=True)
    loss = weighted_cross_entropy(logits, torch.tensor([1.0, 0.0, 0.0]), 1)
    assert loss.item() == pytest.approx(math.log(2) / 2)
    loss.backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    assert logits.grad.tolist() == pytest.approx([-0.25, 0.0, 0.0])


def test_p3mix__targets_and_doubt__hand_computed() -> None:
    scores = torch.tensor([0.1, 0.4, 0.59, 0.6, 0.9])
    assert corrected_targets(scores, 0.6).tolist() == [0, 0, 0, 1, 1]
    assert marginal_negatives(scores, 0.4, 0.6).tolist() == [False, True, True, False, False]


def test_p3mix__candidates__positives_nearest_the_border() -> None:
    assert nearest_the_border(torch.tensor([3.0, -0.5, 0.5, -9.0]), 2).tolist() == [1, 2]


def test_mixed_loss__hand_computed() -> None:
    logits, targets = torch.zeros(3), torch.tensor([1.0, 0.25, 0.0])
    # Every cross entropy and every entropy is log 2.
    expected = 1.5 * math.log(2) + 0.1 * math.log(2)
    assert mixed_loss(logits, targets, 1, 0.5, 0.1).item() == pytest.approx(expected)


def test_alignment__hand_computed() -> None:
    online = torch.tensor([[1.0, 0.0], [0.0, 2.0]])
    target = torch.tensor([[0.0, 3.0], [0.0, 1.0]])
    # Of two classes: each with itself: cos 0 and cos 1, the latter held at 1e-4.
    two = alignment_loss(online, target, torch.tensor([True, False]))
    assert two.item() == pytest.approx((2 + 0.02) / 2)
    one = alignment_loss(online, target, torch.tensor([True, True]))
    assert one.item() == pytest.approx((2 + 2 + 0.02 + 0.02) / 4)


def test_alignment__equal_vectors__finite_gradients() -> None:
    online = torch.ones(3, 4, requires_grad=True)
    loss = alignment_loss(online, torch.ones(3, 4), torch.ones(3, dtype=torch.bool))
    loss.backward()  # type: ignore[no-untyped-call]
    assert online.grad is not None
    assert torch.isfinite(online.grad).all()


def test_phantom_targets__above_the_threshold_negative_for_now() -> None:
    soft = torch.tensor([0.9, 0.8, 0.1])
    found = phantom_targets(soft, torch.tensor([0.7, 0.69, 0.95]), 0.69)
    assert found.tolist() == pytest.approx([0.0, 0.8, 0.0])
    assert soft.tolist() == pytest.approx([0.9, 0.8, 0.1])  # its own comes back


def test_memory__hand_computed() -> None:
    memory = Memory(torch.zeros(1, 2, 2), torch.tensor([[0.5], [0.5]]), torch.tensor([0.5]))
    vectors = torch.tensor([[2.0, 0.0], [0.0, 5.0]])
    memory.update_prototypes(0, vectors, torch.tensor([True, False]))
    assert memory.prototypes[0].tolist() == [[0.0, 1.0], [1.0, 0.0]]  # the first is taken whole
    assert nearer_to_positive(vectors, memory.prototypes[0]).tolist() == [1.0, 0.0]
    memory.update_prototypes(0, vectors, torch.tensor([False, False]))
    assert memory.prototypes[0, 0].tolist() == pytest.approx([0.005, 0.995])
    assert memory.prototypes[0, 1].tolist() == [1.0, 0.0]  # nobody was predicted to be positive
    soft = memory.update_soft(0, torch.tensor([1]), torch.tensor([1.0]), 0.9)
    assert soft.tolist() == pytest.approx([0.55])
    assert memory.soft[:, 0].tolist() == pytest.approx([0.5, 0.55])
    threshold = memory.update_threshold(0, torch.tensor([0.1, 0.7]))
    assert threshold.item() == pytest.approx(0.99 * 0.5 + 0.01 * 0.8)


@pytest.mark.parametrize("seed", range(5))
def test_formulas__random_numbers__equal_reference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    logits, weights, targets = rng.normal(0, 2, 11), rng.random(11), rng.random(11)
    f, v, t = map(torch.from_numpy, (logits, weights, targets))
    assert weighted_cross_entropy(f, v, 4).item() == pytest.approx(
        reference.weighted_cross_entropy(logits, weights, 4), rel=1e-9
    )
    assert mixed_loss(f, t, 4, 0.7, 0.3).item() == pytest.approx(
        reference.mixed_loss(logits, targets, 4, 0.7, 0.3), rel=1e-9
    )
    online, target = rng.normal(size=(6, 3)), rng.normal(size=(6, 3))
    classes = rng.random(6) < 0.5
    found = alignment_loss(*map(torch.from_numpy, (online, target, classes)))
    assert found.item() == pytest.approx(
        reference.alignment(online, target, classes.tolist()), rel=1e-9
    )
    positive, unlabeled = rng.integers(0, 5, 7).astype(float), rng.integers(0, 5, 9).astype(float)
    ordered = misordered_share(torch.from_numpy(positive), torch.from_numpy(unlabeled))
    assert ordered.item() == pytest.approx(reference.misordered(positive, unlabeled))


class FirstColumns(nn.Module):
    """Member m says the value in column m."""

    def forward(self, x: Tensor) -> Tensor:
        return x[:, :2].float()


def two_members() -> tuple[LogitTraining, NDArray[np.float64]]:
    """Samples 0 to 3 are P, 4 to 9 are U; even ones are kept from member 0, odd from member 1."""
    X = np.column_stack([np.arange(10.0) - 4, 4 - np.arange(10.0), np.zeros(10)])
    split = Split(np.arange(10) < 4, np.arange(10) % 2, 2, np.zeros(10, dtype=bool))
    judged, source = split.judged_sets(), ArraySource(X)
    sample, cpu = CheckSample(judged, judged), torch.device("cpu")
    context = FitContext(source, source.moments(), split, sample, 0, cpu)
    return LogitTraining(context, SimpleNamespace()), X  # type: ignore[arg-type]


def test_robustpu__weights__by_the_hardness_of_what_a_set_says() -> None:
    training, X = two_members()
    recipe = _RobustPURecipe(training, 0.5, n_iterations=3, temperature=2.0)
    network: Any = FirstColumns()
    recipe.weigh(network, 2)  # the threshold is 1
    for sample, member in ((3, 0), (0, 1), (4, 0), (9, 1)):
        sign, temperature = (-1, 1.0) if sample < 4 else (1, 2.0)
        hardness = math.log1p(math.exp(sign * X[sample, member] / temperature))
        expected = max(0.0, 1 - hardness)
        assert recipe.weights[sample, member].item() == pytest.approx(expected, abs=1e-6)
    assert recipe.notes()["unlabeled_weight"] == pytest.approx(recipe.weights[4:].mean().item())


def test_p3mix__candidates__are_among_what_a_member_is_trained_on() -> None:
    training, _ = two_members()
    recipe = _P3MixRecipe(
        training,
        lower=0.4,
        upper=0.6,
        n_candidates=1,
        unlabeled_weight=1.0,
        entropy_weight=0.0,
    )
    network: Any = FirstColumns()
    recipe.choose(network)
    # P is at -4 to -1 for member 0, which is trained on odd places, and at 4 to 1 for member 1.
    assert recipe.candidates.tolist() == [[3], [2]]
