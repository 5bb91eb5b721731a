"""Some of the samples of training, as rows that can be compared."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vqpu.base._source import ArraySource

MOST_COLUMNS = 500
_POOLED_SIDE = 4
_BLOCK_BYTES = 1 << 24


def as_rows(source: ArraySource, indices: NDArray[np.int64]) -> Any:
    """Return samples as vectors, images coarsely; None if there are too many columns.

    Parameters
    ----------
    source : ArraySource
    indices : ndarray of int
    """
    if not source.is_image:
        if source.sample_shape[0] > MOST_COLUMNS:
            return None
        return np.asarray(source.batch(indices).numpy(), dtype=np.float64)
    from torch.nn.functional import adaptive_avg_pool2d

    pooled = [
        adaptive_avg_pool2d(source.batch(block).float(), _POOLED_SIDE).flatten(1).numpy()
        for block in blocks_of(source, indices)
    ]
    return np.concatenate(pooled).astype(np.float64)


def n_columns_of(sample_shape: tuple[int, ...]) -> int:
    """Return how many columns such rows have.

    Parameters
    ----------
    sample_shape : tuple of int
        (d,) for vectors, (c, h, w) for images.
    """
    return sample_shape[0] * (_POOLED_SIDE**2 if len(sample_shape) > 1 else 1)


def blocks_of(source: ArraySource, indices: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Give the indices in blocks whose samples are never more than some megabytes.

    Parameters
    ----------
    source : ArraySource
    indices : ndarray of int
    """
    rows = max(1, _BLOCK_BYTES // (8 * math.prod(source.sample_shape)))
    for start in range(0, len(indices), rows):
        yield indices[start : start + rows]


def some(indices: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return at most so many of some indices, the same ones each time.

    Parameters
    ----------
    indices : ndarray of int
    most : int
    """
    if len(indices) <= most:
        return indices
    return np.sort(np.random.default_rng(0).choice(indices, most, replace=False))
