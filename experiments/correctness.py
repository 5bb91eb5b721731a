"""Which test samples a run got right, packed into its record, and intervals of differences."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.item import Record
from experiments.summary import metrics_of

Bools = NDArray[np.bool_]

KEY = "test_correct"  # of the metrics
_N_REPLICATES = 2_000
_SHARE = 0.95


def pack(is_right: Bools) -> str:
    """Return one bit a sample, as text.

    Parameters
    ----------
    is_right : ndarray of bool, shape (n,)

    Examples
    --------
    >>> pack(np.array([True, False, True]))
    'oA=='
    """
    return base64.b64encode(np.packbits(is_right).tobytes()).decode()


def unpack(record: Record) -> Bools | None:
    """Return which test samples a run got right, None if its record does not say."""
    metrics = metrics_of(record)
    if KEY not in metrics:
        return None
    bits = np.frombuffer(base64.b64decode(metrics[KEY]), dtype=np.uint8)
    return np.unpackbits(bits, count=metrics["n_test"]).astype(bool)


class Difference(NamedTuple):
    """A difference of two accuracies.

    Attributes
    ----------
    mean, low, high : float
        In points; the interval holds 95 % of the bootstrap's replicates.
    n_seeds : int
        Seeds that both have.
    """

    mean: float
    low: float
    high: float
    n_seeds: int


def difference(first: Sequence[Record], second: Sequence[Record]) -> Difference | None:
    """Return how much more the first method gets right than the second, with an interval.

    Runs of one seed have the same P, U and test samples and are compared sample by sample. A
    replicate draws as many seeds as there are and as many test samples, with replacement.

    Parameters
    ----------
    first, second : sequence of Record
        Of one task; seeds that only one of them has, and records that do not say which samples
        they got right, are left out.

    Returns
    -------
    difference : Difference or None
        None: no seed is left.
    """
    by_seed = [
        {record.config["seed"]: right for record in part if (right := unpack(record)) is not None}
        for part in (first, second)
    ]
    common = sorted(by_seed[0].keys() & by_seed[1].keys())
    if not common:
        return None
    gains = np.stack(
        [by_seed[0][seed].astype(float) - by_seed[1][seed].astype(float) for seed in common]
    )
    rng = np.random.default_rng(0)
    n_seeds, n_test = gains.shape
    replicates = np.empty(_N_REPLICATES)
    for place in range(_N_REPLICATES):
        of_seeds = gains[rng.integers(n_seeds, size=n_seeds)].mean(axis=0)
        replicates[place] = of_seeds[rng.integers(n_test, size=n_test)].mean()
    low, high = np.quantile(replicates, [(1 - _SHARE) / 2, (1 + _SHARE) / 2])
    return Difference(100 * gains.mean(), 100 * float(low), 100 * float(high), n_seeds)
