from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from vqpu.errors import NonFiniteLossError
from vqpu.training import Changing, FixedBudget, WeightAverage, descend
from vqpu.training._loop import learning_rate_factor, train


class Quadratic:
    """Minimise (w - 3)^2; the loss is broken at one step."""

    def __init__(self, broken_at: int = -1) -> None:
        self.weight = torch.zeros(1, requires_grad=True)
        self.broken_at = broken_at
        self.steps: list[int] = []

    def loss(self, step: int) -> tuple[Tensor, dict[str, Tensor]]:
        loss = ((self.weight - 3) ** 2).sum()
        if step == self.broken_at:
            loss = loss * math.nan
        return loss, {"loss": loss}

    def after_step(self, step: int) -> None:
        self.steps.append(step)

    def changing(self) -> Changing:
        return Changing({}, tensors={"weight": self.weight})


def test_train__checks__at_intervals_and_at_the_end() -> None:
    objective = Quadratic()
    seen: list[tuple[int, float]] = []

    def check(step: int, terms: dict[str, float]) -> bool:
        seen.append((step, terms["loss"]))
        return False

    train(
        objective,
        torch.optim.SGD([objective.weight], lr=0.1),
        max_steps=25,
        check_every=10,
        rate_factor=lambda _: 1.0,
        check=check,
    )
    assert [step for step, _ in seen] == [10, 20, 25]
    assert seen[0][1] > seen[1][1] > seen[2][1]
    assert objective.weight.item() == pytest.approx(3, abs=0.05)


def test_train__check_says_stop__stops() -> None:
    objective = Quadratic()
    train(
        objective,
        torch.optim.SGD([objective.weight], lr=0.1),
        max_steps=100,
        check_every=5,
        rate_factor=lambda _: 1.0,
        check=lambda step, _: step == 15,
    )
    assert objective.steps == list(range(15))


@pytest.mark.parametrize("broken_at", [0, 1, 7])
def test_train__loss_not_finite__stops_in_that_step_with_the_weights_untouched(
    broken_at: int,
) -> None:
    objective = Quadratic(broken_at)
    with pytest.raises(NonFiniteLossError, match=f"step {broken_at + 1} "):
        train(
            objective,
            torch.optim.SGD([objective.weight], lr=0.1),
            max_steps=20,
            check_every=5,
            rate_factor=lambda _: 1.0,
            check=lambda *_: False,
        )
    assert objective.steps == list(range(broken_at))
    assert torch.isfinite(objective.weight).all()


def test_descend__one_step_of_one_optimiser() -> None:
    weight = torch.ones(1, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.5)
    weight.grad = torch.full((1,), 100.0)  # left by another player's turn
    loss = (weight * 2).sum()
    assert descend(optimizer, loss, {"part": loss}, 3) == {"part": 2.0}
    assert weight.item() == 0.0
    with pytest.raises(NonFiniteLossError, match=r"step 4 \(part = nan\)"):
        descend(optimizer, loss * math.nan, {"part": loss * math.nan}, 3)
    assert weight.item() == 0.0


def test_fixed_budget__never_stops_and_keeps_the_last_state() -> None:
    rule = FixedBudget()
    assert not any(rule.update({"step": step}, f"state {step}") for step in range(50))
    assert rule.best_check == 49
    assert rule.best_state == "state 49"


def test_learning_rate__rises_and_falls() -> None:
    factors = [learning_rate_factor("cosine", step, 1000) for step in range(1000)]
    assert factors[0] < 0.05
    assert max(factors) > 0.98
    assert 0 < factors[-1] < 0.01
    assert factors[500] == pytest.approx(0.5, abs=0.01)
    assert learning_rate_factor("constant", 999, 1000) == 1.0


def test_average__hand_computed() -> None:
    module = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(module.weight)
    average = WeightAverage(module, decay=0.5)
    nn.init.ones_(module.weight)
    average.update(1)  # decay min(0.5, 2/11)
    expected = 1 - 2 / 11
    assert average.averaged.get_parameter("weight").item() == pytest.approx(expected)
    average.update(100)  # decay 0.5
    assert average.averaged.get_parameter("weight").item() == pytest.approx((expected + 1) / 2)


def test_average__zero_decay__follows_the_module_and_its_buffers() -> None:
    module = nn.BatchNorm1d(3)
    average = WeightAverage(module, decay=0.0)
    module(torch.randn(10, 3))
    average.update(1)
    assert torch.equal(
        average.averaged.get_buffer("running_mean"), module.get_buffer("running_mean")
    )
    assert int(average.averaged.get_buffer("num_batches_tracked")) == 1
    assert not average.averaged.training
