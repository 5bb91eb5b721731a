"""Readers of the official file formats, and the tasks made of them."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.errors import InputError

Labeled = tuple[NDArray[Any], NDArray[np.int64]]

_CIFAR_RECORD = 1 + 3 * 32 * 32
_CIFAR_ANIMALS = (2, 3, 4, 5, 6, 7)
_IDX_UNSIGNED_BYTE = 0x08


class Task(NamedTuple):
    """A binary task: how to read it, and whether mirrored images mean the same."""

    read: Callable[[Path, bool], Labeled]
    augment: str


def load_task(name: str, data_dir: str | Path | None = None, *, train: bool = True) -> Labeled:
    """Return ``(X, y)`` of a task's training or test split, with ``y`` 1 for positives.

    Parameters
    ----------
    name : str
        A key of :data:`TASKS`.
    data_dir : path or None
        Where the official files lie; "digits-even-odd" needs none.
    train : bool
    """
    if name not in TASKS:
        raise InputError(f"Unknown task {name!r}. Valid tasks are {list(TASKS)}.")
    return TASKS[name].read(Path(data_dir or "."), train)


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Read an IDX file of unsigned bytes, gzipped or not."""
    opener: Callable[..., Any] = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rb") as file:
            raw = file.read()
    except (OSError, EOFError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    if len(raw) < 4 or raw[:2] != b"\0\0" or raw[2] != _IDX_UNSIGNED_BYTE:
        raise InputError(f"{path} is not an IDX file of unsigned bytes.")
    header = 4 + 4 * raw[3]
    shape = tuple(np.frombuffer(raw, ">u4", raw[3], 4).tolist())
    if len(raw) - header != int(np.prod(shape, dtype=np.int64)):
        raise InputError(f"{path} claims shape {shape} but holds {len(raw) - header} bytes.")
    return np.frombuffer(raw, np.uint8, offset=header).reshape(shape)


def _read_mnist_like(folder: str, is_positive: Callable[[NDArray[Any]], Any]) -> Task:
    def read(data_dir: Path, train: bool) -> Labeled:
        prefix = data_dir / folder / ("train" if train else "t10k")
        images, labels = (
            read_idx(_existing(f"{prefix}-{part}-ubyte", ".gz"))
            for part in ("images-idx3", "labels-idx1")
        )
        return images, np.asarray(is_positive(labels), dtype=np.int64)

    return Task(read, "shift")


def _read_cifar10(data_dir: Path, train: bool) -> Labeled:
    folder = data_dir / "cifar-10-batches-bin"
    names = [f"data_batch_{i}.bin" for i in range(1, 6)] if train else ["test_batch.bin"]
    parts = [np.fromfile(_existing(str(folder / name)), np.uint8) for name in names]
    for name, part in zip(names, parts, strict=True):
        if len(part) == 0 or len(part) % _CIFAR_RECORD:
            raise InputError(f"{folder / name} has {len(part)} bytes, not whole CIFAR-10 records.")
    records = np.concatenate(parts).reshape(-1, _CIFAR_RECORD)
    images = records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(images), np.isin(records[:, 0], _CIFAR_ANIMALS).astype(np.int64)


def _read_afhq(data_dir: Path, train: bool) -> Labeled:
    from PIL import Image

    images, labels = [], []
    for kind, label in (("cat", 1), ("dog", 0)):
        folder = data_dir / "afhq" / ("train" if train else "val") / kind
        for path in sorted(Path(_existing(str(folder))).iterdir()):
            with Image.open(path) as image:
                images.append(
                    np.asarray(image.convert("RGB").resize((64, 64), Image.Resampling.BOX))
                )
            labels.append(label)
    return np.stack(images), np.asarray(labels, dtype=np.int64)


def _read_digits(_: Path, train: bool) -> Labeled:
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = (digits.images * 15).astype(np.uint8)
    # No official split exists: every fifth image is kept for testing.
    chosen = (np.arange(len(images)) % 5 == 0) != train
    return images[chosen], (digits.target[chosen] % 2 == 0).astype(np.int64)


def _existing(path: str, *other_endings: str) -> Path:
    for ending in ("", *other_endings):
        if Path(path + ending).exists():
            return Path(path + ending)
    raise InputError(
        f"{path} does not exist. Put the official files there or pass another data_dir."
    )


TASKS = {
    "digits-even-odd": Task(_read_digits, "shift"),
    "mnist-even-odd": _read_mnist_like("mnist", lambda labels: labels % 2 == 0),
    "fashion-last5": _read_mnist_like("fashion-mnist", lambda labels: labels >= 5),
    "cifar10-animals": Task(_read_cifar10, "flip+shift"),
    "afhq-cats": Task(_read_afhq, "flip+shift"),
}
