"""Arrays larger than memory: written to a nameless file of the cache folder, then mapped."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import IO, Any, Literal, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vqpu.errors import CacheError


def cache_directory() -> Path:
    """Return the per-user cache: ``$XDG_CACHE_HOME/vqpu`` or ``~/.cache/vqpu``."""
    named = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification: a relative path is to be ignored.
    return (Path(named) if os.path.isabs(named) else Path.home() / ".cache") / "vqpu"


def cache_folder(cache_dir: str | Path | None) -> Path:
    """Return ``cache_dir``, or the folder for decoded data of the current user."""
    return cache_directory() / "inputs" if cache_dir is None else Path(cache_dir)


class Spool:
    """Bytes that become one array, used in a ``with`` statement.

    The file has no name, so nothing is left behind, whatever happens.

    Parameters
    ----------
    cache_dir : path or None
        The folder whose disk is used.
    """

    def __init__(self, cache_dir: str | Path | None) -> None:
        self._folder = cache_folder(cache_dir)
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115
        except OSError as error:
            raise self._error(error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, data: bytes | memoryview) -> None:
        """Append bytes."""
        try:
            self._file.write(data)
        except OSError as error:
            raise self._error(error) from error

    def finish(
        self, dtype: DTypeLike, shape: tuple[int, ...], order: Literal["C", "F"] = "C"
    ) -> NDArray[Any]:
        """Return all that was written as a read-only memory map, which outlives the spool."""
        try:
            self._file.flush()
            return np.memmap(self._file, dtype, "r", shape=shape, order=order)
        except OSError as error:
            raise self._error(error) from error

    def _error(self, error: OSError) -> CacheError:
        return CacheError(
            f"The cache folder {self._folder} cannot be written: {error.strerror or error}. Free "
            "some space or choose another cache_dir."
        )
