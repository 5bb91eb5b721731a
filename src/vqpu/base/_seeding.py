"""Randomness and devices: every draw comes from a seed of its own, none from global state."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

import numpy as np
import torch

from vqpu.errors import ParameterError

_one_thread = threading.RLock()


def _let_the_child_in() -> None:
    """Make a new lock: in a forked process nobody is left to release the old one."""
    global _one_thread
    _one_thread = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_the_child_in)


class Stream(IntEnum):
    """Independent streams of one seed: adding a draw to one never changes another."""

    INITIAL_WEIGHTS = 0
    CODEBOOK = 1
    HOLDOUT = 2
    POSITIVE_ORDER = 3
    UNLABELED_ORDER = 4
    CHECK_SAMPLE = 5
    AUGMENTATION = 6
    DROPOUT = 7
    TWO_MEANS = 8
    MEMBER = 9
    NEGATIVE_ORDER = 10
    RANK = 11
    NOISE = 20
    SECOND_STAGE = 21
    BAG = 22
    CHANNEL = 23
    SECOND_VIEW = 24
    MIXUP = 16
    WARMUP = 17


def derive_seed(seed: int, stream: Stream, index: int = 0) -> int:
    """Return a 63-bit seed for one draw of one stream.

    A step's seed depends on nothing but ``(seed, stream, index)``, so training can go on from
    any step without stored generator states.
    """
    sequence = np.random.SeedSequence([seed, int(stream), index])
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1))


def numpy_generator(seed: int, stream: Stream, index: int = 0) -> np.random.Generator:
    """Return a NumPy generator for one draw of one stream."""
    return np.random.default_rng(derive_seed(seed, stream, index))


def torch_generator(seed: int, stream: Stream, index: int = 0) -> torch.Generator:
    """Return a CPU torch generator for one draw of one stream."""
    return torch.Generator().manual_seed(derive_seed(seed, stream, index))


@contextmanager
def preserved_torch_state(device: torch.device) -> Iterator[None]:
    """Run a block that may reseed torch; put the global random state back afterwards.

    Initial weights and dropout draw from torch's one generator, so of several threads one at a
    time is let in: else each would draw from another's seed. Fits in threads take turns.
    """
    # torch.manual_seed reseeds every GPU, so every one is put back.
    devices = list(range(torch.cuda.device_count())) if device.type == "cuda" else []
    with _one_thread, torch.random.fork_rng(devices=devices):
        yield


def seed_torch(device: torch.device, seed: int, stream: Stream, index: int = 0) -> None:
    """Seed what draws on ``device`` without a generator of its own: initial weights, dropout.

    To be called inside :func:`preserved_torch_state`.
    """
    value = derive_seed(seed, stream, index)
    if device.type == "cpu":  # torch.manual_seed would reseed GPUs, which are not put back
        torch.default_generator.manual_seed(value)
    else:
        torch.manual_seed(value)


def choose_device(device: str) -> torch.device:
    """Turn the ``device`` parameter into a torch device; ``"auto"`` prefers a GPU."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    expected = "device must be 'auto', 'cpu' or a CUDA device that torch can use here"
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, TypeError, AssertionError) as error:
        raise ParameterError(f"{expected}, such as 'cuda'. Got {device!r} instead.") from error
    if chosen.type not in ("cpu", "cuda"):
        raise ParameterError(f"{expected}. Got {device!r} instead.")
    return chosen
