"""Trees as arrays: by hand, through LightGBM and back, and refused where they are none."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from vqpu.errors import ModelFileError
from vqpu.trees import (
    Binned,
    Growth,
    GrowthSettings,
    Task,
    TreeArrays,
    TreeScorer,
    blank_trees,
    check_trees,
)
from vqpu.trees._arrays import constant_tree, join_trees

Floats = NDArray[np.float64]
NAN = np.nan


def by_hand() -> TreeArrays:
    """Column 0 at most 0.5, missing ones too: 1. Else column 1 one of 0, 2, 33: 2, others 3."""
    return TreeArrays(
        tree_leaves=np.array([3]),
        feature=np.array([0, 1]),
        threshold=np.array([0.5, 0.0]),
        missing_left=np.array([True, False]),
        left=np.array([-1, -2]),
        right=np.array([1, -3]),
        gain=np.array([3.0, 1.0]),
        node_words=np.array([0, 2]),
        words=np.array([0b101, 0b10]),
        leaf_value=np.array([1.0, 2.0, 3.0]),
        leaf_count=np.array([5, 3, 2]),
    )


CASES = [
    ([0.5, 0.0], 1.0), ([NAN, 0.0], 1.0), ([0.6, 0.0], 2.0), ([0.6, 2.0], 2.0), ([0.6, 33.0], 2.0),
    ([0.6, 1.0], 3.0), ([0.6, 34.0], 3.0), ([0.6, 99.0], 3.0), ([0.6, NAN], 3.0),
]  # fmt: skip


@pytest.mark.parametrize(("row", "expected"), CASES)
def test_outputs__by_hand(row: list[float], expected: float) -> None:
    arrays = by_hand()
    check_trees(arrays, 1, 2)
    assert TreeScorer(arrays, 1, 2).outputs(np.array([row]), 1).tolist() == [[expected]]


def test_contributions__by_hand() -> None:
    # Means: 1.7 of all, 2.4 on the right. Half of the orders of the columns ask column 0 first.
    contributions, base = TreeScorer(by_hand(), 1, 2).contributions(np.array([[0.6, 0.0]]))
    assert base == pytest.approx(1.7)
    assert contributions.sum() + base == pytest.approx(2.0)
    # Alone, column 0 leads to 2.4, column 1 to the mean of 1 and 2: v({1}) = .5 * 1 + .5 * 2.
    assert contributions[0] == pytest.approx([(0.7 + 0.5) / 2, (-0.2 - 0.4) / 2])


def test_importance__share_of_the_gain() -> None:
    assert by_hand().importance(3).tolist() == [0.75, 0.25, 0.0]
    assert constant_tree(1.0).importance(2).tolist() == [0.0, 0.0]


def test_members__trees_take_turns() -> None:
    arrays = join_trees([by_hand(), constant_tree(7.0), constant_tree(0.5), constant_tree(0.0)])
    check_trees(arrays, 2, 2)
    assert TreeScorer(arrays, 2, 2).outputs(np.array([[0.6, 1.0]]), 1).tolist() == [[3.5, 7.0]]
    assert [tree.sizes.n_nodes for tree in arrays.trees()] == [2, 0, 0, 0]
    assert [len(tree.words) for tree in arrays.trees()] == [2, 0, 0, 0]


def grown(n: int = 400, n_trees: int = 30) -> tuple[Growth, Floats]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    X[:, 2] = rng.integers(0, 40, n)
    y = (X[:, 0] > 0) + (X[:, 2] % 3 == 0) + 0.1 * rng.normal(size=n)
    X[rng.random(X.shape) < 0.1] = NAN
    X[:, 3] = rng.normal(size=n) + 5  # never missing
    binned = Binned(X, {2: 40}, GrowthSettings(0.1, 30, 8, 5))
    rows = [np.flatnonzero(np.arange(n) % 3 != member) for member in range(3)]
    growth = Growth(binned, [Task(part, y[part], np.ones(len(part))) for part in rows])
    growth.grow(n_trees)
    return growth, X


def test_grown_trees__score_as_lightgbm_does() -> None:
    growth, X = grown()
    arrays = growth.arrays(30)
    check_trees(arrays, 3, 4)
    assert arrays.node_words.any()
    assert arrays.missing_left.any()
    found = TreeScorer(arrays, 3, 4).outputs(X, 1)
    np.testing.assert_allclose(found, growth.outputs(X, 0, 30), rtol=0, atol=1e-12)


def test_grown_trees__fewer_are_the_first_ones() -> None:
    growth, X = grown()
    first = TreeScorer(growth.arrays(10), 3, 4).outputs(X, 1)
    np.testing.assert_allclose(first, growth.outputs(X, 0, 10), rtol=0, atol=1e-12)


def test_number_that_was_never_missing__goes_with_the_larger_part() -> None:
    arrays = grown()[0].arrays(30)
    for tree in arrays.trees():
        counts = tree.node_counts()
        for node in np.flatnonzero((tree.feature == 3) & (tree.node_words == 0)):
            below = [
                counts[child] if child >= 0 else tree.leaf_count[-1 - child]
                for child in (tree.left[node], tree.right[node])
            ]
            assert tree.missing_left[node] == (below[0] >= below[1])


def test_growth__number_of_threads_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5_000, 8))
    y = (X[:, 0] * X[:, 1] > 0).astype(float)
    found = []
    for n_threads in (1, 2):
        binned = Binned(X, {}, GrowthSettings(0.1, 10, 15, 5, n_threads))
        growth = Growth(binned, [Task(np.arange(5_000), y, np.full(5_000, 1.5), 7)] * 3)
        growth.grow(10)
        found.append(growth.arrays(10))
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one, two)


def test_growth__no_split__ends_and_is_filled_up() -> None:
    X = np.arange(8.0)[:, None]
    binned = Binned(X, {}, GrowthSettings(0.1, 30, 8, 5))
    growth = Growth(binned, [Task(np.arange(8), np.arange(8) % 2 / 1.0, np.ones(8))] * 2)
    growth.grow(5)
    assert growth.is_grown
    arrays = growth.arrays(5)
    check_trees(arrays, 2, 1)
    np.testing.assert_allclose(TreeScorer(arrays, 2, 1).outputs(X, 1), 0.5)


def test_scorer__alone_and_in_company_the_same() -> None:
    growth, X = grown()
    scorer = TreeScorer(growth.arrays(30), 3, 4)
    every = scorer.outputs(X, 2)
    np.testing.assert_array_equal(every[7:8], scorer.outputs(X[7:8], 1))
    np.testing.assert_array_equal(every, copy.deepcopy(scorer).outputs(X, 1))


def changed(**parts: Any) -> TreeArrays:
    return by_hand()._replace(**{name: np.array(value) for name, value in parts.items()})


BROKEN: dict[str, tuple[Callable[[], TreeArrays], str]] = {
    "no trees": (lambda: by_hand()._replace(tree_leaves=np.array([], int)), "0 trees"),
    "too many leaves": (lambda: changed(tree_leaves=[10**9]), "1 to 256 leaves"),
    "no leaves": (lambda: changed(tree_leaves=[0]), "1 to 256 leaves"),
    "leaves that do not add up": (lambda: changed(tree_leaves=[2]), "do not add up"),
    "unknown column": (lambda: changed(feature=[0, 2]), "outside 0 to 1"),
    "negative column": (lambda: changed(feature=[0, -1]), "outside 0 to 1"),
    "threshold": (lambda: changed(threshold=[NAN, 0]), "threshold holds values"),
    "infinite value": (lambda: changed(leaf_value=[1, np.inf, 1]), "leaf_value holds values"),
    "circle": (lambda: changed(right=[0, -3]), "back to itself"),
    "out of the tree": (lambda: changed(right=[2, -3]), "leads out"),
    "leaf out of the tree": (lambda: changed(right=[1, -4]), "leads out"),
    "twice": (lambda: changed(right=[1, -2]), "same place"),
    "empty leaf": (lambda: changed(leaf_count=[5, 0, 2]), "at least one sample"),
    "set too long": (lambda: changed(node_words=[0, 3]), "do not add up"),
    "set of negative length": (lambda: changed(node_words=[3, -1]), "do not add up"),
    "wide word": (lambda: changed(words=[1 << 32, 0]), "32 bits"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_arrays_that_are_no_trees__refused(name: str) -> None:
    make, message = BROKEN[name]
    with pytest.raises(ModelFileError, match=message):
        check_trees(make(), 1, 2)


def test_members_that_do_not_share_out__refused() -> None:
    with pytest.raises(ModelFileError, match="1 trees cannot be shared out among 2"):
        check_trees(by_hand(), 2, 2)


def test_blank_trees__shapes_and_types_of_grown_ones() -> None:
    arrays = grown()[0].arrays(5)
    blank = blank_trees(arrays.sizes)
    for name, array in arrays._asdict().items():
        assert blank[name] == (array.shape, array.dtype.type)
