"""Scores without negatives, one sample at a time."""

from __future__ import annotations

from collections.abc import Sequence


def draw_from_population(y_pu: Sequence[int], scenario: str) -> list[int]:
    """Positions of the samples that are a draw from the population."""
    if scenario == "single-set":
        return list(range(len(y_pu)))
    return [i for i, label in enumerate(y_pu) if label == 0]


def prior_of(y_pu: Sequence[int], scenario: str, alpha: float) -> float:
    """Share of positives in the population, from their share in U."""
    n_positive, n_unlabeled = sum(y_pu), len(y_pu) - sum(y_pu)
    if scenario == "case-control":
        return alpha
    return (n_positive + alpha * n_unlabeled) / (n_positive + n_unlabeled)


def rates(y_pu: Sequence[int], called: Sequence[int], scenario: str) -> tuple[float, float]:
    """Recall, and the share of the population that is called positive."""
    found = [called[i] for i, label in enumerate(y_pu) if label == 1]
    drawn = [called[i] for i in draw_from_population(y_pu, scenario)]
    return sum(found) / len(found), sum(drawn) / len(drawn)


def confusion(
    y_pu: Sequence[int], called: Sequence[int], scenario: str, alpha: float
) -> dict[str, float]:
    """Shares of the four kinds of answers in the population."""
    pi = prior_of(y_pu, scenario, alpha)
    recall, positive_rate = rates(y_pu, called, scenario)
    tp = pi * recall
    fp = positive_rate - tp
    return {"tp": tp, "fp": fp, "fn": pi - tp, "tn": 1 - pi - fp}


def average_precision(
    y_pu: Sequence[int], scores: Sequence[float], scenario: str, alpha: float
) -> float:
    """Precision at every threshold, weighted with the recall that it adds."""
    pi = prior_of(y_pu, scenario, alpha)
    total = recall_before = 0.0
    for threshold in sorted(set(scores), reverse=True):
        called = [int(score >= threshold) for score in scores]
        recall, positive_rate = rates(y_pu, called, scenario)
        precision = 1.0
        if positive_rate > pi * recall:
            precision = pi * recall / positive_rate
        total += (recall - recall_before) * precision
        recall_before = recall
    return total


def auc(y_pu: Sequence[int], scores: Sequence[float]) -> float:
    """Share of pairs of P and U in the right order, ties half."""
    right = pairs = 0.0
    for i, label in enumerate(y_pu):
        for j, other in enumerate(y_pu):
            if label == 1 and other == 0:
                pairs += 1
                right += 1.0 if scores[i] > scores[j] else 0.5 if scores[i] == scores[j] else 0.0
    return right / pairs


def calibration_error(truth: Sequence[int], chances: Sequence[float], n_bins: int) -> float:
    """Distance of mean probability and frequency, bin by bin."""
    total = 0.0
    for k in range(n_bins):
        low, high = k / n_bins, (k + 1) / n_bins
        inside = [
            i
            for i, chance in enumerate(chances)
            if low <= chance < high or (k == n_bins - 1 and chance == 1)
        ]
        if inside:
            frequency = sum(truth[i] for i in inside) / len(inside)
            mean = sum(chances[i] for i in inside) / len(inside)
            total += len(inside) / len(chances) * abs(frequency - mean)
    return total
