from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import vqpu
from tests.support import fast_classifier
from vqpu.errors import InputError


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
