"""K-means with k = 2: exact on integer codes, and globally optimal in one dimension.

On integers every product and sum stays below 2**53, hence exact in float64 in any order: the
result does not depend on the order of the samples, on chunks or on threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

_CHUNK_ROWS = 4096
_ROWS_PER_THREAD = 1 << 16
_EXACT = 2.0**53

Floats = NDArray[np.float64]
Codes = NDArray[np.integer[Any]]
Sums = TypeVar("Sums")


class TwoMeans(NamedTuple):
    """Two clusters.

    Attributes
    ----------
    centers : ndarray of float64, shape (2, n_features)
        Ordered by their sum of coordinates, the smaller one first.
    inertia : float
        Sum of squared distances of the samples to the centre of their cluster.
    n_iterations : int
        Lloyd iterations of the best start.
    """

    centers: Floats
    inertia: float
    n_iterations: int


class _Splits(NamedTuple):
    """Hyperplanes, one a start: a sample lies above one if ``sample @ direction > threshold``."""

    directions: Floats  # (n_features, n_starts), whole numbers
    thresholds: Floats  # (n_starts,)


class _Totals(NamedTuple):
    """Sums over all samples; whole numbers throughout."""

    n_samples: int
    sums: NDArray[np.int64]  # (n_features,)
    products: Floats  # (n_features, n_features), X' X
    largest: int


def two_means_codes(
    codes: Codes, *, n_starts: int = 4, seed: int = 0, max_iterations: int = 300
) -> TwoMeans:
    """Cluster rows of integers into two by Lloyd's algorithm from several starts.

    Parameters
    ----------
    codes : ndarray of int, shape (n_samples, n_features)
        At least two distinct rows of values from 0.
    n_starts : int
        Starting partitions: one by the leading principal component, the others by random
        directions. All starts run side by side, so that a pass over the data serves them all.
    seed : int
        Of the random directions.
    max_iterations : int
        Bound on Lloyd iterations.

    Notes
    -----
    A sample belongs to the upper cluster if its projection on the line between the centres lies
    strictly beyond their midpoint; a tie belongs to the lower one. The direction of that line is
    rounded to whole numbers (30 bits and more), which makes the projection exact.
    """
    totals = _add_up(codes)
    splits = _first_splits(totals, n_starts, seed)
    previous: NDArray[np.int64] | None = None
    best: TwoMeans | None = None
    for iteration in range(1, max_iterations + 1):
        counts, sums = _sums_above(codes, splits)
        state = np.column_stack([counts, sums])
        done = np.zeros(len(counts), dtype=bool)
        if previous is not None:
            done = (state == previous).all(axis=1)
        if iteration == max_iterations:
            done[:] = True
        for start in np.flatnonzero(done):
            found = _clusters(totals, int(counts[start]), sums[start], iteration)
            best = found if best is None or found.inertia < best.inertia else best
        going = _distinct(state, done)
        if not len(going):
            break
        previous = state[going]
        splits = _next_splits(totals, counts[going], sums[going])
    assert best is not None, "every start ends"
    return best


def _distinct(state: NDArray[np.int64], done: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the starts to go on with: two with the same partition have the same future."""
    known = {state[start].tobytes() for start in np.flatnonzero(done)}
    going = []
    for start in np.flatnonzero(~done):
        partition = state[start].tobytes()
        if partition not in known:
            known.add(partition)
            going.append(start)
    return np.array(going, dtype=np.int64)


def two_means_line(values: Floats) -> tuple[float, float]:
    """Return the two centres of the best split of numbers on a line, the smaller one first.

    Sorted prefix sums give the inertia of every split, so the optimum is global and needs no
    start. Of equally good splits the lowest is taken.

    Parameters
    ----------
    values : ndarray of shape (n,), n >= 2
    """
    ordered = np.sort(values)
    offset = float(ordered.mean())
    sums = np.cumsum(ordered - offset)
    below = np.arange(1, len(ordered))
    above = len(ordered) - below
    explained = sums[:-1] ** 2 / below + (sums[-1] - sums[:-1]) ** 2 / above
    split = int(np.argmax(explained))
    low = sums[split] / below[split]
    high = (sums[-1] - sums[split]) / above[split]
    return offset + float(low), offset + float(high)


def _chunks(codes: Codes) -> Iterator[Floats]:
    """Yield the rows as float64, each with a 1 at its end: a sum of rows counts them too."""
    buffer = np.ones((min(_CHUNK_ROWS, len(codes)), codes.shape[1] + 1))
    for start in range(0, len(codes), _CHUNK_ROWS):
        chunk = codes[start : start + _CHUNK_ROWS]
        np.copyto(buffer[: len(chunk), :-1], chunk)
        yield buffer[: len(chunk)]


