"""Figure 2: clusters and maps of codes."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.items.codes_map import (
    cluster_accuracies,
    index_clusters,
    map_to_plane,
    vector_clusters,
    vectors_of,
)
from vqpu.errors import CollapsedCodesError

CODES = np.array([[0, 0], [0, 1], [9, 9], [9, 8], [8, 9]])
TRUTH = np.array([True, False, False, False, False])


@pytest.mark.parametrize(
    ("positive", "named"),
    [
        pytest.param([[0, 0], [1, 1]], 4 / 5, id="nearer-to-the-low-cluster"),
        pytest.param([[9, 9], [9, 9]], 1 / 5, id="nearer-to-the-high-cluster"),
    ],
)
def test_accuracies__hand_computed__named_by_positives_and_by_the_truth(
    positive: list[list[int]], named: float
) -> None:
    centers = index_clusters(CODES, seed=0)
    np.testing.assert_allclose(centers, [[0, 0.5], [26 / 3, 26 / 3]])
    found = cluster_accuracies(centers, np.array(positive), CODES, TRUTH)
    assert found == pytest.approx((named, 4 / 5))


def test_vectors__of_codes__rows_of_the_codebook_side_by_side() -> None:
    codebook = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    assert vectors_of(np.array([[2, 0]]), codebook).tolist() == [[4, 5, 0, 1]]


def test_vector_clusters__unordered_codebook__see_what_indices_do_not() -> None:
    codebook = np.array([[0.0], [10.0], [0.1], [10.1]])  # neighbours in index are far apart
    codes = np.array([[0], [2], [1], [3]] * 5)
    truth = np.array([True, True, False, False] * 5)
    vectors = vectors_of(codes, codebook)
    by_vector = cluster_accuracies(vector_clusters(vectors, 0), vectors[:2], vectors, truth)
    by_index = cluster_accuracies(index_clusters(codes, 0), codes[:2], codes, truth)
    assert by_vector == (1, 1)
    assert by_index[1] == pytest.approx(0.5)


def test_map__two_groups__far_apart_and_the_same_again() -> None:
    rng = np.random.default_rng(0)
    codes = np.concatenate([rng.integers(0, 3, (40, 6)), rng.integers(400, 403, (40, 6))])
    plane = map_to_plane(codes, seed=1)
    assert plane.shape == (80, 2)
    first, second = plane[:40], plane[40:]
    within = max(part.std(axis=0).max() for part in (first, second))
    assert np.linalg.norm(first.mean(axis=0) - second.mean(axis=0)) > 2 * within
    np.testing.assert_array_equal(plane, map_to_plane(codes, seed=1))


def test_collapsed_codes__refused_in_one_sentence() -> None:
    same = np.full((50, 3), 7)
    for function in (index_clusters, map_to_plane):
        with pytest.raises(CollapsedCodesError, match="All 50 samples have the same codes"):
            function(same, 0)
