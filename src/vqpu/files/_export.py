"""A model as one ONNX graph, which scores without torch; checked against the model on the spot."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import logging
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vqpu.base._source import ArraySource
from vqpu.errors import ExportError, MissingDependencyError, UsageError
from vqpu.features._extractor import Extractor
from vqpu.files._feature_graph import check_samples, joined_graph
from vqpu.files._tree_graph import OUTPUTS as OUTPUTS_OF_TREES
from vqpu.files._tree_graph import tree_graph, tree_samples
from vqpu.nn import project_on_anchors
from vqpu.persistence._targets import MADE_HERE, check_target, writing
from vqpu.vq._classifier import VQKMeansClassifier
from vqpu.vq._network import VQNetwork
from vqpu.vq._tree_network import TreeNetwork

COLUMNS_KEY, CATEGORIES_KEY = "vqpu.columns", "vqpu.categories"
SCORE_TOLERANCE = 1e-4
# Two codes may be equally near to a vector up to rounding; more than this share is no rounding.
MOST_CODES_APART = 1e-3
_CHECKED = 256
_OPSET = 20
_MISSING = 0.05


class Exported(NamedTuple):
    """What was written and how it compares with the model.

    Attributes
    ----------
    path : Path
    inputs : tuple of str
        "x", or the names of a network's tokens.
    input_dtype : str
    input_shape : tuple
        Of one sample; ("tokens",) for texts.
    outputs : tuple of str
        "score" (log odds), "probability", "projection" (s(x)) and, for quantised models, "codes".
    n_checked : int
        Samples that both were given.
    largest_error : float
        Between the scores, for those beyond 1 relative to their size.
    codes_apart : float
        Share of codes that differ.
    """

    path: Path
    inputs: tuple[str, ...]
    input_dtype: str
    input_shape: tuple[Any, ...]
    outputs: tuple[str, ...]
    n_checked: int
    largest_error: float
    codes_apart: float


class ScoringGraph(nn.Module):
    """Everything between raw samples and a score, in operations that ONNX has.

    Parameters
    ----------
    model : VQKMeansClassifier
        Fitted.
    channels_last : bool
        Whether images come as (n, h, w, c).
    """

    def __init__(self, model: VQKMeansClassifier, *, channels_last: bool) -> None:
        super().__init__()
        network = model._predictor()
        assert isinstance(network, VQNetwork)
        self.network = network
        self.channels_last = channels_last
        rule = model.decision_rule_
        self.needs_codes = rule.needs_codes
        self.slope = rule.projection_posterior.slope
        self.intercept = rule.projection_posterior.intercept
        self.place_slope = rule.place_slope
        negative = torch.from_numpy(rule.clusters.negative_center)
        axis = torch.from_numpy(rule.clusters.positive_center) - negative
        self.negative: Tensor
        self.axis: Tensor
        self.register_buffer("negative", negative)
        self.register_buffer("axis", axis)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of what ``forward`` returns, in order."""
        codes = ("codes",) if self.network.is_quantized else ()
        return ("score", "probability", "projection", *codes)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        """Return score, probability and s(x), each (n,), and the codes, (n, n_members * K)."""
        if x.dim() == 3:
            x = x.unsqueeze(1)
        elif self.channels_last:
            x = x.permute(0, 3, 1, 2)
        vectors = self.network(x)
        projection = self._projection(vectors)
        representation = self._codes(vectors) if self.network.is_quantized else vectors.flatten(1)
        if self.needs_codes:
            along = ((representation.double() - self.negative) * self.axis).sum(dim=1)
            score = self.place_slope * (along / self.axis.square().sum() - 0.5)
        else:
            score = self.slope * projection + self.intercept
        codes = (representation,) if self.network.is_quantized else ()
        return (score, torch.sigmoid(score), projection, *codes)

    def _projection(self, vectors: Tensor) -> Tensor:
        book = self.network.codebook
        n_members = len(self.network.encoder.members)
        # Only the number of samples stays open in the graph: K and p are numbers here.
        _, n_vectors, dim = vectors.shape
        by_member = vectors.reshape(-1, n_members, n_vectors // n_members, dim)
        places = project_on_anchors(by_member, book.positive_anchor, book.unlabeled_anchor)
        return places.mean(dim=1)

    def _codes(self, vectors: Tensor) -> Tensor:
        # As in nearest_code: the nearest code has the largest v c - |c|^2 / 2.
        book = self.network.codebook.vectors.detach()
        return (vectors @ book.t() - book.square().sum(dim=1) / 2).argmax(dim=-1)


def export_onnx(
    model: VQKMeansClassifier,
    path: str | Path,
    *,
    sample_shape: tuple[int, ...] | None = None,
    dtype: str | None = None,
    feature_names: Sequence[str] | None = None,
    categories: Mapping[str, Sequence[str]] | None = None,
    extractor: Extractor | None = None,
) -> Exported:
    """Write a model as an ONNX graph with a free number of samples, if it scores as the model does.

    The graph takes what ``fit`` was given: its input "x" has shape (n, *sample_shape). To get
    scores alone, name "score" as the only output and set ``only_execute_path_to_fetches`` in
    onnxruntime's run options, which spares the search for codes.

    Parameters
    ----------
    model : VQKMeansClassifier
        Fitted.
    path : path
        Ends in .onnx.
    sample_shape : tuple or None
        (d,), (h, w), (h, w, c) or (c, h, w). None takes ``model.input_shape_``.
    dtype : str or None
        Of the input: "uint8", "float32" or "float64"; of other types the one that the model turns
        them into. None takes float64 for vectors and float32 for images.
    feature_names : sequence of str or None
        Names of the columns of "x", for the graph's metadata: a JSON list under the key
        "vqpu.columns".
    categories : mapping of sequence of str or None
        Values of columns that hold codes, by name, for the metadata under "vqpu.categories": value
        number i has code i, any other value the next code, and NaN means missing.
    extractor : Extractor or None
        Of a model on features of an ONNX file: the graph then begins with its network and takes
        pictures of uint8 as "x", or the tokens that the network takes.
    """
    path = Path(path)
    _check_request(model, path)
    if extractor is not None:
        sample_shape, dtype = (extractor.record.n_features,), "float32"
    shape = tuple(sample_shape or model.input_shape_)
    if feature_names is not None and (
        isinstance(feature_names, str) or len(feature_names) != shape[0]
    ):
        raise UsageError(
            f"feature_names must be a list of {shape[0]} names. Got {feature_names!r:.100} instead."
        )
    model = copy.copy(model).set_params(precision="float32")  # what the graph computes in
    given = _input_dtype(dtype or _default_dtype(shape))
    if isinstance(model._folded, TreeNetwork):
        proto, outputs = tree_graph(model, given), OUTPUTS_OF_TREES
        samples = tree_samples(model._folded, _CHECKED, given)
    else:
        is_last = _is_channels_last(shape, model.input_shape_)
        graph = ScoringGraph(model, channels_last=is_last).eval()
        samples = _random_samples(model, shape, given)
        proto, outputs = _to_onnx(graph, samples), graph.outputs
    for key, note in {COLUMNS_KEY: feature_names, CATEGORIES_KEY: categories}.items():
        if note:
            proto.metadata_props.add(key=key, value=json.dumps(note))
    fed: dict[str, NDArray[Any]] = {"x": samples}
    if extractor is not None:
        proto = joined_graph(extractor, proto)
        fed, samples = check_samples(extractor)
    proto.producer_name = "vqpu"
    content: bytes = proto.SerializeToString()
    exported = _compare(model, outputs, content, fed, samples, path)
    with writing(path) as file:
        file.write(content)
    return exported


def _check_request(model: Any, path: Path) -> None:
    if not isinstance(model, VQKMeansClassifier):
        raise ExportError(
            f"Only VQKMeansClassifier can be exported. Got {type(model).__name__} instead."
        )
    check_target(path, (".onnx",), marks=MADE_HERE)
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            f"Exporting needs {error.name}: pip install 'vqpu[onnx]'."
        ) from error


