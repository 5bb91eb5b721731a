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


def weighted_cross_entropy(logits: Array, weights: Array, n_positive: int) -> float:
    """Mean over both sets of the weighted mean of each."""
    means = []
    for is_positive in (True, False):
        total = mass = 0.0
        for place, (f, v) in enumerate(zip(logits, weights, strict=True)):
            if (place < n_positive) == is_positive:
                total -= v * math.log(sigmoid(f) if is_positive else 1 - sigmoid(f))
                mass += v
        means.append(total / mass if mass > 0 else 0.0)
    return sum(means) / 2


def self_paced_weight(hardness: float, threshold: float) -> float:
    """The best of many weights between 0 and 1, by what it is said to minimise."""
    candidates = [step / 10_000 for step in range(10_001)]
    return min(candidates, key=lambda v: v * hardness + threshold * (v * v / 2 - v))


def mixed_loss(
    logits: Array, targets: Array, n_positive: int, unlabeled_weight: float, entropy_weight: float
) -> float:
    losses = [
        -t * math.log(sigmoid(f)) - (1 - t) * math.log(1 - sigmoid(f))
        for f, t in zip(logits, targets, strict=True)
    ]
    first, second = losses[:n_positive], losses[n_positive:]
    means = sum(first) / len(first) + unlabeled_weight * sum(second) / len(second)
    return float(means + entropy_weight * entropy(logits))


def alignment(online: Array, target: Array, is_positive: list[bool]) -> float:
    """2 sqrt(1 - cos) over all pairs of one class, a sample and its own second view included."""
    values = []
    for q, q_class in zip(online, is_positive, strict=True):
        for k, k_class in zip(target, is_positive, strict=True):
            if q_class == k_class:
                dot = sum(float(a) * float(b) for a, b in zip(q, k, strict=True))
                cosine = dot / (math.sqrt(sum(q * q)) * math.sqrt(sum(k * k)))
                values.append(2 * math.sqrt(max(1 - cosine, 1e-4)))
    return sum(values) / len(values)


def misordered(positive: Array, unlabeled: Array) -> float:
    wrong = sum((p < u) + 0.5 * (p == u) for p in positive for u in unlabeled)
    return float(wrong / (len(positive) * len(unlabeled)))
