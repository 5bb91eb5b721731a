"""Directories that appear whole or not at all: written beside their place, flushed, renamed."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import stat
import sys
from pathlib import Path

from vqpu.persistence._atomic import name_beside, sync_folder

_HERE = -100  # AT_FDCWD: paths are relative to the working directory
_EXCHANGE = 2  # RENAME_EXCHANGE


def write_directory(path: Path, contents: dict[str, bytes]) -> None:
    """Make ``path`` a directory of exactly these files, all of them on disk, or change nothing.

    What was there before is kept until the new directory has taken its place, with the permissions
    of the old one. An ``OSError`` means that the old one is still there.

    Parameters
    ----------
    path : Path
        Its parent exists or is made.
    contents : dict of bytes
        By file name.
    """
    if not path.parent.is_dir():
        path.parent.mkdir(parents=True)
    temporary = name_beside(path)
    old_mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    temporary.mkdir(0o777 if old_mode is None else 0o700)  # nobody sees more meanwhile
    try:
        for name, content in contents.items():
            _write_file(temporary / name, content)
        if old_mode is not None:
            temporary.chmod(old_mode)
        sync_folder(temporary)
        _take_place(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def replaced_path(path: Path) -> Path:
    """Return where the old directory waits for a moment on systems that cannot swap two."""
    return path.parent / f".{path.name}.replaced"


def _write_file(path: Path, content: bytes) -> None:
    with open(path, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _take_place(temporary: Path, path: Path) -> None:
    """Rename ``temporary`` to ``path``; afterwards ``temporary`` is the old directory, if any."""
    if not path.exists():
        os.rename(temporary, path)
    elif not _exchange(temporary, path):
        waiting = replaced_path(path)
        shutil.rmtree(waiting, ignore_errors=True)
        os.rename(path, waiting)
        try:
            os.rename(temporary, path)
        except OSError:
            os.rename(waiting, path)
            raise
        shutil.rmtree(waiting, ignore_errors=True)
    sync_folder(path.parent)


def _exchange(first: Path, second: Path) -> bool:
    """Swap two directories in one step; False where the system or the file system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    with contextlib.suppress(OSError, AttributeError):
        rename = ctypes.CDLL(None).renameat2
        names = os.fsencode(first), os.fsencode(second)
        return bool(rename(_HERE, names[0], _HERE, names[1], _EXCHANGE) == 0)
    return False
