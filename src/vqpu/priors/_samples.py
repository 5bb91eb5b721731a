"""Samples made ready for the methods that work on them directly."""

from __future__ import annotations

import numpy as np

from vqpu.priors._prior_estimate import Floats


def draw_rows(samples: Floats, most: int, generator: np.random.Generator) -> Floats:
    """Return the samples, or ``most`` of them drawn without replacement."""
    if len(samples) <= most:
        return samples
    return samples[np.sort(generator.choice(len(samples), most, replace=False))]


def standardise(positive: Floats, unlabeled: Floats) -> tuple[Floats, Floats]:
    """Give every column mean 0 and deviation 1 over both sets; constant columns are dropped."""
    stacked = scale_to_unit(np.concatenate([positive, unlabeled]))  # or tiny variances vanish
    stacked = (stacked - stacked.mean(axis=0)) / stacked.std(axis=0)
    return stacked[: len(positive)], stacked[len(positive) :]


def scale_to_unit(stacked: Floats) -> Floats:
    """Bring every column to [0, 1]; constant ones are dropped (`check_samples` leaves one)."""
    low, high = stacked.min(axis=0), stacked.max(axis=0)
    varies = low < high
    return np.asarray((stacked[:, varies] - low[varies]) / (high[varies] - low[varies]))
