from __future__ import annotations

import gc
import warnings
import weakref
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

from tests.support import fast_classifier
from vqpu import Variant, VQKMeansClassifier, diagnose, stack_pu
from vqpu.base._source import ArraySource
from vqpu.base._split import split_holdout
from vqpu.errors import (
    CollapsedCodesError,
    CollapsedCodesWarning,
    NoHiddenPositivesWarning,
    NonFiniteLossError,
)
from vqpu.estimators._encoder import resolve_augmentation
from vqpu.training import CheckResult

Blobs = tuple[NDArray[Any], NDArray[Any]]


@pytest.mark.parametrize("decision", ["posterior", "nearest-center"])
def test_fit__two_blobs__finds_the_hidden_positives(
    blobs: Blobs, blobs_truth: NDArray[Any], decision: str
) -> None:
    signal = "holdout-loss" if decision == "posterior" else "center-distance"
    variant = Variant(decision=decision, stopping_signal=signal)
    model = VQKMeansClassifier(max_steps=100, variant=variant, random_state=0).fit(*blobs)
    assert model.score(blobs[0], blobs_truth) > 0.94


@pytest.mark.parametrize("alpha", [0.2, 0.5, 0.8])
def test_alpha__separable_classes__near_the_truth(alpha: float) -> None:
    rng = np.random.default_rng(0)
    n_hidden = round(alpha * 1200)
    positive, hidden = rng.normal(2, 1, (400, 5)), rng.normal(2, 1, (n_hidden, 5))
    X, y = stack_pu(positive, np.vstack([hidden, rng.normal(-2, 1, (1200 - n_hidden, 5))]))
    model = fast_classifier(max_steps=300).fit(X, y)
    assert model.alpha_ == pytest.approx(alpha, abs=0.07)
    assert model.positive_share_ == pytest.approx(alpha, abs=0.02)


