"""The rivals as estimators: parameters, alpha, selection, members, determinism."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

import vqpu.training._loop as loop_module
from vqpu import VqpuError
from vqpu.base._source import ArraySource
from vqpu.base._split import BalancedBatches, Batch, CheckSample, Split
from vqpu.nn import Augmentation
from vqpu.rivals import (
    CVIRClassifier,
    DistPUClassifier,
    NaivePUClassifier,
    NcPUClassifier,
    NNPUClassifier,
    P3MixClassifier,
    RobustPUClassifier,
    TEDnClassifier,
    UPUClassifier,
    VPUClassifier,
)
from vqpu.rivals._distpu import _DistPUObjective
from vqpu.rivals._recipes import Learner
from vqpu.rivals._tedn import CVIRRecipe, _sgd
from vqpu.rivals._training import LogitTraining
from vqpu.training import FitContext
from vqpu.training._feed import Feed
from vqpu.training._loop import train_with_checks

Blobs = tuple[NDArray[Any], NDArray[Any]]

RIVALS: list[Any] = [
    CVIRClassifier,
    DistPUClassifier,
    NcPUClassifier,
    NNPUClassifier,
    P3MixClassifier,
    RobustPUClassifier,
    TEDnClassifier,
    UPUClassifier,
    VPUClassifier,
]
WITH_ALPHA: list[Any] = [
    CVIRClassifier,
    DistPUClassifier,
    NNPUClassifier,
    RobustPUClassifier,
    UPUClassifier,
]
SMALL: dict[str, Any] = {
    "max_steps": 100,
    "n_members": 1,
    "n_vectors": 2,
    "vector_dim": 8,
    "random_state": 0,
}

PARAMETER_CASES: dict[str, tuple[type, dict[str, Any], str]] = {
    **{
        f"{rival.__name__}, alpha {alpha!r}": (
            rival,
            {"alpha": alpha},
            r"alpha must be a number in \(0, 1\) or None. Got",
        )
        for rival in WITH_ALPHA
        for alpha in (0, 1, 1.5, -0.1, float("nan"), "half", True)
    },
    "negative beta": (NNPUClassifier, {"beta": -0.1}, r"beta must be a number in \[0, inf\)"),
    "gamma above 1": (NNPUClassifier, {"gamma": 1.1}, r"gamma must be a number in \[0, 1\]"),
    "unknown optimizer": (TEDnClassifier, {"optimizer": "lion"}, "Unknown optimizer .lion."),
    "no warm-up": (TEDnClassifier, {"warmup": 0}, r"warmup must be a number in \(0, 1\]"),
    "no warm-up of CVIR": (CVIRClassifier, {"warmup": 0.0}, "warmup must be"),
    "long warm-up": (DistPUClassifier, {"warmup": 1.1}, "warmup must be"),
    "negative entropy": (DistPUClassifier, {"entropy_weight": -1}, "entropy_weight must be"),
    "negative mixup": (DistPUClassifier, {"mixup_weight": -1}, "mixup_weight must be"),
    "mixed entropy": (DistPUClassifier, {"mixed_entropy_weight": None}, "mixed_entropy_weight"),
    "unknown batches": (DistPUClassifier, {"batches": "all"}, "Unknown batches .all."),
    "decay without Adam": (
        DistPUClassifier,
        {"weight_decay": 0.1},
        "weight_decay is Adam's.*say optimizer='adam'",
    ),
    "no iteration": (RobustPUClassifier, {"n_iterations": 0}, "n_iterations must be an integer"),
    "cold": (RobustPUClassifier, {"temperature": 0}, r"temperature must be a number in \(0"),
    "bounds": (P3MixClassifier, {"lower": 0.9}, "lower must not be above upper. Got 0.9 and 0.85"),
    "no candidate": (P3MixClassifier, {"n_candidates": 0}, "n_candidates must be an integer >= 1"),
    "no forgetting": (NcPUClassifier, {"label_decay": 1.0}, r"label_decay must be a number in"),
    "pushing apart": (NcPUClassifier, {"alignment_weight": -1}, "alignment_weight must be"),
    "infinite mixup": (VPUClassifier, {"mixup_weight": math.inf}, "mixup_weight must be"),
    "shared parameter": (VPUClassifier, {"max_steps": 0}, "max_steps must be an integer >= 1"),
}


@pytest.mark.parametrize("name", PARAMETER_CASES)
def test_fit__bad_parameter__one_clear_error_before_any_step(
    name: str, blobs: Blobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("training began")

    monkeypatch.setattr(loop_module, "train", refuse)
    rival, parameters, message = PARAMETER_CASES[name]
    with pytest.raises(VqpuError, match=message):
        rival(**parameters).fit(*blobs)


def test_tedn__sgd__is_another_optimiser_with_the_authors_settings(
    blobs: Blobs, blobs_truth: NDArray[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[torch.optim.SGD] = []
    plain = torch.optim.SGD

    def spy(*arguments: Any, **named: Any) -> torch.optim.SGD:
        made.append(plain(*arguments, **named))
        return made[-1]

    monkeypatch.setattr(torch.optim, "SGD", spy)
    X, y = blobs
    model = TEDnClassifier(**SMALL, optimizer="sgd").fit(X, y)
    assert model.score(X, blobs_truth) > 0.9
    assert len(made) == 2  # the warm-up's and the main stage's
    assert {(o.defaults["momentum"], o.defaults["weight_decay"]) for o in made} == {(0.9, 5e-4)}


@pytest.mark.parametrize("rival", RIVALS)
def test_defaults__shared_parameters__the_same_everywhere(rival: Any) -> None:
    shared = NaivePUClassifier().get_params()
    assert {name: rival().get_params()[name] for name in shared} == shared
    assert len(shared) == 20


@pytest.mark.parametrize("rival", RIVALS)
def test_rival__separable_blobs__finds_the_hidden_positives_again_and_again(
    rival: Any, blobs: Blobs, blobs_truth: NDArray[Any]
) -> None:
    X, y = blobs
    first, second = (rival(**SMALL).fit(X, y) for _ in range(2))
    scores = first.decision_function(X)
    np.testing.assert_array_equal(scores, second.decision_function(X))
    assert first.score(X, blobs_truth) > 0.95
    np.testing.assert_array_equal(scores > 0, first.predict_proba(X)[:, 1] > 0.5)
    assert first.stop_reason_ in ("patience", "max_steps")
    assert first.n_holdout_ == (9, 18)
    if hasattr(first, "alpha_"):
        assert first.alpha_ == pytest.approx(1 / 3, abs=0.15)


@pytest.mark.parametrize("rival", WITH_ALPHA)
def test_rival__alpha_given__is_used_and_stands_in_alpha_(rival: Any, blobs: Blobs) -> None:
    few = {**SMALL, "max_steps": 10}
    low, high = (rival(alpha=alpha, **few).fit(*blobs) for alpha in (0.25, 0.75))
    assert (low.alpha_, high.alpha_) == (0.25, 0.75)
    assert not np.array_equal(low.decision_function(blobs[0]), high.decision_function(blobs[0]))


@pytest.mark.parametrize(
    "rival",
    [TEDnClassifier, DistPUClassifier, RobustPUClassifier, P3MixClassifier, NcPUClassifier],
)
def test_warmup__its_steps_are_a_share_of_the_others(rival: Any, blobs: Blobs) -> None:
    model = rival(warmup=0.2, patience=100, **SMALL).fit(*blobs)
    assert model.warmup_history_[-1]["step"] == 20
    assert model.history_[-1]["step"] == model.n_steps_ == 100


@pytest.mark.parametrize(
    ("batches", "main", "schedule"),
    [("balanced", (0.002, 0.1), "cosine"), ("natural", (0.0017, 0.1), "constant")],
)
def test_distpu__main_stage__a_tenth_of_the_warmups_rate(
    batches: str,
    main: tuple[float, float],
    schedule: str,
    blobs: Blobs,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rates: list[tuple[float, float]] = []
    schedules: list[str] = []

    def spy(objective: Any, optimizer: torch.optim.Optimizer, *args: Any, **settings: Any) -> Any:
        group = optimizer.param_groups[0]
        rates.append((group["lr"], group["weight_decay"]))
        schedules.append(settings["schedule"])
        return train_with_checks(objective, optimizer, *args, **settings)

    monkeypatch.setattr("vqpu.training._stage.train_with_checks", spy)
    DistPUClassifier(
        alpha=0.5,
        learning_rate=0.02,
        optimizer="adam",
        weight_decay=0.5,
        batches=batches,
        **{**SMALL, "max_steps": 4},
    ).fit(*blobs)
    np.testing.assert_allclose(rates, [(0.02, 0.5), main])
    assert schedules == ["cosine", schedule]


def test_distpu__natural_batches__the_main_stage_takes_all_steps_and_ends_with_the_last(
    blobs: Blobs,
) -> None:
    settings = {**SMALL, "alpha": 0.3, "patience": 1, "check_every": 5}
    natural = DistPUClassifier(**settings).fit(*blobs)
    assert natural.n_steps_ == 100
    assert natural.best_check_ == len(natural.history_) - 1
    balanced = DistPUClassifier(**settings, batches="balanced").fit(*blobs)
    assert balanced.n_steps_ < 100


def test_distpu__targets_of_mixed_samples__scores_of_their_last_visit() -> None:
    scores = torch.tensor([[0.1], [0.2], [0.3], [0.4]], dtype=torch.float64)
    anything: Any = None
    learner = Learner(anything, anything, [], max_steps=1)
    objective = _DistPUObjective(learner, alpha=0.5, weights=anything, scores=scores)
    batches = [Batch(np.array([0]), np.array(part)) for part in ([3, 1], [2, 3])]
    feed: Any = SimpleNamespace(batches=batches)
    first = objective._exchange(0, feed, 0, torch.tensor([0.0, 100.0]))
    assert first.tolist() == pytest.approx([0.4, 0.2])
    second = objective._exchange(0, feed, 1, torch.tensor([1.0, 2.0]))
    assert second.tolist() == pytest.approx([0.3, 0.5])  # 3 was seen before: sigmoid(0)
    assert scores[1, 0] == 1


@pytest.mark.parametrize(
    "rival",
    [
        VPUClassifier,
        DistPUClassifier,
        NNPUClassifier,
        RobustPUClassifier,
        P3MixClassifier,
        NcPUClassifier,
    ],
)
def test_rival__several_members_on_whole_number_images__fits(rival: Any) -> None:
    images = np.random.default_rng(0).integers(0, 256, (40, 8, 8), dtype=np.uint8)
    y = np.repeat([1, 0], [15, 25])
    model = rival(max_steps=4, n_members=2, vector_dim=8, random_state=0).fit(images, y)
    assert np.isfinite(model.decision_function(images)).all()


def test_vpu__decision__is_0_where_phi_is_half_the_largest(blobs: Blobs) -> None:
    model = VPUClassifier(**{**SMALL, "max_steps": 30}).fit(*blobs)
    logits = model.decision_function(blobs[0]) - model.decision_rule_.offset
    phi = 1 / (1 + np.exp(-logits))
    assert phi.max() == pytest.approx(model.largest_phi_)
    np.testing.assert_array_equal(model.predict(blobs[0]) == 1, phi > model.largest_phi_ / 2)


class FirstColumns(nn.Module):
    """Member m says the value in column m."""

    def forward(self, x: Tensor) -> Tensor:
        return x[:, :2].float()


def _selected(alpha: float, *, estimates: bool) -> tuple[list[set[int]], CVIRRecipe]:
    """U of each of two members after a selection; samples 0 to 9 are P, 10 to 29 are U."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(30.0), rng.permutation(np.arange(30.0)), rng.normal(size=30)])
    X[:10, :2] += 20  # P above most of U
    split = Split(np.arange(30) < 10, np.arange(30) % 2, 2, np.zeros(30, dtype=bool))
    judged, cpu = split.judged_sets(), torch.device("cpu")
    source = ArraySource(X)
    context = FitContext(source, source.moments(), split, CheckSample(judged, judged), 0, cpu)
    settings: Any = SimpleNamespace(batch_size=1000)
    feeds = [
        Feed(source, BalancedBatches(*split.training_sets(m), 8, m), Augmentation(), m,
             torch.device("cpu"))
        for m in range(2)
    ]  # fmt: skip
    recipe = CVIRRecipe(LogitTraining(context, settings), alpha, estimates=estimates)
    network: Any = FirstColumns()
    recipe.select(network)
    batches = [feed.batches[0] for feed in recipe.feeds_of_kept(feeds)]
    assert all(set(batch.positive) == {*range(1 - m, 10, 2)} for m, batch in enumerate(batches))
    return [{int(place) for place in batch.unlabeled} for batch in batches], recipe


