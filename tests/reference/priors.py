"""The class-prior estimators, one loop at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def best_bin(positive: Array, unlabeled: Array) -> tuple[float, float]:
    """BBE over distinct scores: ratio and chance where their sum is least, ties to the highest."""
    n_p, n_u = len(positive), len(unlabeled)
    spread = math.sqrt(math.log(4 / 0.1) / 2 / n_u) + math.sqrt(math.log(4 / 0.1) / 2 / n_p)
    best, found = math.inf, (math.nan, math.nan)
    for threshold in sorted(set(unlabeled.tolist()), reverse=True):
        i = sum(score >= threshold for score in unlabeled)
        j = sum(score >= threshold for score in positive)
        if i < 2 or j < 2:
            continue
        ratio, chance = (i / n_u) / (j / n_p), 1.01 * spread / (j / n_p)
        if ratio + chance < best:
            best, found = ratio + chance, (ratio, chance)
    return found


def labelling_frequency(scores: Array, n_positive: int, n_unlabeled: int) -> float:
    """Elkan and Noto's e1: mean of p(labelled | x) over P, its odds those of s times n_p / n_u."""
    total = 0.0
    for s in scores:
        odds = s / (1 - s) * n_positive / n_unlabeled
        total += odds / (1 + odds)
    return total / len(scores)


def density(values: Array, point: float, bandwidth: float) -> float:
    """Gaussian kernel density, the width in standard deviations."""
    width = bandwidth * math.sqrt(
        sum((v - np.mean(values)) ** 2 for v in values) / (len(values) - 1)
    )
    kernels = [math.exp(-0.5 * ((point - v) / width) ** 2) for v in values]
    return sum(kernels) / len(values) / width / math.sqrt(2 * math.pi)


def density_ratio(positive: Array, unlabeled: Array) -> Array:
    """DEDPUL's f_P / f_U at the sorted unlabelled log odds, at most 50."""
    return np.array(
        [
            min(density(positive, u, 0.1) / density(unlabeled, u, 0.05), 50.0)
            for u in sorted(unlabeled)
        ]
    )


def smooth_ratio(ratio: Array, is_high: Array) -> Array:
    """DEDPUL: a median of up to 5 each side, no fall where high, a median of n / 20 each side."""
    smooth = rolling_median(ratio, 5)
    for i in range(1, len(smooth)):
        if is_high[i] and is_high[i - 1]:
            smooth[i] = max(smooth[i], smooth[i - 1])
    return rolling_median(smooth, len(ratio) // 20)


def rolling_median(values: Array, n_neighbors: int) -> Array:
    result = []
    for i in range(len(values)):
        reach = min(n_neighbors, i, len(values) - 1 - i)
        window = sorted(values[i - reach : i + reach + 1])
        result.append(window[reach])
    return np.array(result)


def em(ratio: Array) -> float:
    """DEDPUL's EM from alpha = 1, stopped at its fixed point or once no posterior is cut at 1."""
    alpha = 1.0
    for _ in range(1_000):
        posteriors = [min(alpha * r, 1.0) for r in ratio]
        mean = sum(posteriors) / len(posteriors)
        if abs(mean - alpha) < 1e-5 or (max(posteriors) < 1 and abs(mean - alpha) < 0.05):
            break
        alpha = mean
    return alpha


def distance_to_distributions(kernel: Array, n_unlabeled: int, mixing: float) -> float:
    """KM2's quadratic programme by projected gradient: min (u - w)' K (u - w) over the simplex."""
    n = len(kernel)
    n_positive = n - n_unlabeled
    u = np.array([mixing / n_unlabeled] * n_unlabeled + [(1 - mixing) / n_positive] * n_positive)
    w = np.full(n, 1 / n)
    step = 0.5 / np.linalg.eigvalsh(kernel)[-1]
    for _ in range(2_000):
        w = project_to_simplex(w - step * 2 * kernel @ (w - u))
    return math.sqrt((u - w) @ kernel @ (u - w))


def project_to_simplex(point: Array) -> Array:
    """The nearest weights that are not negative and sum to 1, by bisection of the shift."""
    low, high = point.min() - 1, point.max()
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(point - middle, 0).sum() > 1 else (low, middle)
    return np.asarray(np.maximum(point - low, 0))


def tice_bound(
    pieces: Array, is_labeled: Array, in_tree: Array, frequency: float, delta: float
) -> float:
    """TIcE: the largest bound over all subsets of the tree, which is grown without any pruning."""
    variance = frequency * (1 - frequency) * (1 - delta) / delta

    def search(rows: list[int], columns: list[int]) -> float:
        tree = [row for row in rows if in_tree[row]]
        others = [row for row in rows if not in_tree[row]]
        best = -math.inf
        if len(others) >= 10:
            share = sum(is_labeled[row] for row in others) / len(others)
            best = share - math.sqrt(variance / len(others))
        labels = [is_labeled[row] for row in tree]
        if len(tree) <= 10 or all(labels) or not any(labels):
            return best
        column, parts = cut(rows, tree, others, columns)
        if column is None:
            return best
        rest = [other for other in columns if other != column]
        return max(best, *(search(part, rest) for part in parts))

    def cut(
        rows: list[int], tree: list[int], others: list[int], columns: list[int]
    ) -> tuple[int | None, list[list[int]]]:
        best_score, best_column = -1.0, None
        for column in columns:
            if len({int(pieces[row, column]) for row in others}) < 2:
                continue
            for piece in range(4):
                part = [row for row in tree if pieces[row, column] == piece]
                score = sum(is_labeled[row] for row in part) / (len(part) + 5)
                if score > best_score:
                    best_score, best_column = score, column
        if best_column is None:
            return None, []
        return best_column, [
            [row for row in rows if pieces[row, best_column] == piece] for piece in range(4)
        ]

    everything = list(range(len(pieces)))
    others = ~in_tree
    return max(float(is_labeled[others].mean()), search(everything, list(range(pieces.shape[1]))))
