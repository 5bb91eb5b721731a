"""Texts as samples: a folder of ``.txt`` files, or a column of a table, in bounded memory."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.base.columns import _arrow as arrow
from vqpu.base.columns._wishes import check_columns
from vqpu.errors import InputError
from vqpu.files.readers._imagelist import ENDINGS, FOREIGN_ENDINGS, walk_files
from vqpu.files.readers._roles import ids_of, is_positive, kept_column, some_words
from vqpu.files.readers._samples import KeptColumn
from vqpu.files.readers._tablefiles import open_table, stream, understood

TEXT_ENDING = ".txt"
_MOST_BYTES = 1 << 22
# As if a text took the place of so many numbers: batches of 1,024 texts.
_WIDTH = 1024


class TextRows(NamedTuple):
    """Some rows of a table, one of whose columns is text.

    Attributes
    ----------
    texts : list of str or None
    names : sequence of length n
        Ids or row numbers.
    y : ndarray of int8, shape (n,), or None
        1 where the label column has the positive value, if one was asked for.
    words : list of str
        Some of the labels.
    kept : dict of KeptColumn
        As in ``Chunk``.
    """

    texts: list[str | None]
    names: Sequence[Any]
    y: NDArray[np.int8] | None
    words: list[str]
    kept: dict[str, KeptColumn]


def holds_texts(folder: str | Path) -> bool:
    """Whether a folder or its subfolders hold ``.txt`` files, and no image.

    Parameters
    ----------
    folder : path
    """
    found = False
    for _, names in walk_files(Path(folder)):
        endings = {os.path.splitext(name)[1].lower() for name in names}
        if endings & (ENDINGS | FOREIGN_ENDINGS):
            return False
        found |= TEXT_ENDING in endings
    return found


def find_texts(folder: str | Path) -> list[Path]:
    """Return the ``.txt`` files of a folder and all its subfolders, sorted by path.

    Parameters
    ----------
    folder : path
    """
    root = Path(folder)
    found = [
        Path(parent, name)
        for parent, names in walk_files(root)
        for name in names
        if os.path.splitext(name)[1].lower() == TEXT_ENDING
    ]
    if not found:
        raise InputError(f"{root} holds no texts. Expected files ending in {TEXT_ENDING}.")
    return sorted(found, key=lambda path: path.relative_to(root).as_posix())


def read_text_file(path: Path) -> bytes:
    """Return the content of a file of text, or raise an error that says why it cannot be used.

    Parameters
    ----------
    path : Path
    """
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait for ever
            raise InputError("it is not a regular file")
        if status.st_size > _MOST_BYTES:
            raise InputError(f"it has {status.st_size} bytes, more than {_MOST_BYTES}")
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"it cannot be opened ({error.strerror})") from error
    if not content.strip():
        raise InputError("it has no text")
    return content


def decode_text(content: bytes) -> str:
    """Return bytes of UTF-8 as text, or raise an error that says why they are none."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"it is no text in UTF-8 (byte {error.start})") from error


def iter_text_column(
    path: str | Path,
    column: str,
    *,
    id_column: str | None = None,
    label: str | None = None,
    positive: Any = None,
    keep: Sequence[str] = (),
    row_groups: range | None = None,
    first_row: int | None = None,
) -> Iterator[TextRows]:
    """Give the texts of a table's column, about a thousand rows at a time.

    Parameters
    ----------
    path : path
        As of ``read_table``.
    column : str
    id_column, label, positive, keep, row_groups, first_row
        As in ``iter_table``.

    Yields
    ------
    TextRows
    """
    roles = [name for name in (id_column, label) if name is not None]
    names = list(dict.fromkeys([column, *roles, *keep]))
    table = open_table(path, kinds=dict.fromkeys(names, "text"), row_groups=row_groups)
    check_columns(table.schema.names, names)
    next_row = first_row or 0
    for batch in stream(table, names, _WIDTH):
        with understood(table.path):
            texts = _texts(column, batch.column(column))
            kept = {name: kept_column(name, batch.column(name)) for name in keep}
            named: Sequence[Any] = range(next_row, next_row + batch.num_rows)
            if id_column is not None:
                ids = ids_of(id_column, batch.column(id_column))
                named, kept = ids.values, {"": ids, **kept}
        labels = None if label is None else batch.column(label)
        y = None if labels is None else is_positive(str(label), positive, labels)
        yield TextRows(texts, named, y, [] if labels is None else some_words(labels), kept)
        next_row += batch.num_rows
    if not next_row and first_row is None:
        raise InputError(f"{path} has no rows.")


def count_rows(path: str | Path, column: str) -> int:
    """Return how many rows a table has.

    Parameters
    ----------
    path : path
    column : str
        Any of its columns.
    """
    table = open_table(path, kinds={column: "text"})
    check_columns(table.schema.names, [column])
    return sum(batch.num_rows for batch in stream(table, [column], _WIDTH))


def _texts(name: str, values: Any) -> list[str | None]:
    kind = arrow.value_type(values.type)
    if not arrow.is_text(kind):
        import pyarrow as pa

        if pa.types.is_null(kind):
            return [None] * len(values)
        raise InputError(f"Column {name!r} is of type {values.type}. Expected text.")
    found: list[str | None] = arrow.plain_text(name, values).to_pylist()
    return found
