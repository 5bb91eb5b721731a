from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tests.support import fast_classifier
from vqpu import VQKMeansClassifier
from vqpu.base._seeding import preserved_torch_state
from vqpu.rivals import NaivePUClassifier

Blobs = tuple[NDArray[Any], NDArray[Any]]

PROGRAM = """
import numpy as np, torch, hashlib
torch.set_num_threads(1)
from tests.support import fast_classifier
rng = np.random.default_rng(0)
X, y = rng.normal(size=(80, 4)), np.repeat([1, 0], 40)
model = fast_classifier().fit(X, y)
digest = hashlib.sha256(model.decision_function(X).tobytes())
for tensor in model.network_.state_dict().values():
    digest.update(tensor.numpy().tobytes())
print(digest.hexdigest())
"""


def fingerprint(model: VQKMeansClassifier, X: NDArray[Any]) -> str:
    digest = hashlib.sha256()
    for tensor in model.network_.state_dict().values():
        digest.update(tensor.numpy().tobytes())
    digest.update(model.transform(X).tobytes() + model.decision_function(X).tobytes())
    digest.update(model.cluster_centers_.tobytes())
    return digest.hexdigest()


def global_numpy_state() -> str:
    return repr(np.random.get_state(legacy=False))  # noqa: NPY002


def images(n: int) -> NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, 256, (n, 10, 10, 3), dtype=np.uint8)


@pytest.mark.parametrize("kind", ["vectors", "images"])
def test_same_seed__bit_identical_weights_codes_and_predictions(blobs: Blobs, kind: str) -> None:
    X, y = blobs if kind == "vectors" else (images(60), np.repeat([1, 0], [20, 40]))
    first, second = (fast_classifier(decision="posterior").fit(X, y) for _ in range(2))
    assert fingerprint(first, X) == fingerprint(second, X)
    other = fast_classifier(random_state=1).fit(X, y)
    assert fingerprint(other, X) != fingerprint(first, X)


def test_other_processes__bit_identical() -> None:
    digests = set()
    for hash_seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(done.stdout)
    assert len(digests) == 1


@pytest.mark.parametrize("estimator", [fast_classifier, lambda: NaivePUClassifier(max_steps=20)])
@pytest.mark.parametrize("seed", [0, None])
def test_global_random_states__untouched(blobs: Blobs, estimator: Any, seed: int | None) -> None:
    before = (global_numpy_state(), torch.get_rng_state(), random.getstate())
    estimator().set_params(random_state=seed).fit(*blobs).predict(blobs[0])
    assert global_numpy_state() == before[0]
    assert torch.equal(torch.get_rng_state(), before[1])
    assert random.getstate() == before[2]


def test_global_random_state__not_read(blobs: Blobs) -> None:
    X, y = blobs
    torch.manual_seed(1)
    first = fingerprint(fast_classifier().fit(X, y), X)
    torch.manual_seed(2)
    assert fingerprint(fast_classifier().fit(X, y), X) == first


@pytest.mark.parametrize(
    "parameters",
    [
        {"decision": "posterior"},
        {"decision": "nearest-center"},
        {"decision": "nearest-center", "encoding": "constant"},
        {"decision": "nearest-center", "encoding": "distribution"},
        {"decision": "nearest-center", "codebook_update": "none", "anchor_mean": 2.0},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["vectors", "images"])
@pytest.mark.filterwarnings("ignore::vqpu.VqpuWarning")
def test_predict__alone_or_in_company__bit_identical(parameters: dict[str, Any], kind: str) -> None:
    rng = np.random.default_rng(0)
    X: NDArray[Any] = rng.normal(size=(700, 6)) if kind == "vectors" else images(200)
    y = (np.arange(len(X)) % 3 == 0).astype(int)
    model = fast_classifier(**parameters, max_steps=40).fit(X, y)
    scores, answers, codes = model.decision_function(X), model.predict(X), model.transform(X)
    for size in (1, 7, 64):
        for start in (0, 1, 5, 130, len(X) - 1):
            part = slice(start, start + size)
            assert model.decision_function(X[part]).tobytes() == scores[part].tobytes()
            assert np.array_equal(model.predict(X[part]), answers[part])
            assert np.array_equal(model.transform(X[part]), codes[part])


def test_random_state_instance__advances(blobs: Blobs) -> None:
    state = np.random.RandomState(0)
    first = fast_classifier(random_state=state).fit(*blobs)
    second = fast_classifier(random_state=state).fit(*blobs)
    assert fingerprint(first, blobs[0]) != fingerprint(second, blobs[0])


def test_two_threads__each_as_alone(blobs: Blobs) -> None:
    X, y = blobs

    def fit(seed: int) -> str:
        return fingerprint(fast_classifier(random_state=seed, dropout=0.2).fit(X, y), X)

    alone = [fit(0), fit(1)]
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(fit, (0, 1))) == alone


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_forked_while_another_thread_fits__the_child_can_fit(blobs: Blobs) -> None:
    with preserved_torch_state(torch.device("cpu")), ThreadPoolExecutor(1) as threads:
        assert threads.submit(_enters_after_fork).result(timeout=30) == 0


def _enters_after_fork() -> int:
    """Fork while the main thread holds the lock; the exit code of the child that takes it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads
        child = os.fork()
    if child == 0:
        signal.alarm(20)
        with preserved_torch_state(torch.device("cpu")):
            os._exit(0)
    return os.waitpid(child, 0)[1]