def _is_channels_last(shape: tuple[int, ...], input_shape: tuple[int, ...]) -> bool:
    return len(shape) == 3 and shape != tuple(input_shape)


def _default_dtype(shape: tuple[int, ...]) -> str:
    return "float64" if len(shape) == 1 else "float32"


def _input_dtype(name: str) -> str:
    """Return what ArraySource makes of a dtype."""
    dtype = np.dtype(name)
    if name in ("uint8", "float32", "float64"):
        return name
    return "float64" if dtype.kind in "iu" or dtype.itemsize > 4 else "float32"


def _random_samples(model: VQKMeansClassifier, shape: tuple[int, ...], dtype: str) -> NDArray[Any]:
    """Draw samples with the mean and the spread of the training data, per feature or channel."""
    assert isinstance(model._folded, VQNetwork)
    normalizer: Any = model._folded.encoder.normalizer
    mean, std = (part.cpu().numpy() for part in (normalizer.mean, normalizer.std))
    rng = np.random.default_rng(0)
    samples = mean + std * rng.standard_normal((_CHECKED, *model.input_shape_))
    inputs = model.table_inputs_
    if inputs is not None:  # codes, and some values missing everywhere
        for column, n_codes in inputs.categories:
            samples[:, column] = rng.integers(0, n_codes, _CHECKED)
        samples[rng.random(samples.shape) < _MISSING] = np.nan
    if np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        samples = samples.round().clip(limits.min, limits.max)
    if len(shape) == 2:
        samples = samples[:, 0]
    elif _is_channels_last(shape, model.input_shape_):
        samples = samples.transpose(0, 2, 3, 1)
    return np.ascontiguousarray(samples, dtype=dtype)


