"""alpha by a mixture: cells by hand, intervals on known shares, what the user knows."""

from __future__ import annotations

import numpy as np
import pytest

from vqpu.priors._mixture import (
    Cells,
    _negatives,
    any_share,
    count_cells,
    ends_of,
    fit_mixture,
    fit_mixture_of_cells,
    shares_between,
    weighted_interval,
)


def test_count_cells__by_hand() -> None:
    cells = count_cells(np.array([0.5, 0.9, 0.7]), np.array([0.1, 0.5, 0.6, 0.95, 0.2]))
    assert cells.edges.tolist() == [0.5, 0.7, 0.9]
    assert cells.n_positive.tolist() == [0, 1, 1, 1]
    assert cells.n_unlabeled.tolist() == [2, 2, 0, 1]


def test_count_cells__ties__every_sample_counted_once() -> None:
    rng = np.random.default_rng(0)
    positive, unlabeled = rng.integers(0, 5, 300) / 5, rng.integers(0, 5, 700) / 5
    cells = count_cells(positive, unlabeled)
    assert (cells.n_positive.sum(), cells.n_unlabeled.sum()) == (300, 700)


def test_weighted_interval__by_hand() -> None:
    values = np.array([0.0, 1.0, 2.0, 3.0])
    found = weighted_interval(values, np.full(4, 0.25))
    assert found.value == 1.5
    # A quarter of the weight up to 0.5, half to 1.5: 5 % lie below 0.1, 95 % below 2.9.
    assert (found.low, found.high) == pytest.approx((0.1, 2.9))


def test_any_share__adds_up_to_one_and_has_both_ends() -> None:
    shares = any_share()
    assert shares.weights.sum() == pytest.approx(1)
    assert (shares.values[0], shares.values[-1]) == (0, 1)
    assert shares.interval().value == pytest.approx(0.5)


@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.7])
@pytest.mark.parametrize("distance", [2.0, 5.0])
def test_fit_mixture__normal_classes__interval_holds_alpha(alpha: float, distance: float) -> None:
    rng = np.random.default_rng(1)
    hidden = rng.random(2000) < alpha
    unlabeled = np.where(hidden, rng.normal(0, 1, 2000), rng.normal(-distance, 1, 2000))
    found = fit_mixture(rng.normal(0, 1, 500), unlabeled)
    share = found.shares.interval()
    assert share.low <= hidden.mean() <= share.high
    assert share.high - share.low < 0.4
    true_auc = {2.0: 0.921, 5.0: 0.9998}[distance]
    assert abs(found.auc.value - true_auc) < 0.06


@pytest.mark.parametrize("all_positive", [False, True])
def test_fit_mixture__one_class_in_u__interval_reaches_the_end(all_positive: bool) -> None:
    rng = np.random.default_rng(0)
    unlabeled = rng.normal(0 if all_positive else -6, 1, 1000)
    share = fit_mixture(rng.normal(0, 1, 200), unlabeled).shares.interval()
    assert (share.high == 1.0) if all_positive else (share.low == 0.0)
    assert share.value > 0.7 if all_positive else share.value < 0.05


def test_fit_mixture__twice__the_same_and_global_state_untouched() -> None:
    rng = np.random.default_rng(0)
    positive, unlabeled = rng.normal(0, 1, 50), rng.normal(-1, 1, 100)
    before = np.random.get_state()  # noqa: NPY002
    one, two = fit_mixture(positive, unlabeled), fit_mixture(positive, unlabeled)
    assert np.array_equal(one.shares.weights, two.shares.weights)
    assert str(before) == str(np.random.get_state())  # noqa: NPY002


def test_fit_mixture__order_and_scale_of_scores__change_nothing() -> None:
    rng = np.random.default_rng(0)
    positive, unlabeled = rng.normal(0, 1, 80), rng.normal(-1, 1, 300)
    one = fit_mixture(positive, unlabeled)
    other = fit_mixture(np.exp(positive[::-1]), np.exp(unlabeled[::-1]))
    assert np.array_equal(one.shares.weights, other.shares.weights)


def test_fit_mixture__known_share__taken_as_it_is() -> None:
    rng = np.random.default_rng(0)
    cells = count_cells(rng.normal(0, 1, 80), rng.normal(-1, 1, 300))
    assert fit_mixture_of_cells(cells, shares_between(0.2, 0.2)).shares.interval().value == 0.2
    within = fit_mixture_of_cells(cells, shares_between(0.1, 0.2)).shares.interval()
    assert 0.1 <= within.low <= within.value <= within.high <= 0.2


def test_ends_of__number_or_interval() -> None:
    assert ends_of(0.3) == (0.3, 0.3)
    assert ends_of((0.1, 0.2)) == (0.1, 0.2)


def test_fit_mixture__negatives_of_a_sharp_edge__upper_cells_tell_alpha() -> None:
    # 1,000 labelled and 2,351 unlabelled rows of a table, 5 % of them positive: most negatives lie
    # below nearly all positives, in a shape that is not normal.
    unlabeled = [281, 1076, 407, 313, 97, 35, 24, 18, 13, 10, 4, 5, 10, 2, 6, 6, 8, 7, 5, 4, 4, 4]
    counts = np.array([*unlabeled, 2, 6, 3, 1], dtype=np.float64)
    positive = np.array([0.0, *[41.625] * 24, 1.0])
    share = fit_mixture_of_cells(Cells(np.arange(25.0), positive, counts)).shares.interval()
    assert 0 < share.low <= 0.05 <= share.high
    assert abs(share.value - 0.05) < 0.015


def test_fit_mixture__few_labelled_positives__unlabelled_samples_count_for_less() -> None:
    counts = np.array([400.0, 150.0, 80.0, 70.0, 70.0, 80.0, 70.0, 80.0])
    cells = Cells(np.arange(7.0), np.ones(8), counts)
    # 1,000 unlabelled samples beside 8 labelled ones weigh as 40 do, so 40 say nearly as much.
    many, few = (
        fit_mixture_of_cells(cells._replace(n_unlabeled=counts * part)).shares.interval()
        for part in (1.0, 0.04)
    )
    assert many.high - many.low > 0.85 * (few.high - few.low)


def test_negatives__improper_kinds__are_left_out() -> None:
    kinds = _negatives()
    # Wide negatives at the positives' own place would outnumber them among the highest scores.
    assert not ((kinds.sigma > 1) & (kinds.distance < 0.5)).any()
    # Narrow or far ones do not, nor do those that are just like positives.
    assert ((kinds.sigma == 1) & (kinds.distance == 0)).any()
    assert ((kinds.sigma > 1) & (kinds.distance >= 1)).any()
