"""The rivals' formulas as loops over samples, slow and obvious."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def partial_risks(positive: Array, unlabeled: Array, alpha: float) -> tuple[float, float]:
    """Risk of positives, and the estimate of the risk of negatives."""
    as_positive = sum(sigmoid(-f) for f in positive) / len(positive)
    as_negative = sum(sigmoid(f) for f in positive) / len(positive)
    of_unlabeled = sum(sigmoid(f) for f in unlabeled) / len(unlabeled)
    return alpha * as_positive, of_unlabeled - alpha * as_negative


def nnpu_gradient(
    positive: Array, unlabeled: Array, alpha: float, beta: float, gamma: float
) -> tuple[Array, Array]:
    """What algorithm 1 descends along, sample by sample."""
    slope_p = np.array([sigmoid(f) * sigmoid(-f) for f in positive]) / len(positive)
    slope_u = np.array([sigmoid(f) * sigmoid(-f) for f in unlabeled]) / len(unlabeled)
    of_negative = -alpha * slope_p, slope_u
    if partial_risks(positive, unlabeled, alpha)[1] < -beta:
        return -gamma * of_negative[0], -gamma * of_negative[1]
    return -alpha * slope_p + of_negative[0], of_negative[1]


def label_distribution(positive: Array, unlabeled: Array, alpha: float) -> float:
    mean_p = sum(sigmoid(f) for f in positive) / len(positive)
    mean_u = sum(sigmoid(f) for f in unlabeled) / len(unlabeled)
    return 2 * alpha * abs(mean_p - 1) + abs(mean_u - alpha)


def entropy(logits: Array) -> float:
    total = 0.0
    for f in logits:
        s = sigmoid(f)
        total -= s * math.log(s) + (1 - s) * math.log(1 - s)
    return total / len(logits)


def variational(positive: Array, unlabeled: Array) -> float:
    mean_phi = sum(sigmoid(f) for f in unlabeled) / len(unlabeled)
    return math.log(mean_phi) - sum(math.log(sigmoid(f)) for f in positive) / len(positive)


def mixup_consistency(mixed: Array, unlabeled: Array, share: float) -> float:
    total = 0.0
    for m, u in zip(mixed, unlabeled, strict=True):
        total += (math.log(share * sigmoid(u) + 1 - share) - math.log(sigmoid(m))) ** 2
    return total / len(mixed)


def least_positive(scores: Array, alpha: float) -> list[int]:
    """Take the largest score away, one by one; of equal ones the last."""
    kept = list(range(len(scores)))
    for _ in range(int(alpha * len(scores))):
        if len(kept) > 1:
            kept.remove(max(kept, key=lambda place: (scores[place], place)))
    return kept


def cvir(positive: Array, unlabeled: Array, alpha: float) -> float:
    rest = [unlabeled[place] for place in least_positive(unlabeled, alpha)]
    of_positive = sum(-math.log(sigmoid(f)) for f in positive) / len(positive)
    of_rest = sum(-math.log(1 - sigmoid(f)) for f in rest) / len(rest)
    return (of_positive + of_rest) / 2
