"""Probabilities against known posteriors: two normal classes that overlap."""

from __future__ import annotations

import numpy as np
import pytest

from vqpu import VQKMeansClassifier, stack_pu


@pytest.mark.parametrize(
    ("alpha", "n_rounds", "mean_error", "calibration_error"),
    [(0.3, 1, 0.09, 0.08), (0.6, 1, 0.06, 0.05), (0.6, None, 0.08, 0.07)],
)
def test_predict_proba__overlapping_normals__calibrated(
    alpha: float, n_rounds: int | None, mean_error: float, calibration_error: float
) -> None:
    """Further rounds draw the classes apart, which costs calibration where they overlap."""
    rng = np.random.default_rng(0)
    shift = np.array([1.3, 0.6, 0.0])
    n_hidden = round(alpha * 4000)
    positive = rng.normal(size=(1500, 3)) + shift
    hidden = rng.normal(size=(n_hidden, 3)) + shift
    negative = rng.normal(size=(4000 - n_hidden, 3)) - shift
    X, y = stack_pu(positive, np.vstack([hidden, negative]))
    model = VQKMeansClassifier(n_members=2, n_rounds=n_rounds, max_steps=600, random_state=0).fit(
        X, y
    )

    test = rng.normal(size=(4000, 3)) + np.where(rng.random((4000, 1)) < alpha, shift, -shift)
    truth = 1 / (1 + np.exp(-(2 * test @ shift + np.log(alpha / (1 - alpha)))))
    estimate = model.predict_proba(test)[:, 1]
    assert np.abs(estimate - truth).mean() < mean_error
    bins = np.digitize(estimate, np.linspace(0.1, 0.9, 9))
    gaps = [
        abs(estimate[bins == b].mean() - truth[bins == b].mean()) * np.mean(bins == b)
        for b in np.unique(bins)
    ]
    assert sum(gaps) < calibration_error
    assert model.alpha_ == pytest.approx(alpha, abs=0.1)
    assert model.alpha_interval_[0] <= alpha <= model.alpha_interval_[1]
    agrees = np.mean(model.predict(test) == (truth > 0.5))
    assert agrees > 0.95
