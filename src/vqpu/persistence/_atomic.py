"""Files that appear whole or not at all: written beside their place, flushed, renamed."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

# What file systems say that flush files but no folders.
_NOT_FOR_FOLDERS = (errno.EACCES, errno.EBADF, errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)


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
                temporary.chmod(stat.S_IMODE(path.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)  # once it is closed: Windows renames no open file
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def name_beside(path: Path) -> Path:
    """Return a hidden name in the folder of ``path`` that nothing else has."""
    return path.parent / f".{path.name}.{secrets.token_hex(6)}"


def sync_folder(folder: Path) -> None:
    """Make the names in ``folder`` survive a power cut, where the system can.

    The files themselves are on disk by then, so where it cannot, a power cut undoes at most the
    renaming.
    """
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:  # Windows opens no folder
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NOT_FOR_FOLDERS:
            raise
    finally:
        os.close(handle)
