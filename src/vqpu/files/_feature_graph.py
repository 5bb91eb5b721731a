"""One ONNX graph from pictures or tokens to scores: preprocessing, network, pooling, classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vqpu.errors import ExportError
from vqpu.features._extractor import Extractor
from vqpu.features._onnx import MOST_ONNX_BYTES, OnnxExtractor
from vqpu.features._record import ExtractorRecord, ImageInput

_NETWORK, _SCORE = "network_", "score_"
_CHECKED = 32
_EPSILON = 1e-12


class _Steps:
    """Nodes and constants that are put between two graphs."""

    def __init__(self, prefix: str) -> None:
        self.node: list[Any] = []
        self.initializer: list[Any] = []
        self._prefix = prefix

    def add(self, kind: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        from onnx import helper

        name = output or f"{self._prefix}{len(self.node)}"
        self.node.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(self, values: Any, dtype: Any) -> str:
        from onnx import numpy_helper

        name = f"{self._prefix}constant_{len(self.initializer)}"
        self.initializer.append(numpy_helper.from_array(np.asarray(values, dtype=dtype), name))
        return name


def joined_graph(extractor: Extractor, scoring: Any) -> Any:
    """Return the graph of an ONNX network with that of a model on its features behind it.

    Parameters
    ----------
    extractor : Extractor
        From an ONNX file.
    scoring : onnx.ModelProto
        Takes the features as "x".

    Returns
    -------
    onnx.ModelProto
        Takes "x", pictures of uint8 as they are read, or the network's own inputs for texts.
    """
    import onnx
    from onnx import helper

    onnx_extractor = _checked(extractor)
    record = extractor.record
    network = onnx.load_model(str(record.path))  # its external data with it
    network, scoring = _of_one_opset(network, scoring, record)
    names = onnx_extractor.input_names
    network = _prefixed(network, _NETWORK, [] if record.text is None else names)
    scoring = _prefixed(scoring, _SCORE, [one.name for one in scoring.graph.output])
    before, after = _Steps("before_"), _Steps("after_")
    given = [one for one in network.graph.input if one.name in names]
    if record.image is not None:
        given = [_add_preprocessing(before, record.image, onnx_extractor)]
    _add_pooling(after, record, names)
    parts = (before, network.graph, after, scoring.graph)
    graph = helper.make_graph(
        [node for part in parts for node in part.node],
        "vqpu",
        given,
        list(scoring.graph.output),
        [tensor for part in parts for tensor in part.initializer],
    )
    return _made(graph, network, scoring, record)


def _checked(extractor: Extractor) -> OnnxExtractor:
    if not isinstance(extractor, OnnxExtractor):
        raise ExportError(
            f"The model's features are of {extractor.record.name}, which is no ONNX file. Only a "
            "model on features of an ONNX file can be exported: export that network to ONNX first "
            "and fit on it."
        )
    return extractor


def _made(graph: Any, network: Any, scoring: Any, record: ExtractorRecord) -> Any:
    from onnx import helper

    made = helper.make_model(
        graph,
        opset_imports=_opsets(network, scoring),
        ir_version=max(network.ir_version, scoring.ir_version),
        functions=[*network.functions, *scoring.functions],
    )
    if made.ByteSize() > MOST_ONNX_BYTES:
        raise ExportError(f"{record.name} is too large for a graph in one file.")
    return made


def _of_one_opset(network: Any, scoring: Any, record: ExtractorRecord) -> tuple[Any, Any]:
    """Bring both graphs to the same version of ONNX's operators."""
    from onnx import version_converter

    versions = [_version(model) for model in (network, scoring)]
    newest = max(versions)
    try:
        network, scoring = (
            model if version == newest else version_converter.convert_version(model, newest)
            for model, version in zip((network, scoring), versions, strict=True)
        )
    except Exception as error:  # whatever a foreign graph makes the converter say
        reason = " ".join(str(error).split())[:200]
        raise ExportError(
            f"{record.name} is of operator set {versions[0]} and cannot be brought to {newest}: "
            f"{reason}. Export it with opset {newest} and fit on it again."
        ) from None
    return network, scoring


def _version(model: Any) -> int:
    return max((one.version for one in model.opset_import if not one.domain), default=1)


def _opsets(*models: Any) -> list[Any]:
    from onnx import helper

    versions: dict[str, int] = {}
    for model in models:
        for one in model.opset_import:
            versions[one.domain] = max(one.version, versions.get(one.domain, 0))
    return [helper.make_opsetid(domain, version) for domain, version in versions.items()]


