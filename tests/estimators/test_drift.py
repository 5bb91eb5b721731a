"""Drift: what new samples are compared with, by hand, and what a user is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import vqpu
from tests.support import fast_classifier
from vqpu import VQKMeansClassifier, diagnose_drift, stack_pu
from vqpu.base._source import ArraySource
from vqpu.base._sparse import SparseSource
from vqpu.base.columns import Column, ColumnPlan
from vqpu.errors import InputTypeError, ModelFileError
from vqpu.estimators._drift import DriftWatch, watch_drift
from vqpu.estimators._reference import Reference, make_reference


def draw(rng: np.random.Generator, n: int, share: float) -> NDArray[np.float64]:
    """Draw two classes, three apart in the first of four columns."""
    X = rng.normal(size=(n, 4))
    X[: round(share * n), 0] += 3
    return X


@pytest.fixture(scope="module")
def model() -> VQKMeansClassifier:
    rng = np.random.default_rng(0)
    X, y = stack_pu(draw(rng, 100, 1.0), draw(rng, 600, 0.3))
    return VQKMeansClassifier(encoder="trees", random_state=0).fit(X, y)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)


def reference_of(X: NDArray[Any], categories: dict[int, int] | None = None) -> Reference:
    scores = (np.linspace(0, 4, 50), np.linspace(-4, 1, len(X)))
    return make_reference(ArraySource(X, categories or {}), np.arange(len(X)), scores)


def test_reference__column_by_hand__marks_and_shares() -> None:
    X = np.append(np.arange(101.0), [np.nan] * 24)[:, None]
    columns = reference_of(X).columns
    assert columns is not None
    assert columns.marks[0, 0] < 0  # below the least
    assert columns.marks[0, [1, 5, 9, 10]].tolist() == [10, 50, 90, 100]
    assert columns.shares[0, [0, 1, 5, 10]] == pytest.approx([0, 11 / 125, 51 / 125, 101 / 125])
    assert columns.missing == pytest.approx([24 / 125])


def test_reference__categories__commonest_codes() -> None:
    X = np.repeat([2.0, 0.0, 1.0], [5, 3, 2])[:, None]
    columns = reference_of(X, {0: 4}).columns
    assert columns is not None
    assert columns.marks[0, :4].tolist() == [2, 0, 1, -1]
    assert columns.shares[0, :4].tolist() == pytest.approx([0.5, 0.3, 0.2, 0.0])


def test_reference__sparse__scores_alone() -> None:
    source = SparseSource(csr_matrix(np.eye(12)))
    scores = (np.linspace(0, 4, 50), np.linspace(-4, 1, 12))
    assert make_reference(source, np.arange(12), scores).columns is None


@pytest.mark.parametrize("shape", [(100, 16, 16), (100, 16, 16, 3), (100, 3, 16, 16)])
def test_watch__pictures__brightness_of_their_parts(
    shape: tuple[int, ...], rng: np.random.Generator
) -> None:
    pictures = rng.integers(0, 100, shape).astype(np.uint8)
    scores = np.linspace(-4, 1, 100)
    reference = reference_of(pictures)
    n_parts = 16 if len(shape) == 3 else 48
    assert reference.is_sound((n_parts // 16, 16, 16))
    watch = DriftWatch(reference, is_image=True)
    watch.add(pictures, scores)
    assert watch.finding().sentence.startswith("Scores and brightness are")
    lighter = DriftWatch(reference, is_image=True)
    lighter.add(pictures + 90, scores)
    assert f"the brightness of {n_parts} of {n_parts} parts" in lighter.finding().sentence


def test_watch__same_values_in_another_type__nothing_moved() -> None:
    X = np.random.default_rng(0).choice([0.1, 0.3, 0.7], (200, 1))
    watch = DriftWatch(reference_of(X))
    scores = np.linspace(-4, 1, 200)
    for start in range(0, 200, 60):  # in parts, as files are read
        watch.add(X[start : start + 60].astype(np.float32), scores[start : start + 60])
    assert watch.finding().level == "ok"


def test_watch__category_and_gaps__named_with_their_shares() -> None:
    X = np.column_stack([np.repeat([0.0, 1.0], [150, 50]), np.arange(200.0)])
    plan = ColumnPlan((Column("pet", "category", ("cat", "dog")), Column("age", "number")))
    watch = DriftWatch(reference_of(X, {0: 3}), plan.feature_names, plan)
    moved = np.column_stack([np.repeat([0.0, 1.0], [20, 180]), np.arange(200.0)])
    moved[::2, 1] = np.nan
    watch.add(moved, np.linspace(-4, 1, 200))
    sentence = watch.finding().sentence
    assert "'pet' (10% 'cat', 75% then)" in sentence
    assert "'age' (50% missing, 0% then)" in sentence


def test_watch__days__told_as_dates() -> None:
    plan = ColumnPlan((Column("seen", "date"),))
    days = np.repeat(np.arange(19_000.0, 19_100), 2)
    X = np.column_stack([days, *[np.zeros(200)] * 4])
    watch = DriftWatch(reference_of(X), plan.feature_names, plan)
    later = np.array([1_000.0, 0, 0, 0, 0])
    watch.add(X + later, np.linspace(-4, 1, 200))
    assert "'seen.days' (0% up to 2022-" in watch.finding().sentence


def test_watch__few_samples__nothing_is_said() -> None:
    watch = DriftWatch(reference_of(np.arange(100.0)[:, None]))
    watch.add(np.full((5, 1), 1e6), np.full(5, 9.0))
    assert watch.finding().level == "ok"
    assert "too few" in watch.finding().sentence


def test_watch__samples_that_cannot_be_judged__are_left_out() -> None:
    watch = DriftWatch(reference_of(np.arange(100.0)[:, None]))
    watch.add(np.arange(100.0)[:, None], np.linspace(-4, 1, 100))
    watch.add(np.full((100, 1), 1e6), np.full(100, np.nan))
    assert watch.finding().level == "ok"


def test_diagnose_drift__more_of_the_same__ok(
    model: VQKMeansClassifier, rng: np.random.Generator
) -> None:
    found = diagnose_drift(model, draw(rng, 500, 0.3))
    assert (found.name, found.level, found.cause) == ("drift", "ok", None)


def test_diagnose_drift__more_positives__alpha_moved(
    model: VQKMeansClassifier, rng: np.random.Generator
) -> None:
    found = diagnose_drift(model, draw(rng, 500, 0.8))
    assert (found.level, found.cause) == ("doubt", "drift")
    assert "alpha moved too" in found.sentence
    assert "column 0" in found.sentence


def test_diagnose_drift__a_column_that_does_not_matter__named_and_alpha_stays(
    model: VQKMeansClassifier, rng: np.random.Generator
) -> None:
    X = draw(rng, 500, 0.3)
    X[:, 3] += 2
    found = diagnose_drift(model, X)
    assert found.level == "doubt"
    assert "What moved: column 3" in found.sentence
    assert "need not have moved" in found.sentence


def test_diagnose_drift__aimed_elsewhere__border_moves_and_nothing_else(
    model: VQKMeansClassifier, rng: np.random.Generator, tmp_path: Path
) -> None:
    model.save(tmp_path / "model")
    aimed = vqpu.load(tmp_path / "model").set_alpha(0.6)
    assert diagnose_drift(aimed, draw(rng, 500, 0.3)).level == "ok"


def test_diagnose_drift__saved_and_loaded__the_same(
    model: VQKMeansClassifier, rng: np.random.Generator, tmp_path: Path
) -> None:
    X = draw(rng, 300, 0.8)
    model.save(tmp_path / "model")
    assert diagnose_drift(vqpu.load(tmp_path / "model"), X) == diagnose_drift(model, X)


def test_diagnose_drift__model_of_before__not_recorded(
    model: VQKMeansClassifier, rng: np.random.Generator, tmp_path: Path
) -> None:
    model.save(tmp_path / "model")
    old = vqpu.load(tmp_path / "model")
    old.evidence_ = old.evidence_._replace(reference=None)
    found = diagnose_drift(old, draw(rng, 300, 0.8))
    assert (found.level, found.cause) == ("doubt", "no-evidence")
    assert "not recorded" in found.sentence
    assert watch_drift(old) is None


def test_watch_drift__parts_that_do_not_fit__refused(
    model: VQKMeansClassifier, tmp_path: Path
) -> None:
    model.save(tmp_path / "model")
    changed = vqpu.load(tmp_path / "model")
    reference = changed.evidence_.reference
    columns = reference.columns._replace(missing=np.zeros(3))
    changed.evidence_ = changed.evidence_._replace(reference=reference._replace(columns=columns))
    with pytest.raises(ModelFileError, match="does not hold together"):
        watch_drift(changed)
    newer = reference._replace(version=2)
    changed.evidence_ = changed.evidence_._replace(reference=newer)
    assert watch_drift(changed) is None


def test_diagnose_drift__pipeline_and_data_frame__as_the_estimator_alone(
    rng: np.random.Generator,
) -> None:
    U = pd.DataFrame(draw(rng, 200, 0.3), columns=list("abcd"))
    P = pd.DataFrame(draw(rng, 60, 1.0), columns=list("abcd"))
    X, y = pd.concat([P, U]), np.repeat([1, 0], [60, 200])
    pipeline = make_pipeline(StandardScaler(), fast_classifier()).fit(X, y)
    assert diagnose_drift(pipeline, U).level == "ok"
    assert diagnose_drift(pipeline, U + 3).level == "doubt"
    alone = VQKMeansClassifier(encoder="trees", max_steps=10, random_state=0).fit(X, y)
    moved = U.assign(c=U["c"] + 3)
    assert "What moved: 'c' (" in diagnose_drift(alone, moved).sentence


def test_diagnose_drift__no_classifier__refused() -> None:
    with pytest.raises(InputTypeError, match="Got StandardScaler"):
        diagnose_drift(StandardScaler(), np.zeros((3, 2)))
