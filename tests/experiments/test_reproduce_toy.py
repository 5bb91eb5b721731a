"""Figure 1: the one-dimensional example."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.cluster import KMeans

from experiments.items.toy import (
    NEGATIVE,
    POSITIVE,
    Bell,
    ToyClusters,
    best_border,
    cluster_toy,
    draw_toy,
)


@pytest.mark.parametrize(
    ("positive", "centers"), [([0.0, 1.0], (0.0, 10.0)), ([9.0, 12.0], (10.0, 0.0))]
)
def test_answer__hand_computed__positives_name_their_cluster(
    positive: list[float], centers: tuple[float, float]
) -> None:
    unlabeled = np.array([9.0, -1.0, 10.0, 0.0, 11.0, 1.0])
    answer = cluster_toy(np.array(positive), unlabeled)
    assert (answer.positive_center, answer.negative_center) == centers
    assert answer.border == 5
    nearer = np.array([-3.0, 4.0, 6.0])
    assert answer.predict(nearer).tolist() == [center < 5 for center in [centers[0]] * 2] + [
        centers[0] > 5
    ]


def test_answer__drawn_sample__as_scikit_learns_kmeans() -> None:
    sample = draw_toy(100, 1000, seed=3)
    answer = cluster_toy(sample.positive, sample.unlabeled)
    model = KMeans(2, n_init=10, random_state=0).fit(sample.unlabeled[:, None])
    slow = sorted(model.cluster_centers_.ravel())
    assert [answer.positive_center, answer.negative_center] == pytest.approx(slow, rel=1e-3)


def test_draw__many__the_papers_means_variances_and_shares() -> None:
    sample = draw_toy(50_000, 100_000, seed=0)
    hidden, negative = (sample.unlabeled[sample.is_positive == is_p] for is_p in (True, False))
    assert sample.is_positive.mean() == pytest.approx(0.5, abs=0.01)
    for values, mean, variance in ((sample.positive, 0, 9), (hidden, 0, 9), (negative, 30, 25)):
        assert values.mean() == pytest.approx(mean, abs=0.1)
        assert values.var() == pytest.approx(variance, rel=0.03)


def test_bell__density_and_distribution__hand_computed() -> None:
    bell = Bell(30, 25)
    assert bell.below(30) == pytest.approx(0.5)
    assert bell.below(35) == pytest.approx(0.841345, abs=1e-6)
    assert bell.density(np.array([30.0]))[0] == pytest.approx(1 / (5 * math.sqrt(2 * math.pi)))


def test_population_accuracy__border_15__three_and_five_deviations() -> None:
    # 15 lies 5 deviations above the positive mean and 3 below the negative one.
    expected = 1 - (2.8665e-7 + 1.349898e-3) / 2
    assert ToyClusters(0, 30).population_accuracy() == pytest.approx(expected, abs=1e-9)
    assert ToyClusters(30, 0).population_accuracy() == pytest.approx(1 - expected, abs=1e-9)


def test_best_border__equal_densities__and_no_border_is_better() -> None:
    border = best_border()
    at = np.array([border])
    assert POSITIVE.density(at) == pytest.approx(NEGATIVE.density(at))

    def accuracy(x: float) -> float:
        return (POSITIVE.below(x) + 1 - NEGATIVE.below(x)) / 2

    assert accuracy(border) > max(accuracy(border - 0.1), accuracy(border + 0.1))
    assert border == pytest.approx(11.504, abs=1e-3)
