from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

import vqpu
from tests.support import fast_classifier
from vqpu.base._source import ArraySource
from vqpu.base._sparse import SparseSource
from vqpu.errors import InputError, UnusableSampleError
from vqpu.rivals import NaivePUClassifier


def test_linear__vectors__found_saved_and_loaded(
    blobs: tuple[NDArray[Any], NDArray[Any]], blobs_truth: NDArray[Any], tmp_path: Path
) -> None:
    X, y = blobs
    model = fast_classifier(encoder="linear").fit(X, y)
    assert np.mean(model.predict(X) == blobs_truth) > 0.9
    model.save(tmp_path / "model")
    loaded = vqpu.load(tmp_path / "model")
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))


def test_linear__images__are_refused() -> None:
    images = np.random.default_rng(0).random((40, 8, 8), dtype=np.float32)
    with pytest.raises(InputError, match="encoder='linear' needs"):
        fast_classifier(encoder="linear").fit(images, np.repeat([1, 0], 20))


def with_zeros_and_gaps(X: NDArray[Any]) -> NDArray[Any]:
    X = np.where(np.abs(X) > np.median(np.abs(X)) / 2, X, 0.0)
    X[3::40, 1] = np.nan
    return X


def test_linear__sparse_matrix__fitted_and_predicted_as_the_dense_one(
    blobs: tuple[NDArray[Any], NDArray[Any]],
) -> None:
    X, y = with_zeros_and_gaps(blobs[0]), blobs[1]
    sparse = scipy.sparse.csr_matrix(X)
    for make in (fast_classifier, lambda **more: NaivePUClassifier(max_steps=40, **more)):
        model = make(encoder="linear", random_state=0).fit(sparse, y)
        dense = make(encoder="linear", random_state=0).fit(X, y)
        scores = dense.decision_function(X)
        np.testing.assert_allclose(model.decision_function(sparse), scores, rtol=1e-3, atol=1e-3)
        np.testing.assert_array_equal(model.decision_function(sparse), model.decision_function(X))
        assert model.__sklearn_tags__().input_tags.sparse


def test_sparse_source__moments_and_missing_values__those_of_the_array(
    blobs: tuple[NDArray[Any], NDArray[Any]],
) -> None:
    X = with_zeros_and_gaps(blobs[0])
    sources = ArraySource(X), SparseSource(scipy.sparse.csr_matrix(X))
    for source in sources:
        source.check_finite(allow_missing=True)
        source.check_present()
    dense, sparse = sources
    np.testing.assert_array_equal(sparse.n_missing, dense.n_missing)
    np.testing.assert_allclose(sparse.moments(), dense.moments())
    with pytest.raises(InputError, match="X contains NaN in sample 3"):
        sparse.check_finite()
    X[5] = np.nan
    empty = SparseSource(scipy.sparse.csr_matrix(X))
    empty.check_finite(allow_missing=True)
    with pytest.raises(UnusableSampleError, match="no value at all in sample 5"):
        empty.check_present()
