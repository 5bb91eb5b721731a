"""Where data lie, and how a file there is opened and told from others."""

from __future__ import annotations

import hashlib
import os
import stat
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vqpu.errors import InputError
from vqpu.files.readers._spool import cache_directory

_PIECE = 1 << 15  # read at once; a tar archive hands out no more


def data_directory(data_dir: str | Path | None = None) -> Path:
    """Return the data directory: the argument, else ``VQPU_DATA_DIR``, else the per-user cache."""
    if data_dir is not None:
        return Path(data_dir).expanduser()
    named = os.environ.get("VQPU_DATA_DIR")
    return Path(named).expanduser() if named else cache_directory()


def first_existing(*candidates: Path) -> Path | None:
    """Return the first path that exists, or None."""
    return next((path for path in candidates if path.exists()), None)


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file for reading; pipes and devices, which may block, are refused."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError(f"{path} is not a regular file.")
        return path.open("rb")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error


def digest_fault(file: BufferedReader, sha256: str) -> str | None:
    """Return what is wrong with the bytes of an open file, or None if they have the digest."""
    found = hashlib.file_digest(file, "sha256").hexdigest()
    return None if found == sha256 else f"its sha256 is {found}, expected {sha256}"


def read_into(values: NDArray[np.uint8], stream: Any) -> int:
    """Fill an array from a binary stream and return how many bytes there were."""
    done = 0
    while done < len(values) and (n_read := stream.readinto(values[done : done + _PIECE].data)):
        done += n_read
    return done
