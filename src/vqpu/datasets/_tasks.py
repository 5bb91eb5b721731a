"""The binary tasks, by name: a data set and which of its classes are positive."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.base._parameters import check_integer
from vqpu.datasets._catalogue import DATASETS, DEFAULT_SIZE
from vqpu.datasets._places import data_directory
from vqpu.errors import InputError, ParameterError

Labeled = tuple[NDArray[Any], NDArray[np.int64]]

_PHOTOGRAPHS = ("afhq",)


class Task(NamedTuple):
    """A binary task: a data set, its positive classes, and what may be done to its images."""

    dataset: str
    positive: tuple[int, ...]
    augment: str


TASKS = {
    "digits-even-odd": Task("digits", (0, 2, 4, 6, 8), "shift"),
    "mnist-even-odd": Task("mnist", (0, 2, 4, 6, 8), "shift"),
    "fashion-last5": Task("fashion-mnist", (5, 6, 7, 8, 9), "shift"),
    "cifar10-animals": Task("cifar10", (2, 3, 4, 5, 6, 7), "flip+shift"),
    "afhq-cats": Task("afhq", (0,), "flip+shift"),
}


def find_task(name: str) -> Task:
    """Return a task by its name."""
    if name not in TASKS:
        raise InputError(f"Unknown task {name!r}. Valid tasks are {list(TASKS)}.")
    return TASKS[name]


def load_task(
    name: str,
    data_dir: str | Path | None = None,
    *,
    train: bool = True,
    size: int | None = None,
) -> Labeled:
    """Return ``(X, y)`` of a task's training or test split, with ``y`` 1 for positives.

    Parameters
    ----------
    name : str
        A key of :data:`TASKS`.
    data_dir : path or None
        Where the official files lie. None takes the environment variable ``VQPU_DATA_DIR``, or
        else the per-user cache (``$XDG_CACHE_HOME/vqpu`` or ``~/.cache/vqpu``).
    train : bool
    size : int or None
        Side in pixels to which photographs ("afhq-cats") are resized, 64 if None. The other
        tasks' images have one size.

    Returns
    -------
    X : ndarray of uint8, shape (n, h, w) or (n, h, w, 3)
        A read-only memory map for photographs, which are decoded once and then kept in the
        per-user cache.
    y : ndarray of int64, shape (n,)
    """
    task = find_task(name)
    if size is not None:
        if task.dataset not in _PHOTOGRAPHS:
            raise ParameterError(f"size is for photographs; the images of {name!r} have one size.")
        check_integer("size", size, 8)
    images, classes = DATASETS[task.dataset].read(
        data_directory(data_dir), train, size or DEFAULT_SIZE
    )
    return images, np.isin(classes, task.positive).astype(np.int64)
