"""Fits that are killed and taken up again; run as a program, because killing needs a process.

``python -m tests.fit_and_die moments COUNT [METHOD ...]`` kills every method's fits at random
moments, ``... steps`` at every system call of two checkpoint writes. It prints a line of JSON a
method and ends with 1 if a model differs. Children are forked after the imports: those take longer
than all the fits.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from tests.support import with_parts
from vqpu import VQKMeansClassifier
from vqpu.base._registry import METHODS, find_method

# What a checkpoint write asks of the system.
CALLS: dict[str, Any] = {
    "os.mkdir": os.mkdir,
    "vqpu.persistence._directory.open": open,
    "os.fsync": os.fsync,
    "os.chmod": os.chmod,
    "os.rename": os.rename,
    "shutil.rmtree": shutil.rmtree,
}


def small_data() -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(2, 1, (60, 3)), rng.normal(-1, 1, (60, 3))])
    return X, np.repeat([1, 0, 0], [30, 30, 60])


def small_encoder(shape: tuple[int, ...], dim: int) -> nn.Module:
    """Statistics of batches and dropout: what is easily lost on the way through a file."""
    return nn.Sequential(
        nn.Linear(shape[0], 8),
        nn.BatchNorm1d(8),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(8, 2 * dim),
        nn.Unflatten(1, (2, dim)),
    )


TREES = "vq-trees"  # no method of its own: VQ K-means with trees, whose rounds are checkpoints
NETWORK_METHODS = (*(method.name for method in METHODS if method.is_saved), TREES)
ROUNDS = {"n_members": 2, "n_rounds": 2}
SMALL: dict[str, Any] = {
    "encoder": small_encoder, "max_steps": 30, "check_every": 5, "patience": 50, "vector_dim": 4,
    "codebook_size": 8, "n_vectors": 2, "latent_dim": 4, "gan_steps": 20, "n_members": 1,
    "random_state": 0,
}  # fmt: skip


def small_model(**parameters: Any) -> VQKMeansClassifier:
    own = {name: SMALL[name] for name in ("encoder", "max_steps", "check_every", "patience")}
    others: dict[str, Any] = {"codebook_size": 8, "vector_dim": 4, "n_members": 1, "n_rounds": 1}
    return with_parts(**{**own, **others, "random_state": 0, **parameters})


def small_method(name: str) -> Any:
    """A method of the registry, quick, in several stages or rounds where it has them."""
    if name == "vq":
        return small_model(**ROUNDS)
    if name == TREES:
        return small_model(encoder="trees", n_members=2, n_rounds=3)
    method = find_method(name)
    assert method is not None
    kind = method.load_class()
    known = inspect.signature(kind).parameters
    return kind(**{key: value for key, value in SMALL.items() if key in known})


def digest_of(model: Any, X: NDArray[Any]) -> str:
    """SHA-256 of everything that a fit leaves, but for the seconds it took."""
    digest = hashlib.sha256()
    modules = [getattr(model, name) for name in ("network_", "generator_") if hasattr(model, name)]
    for module in modules:
        for name, tensor in module.state_dict().items():
            digest.update(name.encode() + tensor.contiguous().numpy().tobytes())
    rows = [{k: v for k, v in row.items() if k != "seconds"} for row in model.history_]
    digest.update(json.dumps(rows).encode())
    for method in ("decision_function", "transform"):
        if hasattr(model, method):
            digest.update(getattr(model, method)(X).tobytes())
    facts = [getattr(model, name, None) for name in ("best_check_", "stop_reason_", "alpha_")]
    digest.update(repr(facts).encode())
    return digest.hexdigest()


def fit_digest(folder: Path | None, **parameters: Any) -> str:
    X, y = small_data()
    return digest_of(small_model(**parameters).fit(X, y, checkpoint_dir=folder), X)


def method_digest(name: str, folder: Path | None) -> str:
    X, y = small_data()
    return digest_of(small_method(name).fit(X, y, checkpoint_dir=folder), X)


@contextmanager
def acting_at(number: int, act: Callable[[], None]) -> Iterator[list[str]]:
    """Call ``act`` instead of the call number ``number`` of :data:`CALLS`; list those made."""
    made: list[str] = []

    def wrapped(name: str, original: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            made.append(name)
            if len(made) - 1 == number:
                act()
            return original(*args, **kwargs)

        return call

    with ExitStack() as patches:
        for target, original in CALLS.items():
            patches.enter_context(mock.patch(target, wrapped(target, original), create=True))
        yield made


def in_child(work: Callable[[], object], *, kill_after: float | None = None) -> bool:
    """Run ``work`` in a child; return whether it came to its end."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    if kill_after is not None:
        time.sleep(kill_after)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 1:
        raise RuntimeError("A fit failed, see above.")
    return os.WIFEXITED(status)


