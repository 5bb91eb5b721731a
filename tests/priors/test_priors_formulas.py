"""Each estimator's core against a case computed by hand and against the slow reference."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.reference import priors as reference
from vqpu.priors import balanced_scores, estimate_prior
from vqpu.priors._best_bin import find_best_bin
from vqpu.priors._dedpul import (
    choose_alpha,
    converge,
    density_ratio,
    log_odds,
    posterior,
    smooth_ratio,
)
from vqpu.priors._elkan_noto import labelled_probability
from vqpu.priors._km2 import choose_kernel, distance_to_distributions, embed, find_lambda
from vqpu.priors._posterior import theoretical_alpha
from vqpu.priors._prior_estimate import hidden_share
from vqpu.priors._samples import scale_to_unit
from vqpu.priors._tice import cut_columns, largest_bound, lower_bound


def test_bbe__hand_computed__ratio_and_interval() -> None:
    # Above .5 lie all four positives and two of ten unlabelled samples: 0.2 / 1.
    positive = [0.6, 0.7, 0.8, 0.9]
    unlabeled = [0.65, 0.55, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
    found = estimate_prior("bbe", positive, unlabeled)
    chance = 1.01 * math.sqrt(math.log(40) / 2) * (1 / math.sqrt(10) + 1 / 2)
    assert found.alpha == pytest.approx(0.2)
    assert found.interval == pytest.approx((0.0, min(0.2 + chance, 1.0)))


def test_bbe__interval_not_cut__ratio_plus_and_minus_chance() -> None:
    rng = np.random.default_rng(0)
    positive, unlabeled = rng.normal(3, 1, 2000), rng.normal(3, 1, 8000)
    unlabeled[4000:] -= 6
    ratio, chance = reference.best_bin(positive[:200], unlabeled[3900:4100])
    found = find_best_bin(positive[:200], unlabeled[3900:4100])
    assert found == pytest.approx((ratio, chance))
    full = estimate_prior("bbe", positive, unlabeled)
    assert full.interval is not None
    assert full.interval[0] < 0.5 < full.interval[1]
    assert sum(full.interval) / 2 == pytest.approx(full.alpha)


@pytest.mark.parametrize("seed", range(8))
def test_bbe__random_with_ties__equals_the_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    positive, unlabeled = rng.normal(1, 1, 40).round(1), rng.normal(0, 1, 70).round(1)
    found = find_best_bin(positive, unlabeled)
    assert found == pytest.approx(reference.best_bin(positive, unlabeled))


def test_bbe__tied_scores__enter_together() -> None:
    # Four of ten unlabelled samples score as all positives do: .4, not the 2 of 10 met first.
    positive, unlabeled = np.ones(4), np.repeat([1.0, 0.0], [4, 6])
    assert estimate_prior("bbe", positive, unlabeled).alpha == pytest.approx(0.4)


def test_elkan_noto__hand_computed() -> None:
    # s = 2/3 with 2 labelled and 4 not: odds 2 * 2/4 = 1, so g = c = 1/2; 2 hidden of 4.
    assert labelled_probability(np.array([2 / 3]), 2, 4) == pytest.approx([0.5])
    found = estimate_prior("elkan-noto", [2 / 3, 2 / 3], [0.1, 0.2, 0.3, 2 / 3])
    assert found.alpha == pytest.approx(0.5)
    assert found.interval is None


@pytest.mark.parametrize("seed", range(3))
def test_elkan_noto__random__equals_the_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    positive, unlabeled = rng.uniform(0.55, 0.95, 30), rng.uniform(0, 1, 50)
    frequency = reference.labelling_frequency(positive, 30, 50)
    expected = (1 - frequency) / frequency * 30 / 50
    assert estimate_prior("elkan-noto", positive, unlabeled).alpha == pytest.approx(expected)


@pytest.mark.parametrize("alpha", [0.2, 0.5, 0.8])
def test_geometry__at_the_paper_s_limit__exact_and_the_classifier_s(alpha: float) -> None:
    projections = np.full(9, 1 / (1 + alpha))
    found = estimate_prior("geometry", projections, np.zeros(20))
    assert found.alpha == pytest.approx(alpha)
    assert found.alpha == pytest.approx(theoretical_alpha(projections))


def test_dedpul__posterior_and_em__hand_computed() -> None:
    # Half of U is twice as dense in P as in U, the other half is not in P at all.
    ratio = np.array([0.0, 0.0, 2.0, 2.0])
    assert posterior(ratio, 0.25).tolist() == [0, 0, 0.5, 0.5]
    assert posterior(ratio, 0.8).tolist() == [0, 0, 1, 1]
    assert converge(ratio) == pytest.approx(0.5)
    assert choose_alpha(ratio) == pytest.approx(0.5, abs=0.0015)


def test_dedpul__em_falls_past_the_bend__the_bend_is_taken() -> None:
    # f_P / f_U averages .95 over U, so EM has no fixed point: it goes to (1 + .1) / 2, where no
    # posterior is cut any more, and stops. The gap bends where 1.8 alpha passes 1.
    ratio = np.repeat([0.1, 1.8], [500, 500])
    assert converge(ratio) == pytest.approx(0.55)
    assert choose_alpha(ratio) == pytest.approx(1 / 1.8, abs=0.002)


def test_dedpul__p_lies_where_u_has_nothing__zero() -> None:
    assert choose_alpha(np.zeros(50)) == pytest.approx(0.0, abs=1e-4)


def test_dedpul__log_odds__hand_computed_and_finite() -> None:
    assert log_odds(np.array([0.5, 0.75])) == pytest.approx([0, math.log(3)])
    assert np.isfinite(log_odds(np.array([0.0, 1.0]))).all()


@pytest.mark.parametrize("seed", range(3))
def test_dedpul__random__densities_smoothing_and_em_equal_the_loops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    positive = rng.normal(1, 1, 60)
    unlabeled = np.concatenate([rng.normal(1, 1, 40), rng.normal(-2, 1, 60)])
    ratio = density_ratio(positive, unlabeled)
    assert ratio == pytest.approx(reference.density_ratio(positive, unlabeled))
    is_high = np.sort(unlabeled) >= 0
    smooth = smooth_ratio(ratio, is_high)
    assert smooth == pytest.approx(reference.smooth_ratio(ratio, is_high))
    assert converge(smooth) == pytest.approx(reference.em(smooth))


def test_km2__orthogonal_samples__distance_hand_computed() -> None:
    # K = I, two of U, one of P: u = (l/2, l/2, 1 - l), nearest weights (1/2, 1/2, 0).
    for mixing in (1.0, 1.5, 3.0):
        expected = math.sqrt(1.5) * (mixing - 1)
        found = distance_to_distributions(np.eye(3), 2, mixing)
        assert found == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize(("least_slope", "expected"), [(1.2, 1.0), (1.3, 10.0)])
def test_km2__slope_of_the_hand_case__found_by_bisection(
    least_slope: float, expected: float
) -> None:
    # There the slope is sqrt(1.5) = 1.22 everywhere: above 1.2 at once, never above 1.3.
    assert find_lambda(np.eye(3), 2, least_slope) == pytest.approx(expected, abs=0.04)


def test_km2__tiny_random__programme_equals_projected_gradient() -> None:
    rng = np.random.default_rng(0)
    positive, unlabeled = rng.normal(1, 1, (4, 2)), rng.normal(0, 1, (6, 2))
    kernel = choose_kernel(positive, unlabeled)
    features = embed(kernel)
    assert features.T @ features == pytest.approx(kernel)
    for mixing in (1.3, 2.5):
        expected = reference.distance_to_distributions(kernel, 6, mixing)
        assert distance_to_distributions(features, 6, mixing) == pytest.approx(expected, abs=1e-5)


def test_km2__kernel__of_the_width_that_tells_the_sets_apart_best() -> None:
    # U at 2 and -2, P at 0: squared distances 0 (3), 4 (4) and 16 (2), their median 4. Narrow
    # kernels tell best: the width is a tenth of the median distance 2.
    kernel = choose_kernel(np.zeros((1, 1)), np.array([[2.0], [-2.0]]))
    assert kernel[0, 2] == pytest.approx(math.exp(-4 / (2 * 0.2**2)))
    assert kernel.diagonal().tolist() == [1, 1, 1]


def test_tice__bound__hand_computed() -> None:
    # 30 of 100 labelled, c = .5, delta = .2: .3 - sqrt(.25 * 4 / 100).
    assert lower_bound(30, 100, 0.5, 0.2) == pytest.approx(0.2)


def test_tice__columns__cut_into_quarters_of_their_range() -> None:
    columns = np.array([[0.0, 10.0], [0.9, 20.0], [1.0, 30.0], [4.0, 50.0]])
    assert cut_columns(scale_to_unit(columns)).tolist() == [[0, 0], [0, 1], [1, 2], [3, 3]]


def test_tice__labelled_in_one_quarter__bound_hand_computed() -> None:
    # The last quarter holds all 40 labelled and 40 of 160 others; half of each grows the tree.
    pieces = np.repeat([3, 3, 0], [40, 40, 120])[:, None].astype(np.int8)
    is_labeled = np.arange(200) < 40
    in_tree = np.arange(200) % 2 == 0
    expected = 20 / 40 - math.sqrt(0.25 * 4 / 40)
    assert expected > 20 / 100
    assert largest_bound(pieces, is_labeled, in_tree, 0.5) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
def test_tice__random__search_equals_the_tree_without_pruning(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pieces = rng.integers(0, 4, (400, 3)).astype(np.int8)
    is_labeled = rng.random(400) < np.where(pieces.min(axis=1) >= 2, 0.9, 0.15)
    in_tree = rng.random(400) < 0.4
    expected = reference.tice_bound(pieces, is_labeled, in_tree, 0.4, 0.2)
    assert largest_bound(pieces, is_labeled, in_tree, 0.4) == pytest.approx(expected)


def test_hidden_share__hand_computed() -> None:
    # 100 labelled are a quarter of all positives: 300 hidden among 600.
    assert hidden_share(0.25, 100, 600) == pytest.approx(0.5)


@pytest.mark.parametrize("value", [-0.1, 1.5, np.nan])
def test_balanced_scores__no_probability__refused(value: float) -> None:
    with pytest.raises(ValueError, match=r"probability must lie in \[0, 1\]"):
        balanced_scores([0.5, value], 10, 40)


def test_balanced_scores__hand_computed() -> None:
    # Odds of .2 are 1/4; with four times as many unlabelled, both weighing the same, they are 1.
    assert balanced_scores([0.2, 0.5], 100, 400) == pytest.approx([0.5, 0.8])
