"""The report: every part by its numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vqpu
from tests.reported_models import kept_sample
from vqpu.report._codes import MOST_POINTS, code_map, code_usage, spread_equal
from vqpu.report._curves import check_rows, score_histogram, shown, stopping_curve
from vqpu.report._drawing import draw_map
from vqpu.report._galleries import difference, galleries, telling_columns
from vqpu.report._reported_model import ReportedModel, read_reported_model
from vqpu.report._summary import alpha_check, changed_parameters, diagnosis_of
from vqpu.report._training_sample import TrainingSample
from vqpu.training import History


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def reported_of(history: list[dict[str, Any]], **fitted: Any) -> ReportedModel:
    """A model without a network, for parts that look at numbers only."""
    model = vqpu.VQKMeansClassifier()
    defaults: dict[str, Any] = {
        "variant_": vqpu.Variant(stopping_signal="center-distance"),
        "history_": History(history), "best_check_": 1, "stop_reason_": "patience",
        "alpha_": 0.2, "alpha_interval_": (0.1, 0.3), "theoretical_alpha_": 0.25,
        "positive_share_": 0.3, "n_holdout_": (2, 100),
        "holdout_projections_": (np.ones(2), np.zeros(100)),
        "holdout_log_odds_": (np.array([-1.0, 3.0]), np.full(100, -2.0)),
    }  # fmt: skip
    for name, value in (defaults | fitted).items():
        setattr(model, name, value)
    return ReportedModel("model", model, {}, {"vqpu": "1"}, "anything", None, (0, 1))


def finding(level: str, name: str = "predictions") -> dict[str, Any]:
    return {"name": name, "level": level, "value": 1.0, "sentence": f"{name} is {level}."}


def sample_of(**parts: Any) -> TrainingSample:
    n = len(parts["is_labeled"])
    defaults: dict[str, Any] = {
        "scores": np.zeros(n), "projections": np.zeros(n), "codes": None,
        "names": list(range(n)), "kind": "rows", "n_positive": 1, "n_unlabeled": 2,
        "findings": [], "galleries": {"positive": [], "negative": [], "doubtful": []},
    }  # fmt: skip
    return TrainingSample(**(defaults | parts))


@pytest.mark.parametrize(
    ("levels", "level", "headline"),
    [
        (["ok", "ok"], "ok", "Nothing that was looked at speaks against this model (2 findings)."),
        (["ok", "doubt"], "doubt", "There is reason to doubt this model (1 of 2 findings)."),
        (["doubt", "failed"], "failed", "This model did not work (1 of 2 findings say so)."),
    ],
)
def test_diagnosis_of__is_that_of_the_worst_finding(
    levels: list[str], level: str, headline: str
) -> None:
    sample = sample_of(is_labeled=[], findings=[finding(name) for name in levels])
    found = diagnosis_of(reported_of([])._replace(sample=sample))
    assert (found.level, found.headline) == (level, headline)
    assert found.findings[0]["level"] == level, "the worst comes first"


def test_diagnosis_of__no_sample__asks_the_model(from_python: Path) -> None:
    reported = read_reported_model(from_python)
    expected = sorted(f.sentence for f in vqpu.diagnose(reported.model))
    assert sorted(f["sentence"] for f in diagnosis_of(reported).findings) == expected


def test_alpha_check__by_hand() -> None:
    reported = reported_of([])
    sample = sample_of(is_labeled=[], findings=[finding("ok"), finding("doubt", "alpha")])
    reported = reported._replace(sample=sample)
    found = alpha_check(reported, diagnosis_of(reported))
    assert (found.alpha, found.positive_share, found.theoretical_alpha) == (0.2, 0.3, 0.25)
    assert found.interval == (0.1, 0.3)
    assert found.sentence == "alpha is doubt."


def test_changed_parameters__those_that_differ() -> None:
    found = changed_parameters({"max_steps": 60, "n_members": None, "encoder": {"callable": "a.b"}})
    assert found == [("max_steps", "60", "none"), ("encoder", "the function a.b", "auto")]


def test_stopping_curve__by_hand() -> None:
    history = [
        {"step": step, "center_distance": distance, "positive_share": 0.1, "alpha": 0.2}
        for step, distance in ((20, 1.0), (40, 3.0), (60, 2.0))
    ]
    curve = stopping_curve(reported_of(history).model)
    assert curve.steps == [20, 40, 60]
    assert curve.values == [1.0, 3.0, 2.0]
    assert (curve.best, curve.larger_is_better, curve.signal) == (1, True, "center-distance")


def test_check_rows__a_row_a_check(from_python: Path) -> None:
    model = vqpu.load(from_python)
    headings, found = check_rows(model)
    assert headings[:3] == ["step", "epoch", "holdout loss"]
    assert [row[0] for row in found] == ["20", "40", "60"]


def test_score_histogram__by_hand() -> None:
    scores = (np.array([-1.0, 3.0]), np.array([-4.0, -4.0, -4.0, 4.0]))
    found = score_histogram(reported_of([], holdout_log_odds_=scores).model)
    np.testing.assert_allclose(found.edges, np.linspace(-4, 4, 41))
    assert found.positive.sum() == found.unlabeled.sum() == pytest.approx(1)
    assert (found.unlabeled[0], found.unlabeled[-1]) == (0.75, 0.25)
    assert (found.n_positive, found.n_unlabeled, found.n_beyond) == (2, 4, 0)
    assert (found.positive_above, found.unlabeled_above) == (0.5, 0.25)
    assert found.are_held_out


def test_score_histogram__long_tail__is_counted_in_the_outermost_bar() -> None:
    scores = (np.ones(100), np.append(np.full(99, -2.0), 600.0))
    model = reported_of([], holdout_log_odds_=scores, n_holdout_=(0, 0)).model
    found = score_histogram(model)
    assert found.edges[-1] == pytest.approx(2)
    assert (found.unlabeled[-1], found.n_beyond) == (0.01, 1)
    assert not found.are_held_out


def test_code_usage__by_hand() -> None:
    codes = np.array([[5, 5, 0], [5, 0, 0], [7, 7, 7]], np.int16)
    found = code_usage(codes, np.array([False, False, True]), 8)
    assert found.codes == [0, 5, 7]  # three each: the smaller first
    assert found.unlabeled == [0.5, 0.5, 0.0]
    assert found.positive == [0.0, 0.0, 1.0]
    assert (found.n_in_use, found.n_codes) == (3, 8)


def test_spread_equal__all_places_differ_and_one_stays() -> None:
    group = np.array([3, 1, 3, 3, 2])
    shifts = spread_equal(group, 0)
    assert len(np.unique(shifts[group == 3].round(9), axis=0)) == 3
    np.testing.assert_array_equal(shifts[[1, 4]], 0)
    assert (np.abs(shifts[group == 3]).sum(axis=1) == 0).sum() == 1


@pytest.mark.parametrize(("n_codes", "method"), [(1, "principal components"), (60, "t-SNE")])
def test_code_map__every_sample_visible(n_codes: int, method: str) -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, n_codes, (80, 60)).astype(np.int16)  # wide: by components first
    codes[40:] = codes[0]
    is_labeled = np.arange(80) >= 60
    scores = np.where(is_labeled, 1.0, -1.0)
    found = code_map(sample_of(is_labeled=is_labeled, codes=codes, scores=scores))
    assert found.method == method
    assert found.n_distinct == (1 if n_codes == 1 else 40)
    assert len(np.unique(found.places.round(9), axis=0)) == 80
    np.testing.assert_array_equal(found.is_positive, is_labeled)
    assert np.isfinite(found.places).all()
    assert draw_map(found).startswith("data:image/svg+xml;base64,")


def test_code_map__similar_codes__are_neighbours() -> None:
    rng = np.random.default_rng(0)
    codes = np.repeat([[0], [500]], 30, axis=0) + rng.integers(0, 9, (60, 4))
    places = code_map(sample_of(is_labeled=np.zeros(60, bool), codes=codes)).places
    distances = np.linalg.norm(places[:, None] - places[None], axis=2)
    np.fill_diagonal(distances, np.inf)
    assert ((distances.argmin(axis=1) < 30) == (np.arange(60) < 30)).all()


def test_code_map__too_many__a_sample() -> None:
    n = MOST_POINTS + 100
    codes = np.repeat(np.arange(2, dtype=np.int16), n // 2)[:, None]
    found = code_map(sample_of(is_labeled=np.zeros(n, bool), codes=codes))
    assert len(found.places) == MOST_POINTS


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([1.0, 2.0, 3.0, 4.0], [3.5, 4.0], 0.75),
        ([True, True], [False, True], 0.5),
        (["a"], ["b"], 1.0),
        ([], ["b"], 0.0),
    ],
)
def test_difference__by_hand(first: list[Any], second: list[Any], expected: float) -> None:
    assert difference(first, second) == expected


def test_telling_columns__eight_at_most_and_in_order() -> None:
    columns = [f"c{number}" for number in range(12)]
    positive = [dict.fromkeys(columns, 0.0) for _ in range(4)]
    negative = [dict.fromkeys(columns, 0.0) for _ in range(4)]
    for number in range(4):
        negative[number]["c7"] = 1.0
    negative[0]["c9"] = 1.0
    found = telling_columns(positive, negative, columns)
    assert found == ["c7", "c9", "c0", "c1", "c2", "c3", "c4", "c5"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.000012345, "1.234e-05"), (3.0, "3"), (-1e20, "-1e+20"), ("x", "x"), (False, "no")],
)
def test_shown__readable(value: Any, text: str) -> None:
    assert shown(value) == text


def test_galleries__rows__agree_with_the_sample(rows: Path) -> None:
    sample = kept_sample(rows)
    found = galleries(sample)
    assert not found.are_images
    assert set(found.columns[:2]) == {"x", "<b>kind</b>"}, "what tells the classes apart"
    assert (len(found.columns), len(found.all_columns)) == (8, 12)
    first, entry = found.galleries[0].items[0], sample.galleries["positive"][0]
    assert first.name == sample.names[entry["sample"]]
    assert first.all_cells == [shown(entry["row"][column]) for column in found.all_columns]
    probability = 1 / (1 + np.exp(-sample.scores[entry["sample"]]))
    assert first.probability in {f"{probability:.3f}", "> 0.999"}
