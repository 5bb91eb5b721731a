"""The study of borders, and what forests make of the evidence: cases by hand."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.item import Record
from experiments.studies.borders import accuracies, summary
from experiments.studies.doubt_limits import best_bin_interval, forest_alarms
from vqpu.priors._mixture import Cells


def test_accuracies__by_hand() -> None:
    log_odds = np.array([3.0, 2.0, -0.1, -1.0, -2.0])
    truth = np.array([True, True, True, False, False])
    found = accuracies(log_odds, truth, alpha=0.2)
    # The fit misses the third, one called positive is right but two are missed, three are right.
    assert found == {"fit": 0.8, "quantile": 0.6, "true_quantile": 1.0}


def test_summary__what_borders_lose__the_oracle_of_those_that_know() -> None:
    known = {"oracle_fit": 0.95, "oracle_best_border": 0.96, "fit": 0.9, "quantile": 0.8}
    known |= {"true_quantile": 0.91, "best_border": 0.92, "alpha_estimate": 0.4}
    known |= {"calibration_error": 0.03, "oracle_calibration_error": 0.01}
    before = {name: value for name, value in known.items() if not name.startswith("oracle_")}
    before |= {"oracle_calibration_error": 0.01}
    records = [Record({"task": "t", "alpha": 0.5}, metrics) for metrics in (known, before)]
    text = summary(records)
    assert "| mean | | 92.00 | 2.00 | 12.00 | 1.00 | 1.00 [1 of 2] | 3.00 | 1.00 | 0.400 |" in text
    assert "| - |" in summary(records[1:])


def test_best_bin_interval__upper_cells_alike__ratio_and_bound() -> None:
    # Of 10,000 positives half lie above the edge, of as many unlabelled samples 15 %: 30 %.
    cells = Cells(np.array([0.5]), np.array([5e3, 5e3]), np.array([8.5e3, 1.5e3]))
    found = best_bin_interval(cells)
    chance = np.sqrt(np.log(40) / 2) * 2 * 10_000**-0.5 / 0.5
    assert found.value == pytest.approx(0.3)
    assert found.low == pytest.approx(0.3 - chance)
    assert found.high == pytest.approx(0.3 + chance)


def test_best_bin_interval__nothing_to_count__anything() -> None:
    cells = Cells(np.array([0.5]), np.array([9.0, 1.0]), np.array([9.0, 0.0]))
    assert best_bin_interval(cells)[1:] == (0.0, 1.0)


def test_forest_alarms__one_number_tells__only_bad_ones() -> None:
    rng = np.random.default_rng(0)
    is_bad = np.arange(200) < 100
    X = np.column_stack([is_bad + rng.normal(0, 0.1, 200), rng.normal(size=200)])
    groups = [str(number % 10) for number in range(200)]
    judged = np.array([[1.0, 0.0], [0.0, 0.0]])
    assert forest_alarms(X, is_bad, groups, judged, 0.95).tolist() == [True, False]
