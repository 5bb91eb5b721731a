"""Networks in ONNX files as extractors, by onnxruntime."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.errors import InputError, MissingDependencyError, did_you_mean
from vqpu.features._extractor import image_vectors, n_threads, text_vectors
from vqpu.features._model_files import check_model_file, digest_of, inside
from vqpu.features._preprocessing import (
    Settings,
    image_input,
    network_pixels,
    resolve_pooling,
    settings_of,
    stated_pooling,
    text_input,
)
from vqpu.features._record import ExtractorRecord, ImageInput
from vqpu.features._tokens import TOKENIZER, Tokenizer, Tokens

# Protocol buffers cannot be larger; larger networks keep their weights in files beside.
MOST_ONNX_BYTES = (1 << 31) - 1
_MOST_EXTERNAL_BYTES = 1 << 36
_TEXT_INPUTS = {"input_ids": "ids", "attention_mask": "mask", "token_type_ids": "types"}
_FLOAT, _INT64 = 1, 7  # onnx.TensorProto.FLOAT, .INT64


class GraphInput(NamedTuple):
    """An input of a graph.

    Attributes
    ----------
    name : str
    element_type : int
        As in ``onnx.TensorProto``.
    shape : tuple of int or None
        None where an axis is free.
    """

    name: str
    element_type: int
    shape: tuple[int | None, ...]


class OnnxExtractor:
    """A network in an ONNX file.

    Parameters
    ----------
    path : Path
        Of the file. Settings stand beside it, in a file of its name that ends in ``.toml``; the
        tokenizer of one for text in ``tokenizer.json``.
    """

    def __init__(self, path: Path) -> None:
        _require_onnx()
        check_model_file(path, MOST_ONNX_BYTES, "an ONNX file")
        files, inputs, outputs = _looked_at(path)
        settings = settings_of(path)
        output = _chosen_output(settings, outputs, path)
        self._inputs, self._outputs = inputs, [output]
        is_text = _is_text(inputs, settings, path)
        self._session = _session(path)
        image = None if is_text else _matching_image(inputs[0], settings, path)
        self.channels_last = image is not None and inputs[0].shape[1] not in (1, 3, None)
        text = text_input(settings, path.parent) if is_text else None
        self._tokenizer = Tokenizer(path.parent / TOKENIZER, text) if text is not None else None
        found = self._tried(image, path)
        pooling, is_unit = stated_pooling(path.parent) if is_text else (None, False)
        wanted = settings.pooling or (pooling if found.ndim == 3 else None)
        self.record = ExtractorRecord(
            kind="onnx",
            name=path.name,
            path=str(path.resolve()),
            digest=digest_of([*files, *_beside(path, is_text)]),
            n_features=found.shape[1] if found.ndim != 3 else found.shape[2],
            image=image,
            text=text,
            pooling=resolve_pooling(found.shape, wanted, is_text, str(path)),
            unit_length=is_unit if settings.unit_length is None else settings.unit_length,
            output=output,
            versions=_versions(is_text),
        )

    def __call__(self, samples: Sequence[Any]) -> NDArray[np.float32]:
        """Return the vectors of texts or pictures, as :class:`Extractor` has it."""
        if self._tokenizer is not None:
            return text_vectors(samples, self._tokenizer, self.record, self._run_text)
        return image_vectors(samples, self.record, self._run_image)

    def _run_image(self, pixels: NDArray[np.uint8], image: ImageInput) -> NDArray[Any]:
        normal = network_pixels(pixels, image, channels_last=self.channels_last)
        return np.asarray(self._session.run(self._outputs, {self._inputs[0].name: normal})[0])

    def _run_text(self, tokens: Tokens) -> NDArray[Any]:
        return np.asarray(self._session.run(self._outputs, self._named(tokens))[0])

    def _named(self, tokens: Tokens) -> dict[str, NDArray[np.int64]]:
        return {one.name: getattr(tokens, _TEXT_INPUTS[one.name]) for one in self._inputs}

    @property
    def input_names(self) -> list[str]:
        """Names of the graph's inputs."""
        return [one.name for one in self._inputs]

    def tokens_of(self, texts: Sequence[str]) -> dict[str, NDArray[np.int64]]:
        """Return texts as the graph takes them, by the names of its inputs."""
        assert self._tokenizer is not None
        return self._named(self._tokenizer.padded(self._tokenizer.encode(texts)))

    def _tried(self, image: ImageInput | None, path: Path) -> NDArray[Any]:
        """Return the output for two blank samples, or say that the network cannot take them."""
        try:
            if image is not None:
                found = self._run_image(np.zeros((2, *image.shape), np.uint8), image)
            else:
                assert self._tokenizer is not None
                found = self._run_text(self._tokenizer.padded(self._tokenizer.encode(["a", "a b"])))
        except Exception as error:  # whatever a foreign graph makes onnxruntime say
            raise InputError(
                f"{path} does not run on two samples at a time: {_said(error)}. Export it with a "
                "free number of samples and the input size of its settings."
            ) from None
        if found.ndim < 2 or len(found) != 2:
            raise InputError(
                f"{path} gives an output of shape {found.shape} for 2 samples. Expected 2 vectors: "
                "export it with a free number of samples."
            )
        return found


def _require_onnx() -> None:
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            f"Features of an ONNX file need {error.name}: pip install 'vqpu[onnx]'."
        ) from error


def _versions(is_text: bool) -> dict[str, str]:
    from importlib.metadata import version

    names = ("onnxruntime", "tokenizers") if is_text else ("onnxruntime", "pillow")
    return {name: version(name) for name in names}


