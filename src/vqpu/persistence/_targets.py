"""Where results go: looked at before any work, written whole or not at all."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from vqpu.errors import OutputError, UsageError, VqpuError
from vqpu.persistence._atomic import replacing
from vqpu.persistence._bundle import MANIFEST, MODEL

_LOOKED_AT = 1 << 16
MADE_HERE = (b"vqpu",)  # pictures, pages and graphs say what made them


def check_no_store(path: str | os.PathLike[str]) -> None:
    """Refuse a result in an object store: it could not appear there as a whole.

    Parameters
    ----------
    path : path
        Where a result is to go; a ``Path`` made of an address has lost a stroke.
    """
    found = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):/", os.fspath(path))
    if found:  # and the rest is not shown: it may hold a password
        raise UsageError(
            f"An address of {found[1]}:// is no place for a result, which is written to a file "
            "system: choose another --out, and copy the result once it is whole."
        )


def check_target(
    path: str | os.PathLike[str],
    endings: Sequence[str],
    *,
    marks: Sequence[bytes],
    model_path: str | os.PathLike[str] | None = None,
) -> None:
    """Refuse, before any work, a result that cannot be written, or not there.

    Parameters
    ----------
    path : path
        Ends in one of ``endings``, in a folder that exists and can be written to.
    endings : sequence of str
    marks : sequence of bytes
        What an earlier result holds near its beginning, or a Parquet file near its end: only that
        may be replaced.
    model_path : path or None
        A model's directory, which takes no further file.
    """
    check_no_store(path)
    path = Path(path)
    if path.suffix.lower() not in endings:
        raise UsageError(f"{path} must end in {' or '.join(endings)}: that says its format.")
    try:
        folder = path.resolve().parent
        fits = folder.is_dir() and not path.is_dir()
        if fits:
            tempfile.TemporaryFile(dir=folder).close()
    except (OSError, RuntimeError) as error:  # RuntimeError: a circle of symbolic links
        reason = getattr(error, "strerror", None) or error
        raise OutputError(f"{path} cannot be written: {reason}.") from error
    if not fits:
        raise OutputError(f"{path} cannot be written: give a file in an existing folder.")
    _check_outside_models(path, folder, model_path)
    if not _may_be_replaced(path, marks):
        raise UsageError(
            f"{path} is there and holds no earlier result of this kind, so it may be data of "
            "yours. Choose another file, or remove it first."
        )


def _check_outside_models(
    path: Path, folder: Path, model_path: str | os.PathLike[str] | None
) -> None:
    if model_path is not None and folder.is_relative_to(Path(model_path).resolve()):
        raise UsageError(
            f"{path} lies in the model's own directory, where a further file makes the model "
            "unreadable. Choose another folder."
        )
    for place in (folder, *folder.parents):
        if f'"format": "{MODEL}"'.encode() in _read_some(place / MANIFEST):
            raise UsageError(
                f"{path} lies in {place}, which is a model: a further file makes it unreadable. "
                "Choose another folder."
            )


def _may_be_replaced(path: Path, marks: Sequence[bytes]) -> bool:
    """Return whether there is no file, an empty one, or an earlier result."""
    found = _read_some(path, at_end=path.suffix.lower() == ".parquet")
    if path.suffix.lower() in (".csv", ".jsonl"):
        found = found.split(b"\n", 1)[0]
    return not found or all(mark in found for mark in marks)


def _read_some(path: Path, *, at_end: bool = False) -> bytes:
    """Return the first or the last bytes of a file; none if it cannot be read."""
    try:
        size = path.stat().st_size
        with open(path, "rb") as file:
            if at_end:
                file.seek(max(0, size - _LOOKED_AT))
            return file.read(_LOOKED_AT)
    except OSError:  # what cannot be read is told by writing
        return b""


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """Give a file that takes the place of ``path`` when the block ends well.

    A full disk and the like become our own error, in one sentence.
    """
    try:
        with replacing(path) as file:
            yield file
    except OSError as error:
        if isinstance(error, VqpuError):  # of reading the input, which goes on meanwhile
            raise
        raise OutputError(f"{path} cannot be written: {error.strerror or error}.") from error
