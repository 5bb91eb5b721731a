"""Fits that are killed and taken up again; run as a program, because killing needs a process.

``python -m tests.fit_and_die moments COUNT`` kills at random moments, ``... steps`` at every system
call of two checkpoint writes. It prints a line of JSON and ends with 1 if a model differs.
Children are forked after the imports: those take longer than all the fits.
"""

from __future__ import annotations

import hashlib
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


ROUNDS = {"n_members": 2, "n_rounds": 2}


def small_model(**parameters: Any) -> VQKMeansClassifier:
    settings: dict[str, Any] = {
        "encoder": small_encoder, "max_steps": 30, "check_every": 5, "patience": 50,
        "codebook_size": 8, "vector_dim": 4, "n_members": 1, "random_state": 0,
    }  # fmt: skip
    return with_parts(**{**settings, **parameters})


def digest_of(model: VQKMeansClassifier, X: NDArray[Any]) -> str:
    """SHA-256 of everything that a fit leaves, but for the seconds it took."""
    digest = hashlib.sha256()
    for name, tensor in model.network_.state_dict().items():
        digest.update(name.encode() + tensor.contiguous().numpy().tobytes())
    rows = [{k: v for k, v in row.items() if k != "seconds"} for row in model.history_]
    digest.update(json.dumps(rows).encode())
    digest.update(model.cluster_centers_.tobytes() + model.decision_function(X).tobytes())
    digest.update(repr((model.best_check_, model.stop_reason_, model.alpha_)).encode())
    return digest.hexdigest()


def fit_digest(folder: Path | None, **parameters: Any) -> str:
    X, y = small_data()
    return digest_of(small_model(**parameters).fit(X, y, checkpoint_dir=folder), X)


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


def in_child(work: Callable[[], None], *, kill_after: float | None = None) -> bool:
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


def fit_in(folder: Path) -> None:
    fit_digest(folder, **ROUNDS)


def child_digest(folder: Path | None, **parameters: Any) -> str:
    with tempfile.NamedTemporaryFile() as file:

        def work() -> None:
            Path(file.name).write_text(fit_digest(folder, **parameters))

        in_child(work)
        return Path(file.name).read_text()


def kill_at_moments(count: int, seed: int = 0) -> dict[str, int]:
    """Kill a fit of two rounds ``count`` times at random moments, going on after most of them."""
    # Here, so that children need not import.
    expected, draw = fit_digest(None, **ROUNDS), random.Random(seed)
    with tempfile.TemporaryDirectory() as probe:
        started = time.perf_counter()
        child_digest(Path(probe) / "checkpoints", **ROUNDS)
        duration = time.perf_counter() - started
        assert (Path(probe) / "checkpoints" / "round-2").is_dir(), "there was one round only"
    found = {"kills": 0, "fits": 0, "identical": 0, "resumed": 0}
    while found["kills"] < count:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "checkpoints"
            while found["kills"] < count:
                moment = draw.uniform(0, duration)
                died = not in_child(partial(fit_in, folder), kill_after=moment)
                found["kills"] += died
                if not died or draw.random() < 0.4:
                    break
            found["resumed"] += any(folder.glob("step-*"))
            found["fits"] += 1
            found["identical"] += child_digest(folder, **ROUNDS) == expected
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
            found["identical"] += child_digest(folder) == expected
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
    found = kill_at_steps() if arguments[0] == "steps" else kill_at_moments(int(arguments[1]))
    print(json.dumps(found))
    return int(found["identical"] != found.get("fits", found["kills"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