def _from_slabs(function: Callable[[Codes], Sums], codes: Codes) -> list[Sums]:
    """Apply a function to one slab of the rows a thread.

    BLAS would divide each small product among its threads, which costs more than it saves.
    """
    if len(codes) < 2 * _ROWS_PER_THREAD:
        return [function(codes)]
    from threadpoolctl import ThreadpoolController

    blas = ThreadpoolController().select(user_api="blas")
    n_threads = max([1, *(library["num_threads"] or 1 for library in blas.info())])
    slabs = np.array_split(codes, min(n_threads, len(codes) // _ROWS_PER_THREAD))
    with blas.limit(limits=1), ThreadPoolExecutor(len(slabs)) as pool:
        return list(pool.map(function, slabs))


def _add_up(codes: Codes) -> _Totals:
    products = np.sum(_from_slabs(_products, codes), axis=0)
    return _Totals(
        len(codes), products[-1, :-1].astype(np.int64), products[:-1, :-1], int(codes.max())
    )


def _products(codes: Codes) -> Floats:
    products = np.zeros((codes.shape[1] + 1,) * 2)
    for chunk in _chunks(codes):
        products += chunk.T @ chunk
    return products


def _first_splits(totals: _Totals, n_starts: int, seed: int) -> _Splits:
    """Split at the mean along the leading principal component, then at random."""
    mean = totals.sums / totals.n_samples
    covariance = totals.products / totals.n_samples - np.outer(mean, mean)
    leading = np.linalg.eigh(covariance)[1][:, -1:]
    spread = np.sqrt(np.maximum(np.diag(covariance), 0.0))[:, None]
    generator = np.random.default_rng(seed)
    noise = generator.standard_normal((len(mean), n_starts - 1)) * (spread > 0)
    directions = _whole(np.hstack([leading, noise]), totals)
    scales = np.sqrt(np.maximum(np.einsum("fs,fg,gs->s", directions, covariance, directions), 0.0))
    shifts = np.concatenate([[0.0], generator.normal(0, 0.5, n_starts - 1)])
    return _Splits(directions, mean @ directions + shifts * scales)


def _next_splits(totals: _Totals, counts: NDArray[np.int64], sums: NDArray[np.int64]) -> _Splits:
    """Return the perpendicular bisectors of the centres."""
    upper, lower = _centers(totals, counts, sums)
    directions = _whole((upper - lower).T, totals)
    thresholds = np.einsum("sf,fs->s", (upper + lower) / 2, directions)
    return _Splits(directions, thresholds)


def _sums_above(codes: Codes, splits: _Splits) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many samples lie above each split, and their sums (n_starts, n_features)."""

    def add_up_above(slab: Codes) -> NDArray[np.int64]:
        sums = np.zeros((len(splits.thresholds), codes.shape[1] + 1), dtype=np.int64)
        for chunk in _chunks(slab):
            above = chunk[:, :-1] @ splits.directions > splits.thresholds
            sums += (above.astype(np.float64).T @ chunk).astype(np.int64)
        return sums

    sums = np.sum(_from_slabs(add_up_above, codes), axis=0)
    return sums[:, -1], sums[:, :-1]


def _centers(
    totals: _Totals, counts: NDArray[np.int64], sums: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    # A split with nothing on one side has the overall mean twice, and the largest inertia.
    mean = totals.sums / totals.n_samples
    rest = totals.n_samples - counts
    upper = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], mean)
    lower = np.where(rest[:, None] > 0, (totals.sums - sums) / np.maximum(rest, 1)[:, None], mean)
    return upper, lower


def _clusters(totals: _Totals, count: int, sums: NDArray[np.int64], iteration: int) -> TwoMeans:
    upper, lower = _centers(totals, np.array([count]), sums[None])
    explained = float(count * (upper[0] @ upper[0]))
    explained += float((totals.n_samples - count) * (lower[0] @ lower[0]))
    centers = np.vstack([lower, upper])
    order = np.argsort(centers.sum(axis=1), kind="stable")
    return TwoMeans(
        centers[order], max(float(np.trace(totals.products)) - explained, 0.0), iteration
    )


def _whole(directions: Floats, totals: _Totals) -> Floats:
    """Scale columns to whole numbers so large that no projection of a sample reaches 2**53."""
    limit = _EXACT / (len(directions) * max(totals.largest, 1)) / 2
    largest = np.abs(directions).max(axis=0)
    return np.rint(directions * (limit / np.where(largest > 0, largest, 1.0)))
