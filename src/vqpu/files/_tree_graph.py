"""Trees as an ONNX graph: one TreeEnsembleRegressor with an output a member."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vqpu.trees import TreeArrays
from vqpu.vq._classifier import VQKMeansClassifier
from vqpu.vq._tree_network import TreeNetwork, line_of_codes

OUTPUTS: tuple[str, ...] = ("score", "probability", "projection", "codes")

_OPSET, _TREE_OPSET = 20, 3
_NO_CATEGORY = -1.0
_ZERO = 1e-30  # LightGBM parts numbers from 0 by a threshold of 1e-35, and takes less for 0


def tree_graph(model: VQKMeansClassifier, dtype: str) -> Any:
    """Return the graph of a model with trees as an ONNX proto.

    Parameters
    ----------
    model : VQKMeansClassifier
        Fitted with trees.
    dtype : str
        Of the input.
    """
    from onnx import TensorProto, helper

    network = model._folded
    assert isinstance(network, TreeNetwork)
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    inputs = [helper.make_tensor_value_info("x", kind, ["n", network.encoder.n_features])]
    outputs = [
        helper.make_tensor_value_info(name, TensorProto.DOUBLE, ["n"]) for name in OUTPUTS[:3]
    ]
    outputs.append(
        helper.make_tensor_value_info("codes", TensorProto.INT64, ["n", network.encoder.n_members])
    )
    steps = _Steps()
    _describe(steps, model, network)
    graph = helper.make_graph(steps.nodes, "vqpu", inputs, outputs, steps.constants)
    opsets = [("", _OPSET), ("ai.onnx.ml", _TREE_OPSET)]
    return helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid(domain, version) for domain, version in opsets],
        ir_version=10,
    )


class _Steps:
    """Nodes and constants of a graph, one after another."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, kind: str, *inputs: str, output: str, **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def constant(self, name: str, values: Any, dtype: type[Any]) -> str:
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.asarray(values, dtype=dtype), name))
        return name


def _describe(steps: _Steps, model: VQKMeansClassifier, network: TreeNetwork) -> None:
    """Add everything between samples and scores."""
    from onnx import TensorProto

    double = TensorProto.DOUBLE
    steps.add("Cast", "x", output="wide", to=double)
    attributes = tree_attributes(network.encoder.arrays, network.encoder.n_members)
    steps.add("TreeEnsembleRegressor", "wide", output="single", domain="ai.onnx.ml", **attributes)
    steps.add("Cast", "single", output="by_member", to=double)
    last = steps.constant("last_axis", [-1], np.int64)
    steps.add("ReduceMean", "by_member", last, output="projection", keepdims=0)
    _add_codes(steps, network, last)
    rule = model.decision_rule_
    if rule.needs_codes:
        negative, positive = rule.clusters[:2]
        axis = positive - negative
        steps.add("Cast", "codes", output="places", to=double)
        steps.add("Sub", "places", steps.constant("center", negative, float), output="away")
        slope = rule.place_slope * axis / (axis @ axis)
        steps.add("Mul", "away", steps.constant("slope", slope, float), output="parts")
        steps.add("ReduceSum", "parts", last, output="scaled", keepdims=0)
        intercept = -rule.place_slope / 2
    else:
        factor = steps.constant("slope", rule.projection_posterior.slope, float)
        steps.add("Mul", "projection", factor, output="scaled")
        intercept = rule.projection_posterior.intercept
    steps.add("Add", "scaled", steps.constant("intercept", intercept, float), output="score")
    steps.add("Sigmoid", "score", output="probability")


def _add_codes(steps: _Steps, network: TreeNetwork, last: str) -> None:
    """Count the borders below each s, which is the place of the nearest code."""
    from onnx import TensorProto

    line = line_of_codes(network.codebook)
    borders = steps.constant("borders", [*line.borders, np.finfo(float).max], float)
    codes = steps.constant("every_code", [*line.codes, line.codes[-1]], np.int64)
    steps.add("Unsqueeze", "by_member", last, output="apart")
    steps.add("Greater", "apart", borders, output="is_beyond")
    steps.add("Cast", "is_beyond", output="beyond", to=TensorProto.INT64)
    steps.add("ReduceSum", "beyond", last, output="place", keepdims=0)
    steps.add("Gather", codes, "place", output="codes")


