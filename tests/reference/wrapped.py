"""Elkan-Noto and bagging, one sample at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def elkan_noto_single_set(labeled: Array, held_out: Array) -> list[float]:
    """g / c, at most 1."""
    c = sum(held_out) / len(held_out)
    return [min(1.0, g / c) for g in labeled]


def elkan_noto_case_control(labeled: Array, held_out: Array) -> list[float]:
    """alpha p_P / p_U, where c says alpha and g says p_P / p_U; sizes of P and U drop out."""
    n_positive, n_unlabeled = 100.0, 700.0
    c = sum(held_out) / len(held_out)
    alpha = n_positive * (1 - c) / (c * n_unlabeled)
    answers = []
    for g in labeled:
        ratio = g / (1 - g) * n_unlabeled / n_positive
        answers.append(min(1.0, alpha * ratio))
    return answers


def out_of_bag(scores: Array, bags: Array) -> list[float]:
    answers = []
    for sample in range(scores.shape[1]):
        kept = [scores[b, sample] for b in range(len(bags)) if sample not in bags[b]]
        answers.append(float(np.mean(kept)))
    return answers
