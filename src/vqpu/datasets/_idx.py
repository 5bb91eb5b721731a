"""IDX, the format of MNIST and Fashion-MNIST."""

from __future__ import annotations

import gzip
import math
import os
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from vqpu.datasets._places import first_existing, open_regular, read_into
from vqpu.errors import InputError

_UNSIGNED_BYTE = 0x08
_MOST_AXES = 4
_MOST_VALUES = 1 << 27  # nearly three times MNIST; a header that claims more is a lie


def read_idx(path: Path) -> NDArray[np.uint8]:
    """Read an IDX file of unsigned bytes, gzipped if its name ends in ``.gz``.

    The header is checked before anything is read after it, and of a gzipped file never more
    is unpacked than the header says, and one byte.

    Returns
    -------
    array : ndarray of uint8, of the shape in the file's header
    """
    try:
        with open_regular(path) as raw:
            if path.suffix == ".gz":
                with gzip.GzipFile(fileobj=raw) as unpacked:
                    return _read_stream(unpacked, path)
            return _read_plain(raw, path)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read: {error}. Fetch it again.") from error


def read_mnist_like(folder: Path, train: bool) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Read images (n, 28, 28) and classes (n,) of one split, from files gzipped or not."""
    prefix = "train" if train else "t10k"
    paths = [_find(folder / f"{prefix}-{part}-ubyte") for part in ("images-idx3", "labels-idx1")]
    images, classes = (read_idx(path) for path in paths)
    if images.shape[1:] != (28, 28):
        raise InputError(f"{paths[0]} has shape {images.shape}, expected (n, 28, 28).")
    if classes.shape != images.shape[:1]:
        raise InputError(
            f"{paths[1]} has shape {classes.shape}, but there are {len(images)} images."
        )
    if len(classes) and classes.max() > 9:
        raise InputError(f"{paths[1]} holds class {classes.max()}; classes are 0 to 9.")
    return images, classes


def _find(path: Path) -> Path:
    found = first_existing(path, path.with_name(path.name + ".gz"))
    if found is None:
        raise InputError(
            f"{path} does not exist, gzipped or not. Run 'vqpu data fetch {path.parent.name}', "
            "put the official files there or name another data directory."
        )
    return found


def _read_plain(file: BinaryIO, path: Path) -> NDArray[np.uint8]:
    shape, header_bytes = _read_header(file, path)
    held = os.fstat(file.fileno()).st_size - header_bytes
    if held != math.prod(shape):
        raise InputError(f"{path} claims shape {shape} but holds {held} bytes. Fetch it again.")
    return np.fromfile(file, np.uint8, held).reshape(shape)


def _read_stream(file: Any, path: Path) -> NDArray[np.uint8]:
    shape, _ = _read_header(file, path)
    values = np.empty(math.prod(shape), np.uint8)
    held = read_into(values, file)
    if held < len(values):
        raise InputError(f"{path} claims shape {shape} but holds {held} bytes. Fetch it again.")
    if file.read(1):  # at the end this also compares gzip's own checksum
        raise InputError(f"{path} claims shape {shape} but holds more bytes. Fetch it again.")
    return values.reshape(shape)


def _read_header(file: Any, path: Path) -> tuple[tuple[int, ...], int]:
    """Return the shape that the header claims, and the header's length in bytes."""
    start = file.read(4)
    n_axes = start[3] if len(start) == 4 else 0
    if start[:3] != bytes([0, 0, _UNSIGNED_BYTE]) or not 1 <= n_axes <= _MOST_AXES:
        raise InputError(f"{path} is not an IDX file of unsigned bytes. Fetch it again.")
    sizes = file.read(4 * n_axes)
    if len(sizes) < 4 * n_axes:
        raise InputError(f"{path} ends inside its header. Fetch it again.")
    shape = tuple(np.frombuffer(sizes, ">u4").tolist())
    if math.prod(shape) > _MOST_VALUES:
        raise InputError(f"{path} claims shape {shape}; at most {_MOST_VALUES} values are read.")
    return shape, 4 + 4 * n_axes
