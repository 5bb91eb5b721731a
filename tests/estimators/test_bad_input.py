"""Bad input: one clear sentence, of our own tree, before any training step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from sklearn.exceptions import NotFittedError
from torch import nn

import vqpu.training._loop as loop_module
from tests.support import fast_classifier
from vqpu import VQKMeansClassifier, VqpuError

# Models here are trained for a few steps on noise; that their codes say nothing is no news.
pytestmark = pytest.mark.filterwarnings("ignore::vqpu.VqpuWarning")

rng = np.random.default_rng(0)
X = rng.normal(size=(20, 4))
Y = np.repeat([1, 0], 10)
IMAGES = rng.integers(0, 256, (20, 9, 9), dtype=np.uint8)


def changed(array: np.ndarray[Any, Any], value: Any) -> np.ndarray[Any, Any]:
    array = np.array(array)
    array[3, 1] = value
    return array


class WrongShape(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


class InDouble(nn.Linear):
    def __init__(self) -> None:
        super().__init__(4, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x).unsqueeze(1).double()


class NoVectors(nn.Linear):
    def __init__(self) -> None:
        super().__init__(4, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.new_zeros(len(x), 0, 8)


class Fixed(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.new_zeros(len(x), 2, 8)


FIT_CASES: dict[str, tuple[Any, Any, str]] = {
    "infinity": (changed(X, np.inf), Y, "inf.* in sample 3"),
    "minus infinity": (changed(X, -np.inf), Y, "inf.* in sample 3"),
    "NaN in float32 images": (np.full((20, 9, 9), np.nan, np.float32), Y, "NaN in sample 0"),
    "empty": (np.empty((0, 4)), np.empty(0), "0 sample"),
    "no features": (np.empty((20, 0)), Y, "0 feature"),
    "one row": (X[:1], Y[:1], "1 sample|minimum of 2"),
    "one axis": (X[:, 0], Y, "Expected 2D array"),
    "scalar": (3.0, Y, "Expected 2D array|scalar"),
    "five axes": (np.zeros((20, 2, 8, 8, 8)), Y, "5 axes"),
    "images too small": (IMAGES[:, :5, :5], Y, "at least 8 x 8"),
    "ambiguous channels": (np.zeros((20, 8, 9, 8)), Y, "channel axis cannot be told"),
    "all positive": (X, np.ones(20), "only one class"),
    "all unlabelled": (X, np.zeros(20), "only one class"),
    "three labels": (X, np.arange(20) % 3, "Only binary classification is supported"),
    "continuous labels": (X, np.linspace(0, 1, 20), "Unknown label type|continuous"),
    "labels of another length": (X, Y[:-1], "inconsistent numbers of samples"),
    "labels with NaN": (X, np.where(np.arange(20) == 0, np.nan, Y), "y has 1 missing values"),
    "no labels": (X, None, "requires y to be passed"),
    "labels of two columns": (X, np.column_stack([Y, Y]), "y should be a 1d array"),
    "strings": (np.full((20, 2), "a"), Y, "could not convert|numeric|dtype"),
    "objects": (np.array([[{}, 1]] * 20, dtype=object), Y, "must be .*string.*number"),
    "masked": (np.ma.masked_greater(X, 1), Y, "X is a masked array with"),
    "masked labels": (X, np.ma.masked_equal(Y, 1), "y is a masked array with"),
    "complex": (X.astype(complex), Y, "Complex data not supported"),
    "sparse": (scipy.sparse.csr_matrix(X), Y, "[Ss]parse"),
    "constant": (np.ones((20, 4)), Y, "X is constant"),
    "constant images": (np.zeros((20, 9, 9), np.uint8), Y, "X is constant"),
    "mixed column": (
        pd.DataFrame({"a": X[:, 0], "b": ["x", 1] * 10, "c": [{}, 2] * 10}),
        Y,
        r"2 columns of X cannot be used: 'b' .*; 'c' .*X\['b'\].astype\(str\), or drop it",
    ),
    "bytes column": (pd.DataFrame({"a": X[:, 0], "b": [b"x"] * 20}), Y, "'b' is of type binary"),
    "ragged lists": (
        pd.DataFrame({"a": X[:, 0], "b": [[1.0], [1.0, 2.0]] * 10}),
        Y,
        "'b' holds lists of different lengths, 10 of length 2 and 10 of others",
    ),
    "nothing but constants": (
        pd.DataFrame({"a": ["x"] * 20, "b": [None] * 20}),
        Y,
        "no column left to learn from.*'a: it is constant', 'b: it has no value at all'",
    ),
    "dates": (np.full((20, 2), "2020-01-01", "datetime64[s]"), Y, "dtype"),
    "labels of mixed kinds": (X, np.array([1, "a"] * 10, dtype=object), "y cannot be used|mix"),
    "labels of bytes": (X, np.array([b"a", b"b"] * 10), "y cannot be used|bytes"),
    "groups of another length": (X, Y, "groups must have one value for each of the 20 samples"),
    "one group": (X, Y, "groups has one value only"),
    "missing groups": (X, Y, "groups has 2 missing values"),
}

PARAMETER_CASES: dict[str, tuple[dict[str, Any], str]] = {
    "codebook of one": ({"codebook_size": 1}, "codebook_size must be an integer >= 2. Got 1"),
    "no vectors": ({"n_vectors": 0}, "n_vectors must be an integer >= 1"),
    "vector_dim float": ({"vector_dim": 3.5}, "vector_dim must be an integer"),
    "boolean steps": ({"max_steps": True}, "max_steps must be an integer"),
    "negative rate": ({"learning_rate": -1.0}, r"learning_rate must be a number in \(0"),
    "NaN rate": ({"learning_rate": float("nan")}, "learning_rate must be a number"),
    "average of one": ({"weight_average": 1.0}, r"weight_average must be a number in \[0, 1\)"),
    "holdout of all": ({"holdout": 0.9}, "holdout must be a number"),
    "dropout of all": ({"dropout": 1.0}, "dropout must be a number"),
    "batch of one": ({"batch_size": 1}, "batch_size must be an integer >= 2"),
    "no patience": ({"patience": 0}, "patience must be an integer >= 1"),
    "unknown signal": ({"stopping_signal": "luck"}, "Unknown stopping_signal 'luck'. Valid values"),
    "unknown decision": ({"decision": "coin"}, "Unknown decision 'coin'"),
    "unknown encoder": ({"encoder": "resnet"}, "Unknown encoder 'resnet'"),
    "unknown anchors": ({"anchors": "rusty"}, "Unknown anchors"),
    "unknown encoding": ({"encoding": "morse"}, "Unknown encoding"),
    "unknown update": ({"codebook_update": "magic"}, "Unknown codebook_update"),
    "unknown schedule": ({"schedule": "moody"}, "Unknown schedule"),
    "unknown augmentation": ({"augment": "rotate"}, "Unknown augment"),
    "both targets at 0": ({"encoding": "constant", "anchor_mean": 0}, "anchor_mean must differ"),
    "unknown device": ({"device": "abacus"}, "device must be"),
    "device without numbers": ({"device": "meta"}, "device must be"),
    "verbose in words": ({"verbose": "loud"}, "verbose must be an integer >= 0"),
    "module for a factory": ({"encoder": nn.Linear(4, 8)}, "Got a module instead"),
    "factory without arguments": ({"encoder": lambda: None}, "encoder cannot be called with"),
    "encoder in double": ({"encoder": lambda *_: InDouble()}, "torch.float64"),
    "encoder of no vectors": ({"encoder": lambda *_: NoVectors()}, r"\(2, 0, 8\)"),
    "encoder that cannot learn": ({"encoder": lambda *_: Fixed()}, "no parameter"),
    "device of another type": ({"device": 3}, "device must be a string"),
    "negative seed": ({"random_state": -1}, "random_state must be"),
    "convolutions on a table": ({"encoder": "conv"}, "needs images"),
    "factory of nothing": ({"encoder": lambda *_: None}, "encoder returned NoneType"),
    "encoder of wrong shape": ({"encoder": lambda *_: WrongShape()}, r"\(2, K, 8\).*Got \(2, 4\)"),
    "encoder that breaks": (
        {"encoder": lambda *_: nn.Linear(3, 2)},
        "encoder cannot take a float32 batch",
    ),
}


@pytest.fixture
def _no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("training began")

    monkeypatch.setattr(loop_module, "train", refuse)


@pytest.mark.usefixtures("_no_training")
@pytest.mark.parametrize("name", FIT_CASES)
def test_fit__bad_data__one_clear_error_before_any_step(name: str) -> None:
    samples, labels, message = FIT_CASES[name]
    with pytest.raises(VqpuError, match=message) as error:
        fast_classifier().fit(samples, labels, groups=GROUPS.get(name))
    assert isinstance(error.value, (ValueError, TypeError))


GROUPS: dict[str, Any] = {
    "groups of another length": [1, 2],
    "one group": ["a"] * 20,
    "missing groups": [None, None, *["a", "b"] * 9],
}


@pytest.mark.usefixtures("_no_training")
@pytest.mark.parametrize("name", PARAMETER_CASES)
def test_fit__bad_parameter__one_clear_error_before_any_step(name: str) -> None:
    parameters, message = PARAMETER_CASES[name]
    with pytest.raises(VqpuError, match=message) as error:
        fast_classifier(**parameters).fit(X, Y)
    assert isinstance(error.value, (ValueError, TypeError))


PREDICT_CASES: dict[str, tuple[Callable[[], Any], str]] = {
    "wrong width": (lambda: X[:, :3], "3 features.*4 features"),
    "infinity": (lambda: changed(X, np.inf), "inf.* in sample 3"),
    "empty": (lambda: X[:0], "0 sample"),
    "one axis": (lambda: X[0], "Expected 2D array"),
    "images for a table": (lambda: np.zeros((2, 4, 8, 8)), r"shape \(4, 8, 8\).*fitted on.*\(4,\)"),
    "beyond all measure": (lambda: changed(X, 1e300), "no finite encoding"),
}


@pytest.fixture(scope="module")
def model() -> VQKMeansClassifier:
    return fast_classifier(max_steps=20).fit(X, Y)


@pytest.mark.parametrize("name", PREDICT_CASES)
@pytest.mark.parametrize("method", ["predict", "decision_function", "predict_proba", "transform"])
def test_predict__bad_data__one_clear_error(
    name: str, method: str, model: VQKMeansClassifier
) -> None:
    make, message = PREDICT_CASES[name]
    with pytest.raises(VqpuError, match=message):
        getattr(model, method)(make())


def test_predict__image_of_another_size__both_shapes_named() -> None:
    model = fast_classifier(max_steps=20).fit(IMAGES, Y)
    with pytest.raises(VqpuError, match=r"\(1, 9, 12\).*\(1, 9, 9\)"):
        model.predict(np.zeros((2, 9, 12), np.uint8))


def test_fit__fewer_samples_than_a_batch_and_a_constant_column__accepted() -> None:
    with_constant = np.column_stack([X, np.full(20, 7.0)])
    model = fast_classifier(max_steps=20, batch_size=512).fit(with_constant, Y)
    assert np.isfinite(model.decision_function(with_constant)).all()


def test_fit__large_offset__not_called_constant() -> None:
    stamps = 1.7e9 + 100 * X[:, :1]
    model = fast_classifier(max_steps=20).fit(stamps, Y)
    assert np.ptp(model.decision_function(stamps)) > 0


def test_failed_fit__nothing_left_of_the_last_one() -> None:
    model = fast_classifier(max_steps=20).fit(X, Y)
    with pytest.raises(VqpuError):
        model.fit(changed(X, np.inf), Y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert not hasattr(model, "alpha_")
