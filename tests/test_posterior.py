from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from vqpu._posterior import Posterior, fit_posterior, theoretical_alpha


def test_log_odds__hand_computed_between_the_means() -> None:
    posterior = Posterior(0.5, 0.0, 2.0, 1.0, 1.0)
    # Equal variances and shares: log odds are 2 (s - 1), tangents are the same line.
    assert posterior.log_odds(np.array([-3.0, 0.0, 1.0, 2.0, 5.0])).tolist() == [-8, -2, 0, 2, 8]


def test_log_odds__unequal_variances__strictly_increasing_everywhere() -> None:
    posterior = Posterior(0.3, 0.0, 1.0, 0.5, 0.01)
    odds = posterior.log_odds(np.linspace(-20, 20, 4001))
    assert (np.diff(odds) > 0).all()


def test_log_odds__share__shifts_by_its_own_log_odds() -> None:
    at_half = Posterior(0.5, 0.0, 1.0, 0.1, 0.2).log_odds(np.array([0.4]))
    at_fifth = Posterior(0.2, 0.0, 1.0, 0.1, 0.2).log_odds(np.array([0.4]))
    assert at_fifth[0] - at_half[0] == pytest.approx(math.log(0.2 / 0.8))


def normal(values: NDArray[np.float64], mean: float, deviation: float) -> NDArray[np.float64]:
    density: NDArray[np.float64] = np.exp(-0.5 * ((values - mean) / deviation) ** 2) / deviation
    return density


@pytest.mark.parametrize("alpha", [0.1, 0.2, 0.5, 0.8, 0.9])
def test_fit__two_normal_clusters__finds_alpha_and_calibrated_probabilities(alpha: float) -> None:
    rng = np.random.default_rng(1)
    place = 1 / (1 + alpha)  # where theory puts positives
    n_hidden = round(alpha * 4000)
    negative, hidden = rng.normal(0, 0.12, 4000 - n_hidden), rng.normal(place, 0.08, n_hidden)
    unlabeled = np.concatenate([negative, hidden])
    posterior = fit_posterior(rng.normal(place, 0.08, 800), unlabeled)
    assert posterior.alpha == pytest.approx(alpha, abs=0.02)

    truth = alpha * normal(unlabeled, place, 0.08)
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
