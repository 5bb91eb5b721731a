"""ONNX: one graph that scores as the model does, for any number of samples."""

from __future__ import annotations

import sys
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tests.support import fast_classifier
from vqpu import VQKMeansClassifier
from vqpu.errors import ExportError, MissingDependencyError, OutputError, UsageError
from vqpu.rivals import NaivePUClassifier
from vqpu.vq._decision_rule import DecisionRule


def vectors() -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Far from 0, where single precision would lose what matters."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)) + 1e6
    X[:100] += 4
    return X, (np.arange(200) < 50).astype(np.int64)


def images(channels_first: bool = False) -> tuple[NDArray[Any], NDArray[np.int64]]:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 150, (120, 16, 16, 3), dtype=np.uint8)
    X[:60, ..., 0] += 100
    return X.transpose(0, 3, 1, 2) if channels_first else X, (np.arange(120) < 30).astype(np.int64)


def grey() -> tuple[NDArray[Any], NDArray[np.int64]]:
    X, y = images()
    return X[..., 0], y


SHORT: dict[str, Any] = {"max_steps": 40}
CASES: dict[str, tuple[tuple[NDArray[Any], NDArray[np.int64]], dict[str, Any]]] = {
    "vectors": (vectors(), {}),
    "two members, nearest centre": (vectors(), {"n_members": 2, "decision": "nearest-center"}),
    "colour": (images(), {**SHORT, "n_members": 2}),
    "channels first": (images(channels_first=True), SHORT),
    "grey": (grey(), SHORT),
    "continuous": (vectors(), {"encoding": "distribution"}),
}


@cache
def fitted(case: str) -> VQKMeansClassifier:
    """Return the model of a case, the same for every test that only reads it."""
    (X, y), parameters = CASES[case]
    return fast_classifier(**parameters).fit(X, y)


def check(found: dict[str, NDArray[Any]], model: VQKMeansClassifier, X: NDArray[Any]) -> None:
    model = deepcopy(model).set_params(precision="float32")  # what a graph computes in
    np.testing.assert_allclose(found["score"], model.decision_function(X), atol=1e-4)
    np.testing.assert_allclose(found["probability"], model.predict_proba(X)[:, 1], atol=1e-4)
    if "codes" in found:
        np.testing.assert_array_equal(found["codes"], model.transform(X))


@pytest.mark.parametrize("case", CASES)
def test_scoring_graph__every_layout__scores_as_the_model(case: str) -> None:
    from vqpu.files._export import ScoringGraph

    X = CASES[case][0][0]
    model = deepcopy(fitted(case)).set_params(precision="float32")
    graph = ScoringGraph(model, channels_last=case == "colour").eval()
    with torch.inference_mode():
        outputs = graph(torch.from_numpy(np.ascontiguousarray(X)))
    found = dict(zip(graph.outputs, (output.numpy() for output in outputs), strict=True))
    assert ("codes" in found) == (case != "continuous")
    check(found, model, X)