def tree_attributes(arrays: TreeArrays, n_members: int) -> dict[str, Any]:
    """Return the attributes of a TreeEnsembleRegressor.

    A set of categories is a chain of comparisons that share their way to the left.

    Parameters
    ----------
    arrays : TreeArrays
    n_members : int
    """
    from onnx import numpy_helper

    nodes: list[tuple[Any, ...]] = []
    leaves: list[tuple[Any, ...]] = []
    for tree, part in enumerate(arrays.trees()):
        _add_tree(tree, part, nodes, leaves, tree % n_members)
    columns = list(zip(*nodes, strict=True))
    names = ("treeids", "nodeids", "modes", "featureids", "truenodeids", "falsenodeids",
             "missing_value_tracks_true")  # fmt: skip
    attributes: dict[str, Any] = {
        f"nodes_{name}": list(column) for name, column in zip(names, columns[:-1], strict=True)
    }
    targets = list(zip(*leaves, strict=True))
    attributes |= {
        f"target_{name}": list(column)
        for name, column in zip(("treeids", "nodeids", "ids"), targets[:-1], strict=True)
    }
    values = {"nodes_values_as_tensor": columns[-1], "target_weights_as_tensor": targets[-1]}
    attributes |= {
        name: numpy_helper.from_array(np.array(column, dtype=np.float64), name)
        for name, column in values.items()
    }
    return {**attributes, "n_targets": n_members, "post_transform": "NONE"}


def _add_tree(
    tree: int,
    part: TreeArrays,
    nodes: list[tuple[Any, ...]],
    leaves: list[tuple[Any, ...]],
    member: int,
) -> None:
    n_nodes, n_leaves = len(part.feature), len(part.leaf_value)
    ends = np.cumsum(part.node_words)
    free = n_nodes + n_leaves  # ids of further comparisons

    def place(child: int) -> int:
        return child if child >= 0 else n_nodes - 1 - child

    for node in range(n_nodes):
        feature = int(part.feature[node])
        left, right = place(int(part.left[node])), place(int(part.right[node]))
        if part.node_words[node] == 0:
            ways = (feature, left, right, int(part.missing_left[node]))
            nodes.append((tree, node, "BRANCH_LEQ", *ways, float(part.threshold[node])))
            continue
        words = part.words[ends[node] - part.node_words[node] : ends[node]]
        chain = _categories(words) or [_NO_CATEGORY]
        ids = [node, *range(free, free + len(chain) - 1)]
        free += len(chain) - 1
        for own, following, category in zip(ids, [*ids[1:], right], chain, strict=True):
            nodes.append((tree, own, "BRANCH_EQ", feature, left, following, 0, category))
    for leaf in range(n_leaves):
        nodes.append((tree, n_nodes + leaf, "LEAF", 0, 0, 0, 0, 0.0))
        leaves.append((tree, n_nodes + leaf, member, float(part.leaf_value[leaf])))


def _categories(words: NDArray[np.int64]) -> list[float]:
    return [
        float(32 * place + bit)
        for place, word in enumerate(words.tolist())
        for bit in range(32)
        if word >> bit & 1
    ]


def tree_samples(network: TreeNetwork, n_samples: int, dtype: str) -> NDArray[Any]:
    """Draw samples for the check: values in range, thresholds themselves, and missing ones.

    Parameters
    ----------
    network : TreeNetwork
    n_samples : int
    dtype : str
    """
    rng = np.random.default_rng(0)
    arrays, columns = network.encoder.arrays, network.encoder.columns
    samples = rng.uniform(columns.low, columns.high, (n_samples, len(columns.low)))
    for column, count in enumerate(columns.n_categories):
        if count:
            samples[:, column] = rng.integers(0, count + 1, n_samples)
            continue
        asked = arrays.threshold[(arrays.feature == column) & (arrays.node_words == 0)]
        asked = asked[(asked >= columns.low[column]) & (asked <= columns.high[column])]
        if len(asked):
            at = rng.random(n_samples) < 0.5
            samples[at, column] = rng.choice(asked, int(at.sum()))
    samples[np.abs(samples) < _ZERO] = 0.0
    if np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        return np.ascontiguousarray(samples.round().clip(limits.min, limits.max), dtype=dtype)
    samples[rng.random(samples.shape) < 0.1] = np.nan
    return np.ascontiguousarray(samples, dtype=dtype)
