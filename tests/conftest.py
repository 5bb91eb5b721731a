from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture
def blobs() -> tuple[NDArray[Any], NDArray[Any]]:
    """60 labelled positives and 120 unlabelled samples, 40 of them hidden positives."""
    rng = np.random.default_rng(0)
    X = np.vstack(
        [rng.normal(2, 1, (60, 5)), rng.normal(2, 1, (40, 5)), rng.normal(-2, 1, (80, 5))]
    )
    order = np.random.default_rng(1).permutation(180)
    return X[order], np.repeat([1, 0], [60, 120])[order]


@pytest.fixture
def blobs_truth() -> NDArray[Any]:
    return np.repeat([1, 1, 0], [60, 40, 80])[np.random.default_rng(1).permutation(180)]
