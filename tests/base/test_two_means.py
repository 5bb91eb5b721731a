from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

import vqpu.base._two_means as module
from tests.reference import method
from vqpu.base._two_means import two_means_codes, two_means_line


def clustered_codes(rng: np.random.Generator, n: int, width: int) -> NDArray[np.int16]:
    """Codes as training makes them: most places agree on one of two codes."""
    share = rng.uniform(0.2, 0.8)
    upper = rng.random(n) < share
    votes = np.where(upper[:, None], rng.random((n, width)) < 0.85, rng.random((n, width)) < 0.1)
    return np.where(votes, 511, rng.integers(0, 3, (n, width))).astype(np.int16)


def membership(codes: NDArray[Any], centers: NDArray[Any]) -> NDArray[np.bool_]:
    distances = ((codes[:, None, :].astype(float) - centers) ** 2).sum(axis=2)
    return np.asarray(distances[:, 1] < distances[:, 0])


def test_two_means__hand_computed() -> None:
    codes = np.array([[0, 0], [0, 2], [10, 10], [10, 12]])
    found = two_means_codes(codes)
    assert found.centers.tolist() == [[0.0, 1.0], [10.0, 11.0]]
    assert found.inertia == 4.0


def test_two_means__tie__belongs_to_the_lower_cluster() -> None:
    # 0, 2 and 4 in one column: 2 lies midway. {0, 2} | {4} and {0} | {2, 4} are equally good.
    found = two_means_codes(np.array([[0], [2], [4]]))
    assert found.inertia == 2.0
    assert found.centers.tolist() == [[1.0], [4.0]]


@pytest.mark.parametrize("seed", range(20))
def test_two_means__clustered_codes__same_partition_as_sklearn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = clustered_codes(rng, 300, 12)
    ours = two_means_codes(codes, n_starts=4)
    theirs = KMeans(2, n_init=4, random_state=seed).fit(codes.astype(float))
    assert ours.inertia == pytest.approx(theirs.inertia_, rel=1e-9)
    order = np.argsort(theirs.cluster_centers_.sum(axis=1))
    expected = membership(codes, theirs.cluster_centers_[order])
    assert np.array_equal(membership(codes, ours.centers), expected)


@pytest.mark.parametrize("seed", range(10))
def test_two_means__structureless_codes__as_good_as_sklearn(seed: int) -> None:
    codes = np.random.default_rng(seed).integers(0, 512, (200, 3))
    ours = two_means_codes(codes, n_starts=16)
    theirs = KMeans(2, n_init=16, random_state=seed).fit(codes.astype(float))
    # Without clusters there are many local optima, and each finds its own.
    assert ours.inertia <= theirs.inertia_ * 1.005


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=7).filter(
        lambda rows: len(set(rows)) > 1
    )
)
@settings(max_examples=200, deadline=None)
def test_two_means__small__reaches_the_best_of_all_splits(rows: list[tuple[int, int]]) -> None:
    codes = np.array(rows)
    found = two_means_codes(codes, n_starts=16)
    best, _ = method.best_two_means(codes.astype(float))
    # Lloyd's algorithm may stop at a local optimum, never below the global one.
    assert found.inertia <= best * 1.35 + 1e-9
    assert found.inertia >= best - 1e-9


@pytest.mark.parametrize("chunk", [1, 7, 64, 100_000])
def test_two_means__any_chunking_and_order__bit_identical(
    chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = clustered_codes(np.random.default_rng(3), 500, 9)
    expected = two_means_codes(codes)
    monkeypatch.setattr(module, "_CHUNK_ROWS", chunk)
    shuffled = np.random.default_rng(chunk).permutation(codes)
    for found in (two_means_codes(codes), two_means_codes(shuffled)):
        assert found.centers.tobytes() == expected.centers.tobytes()
        assert found.inertia == expected.inertia


@pytest.mark.parametrize("n_threads", [1, 3])
def test_two_means__slabs_in_threads__bit_identical(
    n_threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = clustered_codes(np.random.default_rng(5), 500, 9)
    expected = two_means_codes(codes)
    monkeypatch.setattr(module, "_ROWS_PER_THREAD", 100)
    with threadpool_limits(n_threads, user_api="blas"):
        found = two_means_codes(codes)
    assert found.centers.tobytes() == expected.centers.tobytes()
    assert found == expected._replace(centers=found.centers)


def test_two_means__int32_and_int16__same() -> None:
    codes = clustered_codes(np.random.default_rng(4), 200, 5)
    wide = two_means_codes(codes.astype(np.int32))
    assert np.array_equal(two_means_codes(codes).centers, wide.centers)


def test_line__hand_computed() -> None:
    assert two_means_line(np.array([0.0, 1.0, 9.0, 11.0])) == (0.5, 10.0)


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=9))
@settings(max_examples=200, deadline=None)
def test_line__random__best_of_all_splits(values: list[float]) -> None:
    numbers = np.array(values)
    low, high = two_means_line(numbers)
    inertia = float(np.minimum((numbers - low) ** 2, (numbers - high) ** 2).sum())
    best, _ = method.best_two_means(numbers[:, None])
    assert inertia <= best + 1e-6 * (1 + best)