@pytest.mark.parametrize("case", ["two members, nearest centre", "colour"])
def test_export__scores_as_the_model__any_number_of_samples(case: str, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxscript")
    onnxruntime = pytest.importorskip("onnxruntime")
    from vqpu.files._export import export_onnx

    (X, _), model = CASES[case][0], fitted(case)
    done = export_onnx(model, tmp_path / "model.onnx", sample_shape=X.shape[1:], dtype=str(X.dtype))
    assert done.n_checked == 256
    assert done.largest_error <= 1e-4
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    for n in (1, 7, len(X)):
        outputs = session.run(None, {"x": X[:n]})
        check(dict(zip(done.outputs, outputs, strict=True)), model, X[:n])


def test_export__graph_that_differs__refused_and_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(name)
    from vqpu.files._export import export_onnx

    model = fast_classifier().fit(*vectors())
    honest = DecisionRule.log_odds
    monkeypatch.setattr(DecisionRule, "log_odds", lambda self, found: honest(self, found) + 1)
    with pytest.raises(ExportError, match=r"scores otherwise than the model.*not written"):
        export_onnx(model, tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_export__without_onnx__says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vqpu.files._export import export_onnx

    monkeypatch.setitem(sys.modules, "onnx", None)
    model = fast_classifier().fit(*vectors())
    with pytest.raises(MissingDependencyError, match=r"pip install 'vqpu\[onnx\]'"):
        export_onnx(model, tmp_path / "model.onnx")


def test_export__bad_requests__refused(tmp_path: Path) -> None:
    from vqpu.files._export import export_onnx

    rival = NaivePUClassifier(max_steps=2, random_state=0).fit(*vectors())
    with pytest.raises(ExportError, match="Only VQKMeansClassifier"):
        export_onnx(rival, tmp_path / "model.onnx")
    model = fast_classifier().fit(*vectors())
    with pytest.raises(UsageError, match=r"must end in \.onnx"):
        export_onnx(model, tmp_path / "model.txt")
    with pytest.raises(OutputError, match="give a file in an existing folder"):
        export_onnx(model, tmp_path / "nowhere" / "model.onnx")


def with_gaps_and_categories() -> tuple[Any, NDArray[np.bool_]]:
    """A source of two numbers, one with gaps, and 36 categories; and who is a labelled positive."""
    from vqpu.base._source import ArraySource

    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_500, 3))
    X[:, 2] = rng.integers(0, 36, 1_500)
    truth = (X[:, 0] > -1) & (X[:, 2] % 3 == 0)
    X[rng.random(1_500) < 0.2, 1] = np.nan
    X[rng.random(1_500) < 0.1, 2] = np.nan
    source = ArraySource(X)
    source.categories = {2: 36}  # type: ignore[attr-defined, unused-ignore]
    return source, truth & (rng.random(1_500) < 0.5)


@pytest.mark.filterwarnings("ignore::vqpu.VqpuWarning")
@pytest.mark.parametrize("decision", ["posterior", "nearest-center"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_export__trees_with_gaps_and_categories(
    decision: str, dtype: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    import vqpu.vq._classifier as module
    from vqpu.base._labels import encode_pu_labels
    from vqpu.files._export import export_onnx

    source, labeled = with_gaps_and_categories()
    monkeypatch.setattr(
        module,
        "check_training_data",
        lambda *_: (source, encode_pu_labels(labeled.astype(np.int64))),
    )
    model = VQKMeansClassifier(encoder="trees", max_steps=40, random_state=0)
    model.set_params(variant__decision=decision)
    model.n_features_in_ = 3
    model.fit(source.array, labeled)
    assert model.network_.encoder.arrays.node_words.any()  # type: ignore[operator, union-attr]
    done = export_onnx(model, tmp_path / "model.onnx", dtype=dtype, feature_names=["a", "b", "c"])
    assert done.largest_error < 1e-4
    assert done.codes_apart == 0
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    rows = source.array.astype(dtype)
    found = session.run(["score", "codes"], {"x": rows})
    encodings = model.network_.encode(type(source)(rows), None, torch.device("cpu"))
    np.testing.assert_allclose(found[0], model.decision_rule_.log_odds(encodings), atol=1e-4)
    np.testing.assert_array_equal(found[1], encodings.representation)


@pytest.mark.filterwarnings("ignore::vqpu.VqpuWarning")
def test_export__trees_of_bytes(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from vqpu.files._export import export_onnx

    X, y = vectors()
    X = (40 * (X - 1e6) + 60).clip(0, 255).astype(np.uint8)
    model = VQKMeansClassifier(encoder="trees", max_steps=20, random_state=0).fit(X, y)
    done = export_onnx(model, tmp_path / "model.onnx", dtype="uint8")
    assert (done.input_dtype, done.codes_apart) == ("uint8", 0.0)
