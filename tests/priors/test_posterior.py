from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.reference import method
from vqpu.priors._posterior import (
    Posterior,
    _loss,
    best_bin_alpha,
    fit_posterior,
    theoretical_alpha,
)


def test_log_odds__hand_computed() -> None:
    posterior = Posterior(alpha=0.5, slope=2.0, intercept=-1.0)
    assert posterior.log_odds(np.array([-1.0, 0.5, 2.0])).tolist() == [-3.0, 0.0, 3.0]


def test_best_bin__hand_computed() -> None:
    # Above 5 lie all four positives and two of ten unlabelled samples: 0.2 / 1.
    positive = np.array([6.0, 7.0, 8.0, 9.0])
    unlabeled = np.array([6.5, 5.5, 1, 1, 1, 1, 1, 1, 1, 1])
    assert best_bin_alpha(positive, unlabeled) == pytest.approx(0.2)


@pytest.mark.parametrize("seed", range(5))
def test_best_bin__random__equals_the_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    positive, unlabeled = rng.normal(1, 1, 40).round(1), rng.normal(0, 1, 70).round(1)
    expected = min(max(method.best_bin_alpha(positive, unlabeled), 0.001), 0.999)
    assert best_bin_alpha(positive, unlabeled) == pytest.approx(expected)


def test_gradient__equals_differences() -> None:
    rng = np.random.default_rng(0)
    samples = rng.normal(1, 1, 30), rng.normal(0, 1, 50)
    point = np.array([0.4, -0.3])
    _, gradient = _loss(point, *samples, 0.3)
    for axis in range(2):
        step = np.eye(2)[axis] * 1e-6
        above, below = (_loss(point + sign * step, *samples, 0.3)[0] for sign in (1, -1))
        assert gradient[axis] == pytest.approx((above - below) / 2e-6, abs=1e-6)


def normal(values: NDArray[np.float64], mean: float, deviation: float) -> NDArray[np.float64]:
    density: NDArray[np.float64] = np.exp(-0.5 * ((values - mean) / deviation) ** 2) / deviation
    return density


@pytest.mark.parametrize("alpha", [0.1, 0.2, 0.5, 0.8, 0.9])
def test_fit__two_normal_clusters__finds_alpha_and_calibrated_probabilities(alpha: float) -> None:
    rng = np.random.default_rng(1)
    place = 1 / (1 + alpha)  # where theory puts positives
    n_hidden = round(alpha * 4000)
    negative, hidden = rng.normal(0, 0.12, 4000 - n_hidden), rng.normal(place, 0.12, n_hidden)
    unlabeled = np.concatenate([negative, hidden])
    posterior = fit_posterior(rng.normal(place, 0.12, 2000), unlabeled)
    assert posterior.alpha == pytest.approx(alpha, abs=0.03)

    truth = alpha * normal(unlabeled, place, 0.12)
    truth = truth / (truth + (1 - alpha) * normal(unlabeled, 0, 0.12))
    estimate = 1 / (1 + np.exp(-posterior.log_odds(unlabeled)))
    assert np.abs(estimate - truth).mean() < 0.02


def test_fit__no_hidden_positives__alpha_near_zero_and_positives_still_positive() -> None:
    rng = np.random.default_rng(0)
    posterior = fit_posterior(rng.normal(1, 0.05, 100), rng.normal(0, 0.05, 400))
    assert posterior.alpha < 0.01
    assert posterior.log_odds(np.array([1.0]))[0] > 0
    assert posterior.log_odds(np.array([0.0]))[0] < 0


@pytest.mark.parametrize("n", [1, 2, 3])
def test_fit__tiny_or_constant_samples__finite(n: int) -> None:
    posterior = fit_posterior(np.full(n, 0.5), np.full(n, 0.5))
    assert np.isfinite(posterior).all()
    assert np.isfinite(posterior.log_odds(np.array([0.0, 0.5, 1.0]))).all()


@pytest.mark.parametrize("alpha", [0.2, 0.5, 0.8])
def test_theoretical_alpha__at_the_paper_s_limit__exact(alpha: float) -> None:
    assert theoretical_alpha(np.full(9, 1 / (1 + alpha))) == pytest.approx(alpha)


def test_theoretical_alpha__projection_too_small__one() -> None:
    assert theoretical_alpha(np.array([-0.2, 0.1, 0.2])) == 1.0
