"""Files that appear whole or not at all: written beside their place, flushed, renamed."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Give a temporary file that takes the place of ``path`` when the block ends well.

    When the block fails, the temporary file is removed and ``path`` stays as it was. A file that
    is replaced hands its permissions on; a new one has those of the user's umask.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = name_beside(path)
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            with suppress(FileNotFoundError):
                os.fchmod(handle, stat.S_IMODE(os.stat(path).st_mode))
            yield file
            put_in_place(file, temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def name_beside(path: Path) -> Path:
    """Return a hidden name in the folder of ``path`` that nothing else has."""
    return path.parent / f".{path.name}.{secrets.token_hex(6)}"


def put_in_place(file: IO[bytes], temporary: Path, path: Path) -> None:
    """Flush the open ``file`` at ``temporary`` to disk and rename it to ``path``.

    The folder is flushed last: without that a power cut may undo the renaming.
    """
    file.flush()
    os.fsync(file.fileno())
    os.replace(temporary, path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in ``folder`` survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
