"""The paper's one-dimensional example: two bells, K-means on U alone, and which cluster is P's."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.base._two_means import two_means_line

Floats = NDArray[np.float64]


class Bell(NamedTuple):
    """A normal distribution."""

    mean: float
    variance: float

    def density(self, x: Floats) -> Floats:
        """Return the density at x."""
        peak = 1 / math.sqrt(2 * math.pi * self.variance)
        return np.asarray(peak * np.exp(-((x - self.mean) ** 2) / (2 * self.variance)))

    def below(self, x: float) -> float:
        """Return the probability of a value below x."""
        return 0.5 * math.erfc((self.mean - x) / math.sqrt(2 * self.variance))


# The paper's figure 1.
POSITIVE = Bell(0, 9)
NEGATIVE = Bell(30, 25)


class ToySample(NamedTuple):
    """Labelled positives, unlabelled values and the truth of the latter."""

    positive: Floats
    unlabeled: Floats
    is_positive: NDArray[np.bool_]


class ToyClusters(NamedTuple):
    """Two clusters of U.

    Attributes
    ----------
    positive_center, negative_center : float
        The positive one is nearer to the labelled positives on average.
    border : float
        Midway between them.
    """

    positive_center: float
    negative_center: float

    @property
    def border(self) -> float:
        """Return the value that is equally far from both centres."""
        return (self.positive_center + self.negative_center) / 2

    def predict(self, x: Floats) -> NDArray[np.bool_]:
        """Return which values are nearer to the positive centre."""
        return np.abs(x - self.positive_center) < np.abs(x - self.negative_center)

    def population_accuracy(self) -> float:
        """Return the accuracy on as many positives as negatives, without sampling."""
        if self.positive_center < self.negative_center:
            right = POSITIVE.below(self.border), 1 - NEGATIVE.below(self.border)
        else:
            right = 1 - POSITIVE.below(self.border), NEGATIVE.below(self.border)
        return sum(right) / 2


def draw_toy(n_positive: int, n_unlabeled: int, seed: int) -> ToySample:
    """Draw P from the positive bell and U from both "with equal probabilities"."""
    rng = np.random.default_rng(seed)
    positive = rng.normal(POSITIVE.mean, math.sqrt(POSITIVE.variance), n_positive)
    is_positive = rng.random(n_unlabeled) < 0.5
    means = np.where(is_positive, POSITIVE.mean, NEGATIVE.mean)
    variances = np.where(is_positive, POSITIVE.variance, NEGATIVE.variance)
    return ToySample(positive, rng.normal(means, np.sqrt(variances)), is_positive)


def cluster_toy(positive: Floats, unlabeled: Floats) -> ToyClusters:
    """Cluster U into two; the labelled positives say which cluster is positive.

    On a line the best two clusters are found exactly, so nothing depends on a start.
    """
    first, second = two_means_line(unlabeled)
    is_first_nearer = np.abs(positive - first).mean() <= np.abs(positive - second).mean()
    return ToyClusters(first, second) if is_first_nearer else ToyClusters(second, first)


def best_border() -> float:
    """Return the border between the two means at which both bells are equally dense.

    The Bayes border for classes of equal size: the root of a quadratic equation.
    """
    a = 1 / NEGATIVE.variance - 1 / POSITIVE.variance
    b = 2 * (POSITIVE.mean / POSITIVE.variance - NEGATIVE.mean / NEGATIVE.variance)
    c = NEGATIVE.mean**2 / NEGATIVE.variance - POSITIVE.mean**2 / POSITIVE.variance
    c += math.log(NEGATIVE.variance / POSITIVE.variance)
    root = math.sqrt(b**2 - 4 * a * c)
    candidates = ((-b + root) / (2 * a), (-b - root) / (2 * a))
    return next(x for x in candidates if POSITIVE.mean < x < NEGATIVE.mean)
