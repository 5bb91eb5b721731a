from __future__ import annotations

import numpy as np
import pytest

from tests.reference import method
from vqpu.training import History, StoppingRule, holdout_auc, separation


def test_rule__hand_computed__keeps_the_first_largest_and_waits_for_patience() -> None:
    rule = StoppingRule("center-distance", patience=2)
    state = {"value": 0}
    stops = []
    for value in (1.0, 3.0, 3.0, 2.0):
        state["value"] = int(value)
        stops.append(rule.update({"center_distance": value}, state))
    assert stops == [False, False, False, True]
    assert rule.best_check == 1
    state["value"] = 99  # the kept state is a copy
    assert rule.best_state == {"value": 3}


def test_rule__loss__smaller_is_better() -> None:
    rule = StoppingRule("holdout-loss", patience=5)
    for value in (0.5, 0.3, 0.4):
        rule.update({"holdout_loss": value}, None)
    assert rule.best_check == 1


def test_rule__negative_values__improvement_is_absolute() -> None:
    rule = StoppingRule("separation", patience=1)
    assert not rule.update({"separation": -2.0}, None)
    assert rule.update({"separation": -2.1}, None)


def test_auc__hand_computed__ties_count_half() -> None:
    assert holdout_auc(np.array([1.0, 2.0]), np.array([0.0, 1.0])) == (1 + 0.5 + 1 + 1) / 4


def test_auc__random__equals_reference() -> None:
    rng = np.random.default_rng(0)
    positive, unlabeled = rng.integers(0, 6, 30) / 2, rng.integers(0, 6, 50) / 2
    assert holdout_auc(positive, unlabeled) == pytest.approx(method.auc(positive, unlabeled))


def test_separation__hand_computed() -> None:
    # clusters {0, 2} and {10, 12}: centres 10 apart, root mean square spread 1
    assert separation(np.array([0.0, 2.0, 10.0, 12.0])) == 10.0


def test_separation__clearer_clusters__larger() -> None:
    rng = np.random.default_rng(0)
    clear = np.concatenate([rng.normal(0, 0.1, 100), rng.normal(1, 0.1, 100)])
    blurred = np.concatenate([rng.normal(0, 0.4, 100), rng.normal(1, 0.4, 100)])
    assert separation(clear) > separation(blurred)


def test_history__marks_the_largest() -> None:
    history = History([{"d": value} for value in (3, 9, 1, 7, 8, 2)])
    history.mark_largest("d", 5, "top")
    assert history.column("top") == [True, True, False, True, True, True]


@pytest.mark.parametrize("signal", ["center-distance", "holdout-loss"])
@pytest.mark.parametrize("seed", range(5))
def test_rule__random_signal__equals_reference(signal: str, seed: int) -> None:
    values = np.random.default_rng(seed).integers(0, 9, 30).astype(float).tolist()
    rule = StoppingRule(signal, patience=6)
    ends = (
        number
        for number, value in enumerate(values)
        if rule.update({rule.signal.column: value}, number)
    )
    best, end = method.stop(values, rule.signal.sign, 6)
    assert next(ends, -1) == end
    assert rule.best_check == rule.best_state == best


@pytest.mark.parametrize("seed", range(5))
def test_separation__random__equals_reference(seed: int) -> None:
    values = np.random.default_rng(seed).normal(0, 1, 10).round(2)
    assert separation(values) == pytest.approx(method.separation(values))
