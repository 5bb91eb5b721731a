"""The trees of all members in flat arrays, and the checks that make arrays from a file safe."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.errors import ModelFileError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# Far above what is grown. It bounds the depth, and with it the memory of exact contributions.
MOST_LEAVES = 256
_WORD = 1 << 32


class TreeSizes(NamedTuple):
    """How long the arrays are; all that it takes to make blank ones.

    Attributes
    ----------
    n_trees : int
    n_nodes : int
        Nodes that split.
    n_words : int
        32 bits each, of the sets of categories.
    """

    n_trees: int
    n_nodes: int
    n_words: int

    @property
    def n_leaves(self) -> int:
        """A binary tree has one leaf more than nodes that split."""
        return self.n_trees + self.n_nodes


class TreeArrays(NamedTuple):
    """Trees one after another; tree t belongs to member t modulo the number of members.

    Attributes
    ----------
    tree_leaves : ndarray of int64, shape (n_trees,)
        A tree of n leaves has n - 1 nodes; node 0 is its root.
    feature : ndarray of int64, shape (n_nodes,)
    threshold : ndarray of float64, shape (n_nodes,)
        A number goes left if it is at most this; 0 where a category is asked for.
    missing_left : ndarray of bool, shape (n_nodes,)
        Where a missing number goes. A missing category goes right.
    left, right : ndarray of int64, shape (n_nodes,)
        A node of the same tree, or ``-1 - i`` for its leaf i.
    gain : ndarray of float64, shape (n_nodes,)
        By how much the split lowers the loss.
    node_words : ndarray of int64, shape (n_nodes,)
        Words of the node's set of categories; 0 where a number is asked for.
    words : ndarray of int64, shape (n_words,)
        Bit c % 32 of word c // 32 of a set says whether category c goes left.
    leaf_value : ndarray of float64, shape (n_leaves,)
    leaf_count : ndarray of int64, shape (n_leaves,)
        Training samples in the leaf.
    """

    tree_leaves: Ints
    feature: Ints
    threshold: Floats
    missing_left: NDArray[np.bool_]
    left: Ints
    right: Ints
    gain: Floats
    node_words: Ints
    words: Ints
    leaf_value: Floats
    leaf_count: Ints

    @property
    def sizes(self) -> TreeSizes:
        """How long the arrays are."""
        return TreeSizes(len(self.tree_leaves), len(self.feature), len(self.words))

    def trees(self) -> list[TreeArrays]:
        """Return every tree by itself."""
        nodes = np.cumsum(self.tree_leaves - 1)[:-1]
        leaves = np.cumsum(self.tree_leaves)[:-1]
        ends = np.concatenate([[0], np.cumsum(self.node_words)])
        words = ends[nodes]
        cuts = {"tree_leaves": np.arange(1, len(self.tree_leaves)), "words": words}
        cuts |= {"leaf_value": leaves, "leaf_count": leaves}
        parts = [
            np.split(array, cuts.get(name, nodes))
            for name, array in zip(self._fields, self, strict=True)
        ]
        return [TreeArrays(*tree) for tree in zip(*parts, strict=True)]

    def node_counts(self) -> Ints:
        """Return the training samples under every node of a single tree."""
        counts = np.zeros(len(self.feature), dtype=np.int64)
        for node in range(len(counts) - 1, -1, -1):  # children come after their parents
            for child in (int(self.left[node]), int(self.right[node])):
                counts[node] += counts[child] if child >= 0 else self.leaf_count[-1 - child]
        return counts

    def importance(self, n_features: int) -> Floats:
        """Return the share of every column in the gain of all splits, zeros without a split."""
        gains = np.bincount(self.feature, self.gain, n_features).astype(np.float64)
        total = float(gains.sum())
        return gains / total if total > 0 else gains


def blank_trees(sizes: TreeSizes) -> dict[str, tuple[tuple[int, ...], type[Any]]]:
    """Return shape and type of every array.

    Parameters
    ----------
    sizes : TreeSizes
    """
    n_trees, n_nodes, n_words = sizes
    lengths = {"tree_leaves": n_trees, "words": n_words}
    lengths |= {"leaf_value": sizes.n_leaves, "leaf_count": sizes.n_leaves}
    types: dict[str, type[Any]] = {"missing_left": np.bool_}
    types |= dict.fromkeys(("threshold", "gain", "leaf_value"), np.float64)
    return {
        name: ((lengths.get(name, n_nodes),), types.get(name, np.int64))
        for name in TreeArrays._fields
    }


def join_trees(trees: list[TreeArrays]) -> TreeArrays:
    """Put trees one after another.

    Parameters
    ----------
    trees : list of TreeArrays
    """
    return TreeArrays(*map(np.concatenate, zip(*trees, strict=True)))


def mean_of_trees(first: TreeArrays, second: TreeArrays, weight: float) -> TreeArrays:
    """Return trees whose sum is a weighted mean of those of two sets.

    Parameters
    ----------
    first, second : TreeArrays
        Of as many members each.
    weight : float
        Of the second, from 0 to 1.
    """
    return join_trees(
        [
            first._replace(leaf_value=(1 - weight) * first.leaf_value),
            second._replace(leaf_value=weight * second.leaf_value),
        ]
    )


def constant_tree(value: float) -> TreeArrays:
    """Return a tree without a split.

    Parameters
    ----------
    value : float
    """
    none = np.empty(0, dtype=np.int64)
    empty = np.empty(0)
    return TreeArrays(
        np.array([1]), none, empty, np.empty(0, dtype=bool), none, none, empty, none, none,
        np.array([value]), np.array([1]),
    )  # fmt: skip


def check_trees(arrays: TreeArrays, n_members: int, n_features: int) -> None:
    """Raise unless the arrays are trees: nothing else may reach LightGBM, which trusts its input.

    Parameters
    ----------
    arrays : TreeArrays
        Of the right shapes and types.
    n_members, n_features : int
    """
    leaves, n_nodes = arrays.tree_leaves, len(arrays.feature)
    if len(leaves) == 0 or len(leaves) % n_members:
        raise _refusal(f"{len(leaves)} trees cannot be shared out among {n_members} members")
    if not ((leaves >= 1) & (leaves <= MOST_LEAVES)).all():
        raise _refusal(f"a tree must have 1 to {MOST_LEAVES} leaves")
    if int((leaves - 1).sum()) != n_nodes or int(leaves.sum()) != len(arrays.leaf_value):
        raise _refusal("nodes and leaves do not add up to the trees")
    if not ((arrays.feature >= 0) & (arrays.feature < n_features)).all():
        raise _refusal(f"a node asks for a column outside 0 to {n_features - 1}")
    # The largest number as a threshold stands for "every number".
    for name, most in (("threshold", np.finfo(float).max), ("gain", 1e100), ("leaf_value", 1e100)):
        if not (np.abs(getattr(arrays, name)) <= most).all():  # false for NaN too
            raise _refusal(f"{name} holds values that are not finite or far too large")
    if not ((arrays.leaf_count >= 1) & (arrays.leaf_count < 1 << 31)).all():
        raise _refusal("a leaf must hold at least one sample")
    _check_sets(arrays)
    _check_children(arrays)


def _check_sets(arrays: TreeArrays) -> None:
    asked = arrays.node_words
    is_whole = (asked >= 0).all() and (asked <= len(arrays.words)).all()
    if not is_whole or int(asked.sum()) != len(arrays.words):
        raise _refusal("the sets of categories do not add up")
    if not ((arrays.words >= 0) & (arrays.words < _WORD)).all():
        raise _refusal("a word of a set of categories has more than 32 bits")


def _check_children(arrays: TreeArrays) -> None:
    """Raise unless every node but the roots, and every leaf, is the child of one earlier node."""
    n_nodes = arrays.tree_leaves - 1
    tree = np.repeat(np.arange(len(n_nodes)), n_nodes)
    first_node = (np.cumsum(n_nodes) - n_nodes)[tree]
    first_leaf = (np.cumsum(arrays.tree_leaves) - arrays.tree_leaves)[tree]
    own = np.arange(len(tree)) - first_node
    met = []
    for children in (arrays.left, arrays.right):
        is_leaf = children < 0
        is_inside = np.where(is_leaf, -1 - children <= n_nodes[tree], children < n_nodes[tree])
        if not (is_inside & (is_leaf | (children > own))).all():
            raise _refusal("a node leads out of its tree or back to itself")
        met.append(np.where(is_leaf, children - first_leaf, children + first_node))
    every = np.concatenate(met)
    if len(np.unique(every)) != len(every):
        raise _refusal("two nodes lead to the same place")


def _refusal(what: str) -> ModelFileError:
    return ModelFileError(
        f"The trees of this model are damaged: {what}. Restore the directory from a copy."
    )
