from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import vqpu
from tests.reported_models import fit_pictures, fit_rows
from tests.support import fast_classifier

torch.set_num_threads(1)  # also for fixtures that are made before the next one


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def blobs() -> tuple[NDArray[Any], NDArray[Any]]:
    """60 labelled positives and 120 unlabelled samples, 40 of them hidden positives."""
    rng = np.random.default_rng(0)
    X = np.vstack(
        [rng.normal(2, 1, (60, 5)), rng.normal(2, 1, (40, 5)), rng.normal(-2, 1, (80, 5))]
    )
    order = np.random.default_rng(1).permutation(180)
    X, y = X[order], np.repeat([1, 0], [60, 120])[order]
    for array in (X, y):
        array.setflags(write=False)  # all tests share them
    return X, y


@pytest.fixture
def blobs_truth() -> NDArray[Any]:
    return np.repeat([1, 1, 0], [60, 40, 80])[np.random.default_rng(1).permutation(180)]


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fit_pictures(tmp_path_factory.mktemp("pictures"))


@pytest.fixture(scope="session")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("pyarrow")
    return fit_rows(tmp_path_factory.mktemp("rows"))


@pytest.fixture(scope="session")
def from_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model without a training sample."""
    rng = np.random.default_rng(0)
    X, y = vqpu.stack_pu(rng.normal(2, 1, (60, 5)), rng.normal(-1, 2, (120, 5)))
    path = tmp_path_factory.mktemp("python") / "model"
    fast_classifier().fit(X, y).save(path)
    return path


@pytest.fixture
def ctrl_c() -> Iterator[Callable[[], None]]:
    """What Ctrl-C does in a terminal; tests in the background would not get it otherwise."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: signal.raise_signal(signal.SIGINT)
    signal.signal(signal.SIGINT, before)
