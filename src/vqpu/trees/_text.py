"""Between arrays and LightGBM's text: its words are read from its own boosters only, never a file.

Its parser trusts what it reads, so text for it is written from arrays that were checked.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vqpu.trees._arrays import TreeArrays, constant_tree

# Bits of LightGBM's decision_type.
_IS_CATEGORY, _DEFAULT_LEFT, _MISSING_IS_NAN = 1, 2, 8


def read_trees(text: str) -> list[TreeArrays]:
    """Return the trees of a booster.

    A number that was never missing in training has no way of its own for missing values: it is
    given that of the larger part of the samples.

    Parameters
    ----------
    text : str
        What ``Booster.model_to_string`` returns.
    """
    body = text.partition("\nTree=")[2].partition("\nend of trees")[0]
    return [_read_tree(_fields(block)) for block in body.split("\nTree=")] if body else []


def _fields(block: str) -> dict[str, str]:
    lines = (line.partition("=") for line in block.splitlines()[1:])
    return {name: value for name, equals, value in lines if equals}


def _read_tree(fields: dict[str, str]) -> TreeArrays:
    values = _numbers(fields["leaf_value"], np.float64)
    if len(values) == 1:
        return constant_tree(float(values[0]))
    decision = _numbers(fields["decision_type"], np.int64)
    threshold = _numbers(fields["threshold"], np.float64)
    is_category = (decision & _IS_CATEGORY) > 0
    node_words, words = _read_sets(fields, threshold, is_category)
    tree = TreeArrays(
        np.array([len(values)]),
        _numbers(fields["split_feature"], np.int64),
        # An infinite one parts numbers from missing values; X itself holds no infinity.
        np.where(is_category, 0.0, np.minimum(threshold, np.finfo(float).max)),
        np.zeros(len(decision), dtype=bool),
        _numbers(fields["left_child"], np.int64),
        _numbers(fields["right_child"], np.int64),
        _numbers(fields["split_gain"], np.float64),
        node_words,
        words,
        values,
        _numbers(fields["leaf_count"], np.int64),
    )
    knows_missing = (decision & _MISSING_IS_NAN) > 0
    goes_left = np.where(knows_missing, (decision & _DEFAULT_LEFT) > 0, _left_is_larger(tree))
    return tree._replace(missing_left=goes_left & ~is_category)


def _left_is_larger(tree: TreeArrays) -> NDArray[np.bool_]:
    below = tree.node_counts()

    def counts(children: NDArray[np.int64]) -> NDArray[np.int64]:
        is_leaf = children < 0
        leaves = tree.leaf_count[np.where(is_leaf, -1 - children, 0)]
        return np.where(is_leaf, leaves, below[np.maximum(children, 0)])

    return np.asarray(counts(tree.left) >= counts(tree.right))


def _read_sets(
    fields: dict[str, str], threshold: NDArray[np.float64], is_category: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the length of every node's set of categories, and all of them in node order."""
    lengths = np.zeros(len(threshold), dtype=np.int64)
    if not is_category.any():
        return lengths, np.empty(0, dtype=np.int64)
    bounds = _numbers(fields["cat_boundaries"], np.int64)
    words = _numbers(fields["cat_threshold"], np.int64)
    numbers = threshold[is_category].astype(np.int64)
    lengths[is_category] = np.diff(bounds)[numbers]
    return lengths, np.concatenate([words[bounds[i] : bounds[i + 1]] for i in numbers])


def _numbers(text: str, kind: type[Any]) -> NDArray[Any]:
    return np.array(text.split(), dtype=kind)


def write_text(arrays: TreeArrays, n_members: int, n_features: int) -> str:
    """Return the text of a booster with an output a member.

    Parameters
    ----------
    arrays : TreeArrays
        Checked.
    n_members, n_features : int
    """
    trees = [f"Tree={i}\n{_tree_text(tree)}\n\n\n" for i, tree in enumerate(arrays.trees())]
    head = [
        "tree",
        "version=v4",
        f"num_class={n_members}",
        f"num_tree_per_iteration={n_members}",
        "label_index=0",
        f"max_feature_idx={n_features - 1}",
        f"feature_names={_joined(f'x{i}' for i in range(n_features))}",
        f"feature_infos={_joined('none' for _ in range(n_features))}",
        f"tree_sizes={_joined(str(len(tree)) for tree in trees)}",
    ]
    return "\n".join(head) + "\n\n" + "".join(trees) + "end of trees\n"


def _tree_text(tree: TreeArrays) -> str:
    is_category = tree.node_words > 0
    lines = [f"num_leaves={len(tree.leaf_value)}", f"num_cat={is_category.sum()}"]
    if len(tree.feature):
        threshold = tree.threshold.copy()
        threshold[is_category] = np.arange(is_category.sum())
        decision = np.where(
            is_category, _IS_CATEGORY, _MISSING_IS_NAN + _DEFAULT_LEFT * tree.missing_left
        )
        lines += [
            _line("split_feature", tree.feature),
            _line("split_gain", tree.gain),
            _line("threshold", threshold),
            _line("decision_type", decision),
            _line("left_child", tree.left),
            _line("right_child", tree.right),
        ]
    lines += [_line("leaf_value", tree.leaf_value), _line("leaf_count", tree.leaf_count)]
    if len(tree.feature):
        lines.append(_line("internal_count", tree.node_counts()))
    if is_category.any():
        bounds = np.concatenate([[0], np.cumsum(tree.node_words[is_category])])
        lines += [_line("cat_boundaries", bounds), _line("cat_threshold", tree.words)]
    return "\n".join([*lines, "is_linear=0", "shrinkage=1"])


def _line(name: str, values: NDArray[Any]) -> str:
    return f"{name}={_joined(map(repr, values.tolist()))}"  # repr gives floats back exactly


def _joined(parts: Iterable[str]) -> str:
    return " ".join(parts)
