"""Photographs decoded once into one memory-mapped array.

The array's name is made of the contents of all images, so a changed image, another order or
another size finds no cache, and a copy of the same images elsewhere finds it.
"""

from __future__ import annotations

import hashlib
import io
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vqpu._atomic import replacing
from vqpu.errors import InputError

_MOST_PIXELS = 1 << 23
_MODES = ("RGB", "RGBA", "L", "P")
_VERSION = "1"  # of the way images are decoded; another version finds no old cache


def decode_image(raw: bytes, name: str, size: int) -> NDArray[np.uint8]:
    """Decode a JPEG or PNG image and resize it by area means.

    Parameters
    ----------
    raw : bytes
    name : str
        How errors call the image.
    size : int
        Side of the result in pixels.

    Returns
    -------
    image : ndarray of uint8, shape (size, size, 3)
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            image = Image.open(io.BytesIO(raw), formats=("JPEG", "PNG"))
        fault = _fault(image)
        if fault is None:
            resized = image.convert("RGB").resize((size, size), Image.Resampling.BOX)
            return np.asarray(resized)
    except UnidentifiedImageError:
        fault = "is neither a JPEG nor a PNG image"
    except Exception as error:  # Pillow answers damaged files with errors of many kinds
        fault = f"cannot be decoded: {error}"
    raise InputError(f"{name} {fault}. Replace or remove it.")


def _fault(image: Any) -> str | None:
    """Say why an image whose header alone was read must not be decoded."""
    width, height = image.size
    if width * height > _MOST_PIXELS:
        return f"has {width} x {height} pixels; at most {_MOST_PIXELS} are decoded"
    if image.mode not in _MODES:
        return f"has colour mode {image.mode!r}; one of {list(_MODES)} is expected"
    return None


def cached_images(
    names: Sequence[str], read: Callable[[str], bytes], *, size: int, folder: Path
) -> NDArray[np.uint8]:
    """Return the named images as a read-only memory map, decoding them if no cache is there.

    Parameters
    ----------
    names : sequence of str
        At least one.
    read : callable
        Gives the bytes of a named image.
    size : int
        Side of the images in pixels.
    folder : Path
        Where caches lie.

    Returns
    -------
    images : memory map of uint8, shape (n, size, size, 3)
    """
    digests = [hashlib.sha256(read(name)).digest() for name in names]
    shape = (len(names), size, size, 3)
    path = folder / f"{content_key(digests, size)}.npy"
    found = _open_cache(path, shape)
    if found is None:
        _write_cache(path, shape, names, read, digests)
        found = _open_cache(path, shape)
    if found is None:
        raise InputError(f"{path} was written but cannot be read back. Is the disk full?")
    return found


def content_key(digests: Sequence[bytes], size: int) -> str:
    """Return the name of a cache: a digest of the images' digests, their size and the decoder."""
    start = f"vqpu images {_VERSION} box {size}\n".encode()
    return hashlib.sha256(start + b"".join(digests)).hexdigest()


def _open_cache(path: Path, shape: tuple[int, ...]) -> NDArray[np.uint8] | None:
    """Open a cache, or return None when it is missing or not whole."""
    try:
        array: NDArray[np.uint8] = np.lib.format.open_memmap(path, mode="r")
    except (OSError, ValueError):
        return None
    return array if array.shape == shape and array.dtype == np.uint8 else None


def _write_cache(
    path: Path,
    shape: tuple[int, ...],
    names: Sequence[str],
    read: Callable[[str], bytes],
    digests: Sequence[bytes],
) -> None:
    header = {"descr": "|u1", "fortran_order": False, "shape": shape}
    try:
        # Plain writes: a full disk is an error here, but a dead process under a memory map.
        with replacing(path) as file:
            np.lib.format.write_array_header_1_0(file, header)
            for name, digest in zip(names, digests, strict=True):
                raw = read(name)
                if hashlib.sha256(raw).digest() != digest:
                    raise InputError(f"{name} changed while it was read. Try again.")
                file.write(decode_image(raw, name, shape[1]).tobytes())
    except OSError as error:
        raise InputError(
            f"The image cache {path} cannot be written: {error.strerror or error}. Make room, or "
            "set XDG_CACHE_HOME to a folder that can be written."
        ) from error
