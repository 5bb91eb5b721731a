"""An input in parts that can be scored one by one, in any order and anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from vqpu.errors import InputError
from vqpu.files import find_images
from vqpu.files._input_format import InputFormat
from vqpu.files.readers._samples import table_ending, table_parts
from vqpu.files.readers._stores import Place, as_place
from vqpu.files.readers._tablefiles import ParquetFile, open_table, stream
from vqpu.files.readers._texts import find_texts

# What a worker does between two records of it: some seconds, so that a death costs no more.
ROWS_PER_PART = 500_000
FILES_PER_PART = 1024


class InputPart(NamedTuple):
    """A part of an input; plain values, so that it goes to another process as JSON.

    Attributes
    ----------
    path : str
        The folder of pictures or texts, or one file of a table.
    files : list of str or None
        Of a folder: these files of it.
    row_groups : tuple of two int or None
        Of a Parquet file: the first of its row groups and the one after the last; None: all.
    n_rows : int or None
        Rows, where that is known without reading.
    first_row : int
        Number of the first row in the whole table.
    y : list of int or None
        Of ``files``: 1 where one has the positive label.
    """

    path: str
    files: Sequence[str] | None = None
    row_groups: Sequence[int] | None = None
    n_rows: int | None = None
    first_row: int = 0
    y: Sequence[int] | None = None

    def rows(self) -> dict[str, Any]:
        """Return which rows of its table it is, as readers take it."""
        groups = None if self.row_groups is None else range(*self.row_groups)
        return {"row_groups": groups, "first_row": self.first_row}


def cut_input(
    input_format: InputFormat,
    path: str | Path,
    *,
    files: Sequence[Path] | None = None,
    y: Sequence[int] | None = None,
    samples: int | None = None,
) -> list[InputPart]:
    """Return the parts of an input, in its order.

    A Parquet file is cut between row groups; any other file of a table is one part.

    Parameters
    ----------
    input_format : InputFormat
    path : path
        Of the kind that the model takes.
    files : sequence of Path or None
        Of a folder: only these, in this order.
    y : sequence of int or None
        Of ``files``: 1 where one has the positive label.
    samples : int or None
        About how many a part has; None: 500,000 rows of a table or 1,024 files.
    """
    if input_format.kind == "array":
        raise InputError(
            f"{path} is an array, which is not cut into parts: save it as Parquet and fit on "
            "tables, or take shares of it with --shard i/n."
        )
    if input_format.kind == "table":
        tables = table_parts(path) or [as_place(path)]
        return [part for table in tables for part in _cut_table(table, samples or ROWS_PER_PART)]
    if files is None:
        files = find_images(path) if input_format.kind == "images" else find_texts(path)
    size = samples or FILES_PER_PART
    names = [str(file) for file in files]
    some = [slice(start, start + size) for start in range(0, len(names), size)]
    return [
        InputPart(str(path), names[cut], n_rows=len(names[cut]), y=None if y is None else [*y[cut]])
        for cut in some
    ]


def _cut_table(path: Place, most: int) -> Iterator[InputPart]:
    address = str(path)
    if table_ending(path) != ".parquet":
        yield InputPart(address)
        return
    table = open_table(path)
    assert isinstance(table, ParquetFile)
    first, n_rows = 0, 0
    for place, rows in enumerate(table.group_rows):
        if n_rows and n_rows + rows > most:
            yield InputPart(address, row_groups=(first, place), n_rows=n_rows)
            first, n_rows = place, 0
        n_rows += rows
    yield InputPart(address, row_groups=(first, len(table.group_rows)), n_rows=n_rows)


def count_rows(path: str) -> int:
    """Return how many rows one file of a table has, by reading one of its columns.

    Parameters
    ----------
    path : path
    """
    table = open_table(path)
    batches = stream(table, table.schema.names[:1], 1)
    return sum(batch.num_rows for batch in batches)


def number_parts(
    parts: Sequence[InputPart], count: Callable[[list[str]], list[int]]
) -> list[InputPart]:
    """Return parts that know the numbers of their rows in the whole table.

    Parameters
    ----------
    parts : sequence of InputPart
    count : callable
        Returns the rows of files, as :func:`count_rows` does of one.
    """
    unknown = [part.path for part in parts if part.n_rows is None]
    counted = dict(zip(unknown, count(unknown), strict=True)) if unknown else {}
    numbered, start = [], 0
    for part in parts:
        n_rows = counted[part.path] if part.n_rows is None else part.n_rows
        numbered.append(part._replace(n_rows=n_rows, first_row=start))
        start += n_rows
    return numbered