@pytest.mark.parametrize("decision", ["posterior", "nearest-center"])
def test_answers__agree(blobs: Blobs, decision: str) -> None:
    model = fast_classifier(decision=decision).fit(*blobs)
    X = np.random.default_rng(1).normal(0, 3, (500, 5))
    scores, probabilities = model.decision_function(X), model.predict_proba(X)
    assert np.array_equal(model.predict(X), (scores > 0).astype(int))
    assert np.array_equal(probabilities[:, 1] > 0.5, scores > 0)
    assert (np.diff(probabilities[np.argsort(scores), 1]) >= 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()


def test_nearest_center__answer__is_the_nearer_centre(blobs: Blobs) -> None:
    model = fast_classifier(decision="nearest-center", max_steps=200).fit(*blobs)
    codes = model.transform(blobs[0]).astype(float)
    distances = [np.linalg.norm(codes - center, axis=1) for center in model.cluster_centers_]
    assert np.array_equal(model.predict(blobs[0]) == 1, distances[1] < distances[0])


@pytest.mark.parametrize("values", [(0, 1), (-1, 1), (False, True), ("heap", "wanted")])
def test_labels__any_two_values__answered_in_the_same(
    blobs: Blobs, values: tuple[Any, Any]
) -> None:
    X, y = blobs
    model = fast_classifier().fit(X, np.where(y == 1, values[1], values[0]))
    expected = np.where(fast_classifier().fit(X, y).predict(X) == 1, values[1], values[0])
    assert model.classes_.tolist() == list(values)
    assert np.array_equal(model.predict(X), expected)


def bright_and_dark(shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """30 bright images, then 30 dark ones."""
    rng = np.random.default_rng(0)
    bright = rng.integers(120, 256, (30, *shape), dtype=np.uint8)
    return np.concatenate([bright, rng.integers(0, 130, (30, *shape), dtype=np.uint8)])


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_images__every_layout_and_dtype__same_answer(dtype: type) -> None:
    last: NDArray[Any] = bright_and_dark((9, 12, 3)).astype(dtype)
    first = np.ascontiguousarray(last.transpose(0, 3, 1, 2))
    y = np.repeat([1, 0], [15, 45])
    scores = [fast_classifier(max_steps=40).fit(X, y).decision_function(X) for X in (last, first)]
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-3, atol=1e-3)
    truth = np.repeat([True, False], 30)
    assert np.mean((scores[0] > 0) == truth) > 0.9


@pytest.mark.filterwarnings("ignore::vqpu.VqpuWarning")
def test_images__grey_with_or_without_channel_axis__same_answer() -> None:
    grey, y = bright_and_dark((8, 8)), np.repeat([1, 0], [15, 45])
    scores = [
        fast_classifier(max_steps=20).fit(X, y).decision_function(X)
        for X in (grey, grey[..., None], grey[:, None])
    ]
    assert scores[0].tobytes() == scores[1].tobytes() == scores[2].tobytes()


@pytest.mark.parametrize(
    ("augment", "shape", "flip", "shift"),
    [
        ("auto", (1, 28, 28), False, 2),
        ("auto", (3, 32, 32), True, 3),
        ("none", (3, 32, 32), False, 0),
        ("shift", (3, 64, 64), False, 5),
        ("flip", (1, 28, 28), True, 0),
        ("auto", (7,), False, 0),
    ],
)
def test_augment__resolved(augment: str, shape: tuple[int, ...], flip: bool, shift: int) -> None:
    source = ArraySource(np.zeros((2, *shape), np.uint8))
    assert resolve_augmentation(augment, source) == (flip, shift)


def test_weight_average__reaches_checks_and_predictions(blobs: Blobs) -> None:
    averaged, plain = (
        fast_classifier(weight_average=decay).fit(*blobs).decision_function(blobs[0])
        for decay in (0.99, 0.0)
    )
    assert not np.array_equal(averaged, plain)


def test_frames__pandas_and_polars__same_as_arrays(blobs: Blobs) -> None:
    X, y = blobs
    columns = [f"c{i}" for i in range(5)]
    expected = fast_classifier().fit(X, y).decision_function(X)
    pandas_model: Any = fast_classifier().fit(pd.DataFrame(X, columns=columns), pd.Series(y))
    assert pandas_model.feature_names_in_.tolist() == columns
    assert np.array_equal(
        pandas_model.decision_function(pd.DataFrame(X, columns=columns)), expected
    )
    frame = pl.DataFrame(X, schema=columns)
    polars_model = fast_classifier().fit(frame, y)
    assert np.array_equal(polars_model.decision_function(frame), expected)


def test_history__named_columns_and_five_marks(blobs: Blobs) -> None:
    model = fast_classifier(max_steps=80, check_every=10, patience=99).fit(*blobs)
    assert len(model.history_) == 8
    row = model.history_[0]
    terms = ("positive_target", "positive_codebook", "unlabeled_target", "unlabeled_codebook")
    assert row["loss"] == pytest.approx(sum(row[term] for term in terms), rel=1e-5)
    expected = {"step", "epoch", "center_distance", "positive_share", "codes_in_use", "seconds"}
    assert expected <= set(row)
    distances = np.array(model.history_.column("center_distance"))
    marked = np.array(model.history_.column("top_distance"))
    assert marked.sum() == 5
    assert distances[marked].min() >= distances[~marked].max()
    assert model.stop_reason_ == "max_steps"
    assert model.n_steps_ == 80


@pytest.mark.filterwarnings("ignore::vqpu.VqpuWarning")  # the best check may be an early one
@pytest.mark.parametrize(
    ("signal", "column", "sign"),
    [
        ("center-distance", "center_distance", 1),
        ("holdout-loss", "holdout_loss", -1),
        ("holdout-auc", "holdout_auc", 1),
        ("separation", "separation", 1),
    ],
)
def test_stopping__best_check__by_the_signal(
    blobs: Blobs, signal: str, column: str, sign: int
) -> None:
    model = fast_classifier(max_steps=100, check_every=10, patience=99, stopping_signal=signal).fit(
        *blobs
    )
    values = sign * np.array(model.history_.column(column))
    assert model.best_check_ == int(np.argmax(values))


def test_stopping__best_state__is_restored(blobs: Blobs) -> None:
    states: list[tuple[int, torch.Tensor]] = []

    def remember(check: CheckResult) -> None:
        weights = list(check.network.get_submodule("encoder").parameters())[
            -1
        ].clone()  # not touched by folding
        states.append((check.row["step"], weights))

    model = fast_classifier(max_steps=100, check_every=10, stopping_signal="center-distance")
    model.fit(*blobs, callback=remember)
    assert model.best_check_ < len(states) - 1, "else the last state would do"
    restored = list(model.network_.encoder.parameters())[-1]
    assert torch.equal(restored, states[model.best_check_][1])


def test_stopping__patience__ends_early(blobs: Blobs) -> None:
    model = fast_classifier(max_steps=4000, check_every=10, patience=2).fit(*blobs)
    assert model.stop_reason_ == "patience"
    assert len(model.history_) == model.best_check_ + 3


@pytest.mark.filterwarnings("ignore::vqpu.VqpuWarning")
def test_max_epochs__bounds_the_steps(blobs: Blobs) -> None:
    model = fast_classifier(max_epochs=3, check_every=None).fit(*blobs)
    assert model.stop_reason_ == "max_epochs"
    assert model.history_[-1]["epoch"] == 3.0


def test_holdout__never_trained_on(blobs: Blobs) -> None:
    X, y = blobs
    model = fast_classifier(holdout=0.2)
    split = split_holdout(y == 1, 0.2, n_members=1, seed=0)
    trained, judged = split.training_sets(0), split.judged_sets()
    assert not set(trained.positive) & set(judged.positive)
    assert not set(trained.unlabeled) & set(judged.unlabeled)
    assert len(trained.positive) + len(judged.positive) == 60
    model.fit(X, y)
    assert model.n_holdout_ == (12, 24)
    assert fast_classifier(holdout=0).fit(X, y).n_holdout_ == (0, 0)


def test_non_finite_loss__named_step() -> None:
    class Explodes(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(1))
            self.calls = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += self.training
            value = self.weight * x.mean(dim=1)[:, None, None].expand(-1, 2, 8)
            return value * (float("nan") if self.calls == 5 else 1.0)

    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.repeat([1, 0], 20)
    with pytest.raises(NonFiniteLossError, match="step 5 "):
        fast_classifier(encoder=lambda *_: Explodes()).fit(X, y)


def test_huge_learning_rate__named_error_or_finite_answer(blobs: Blobs) -> None:
    model = fast_classifier(learning_rate=1e30)
    with pytest.raises((NonFiniteLossError, ValueError), match="finite"):
        model.fit(*blobs)


class Blind(nn.Module):
    """Says the same of every sample."""

    def __init__(self) -> None:
        super().__init__()
        self.vector = nn.Parameter(torch.zeros(8))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.vector.expand(len(x), 2, 8)


def test_collapsed_codes__named_error_that_says_what_to_try(blobs: Blobs) -> None:
    with pytest.raises(CollapsedCodesError, match=r"same codes.*Try"):
        fast_classifier(encoder=lambda *_: Blind(), decision="nearest-center").fit(*blobs)
    with pytest.raises(CollapsedCodesError, match="same codes"):
        fast_classifier(encoder=lambda *_: Blind()).fit(*blobs)


def test_collapsed_codes__projection_still_tells__warned_of(blobs: Blobs) -> None:
    with pytest.warns(CollapsedCodesWarning, match="same codes"):
        VQKMeansClassifier(encoder="network", max_steps=20, random_state=0).fit(*blobs)


@pytest.mark.parametrize("decision", ["posterior", "nearest-center"])
def test_no_hidden_positives__warned_of(decision: str) -> None:
    rng = np.random.default_rng(0)
    X, y = stack_pu(rng.normal(5, 0.3, (300, 3)), rng.normal(-5, 0.3, (600, 3)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        variant = Variant(decision=decision)
        model = VQKMeansClassifier(
            encoder="network",
            max_steps=150,
            n_rounds=1,
            n_members=2,
            random_state=0,
            variant=variant,
        )
        model.fit(X, y)
    assert any(issubclass(w.category, NoHiddenPositivesWarning) for w in caught)
    assert model.alpha_ < 0.05
    assert model.score(X, y) > 0.95
    found = {one.cause for one in diagnose(model)}  # who opens the model later is told as well
    assert found & {"none-hidden", "shift"}


def test_own_encoder__used(blobs: Blobs) -> None:
    def factory(shape: tuple[int, ...], vector_dim: int) -> nn.Module:
        return nn.Sequential(nn.Linear(shape[0], 3 * vector_dim), nn.Unflatten(1, (3, vector_dim)))

    model = fast_classifier(encoder=factory, max_steps=200).fit(*blobs)
    assert model.transform(blobs[0]).shape == (180, 3)


def test_scikit_learn__pipeline_search_and_clone(blobs: Blobs) -> None:
    X, y = blobs
    pipeline = make_pipeline(StandardScaler(), fast_classifier())
    assert pipeline.fit(X, y).predict(X).shape == (180,)
    grid = {"learning_rate": [1e-3, 1e-2], "variant__decision": ["posterior", "nearest-center"]}
    search = GridSearchCV(fast_classifier(), grid, cv=2).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_estimator_.variant_.check_every == 20  # the other parts stay
    assert len(cross_val_score(fast_classifier(), X, y, cv=2)) == 2
    copied = clone(fast_classifier(decision="nearest-center"))
    assert copied.get_params()["variant__decision"] == "nearest-center"
    pipeline.set_params(vqkmeansclassifier__variant__anchors="moving")
    assert pipeline[-1].variant.anchors == "moving"


def test_transform__frame_output(blobs: Blobs) -> None:
    model = fast_classifier().fit(*blobs)
    names = model.get_feature_names_out()
    assert names.tolist() == [f"vqkmeansclassifier{i}" for i in range(4)]
    frame: Any = model.set_output(transform="pandas").transform(blobs[0])
    assert frame.columns.tolist() == names.tolist()


def test_repr__readable() -> None:
    assert repr(VQKMeansClassifier(max_steps=10)) == "VQKMeansClassifier(max_steps=10)"


def test_fit__does_not_touch_or_keep_the_data(blobs: Blobs) -> None:
    X, y = (np.array(part) for part in blobs)
    before = X.copy()
    model = fast_classifier().fit(X, y)
    assert np.array_equal(X, before)
    reference = weakref.ref(X)
    del X, y, blobs
    gc.collect()
    assert reference() is None
    assert model.alpha_ > 0


def test_verbose__lines_on_standard_error(blobs: Blobs, capsys: pytest.CaptureFixture[str]) -> None:
    fast_classifier(verbose=1).fit(*blobs)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "step 60 of at most 60, center distance" in captured.err
    fast_classifier().fit(*blobs)
    assert capsys.readouterr().err == ""
