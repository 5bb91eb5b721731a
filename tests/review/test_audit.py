"""Strata, orders and estimates of the random audit; intervals cover what they promise."""

from __future__ import annotations

import numpy as np
import pytest

from vqpu.errors import InputError
from vqpu.review._audit import audit_order, estimate_audit, make_strata, stratum_weights
from vqpu.review._queues import make_queues, threshold_curve


def test_estimate__by_hand__two_strata_and_a_threshold_between() -> None:
    scores = np.concatenate([np.full(900, -2.0), np.full(100, 2.0)])
    strata = (scores > 0).astype(np.int64)
    decided = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 900, 901, 902, 903])
    is_yes = np.array([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0], dtype=bool)
    found = estimate_audit(scores, strata, decided, is_yes)
    assert found.precision is not None
    assert found.precision.estimate == pytest.approx(0.75)
    assert found.alpha.estimate == pytest.approx((90 + 75) / 1000)
    assert found.recall.estimate == pytest.approx(75 / (90 + 75))
    assert (found.n_decided, found.n_yes, found.n_above) == (14, 4, 100)
    for one in (found.alpha, found.precision, found.recall):
        assert 0 <= one.low <= one.estimate <= one.high <= 1


def test_estimate__everything_decided__is_the_truth() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=200)
    truth = rng.random(200) < 0.4
    found = estimate_audit(scores, make_strata(1 / (1 + np.exp(-scores))), np.arange(200), truth)
    assert found.alpha == pytest.approx((truth.mean(),) * 3)


def test_estimate__no_decision__said() -> None:
    with pytest.raises(InputError, match="no decision of a random audit"):
        estimate_audit(np.zeros(3), np.zeros(3, np.int64), np.array([], np.int64), np.array([]))


def test_strata__in_the_order_of_scores_and_no_gap() -> None:
    p = np.random.default_rng(0).beta(0.3, 2, 1000)
    strata = make_strata(p)
    assert set(strata) == set(range(strata.max() + 1))
    assert (np.diff(strata[np.argsort(p)]) >= 0).all()
    assert make_strata(np.full(3, 0.5)).max() <= 2
    assert make_strata(np.empty(0)).shape == (0,)


def test_order__one_of_every_stratum_in_turn() -> None:
    strata = np.repeat([0, 1, 2], [50, 20, 5])
    order = audit_order(strata, 0)
    assert sorted(order) == list(range(75))
    assert set(strata[order[:3]]) == {0, 1, 2}
    assert np.bincount(strata[order[:15]]).tolist() == [5, 5, 5]
    assert not np.array_equal(order, audit_order(strata, 1))
    assert stratum_weights(strata) @ [1, 1, 1] == pytest.approx(3.0)


def test_queues__by_hand() -> None:
    scores = np.array([3.0, -1.0, 0.1, np.nan, -4.0, 2.0])
    queues = make_queues(scores, np.array([0, 0, 0, 0, 1, 1], dtype=bool), 0)
    assert queues.orders["likely"].tolist() == [0, 2, 1]
    assert queues.orders["doubtful"].tolist() == [2, 1, 0]
    assert queues.orders["labeled"].tolist() == [4, 5]
    assert sorted(queues.orders["audit"]) == [0, 1, 2]
    assert queues.weight_of("doubtful", 0) is None
    assert queues.weight_of("audit", 0) == pytest.approx(1.0)


def test_threshold__by_hand() -> None:
    at = threshold_curve(np.array([0.0, 2.0, -2.0])).at(0.0)
    p = 1 / (1 + np.exp(-2.0))
    assert at["n_above"] == 1
    assert at["expected_above"] == pytest.approx(p)
    assert at["expected_below"] == pytest.approx(0.5 + 1 - p)


def coverage(n_audits: int, *, bias: float) -> list[float]:
    """Share of audits whose intervals hold alpha, precision and recall."""
    rng, hits = np.random.default_rng(0), np.zeros(3)
    for seed in range(n_audits):
        truth = rng.random(5000) < 0.3
        x = rng.normal(0, 1, 5000) + 2 * truth
        scores = 2 * x - 2 + np.log(0.3 / 0.7) + bias
        strata = make_strata(1 / (1 + np.exp(-scores)))
        decided = audit_order(strata, seed)[:200]
        found = estimate_audit(scores, strata, decided, truth[decided])
        assert found.precision is not None
        above = scores > 0
        wanted = (truth.mean(), truth[above].mean(), (truth & above).sum() / truth.sum())
        intervals = (found.alpha, found.precision, found.recall)
        hits += [one.low <= t <= one.high for one, t in zip(intervals, wanted, strict=True)]
    return [float(share) for share in hits / n_audits]


def test_intervals__60_simulated_audits__cover_about_nine_of_ten() -> None:
    # Three binomial standard errors around 0.9.
    assert all(0.78 <= share <= 1.0 for share in coverage(60, bias=0.0))


@pytest.mark.torture
@pytest.mark.parametrize("bias", [0.0, 1.5])
def test_intervals__500_simulated_audits__cover_87_to_95_percent(bias: float) -> None:
    assert all(0.87 <= share <= 0.95 for share in coverage(500, bias=bias))