def _prefixed(model: Any, prefix: str, kept: Sequence[str]) -> Any:
    """Prefix all names, so that two graphs share none, but for those that users ask for."""
    from onnx import compose

    prefixed = compose.add_prefix(model, prefix)
    names = {prefix + name: name for name in kept}
    for node in prefixed.graph.node:
        for edges in (node.input, node.output):
            for place, name in enumerate(edges):
                edges[place] = names.get(name, name)
    for value in (*prefixed.graph.input, *prefixed.graph.output):
        value.name = names.get(value.name, value.name)
    return prefixed


def _add_preprocessing(steps: _Steps, image: ImageInput, extractor: OnnxExtractor) -> Any:
    """Add what makes the network's input of "x", as ``network_pixels`` does; return "x"."""
    from onnx import TensorProto, helper

    start = (image.resize - image.size) // 2
    x = steps.add(
        "Slice",
        "x",
        steps.constant([start] * 2, np.int64),
        steps.constant([start + image.size] * 2, np.int64),
        steps.constant([1, 2], np.int64),
    )
    if image.mode == "L":
        x = steps.add("Unsqueeze", x, steps.constant([3], np.int64))
    std = np.asarray(image.std, np.float32)
    x = steps.add("Cast", x, to=TensorProto.FLOAT)
    x = steps.add("Mul", x, steps.constant(np.float32(1 / 255) / std, np.float32))
    shift = steps.constant(-np.asarray(image.mean, np.float32) / std, np.float32)
    x = steps.add("Add", x, shift)
    target = _NETWORK + extractor.input_names[0]
    order = [0, 1, 2, 3] if extractor.channels_last else [0, 3, 1, 2]
    steps.add("Transpose", x, output=target, perm=order)
    return helper.make_tensor_value_info("x", TensorProto.UINT8, ["n", *image.shape])


def _add_pooling(steps: _Steps, record: ExtractorRecord, inputs: Sequence[str]) -> None:
    """Add what makes one vector a sample of the network's output, as ``pooled`` does."""
    from onnx import TensorProto

    x = _NETWORK + str(record.output)
    if record.pooling == "class":
        x = steps.add("Gather", x, steps.constant(0, np.int64), axis=1)
    elif record.pooling == "mean" and "attention_mask" in inputs:
        x = _mean_of_tokens(steps, x)
    elif record.pooling in ("mean", "places"):
        axes = [1] if record.pooling == "mean" else [2, 3]
        x = steps.add("ReduceMean", x, steps.constant(axes, np.int64), keepdims=0)
    if record.unit_length:
        length = steps.add("ReduceL2", x, steps.constant([1], np.int64), keepdims=1)
        x = steps.add("Div", x, steps.add("Max", length, steps.constant(_EPSILON, np.float32)))
    steps.add("Cast", x, output=f"{_SCORE}x", to=TensorProto.FLOAT)


def _mean_of_tokens(steps: _Steps, x: str) -> str:
    from onnx import TensorProto

    mask = steps.add("Cast", "attention_mask", to=TensorProto.FLOAT)
    weights = steps.add("Unsqueeze", mask, steps.constant([-1], np.int64))
    axis = steps.constant([1], np.int64)
    total = steps.add("ReduceSum", steps.add("Mul", x, weights), axis, keepdims=0)
    count = steps.add("ReduceSum", weights, axis, keepdims=0)
    return steps.add("Div", total, steps.add("Max", count, steps.constant(1, np.float32)))


def check_samples(extractor: Extractor) -> tuple[dict[str, NDArray[Any]], NDArray[np.float32]]:
    """Return input of the joined graph by name, and the features that the extractor makes of it.

    Noise of all degrees of brightness and coarseness for pictures; for texts, words that any
    tokenizer can part.

    Parameters
    ----------
    extractor : Extractor
    """
    onnx_extractor, image = _checked(extractor), extractor.record.image
    rng = np.random.default_rng(0)
    if image is None:
        words = ("one", "two", "and", "the", "of", "price", "rain", "letter", "7", ".")
        texts = [" ".join(rng.choice(words, rng.integers(1, 20))) for _ in range(_CHECKED)]
        return dict(onnx_extractor.tokens_of(texts)), extractor(texts)
    noise = rng.integers(0, 256, (_CHECKED, *image.shape))
    coarse = rng.integers(0, 256, (_CHECKED, 4, 4, *image.shape[2:]))
    steps = -(-image.resize // 4)
    coarse = coarse.repeat(steps, 1).repeat(steps, 2)[:, : image.resize, : image.resize]
    share = np.linspace(0, 1, _CHECKED).reshape(-1, *[1] * len(image.shape))
    pixels = (share * noise + (1 - share) * coarse).astype(np.uint8)
    return {"x": pixels}, extractor([*pixels])