def test_selection__each_member_drops_the_top_of_what_it_is_trained_on() -> None:
    kept, recipe = _selected(0.3, estimates=False)
    # Member 0 is trained on odd places 11 to 29 and says the place itself: the top 3 go.
    assert kept[0] == set(range(11, 24, 2))
    assert len(kept[1]) == 7
    assert all(place % 2 == 0 for place in kept[1])
    assert recipe.notes() == {"alpha": 0.3}


def test_selection__tedn__uses_the_share_that_bbe_finds_now() -> None:
    kept, recipe = _selected(0.99, estimates=True)
    found = recipe.notes()["alpha"]
    assert found < 0.9
    assert len(kept[0]) == 10 - int(10 * found)
    # Checks are still judged by the share of the beginning: one of U is left, the lowest.
    loss = recipe.judge(torch.zeros(3), torch.tensor([-50.0] + [3.0] * 9))
    assert loss.item() == pytest.approx(math.log(2) / 2)


@pytest.mark.parametrize("n_unlabeled", [1, 40])
def test_vpu__one_unlabelled_sample_in_a_batch__trains(n_unlabeled: int) -> None:
    X = np.random.default_rng(0).normal(size=(20 + n_unlabeled, 3))
    y = np.repeat([1, 0], [20, n_unlabeled])
    model = VPUClassifier(**SMALL | {"max_steps": 6, "holdout": 0.0}, batch_size=2).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("n_members", [1, 3])
def test_sgd__members__each_at_the_stated_rate(n_members: int) -> None:
    """With several members a step moves one encoder as far as alone from the same gradient."""
    member: Any = nn.ModuleList(nn.Linear(2, 1) for _ in range(n_members))
    network: Any = nn.Module()
    network.encoder, network.head = nn.Module(), nn.Linear(2, 1)
    network.encoder.members = member
    optimizer = _sgd(network, 0.1)
    decay = 5e-4
    weight = member[0].weight.detach().clone()
    for parameter in network.parameters():
        parameter.grad = torch.full_like(parameter, 1 / n_members)
    optimizer.step()
    moved = weight - 0.1 * (1 + decay * weight)
    torch.testing.assert_close(member[0].weight.detach(), moved)