def _beside(path: Path, is_text: bool) -> list[Path]:
    """Return the tokenizer: its words decide the vectors as much as the weights do."""
    return [path.parent / TOKENIZER] if is_text else []


def _looked_at(path: Path) -> tuple[list[Path], list[GraphInput], list[str]]:
    """Return the files, inputs and outputs of a graph without running any of it."""
    import onnx

    try:
        model = onnx.load_model(str(path), load_external_data=False)
    except Exception as error:  # a parser on foreign bytes
        raise InputError(f"{path} cannot be read as ONNX: {_said(error)}.") from None
    if not model.graph.node or not model.graph.output:
        raise InputError(f"{path} cannot be read as ONNX: it holds no network.")
    files = [path]
    for name in sorted({*_external_names(model)}):
        part = inside(path.parent, name, path)
        check_model_file(part, _MOST_EXTERNAL_BYTES, f"a part of {path.name}")
        files.append(part)
    known = {tensor.name for tensor in model.graph.initializer}
    inputs = [_input(one) for one in model.graph.input if one.name not in known]
    return files, inputs, [one.name for one in model.graph.output]


def _external_names(model: Any) -> Iterator[str]:
    """Give the files that hold tensors of a model, of graphs inside its nodes too."""
    from onnx import TensorProto

    of_functions = (node for function in model.functions for node in function.node)
    everything = chain(_tensors(model.graph), *map(_tensors_of_node, of_functions))
    for tensor in everything:
        if tensor.data_location == TensorProto.EXTERNAL:
            entries = {entry.key: entry.value for entry in tensor.external_data}
            yield entries.get("location", "")


def _tensors(graph: Any) -> Iterator[Any]:
    yield from graph.initializer
    for sparse in graph.sparse_initializer:
        yield from (sparse.values, sparse.indices)
    for node in graph.node:
        yield from _tensors_of_node(node)


def _tensors_of_node(node: Any) -> Iterator[Any]:
    for attribute in node.attribute:
        if attribute.HasField("t"):
            yield attribute.t
        yield from attribute.tensors
        if attribute.HasField("g"):
            yield from _tensors(attribute.g)
        for graph in attribute.graphs:
            yield from _tensors(graph)


def _input(value: Any) -> GraphInput:
    tensor = value.type.tensor_type
    shape = tuple(
        axis.dim_value if axis.HasField("dim_value") and axis.dim_value > 0 else None
        for axis in tensor.shape.dim
    )
    return GraphInput(value.name, tensor.elem_type, shape)


def _chosen_output(settings: Settings, outputs: Sequence[str], path: Path) -> str:
    if settings.output is None:
        return outputs[0]
    if settings.output not in outputs:
        hint = did_you_mean(settings.output, outputs) or f" It has {', '.join(outputs[:10])}."
        raise InputError(f"{path} has no output {settings.output!r}.{hint}")
    return settings.output


def _is_text(inputs: Sequence[GraphInput], settings: Settings, path: Path) -> bool:
    """Return whether a graph takes tokens; refuse one that takes neither these nor pictures."""
    names = [one.name for one in inputs]
    takes = ", ".join(f"{one.name} {_shown(one.shape)}" for one in inputs[:5]) or "nothing"
    if "input_ids" in names and {*names} <= {*_TEXT_INPUTS}:
        found, ranks, element = "text", {2}, _INT64
    elif len(inputs) == 1:
        found, ranks, element = "image", {4}, _FLOAT
    else:
        raise InputError(
            f"{path} takes {takes}. Expected one input of pictures (n, 3, height, width), or "
            "input_ids with attention_mask and token_type_ids as it needs them."
        )
    if settings.input not in (None, found):
        raise InputError(f"{path} takes {takes}, but its settings say input = {settings.input!r}.")
    if any(len(one.shape) not in ranks or one.element_type != element for one in inputs):
        kind = "int64 (n, tokens)" if found == "text" else "float32 (n, 3, height, width)"
        raise InputError(f"{path} takes {takes} of another shape or type. Expected {kind}.")
    if any(one.shape[0] is not None for one in inputs):
        raise InputError(
            f"{path} takes {takes}: a fixed number of samples. Export it again with a free first "
            "axis (dynamic_axes or dynamic_shapes of torch.onnx.export)."
        )
    return found == "text"


def _matching_image(one: GraphInput, settings: Settings, path: Path) -> ImageInput:
    """Return the preprocessing, if the graph takes pictures of its size and channels."""
    image = image_input(settings, path.parent, path.with_suffix(".toml"))
    n_channels = len(image.mean)
    first = (n_channels, image.size, image.size)
    last = (image.size, image.size, n_channels)
    for wanted in (first, last):
        if all(axis in (None, side) for axis, side in zip(one.shape[1:], wanted, strict=True)):
            return image
    raise InputError(
        f"{path} takes {one.name} {_shown(one.shape)}, but its settings give pictures of "
        f"{_shown((None, *first))}: size must be that of the network."
    )


def _shown(shape: Sequence[int | None]) -> str:
    return f"({', '.join('n' if axis is None else str(axis) for axis in shape)})"


def _session(path: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads()
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # Texts differ in length: a plan of memory for each shape would be kept for ever.
    options.enable_mem_pattern = False
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # whatever a foreign graph makes onnxruntime say
        raise InputError(f"{path} cannot be run by onnxruntime: {_said(error)}.") from None


def _said(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")[:240]
