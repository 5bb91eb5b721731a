"""The rivals' core formulas: by hand, and against slow references."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.reference import rivals as reference
from vqpu.rivals._distpu import label_distribution_loss, mean_entropy
from vqpu.rivals._mixup import Mix, draw_mix
from vqpu.rivals._nnpu import nnpu_risk, nnpu_step_loss
from vqpu.rivals._tedn import cvir_loss, least_positive
from vqpu.rivals._upu import partial_risks, upu_risk
from vqpu.rivals._vpu import mixup_consistency, variational_loss


def logit(score: float) -> float:
    return math.log(score / (1 - score))


def logits(*scores: float) -> Tensor:
    return torch.tensor([logit(score) for score in scores], dtype=torch.float64)


# Mean scores: .7 in P; .2 and .5 in U.
P = logits(0.8, 0.6)
U_LOW = logits(0.1, 0.2, 0.3)
U_HIGH = logits(0.9, 0.1, 0.5)


def test_upu__hand_computed() -> None:
    # alpha .5: .5 * .3 = .15; .2 - .5 * .7 = -.15
    parts = partial_risks(P, U_LOW, 0.5)
    assert parts.positive.item() == pytest.approx(0.15)
    assert parts.negative.item() == pytest.approx(-0.15)
    assert upu_risk(P, U_LOW, 0.5).item() == pytest.approx(0.0, abs=1e-12)
    assert upu_risk(P, U_HIGH, 0.5).item() == pytest.approx(0.15 + 0.5 - 0.35)


def test_nnpu_risk__hand_computed__never_below_the_positives_part() -> None:
    assert nnpu_risk(P, U_LOW, 0.5).item() == pytest.approx(0.15)
    assert nnpu_risk(P, U_HIGH, 0.5).item() == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("unlabeled", "beta", "expected"),
    [
        (U_HIGH, 0.0, 0.15 + 0.15),  # possible: the unbiased risk
        (U_LOW, 0.0, -0.5 * -0.15),  # impossible: up on the negatives' part, gamma .5
        (U_LOW, 0.1, -0.5 * -0.15),
        (U_LOW, 0.2, 0.15 - 0.15),  # within beta: the unbiased risk again
    ],
)
def test_nnpu_step__hand_computed__goes_back_below_minus_beta(
    unlabeled: Tensor, beta: float, expected: float
) -> None:
    loss = nnpu_step_loss(P, unlabeled, alpha=0.5, beta=beta, gamma=0.5)
    assert loss.item() == pytest.approx(expected, abs=1e-12)


def test_label_distribution__hand_computed() -> None:
    # 2 * .3 * |.7 - 1| + |.2 - .3|
    assert label_distribution_loss(P, U_LOW, 0.3).item() == pytest.approx(0.18 + 0.1)
    assert label_distribution_loss(P, U_HIGH, 0.5).item() == pytest.approx(0.3)


def test_label_distribution__bounds_the_error_of_the_scores() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        positive, negative = rng.normal(1, 2, 30), rng.normal(-1, 2, 70)
        unlabeled = np.concatenate([positive, negative])  # alpha .3, P as the positives of U
        bound = label_distribution_loss(
            torch.from_numpy(positive), torch.from_numpy(unlabeled), 0.3
        )
        scores = 1 / (1 + np.exp(-unlabeled))
        error = 0.3 * (1 - scores[:30]).mean() + 0.7 * scores[30:].mean()
        assert bound.item() >= error - 1e-12


def test_entropy__hand_computed__largest_at_one_half_and_finite_at_the_ends() -> None:
    assert mean_entropy(logits(0.5)).item() == pytest.approx(math.log(2))
    assert mean_entropy(torch.tensor([200.0, -200.0])).item() == 0.0


def test_variational_loss__hand_computed() -> None:
    # log .2 - (log .8 + log .6) / 2
    expected = math.log(0.2) - (math.log(0.8) + math.log(0.6)) / 2
    assert variational_loss(P, U_LOW).item() == pytest.approx(expected)


def test_variational_loss__phi_times_a_constant__the_same() -> None:
    halved = variational_loss(logits(0.4, 0.3), logits(0.05, 0.1, 0.15))
    assert halved.item() == pytest.approx(variational_loss(P, U_LOW).item())


def test_mixup_consistency__hand_computed() -> None:
    # target .5 * .2 + .5 = .6, phi of the mixed sample .3
    value = mixup_consistency(logits(0.3), logits(0.2), 0.5)
    assert value.item() == pytest.approx(math.log(2) ** 2)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_mixup_consistency__extreme_logits__finite_gradients(share: float) -> None:
    mixed = torch.tensor([-200.0, 200.0], requires_grad=True)
    unlabeled = torch.tensor([-200.0, 200.0], requires_grad=True)
    mixup_consistency(mixed, unlabeled, share).backward()  # type: ignore[no-untyped-call]
    for leaf in (mixed, unlabeled):
        assert leaf.grad is not None
        assert torch.isfinite(leaf.grad).all()


@pytest.mark.parametrize(
    ("scores", "alpha", "kept"),
    [
        ([0.9, 0.1, 0.5, 0.7], 0.5, [1, 2]),
        ([0.9, 0.1, 0.5, 0.7], 0.49, [1, 2, 3]),  # int(1.96) = 1 left out
        ([0.9, 0.1, 0.5, 0.7], 0.2, [0, 1, 2, 3]),
        ([0.9, 0.1, 0.5, 0.7], 0.999, [1]),
        ([0.5, 0.5, 0.5, 0.5], 0.5, [0, 1]),  # of equal ones the first stay
        ([0.5], 0.999, [0]),
    ],
)
def test_selection__hand_computed__the_top_share_is_left_out(
    scores: list[float], alpha: float, kept: list[int]
) -> None:
    assert least_positive(np.array(scores), alpha).tolist() == kept


def test_cvir_loss__hand_computed() -> None:
    # 1 / 3 of U_HIGH is left out: .9. (-log .8 - log .6) / 2 and (-log .9 - log .5) / 2
    expected = -(math.log(0.8 * 0.6) + math.log(0.9 * 0.5)) / 4
    assert cvir_loss(P, U_HIGH, 0.34).item() == pytest.approx(expected)


CASES: dict[str, tuple[Callable[..., Tensor], Callable[..., Any]]] = {
    "uPU": (upu_risk, lambda *a: sum(reference.partial_risks(*a))),
    "nnPU": (
        nnpu_risk,
        lambda *a: reference.partial_risks(*a)[0] + max(0, reference.partial_risks(*a)[1]),
    ),
    "Dist-PU": (label_distribution_loss, reference.label_distribution),
    "CVIR": (cvir_loss, reference.cvir),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("seed", range(5))
def test_formula__random_logits__equals_reference(name: str, seed: int) -> None:
    ours, loops = CASES[name]
    rng = np.random.default_rng(seed)
    positive, unlabeled = rng.normal(1, 2, 7), rng.normal(-1, 2, 11)
    alpha = float(rng.uniform(0.05, 0.95))
    value = ours(torch.from_numpy(positive), torch.from_numpy(unlabeled), alpha)
    assert value.item() == pytest.approx(loops(positive, unlabeled, alpha), rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_prior_free_formulas__random_logits__equal_reference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    positive, unlabeled, mixed = rng.normal(1, 2, 7), rng.normal(-1, 2, 11), rng.normal(0, 2, 11)
    share = float(rng.uniform())
    p, u, m = map(torch.from_numpy, (positive, unlabeled, mixed))
    assert variational_loss(p, u).item() == pytest.approx(
        reference.variational(positive, unlabeled), rel=1e-9
    )
    assert mixup_consistency(m, u, share).item() == pytest.approx(
        reference.mixup_consistency(mixed, unlabeled, share), rel=1e-9
    )
    assert mean_entropy(m).item() == pytest.approx(reference.entropy(mixed), rel=1e-9)


@pytest.mark.parametrize("shift", [-3.0, 3.0])  # of U: an impossible and a possible batch
def test_nnpu_step__random_logits__gradient_equals_reference(shift: float) -> None:
    rng = np.random.default_rng(0)
    positive, unlabeled = rng.normal(1, 1, 7), rng.normal(shift, 1, 11)
    p = torch.from_numpy(positive).requires_grad_()
    u = torch.from_numpy(unlabeled).requires_grad_()
    arguments: dict[str, Any] = {"alpha": 0.6, "beta": 0.05, "gamma": 0.7}
    nnpu_step_loss(p, u, **arguments).backward()  # type: ignore[no-untyped-call]
    is_impossible = reference.partial_risks(positive, unlabeled, 0.6)[1] < -0.05
    assert is_impossible == (shift < 0)
    for leaf, expected in zip(
        (p, u), reference.nnpu_gradient(positive, unlabeled, **arguments), strict=True
    ):
        assert leaf.grad is not None
        np.testing.assert_allclose(leaf.grad.numpy(), expected, rtol=1e-9)


def test_mix__hand_computed__and_whole_numbers_become_floats() -> None:
    mix = Mix(0.25, torch.tensor([1, 0]))
    first, second = torch.tensor([[8]], dtype=torch.uint8), torch.tensor([[4]], dtype=torch.uint8)
    blended = mix.blend(first, second)
    assert blended.dtype == torch.float32
    assert blended.item() == 5.0
    assert mix.partners(5).tolist() == [1, 0, 1, 0, 1]


def test_draw_mix__depends_on_seed_and_step_alone() -> None:
    first, again, later = draw_mix(9, 0.3, 5, 2), draw_mix(9, 0.3, 5, 2), draw_mix(9, 0.3, 5, 3)
    assert first.share == again.share != later.share
    assert first.order.tolist() == again.order.tolist()
    assert sorted(first.order.tolist()) == list(range(9))
