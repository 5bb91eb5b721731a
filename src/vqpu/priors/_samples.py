"""Samples made ready for the methods that work on them directly."""

from __future__ import annotations

import numpy as np

from vqpu.priors._finding import Floats


def draw_rows(samples: Floats, most: int, generator: np.random.Generator) -> Floats:
    """Return the samples, or ``most`` of them drawn without replacement."""
    if len(samples) <= most:
        return samples
    return samples[np.sort(generator.choice(len(samples), most, replace=False))]


def standardise(positive: Floats, unlabeled: Floats) -> tuple[Floats, Floats]:
    """Give every column mean 0 and deviation 1 over both sets; constant columns are dropped."""
    stacked = varying_columns(np.concatenate([positive, unlabeled]))
    stacked = (stacked - stacked.mean(axis=0)) / stacked.std(axis=0)
    return stacked[: len(positive)], stacked[len(positive) :]


def varying_columns(stacked: Floats) -> Floats:
    """Return the columns that are not constant; `check_samples` has seen that there is one."""
    return stacked[:, stacked.min(axis=0) < stacked.max(axis=0)]
