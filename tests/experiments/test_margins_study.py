"""The study of margins: cases by hand, and the default that it chose."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.item import Record
from experiments.studies.encoders import AGAIN
from experiments.studies.encoders import SEEDS as JUDGING_SEEDS
from experiments.studies.margins import MARGINS, expand, gaps, means, measures
from experiments.variants import varied_margin
from vqpu.vq import _rounds


def record(*rows: tuple[float, float, float], alpha: float = 0.2) -> Record:
    history = [
        {"table": "a", "margin": margin, "accuracy": 95.0 - lost, "lost": lost,
         "balanced_accuracy": 70.0 + margin, "calibration_error": error}
        for margin, lost, error in rows
    ]  # fmt: skip
    return Record({"alpha": alpha, "seed": 3}, {"n_tables": 1}, history)


def test_measures__by_hand() -> None:
    log_odds = np.array([3.0, 2.0, -0.1, -1.0])
    found = measures(log_odds, np.array([True, True, True, False]))
    assert found["accuracy"] == pytest.approx(75)
    assert found["lost"] == pytest.approx(25)
    assert found["balanced_accuracy"] == pytest.approx(100 * (2 / 3 + 1) / 2)


def test_gaps__by_hand() -> None:
    found = gaps([two_tables()])
    assert found[1]["lost"] == (2.0, 1.0)  # 1 and 3 on the two tables
    assert found[3]["balanced_accuracy"] == (3.0, 0.0)
    assert 0 not in found


def two_tables() -> Record:
    first = record(*[(margin, 5 + margin, 9.0) for margin in MARGINS])
    second = record(*[(margin, 5 + 3 * margin, 9.0) for margin in MARGINS])
    others = [{**row, "table": "b"} for row in second.history]
    return Record(first.config, first.metrics, [*first.history, *others])


def test_means__of_one_alpha() -> None:
    rows = [(margin, margin, 1.0) for margin in MARGINS]
    other = [(margin, 9.0, 1.0) for margin in MARGINS]
    found = means([record(*rows), record(*other, alpha=0.5)], alpha=0.2)
    assert [one["lost"] for one in found.values()] == list(MARGINS)


def test_draws__others_than_those_of_the_encoders() -> None:
    assert {config["seed"] for config in expand(None).values()}.isdisjoint({*JUDGING_SEEDS, AGAIN})


def test_varied_margin__inside_the_block_alone() -> None:
    usual = _rounds.RAISED_FOR_TREES
    with varied_margin(usual + 1):
        assert usual + 1 == _rounds.RAISED_FOR_TREES
    assert usual == _rounds.RAISED_FOR_TREES
