"""Files that appear whole or not at all: written beside their place, flushed, renamed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Give a temporary file that takes the place of ``path`` when the block ends well.

    When the block fails, the temporary file is removed and ``path`` stays as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            os.fchmod(file.fileno(), 0o644)
            put_in_place(file, Path(name), path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


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