def child_digest(digest: Callable[[], str]) -> str:
    with tempfile.NamedTemporaryFile() as file:
        in_child(lambda: Path(file.name).write_text(digest()))
        return Path(file.name).read_text()


def kill_at_moments(name: str, count: int, seed: int = 0) -> dict[str, Any]:
    """Kill a method's fits ``count`` times at random moments, going on after most of them."""
    # Here, so that children need not import.
    expected, draw = method_digest(name, None), random.Random(seed)
    with tempfile.TemporaryDirectory() as probe:
        started = time.perf_counter()
        child_digest(partial(method_digest, name, Path(probe) / "checkpoints"))
        duration = time.perf_counter() - started
    found: dict[str, Any] = {"method": name, "kills": 0, "fits": 0, "identical": 0, "resumed": 0}
    while found["kills"] < count:
        with tempfile.TemporaryDirectory() as place:
            fit = partial(method_digest, name, Path(place) / "checkpoints")
            while found["kills"] < count:
                died = not in_child(fit, kill_after=draw.uniform(0, duration))
                found["kills"] += died
                if not died or draw.random() < 0.4:
                    break
            found["resumed"] += any(Path(place).rglob("step-*"))
            found["fits"] += 1
            found["identical"] += child_digest(fit) == expected
    return found


def kill_at_steps() -> dict[str, int]:
    """Kill a fit at every call of its first and its third checkpoint write."""
    expected, calls = fit_digest(None), calls_of_a_fit()
    found = {"kills": 0, "identical": 0}
    for number in places_of_writes(calls):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "checkpoints"

            def work(number: int = number, folder: Path = folder) -> None:
                with acting_at(number, lambda: os.kill(os.getpid(), signal.SIGKILL)):
                    fit_digest(folder)

            found["kills"] += not in_child(work)
            found["identical"] += child_digest(partial(fit_digest, folder)) == expected
    return found


def places_of_writes(calls: list[str]) -> list[int]:
    """Where the calls of the first and of the third checkpoint are.

    The third is the first one after which an old checkpoint is dropped.
    """
    renames = [place for place, name in enumerate(calls) if name == "os.rename"]
    return [*range(renames[0] + 1), *range(renames[1] + 1, calls.index("os.mkdir", renames[2]))]


def calls_of_a_fit() -> list[str]:
    with tempfile.TemporaryDirectory() as place:
        log = Path(place) / "calls.json"

        def work() -> None:
            with acting_at(-1, lambda: None) as made:
                fit_digest(Path(place) / "checkpoints")
            log.write_text(json.dumps(made))

        in_child(work)
        return list(json.loads(log.read_text()))


def main(arguments: list[str]) -> int:
    warnings.simplefilter("ignore")  # the models are too small to be good
    torch.set_num_threads(1)
    if arguments[0] == "steps":
        every: list[dict[str, Any]] = [kill_at_steps()]
    else:
        names = arguments[2:] or NETWORK_METHODS
        every = [kill_at_moments(name, int(arguments[1])) for name in names]
    for found in every:
        print(json.dumps(found))
    return int(any(found["identical"] != found.get("fits", found["kills"]) for found in every))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