def _to_onnx(graph: ScoringGraph, samples: NDArray[Any]) -> Any:
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), _silenced_logs():
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            graph,
            (torch.from_numpy(samples[:3]),),
            dynamo=True,
            input_names=["x"],
            output_names=list(graph.outputs),
            dynamic_shapes=({0: torch.export.Dim("n")},),
            opset_version=_OPSET,
            verbose=False,
        )
    assert program is not None
    return program.model_proto


@contextlib.contextmanager
def _silenced_logs() -> Any:
    """Keep the exporter's remarks about itself out of the user's sight."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir")]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _compare(
    model: VQKMeansClassifier,
    names: tuple[str, ...],
    content: bytes,
    given: Mapping[str, NDArray[Any]],
    samples: NDArray[Any],
    path: Path,
) -> Exported:
    """Let onnxruntime and the model score the same samples, all at once and one alone.

    ``given`` is the graph's input by name, ``samples`` what the model gets.
    """
    session = _session(content)
    outputs = dict(zip(names, session.run(None, dict(given)), strict=True))
    alone = session.run(["score"], {name: array[:1] for name, array in given.items()})[0]
    encodings = model._folded.encode(ArraySource(samples), None, model._device)
    error = _largest_error(outputs["score"], model.decision_rule_.log_odds(encodings))
    error = max(error, _largest_error(alone, outputs["score"][:1]))
    apart = 0.0
    if "codes" in outputs:
        apart = float((outputs["codes"] != encodings.representation).mean())
    if not error <= SCORE_TOLERANCE or apart > MOST_CODES_APART:
        raise ExportError(
            f"The exported graph scores otherwise than the model: scores differ by up to "
            f"{error:.2g} and {apart:.2%} of the codes. It was not written."
        )
    first = next(iter(given.values()))
    shape = first.shape[1:] if "x" in given else ("tokens",)
    return Exported(path, tuple(given), str(first.dtype), shape, names, len(samples), error, apart)


def _session(content: bytes) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # of a graph that holds somebody else's network
        reason = " ".join(str(error).split())[:240]
        raise ExportError(
            f"The exported graph cannot be run: {reason}. It was not written."
        ) from None


def _largest_error(found: NDArray[np.float64], expected: NDArray[np.float64]) -> float:
    return float((np.abs(found - expected) / np.maximum(1.0, np.abs(expected))).max())
