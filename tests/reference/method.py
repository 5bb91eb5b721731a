"""The paper's formulas, one loop at a time."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def nearest_code(vectors: Array, codebook: Array) -> Array:
    """Q: nearest code, of equally near ones the first."""
    codes = np.empty(vectors.shape[:-1], dtype=np.int64)
    for place in np.ndindex(codes.shape):
        distances = [float(((vectors[place] - code) ** 2).sum()) for code in codebook]
        codes[place] = distances.index(min(distances))
    return codes


def equation_1(
    positive: Array,
    unlabeled: Array,
    codebook: Array,
    positive_anchor: Array,
    unlabeled_anchor: Array,
) -> dict[str, float]:
    """The four terms, each averaged over its own samples."""
    terms = {}
    for name, samples, anchor in (
        ("positive", positive, positive_anchor),
        ("unlabeled", unlabeled, unlabeled_anchor),
    ):
        target = codebook_term = 0.0
        for sample in samples:
            for vector in sample:
                target += ((vector - anchor) ** 2).sum()
                code = codebook[nearest_code(vector[None], codebook)[0]]
                codebook_term += ((vector - code) ** 2).sum()
        terms[f"{name}_target"] = target / len(samples)
        terms[f"{name}_codebook"] = codebook_term / len(samples)
    return terms


def best_two_means(samples: Array) -> tuple[float, Array]:
    """Inertia and membership of the best split in two, by trying all of them."""
    n = len(samples)
    best, membership = np.inf, np.zeros(n, dtype=bool)
    for pattern in itertools.product([False, True], repeat=n - 1):
        upper = np.array([False, *pattern])
        if not upper.any():
            continue
        inertia = sum(
            ((samples[part] - samples[part].mean(axis=0)) ** 2).sum() for part in (upper, ~upper)
        )
        if inertia < best - 1e-12:
            best, membership = float(inertia), upper
    return best, membership


def projection(vectors: Array, positive_anchor: Array, unlabeled_anchor: Array) -> Array:
    """s(x), vector by vector."""
    axis = positive_anchor - unlabeled_anchor
    return np.array(
        [
            np.mean([(vector - unlabeled_anchor) @ axis / (axis @ axis) for vector in sample])
            for sample in vectors
        ]
    )


def auc(positive: Array, unlabeled: Array) -> float:
    """Share of pairs in the right order, ties half."""
    score = 0.0
    for p in positive:
        for u in unlabeled:
            score += 1.0 if p > u else 0.5 if p == u else 0.0
    return score / (len(positive) * len(unlabeled))


def best_bin_alpha(positive: Array, unlabeled: Array) -> float:
    """BBE: the ratio of shares where ratio plus chance is least; of ties the highest score."""
    best, alpha = np.inf, 0.0
    chance = np.sqrt(np.log(4 / 0.1) / 2 / len(unlabeled))
    chance += np.sqrt(np.log(4 / 0.1) / 2 / len(positive))
    ordered = sorted(unlabeled, reverse=True)
    for i, score in enumerate(ordered, 1):
        j = int(sum(p >= score for p in positive))
        if i < 2 or j < 2 or (i < len(ordered) and ordered[i] == score):
            continue  # samples of one score enter together
        ratio = (i / len(unlabeled)) / (j / len(positive))
        bound = ratio + 1.01 * chance / (j / len(positive))
        if bound < best:
            best, alpha = bound, ratio
    return alpha


def follow(codebook: Array, vectors: Array, codes: Array, n_positive: int, rate: float) -> Array:
    """Codes after one step: the first and the last go to the mean of what falls on them."""
    moved = codebook.copy()
    for index, own in ((len(codebook) - 1, vectors[:n_positive]), (0, vectors[n_positive:])):
        falling = [vectors[place] for place in np.ndindex(codes.shape) if codes[place] == index]
        mean = np.mean(falling if falling else own.reshape(-1, own.shape[-1]), axis=0)
        moved[index] = codebook[index] + rate * (mean - codebook[index])
    return moved


def stop(values: list[float], sign: int, patience: int) -> tuple[int, int]:
    """The check that is kept and the check after which training ends, -1 if it does not."""
    for end in range(len(values)):
        seen = [sign * value for value in values[: end + 1]]
        best = seen.index(max(seen))
        if end - best >= patience:
            return best, end
    return best, -1


def separation(values: Array) -> float:
    """Distance of the two clusters of numbers over their root mean square spread."""
    _, upper = best_two_means(values[:, None])
    means = [values[part].mean() for part in (upper, ~upper)]
    spread = np.mean(
        [(value - means[0 if up else 1]) ** 2 for value, up in zip(values, upper, strict=True)]
    )
    return float(abs(means[0] - means[1]) / np.sqrt(spread))


def gaussian_kl(mean: Array, log_variance: Array, target: Array) -> float:
    """KL to N(target, I), by integration on a grid, coordinate by coordinate."""
    total = 0.0
    grid = np.linspace(-40, 40, 80_001)
    for place in np.ndindex(mean.shape):
        variance = np.exp(log_variance[place])
        log_p = -((grid - mean[place]) ** 2) / (2 * variance) - 0.5 * np.log(2 * np.pi * variance)
        log_q = -((grid - target[place[-1]]) ** 2) / 2 - 0.5 * np.log(2 * np.pi)
        total += float((np.exp(log_p) * (log_p - log_q)).sum() * (grid[1] - grid[0]))
    return total / len(mean)
