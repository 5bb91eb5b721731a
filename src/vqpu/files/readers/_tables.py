"""Tables as samples: for ``fit`` with a schema learned on the way, for prediction as a stream."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.base._parameters import check_choice, check_integer
from vqpu.errors import BrokenRowWarning, InputError
from vqpu.files.readers._learning import SchemaLearner
from vqpu.files.readers._samples import (
    ON_BROKEN,
    Broken,
    Chunk,
    PUData,
    check_both_kinds,
    describe_broken,
)
from vqpu.files.readers._schema import (
    TableSchema,
    check_columns,
    count_missing,
    incomplete,
    kind_of_type,
    mapped,
    short_text,
)
from vqpu.files.readers._spool import Spool
from vqpu.files.readers._tablefiles import TableFile, open_table, stream


class _Reading(NamedTuple):
    """How tables are read: columns that are no features, and what becomes of unusable rows."""

    label: str | None
    positive: Any
    id_column: str | None
    on_broken: str

    @property
    def skips(self) -> bool:
        return self.on_broken == "skip"

    @property
    def names(self) -> list[str]:
        return [name for name in (self.label, self.id_column) if name is not None]


def read_table(
    path: str | Path,
    *,
    label: str,
    positive: Any,
    id_column: str | None = None,
    drop: Collection[str] = (),
    max_categories: int = 64,
    on_broken: str = "raise",
    cache_dir: str | Path | None = None,
) -> PUData:
    """Read one table with a column of labels.

    Numbers and booleans are used as they are, text becomes one column of 0 and 1 for each value.
    Dates, lists and other types are refused by name, and so are missing and infinite values unless
    ``on_broken`` says otherwise. The encoded rows lie on the disk of the cache folder, so memory
    does not grow with the table but for ids and broken rows.

    Parameters
    ----------
    path : path
        CSV (.csv, .tsv), Parquet or Feather (.feather, .arrow).
    label : str
        Column with labels.
    positive : object
        The label of positives; every other label, or none, means unlabelled.
    id_column : str or None
        Column that names the rows; otherwise they are numbered.
    drop : collection of str
        Columns to leave out.
    max_categories : int, default 64
        A column of text with more distinct values is refused.
    on_broken : {"raise", "skip"}, default "raise"
        Missing and infinite values are an error, or their rows are left out with a warning and
        listed in ``broken``.
    cache_dir : path or None
        None means the user's cache folder.

    Returns
    -------
    PUData
        X of float64 and shape (n, ``schema.n_features``).
    """
    reading = _reading(label, positive, id_column, on_broken)
    table = open_table(path, text=reading.names)
    schema = _learn([table], reading, drop, max_categories)
    X, (y,), names, broken = _encode_all([table], schema, reading, cache_dir)
    _warn_of(broken, len(X))
    if not y.any() or y.all():
        where = f"{path}, without the {len(broken)} rows left out," if broken else str(path)
        check_both_kinds(y, where, positive, _some_labels(table, label))
    return PUData(X, y, names, broken, schema)


def read_tables(
    positives: str | Path,
    unlabeled: str | Path,
    *,
    id_column: str | None = None,
    drop: Collection[str] = (),
    max_categories: int = 64,
    on_broken: str = "raise",
    cache_dir: str | Path | None = None,
) -> PUData:
    """Read a table of positives and a table of everything else, with the same columns.

    Parameters
    ----------
    positives, unlabeled : path
        Files as in :func:`read_table`, of any two formats.
    id_column, drop, max_categories, on_broken, cache_dir
        As in :func:`read_table`.

    Returns
    -------
    PUData
        Positives first. Without an id column, rows are numbered through both tables.
    """
    reading = _reading(None, None, id_column, on_broken)
    tables = [open_table(path, text=reading.names) for path in (positives, unlabeled)]
    schema = _learn(tables, reading, drop, max_categories)
    X, parts, names, broken = _encode_all(tables, schema, reading, cache_dir)
    y = np.repeat(np.array([1, 0], np.int8), [len(part) for part in parts])
    _warn_of(broken, len(X))
    return PUData(X, y, names, broken, schema)


def iter_table(
    path: str | Path,
    schema: TableSchema,
    *,
    id_column: str | None = None,
    label: str | None = None,
    positive: Any = None,
    on_broken: str = "raise",
) -> Iterator[Chunk]:
    """Encode a table chunk by chunk as in training; columns may stand in any order.

    Parameters
    ----------
    path : path
    schema : TableSchema
        From training. Columns that it does not know are ignored.
    id_column : str or None
    label, positive : str and object, or None
        If given, chunks have ``y``.
    on_broken : {"raise", "skip"}
        Missing and infinite values and categories that training never saw end the stream, or
        their rows are left out and listed in their chunk.

    Yields
    ------
    Chunk
        About a million values each.
    """
    reading = _reading(label, positive, id_column, on_broken)
    kinds = {column.name: column.kind for column in schema.columns}
    table = open_table(path, text=reading.names, kinds=kinds)
    check_columns(table.schema, [*kinds, *reading.names])
    return _encoded(table, schema, reading)


def table_columns(path: str | Path) -> list[str]:
    """Return the names of a table's columns.

    Parameters
    ----------
    path : path
    """
    names: list[str] = open_table(path).schema.names
    return names


def count_unlabeled(path: str | Path, label: str) -> int:
    """Return how many rows of a table have no label.

    Parameters
    ----------
    path : path
    label : str
        Column of labels.
    """
    table = open_table(path, text=[label])
    return sum(count_missing(batch.column(label)) for batch in stream(table, [label], 1))


def _reading(label: str | None, positive: Any, id_column: str | None, on_broken: str) -> _Reading:
    check_choice("on_broken", on_broken, ON_BROKEN)
    return _Reading(label, positive, id_column, on_broken)


def _warn_of(broken: Sequence[Broken], n_kept: int) -> None:
    if broken:
        found = describe_broken(broken, len(broken) + n_kept, "rows")
        warnings.warn(f"{found} They are left out.", BrokenRowWarning, stacklevel=3)


def _learn(
    tables: Sequence[TableFile], reading: _Reading, drop: Collection[str], max_categories: int
) -> TableSchema:
    check_integer("max_categories", max_categories, 2)
    if isinstance(drop, str):
        raise InputError(f"drop must be a list of columns. Got the text {drop!r}: use [{drop!r}].")
    left_out = {*reading.names, *drop}
    check_columns(tables[0].schema, sorted(left_out))
    learner = SchemaLearner(tables[0].schema, left_out, max_categories)
    for table in tables:
        check_columns(table.schema, reading.names)
        learner.check_same(table.schema, str(table.path))
    for table in tables:
        before = learner.n_rows
        learner.begin_table()
        for batch in stream(table, learner.names, len(learner.names)):
            broken = incomplete(batch, learner.names) if reading.skips else {}
            learner.update(_usable(batch, broken))
        if learner.n_rows == before:
            usable = " without missing or infinite values" * reading.skips
            raise InputError(f"{table.path} has no rows{usable}.")
    return learner.finish()


def _usable(batch: Any, broken: Mapping[int, str]) -> Any:
    """Return a record batch without its broken rows."""
    import pyarrow as pa

    if not broken:
        return batch
    for place, field in enumerate(batch.schema):
        if pa.types.is_string_view(field.type):  # pyarrow cannot pick rows of such columns
            batch = batch.set_column(place, field.name, short_text(field.name, batch.column(place)))
    kept = np.delete(np.arange(batch.num_rows), list(broken))
    return batch.take(pa.array(kept))


def _encode_all(
    tables: Sequence[TableFile],
    schema: TableSchema,
    reading: _Reading,
    cache_dir: str | Path | None,
) -> tuple[NDArray[np.float64], list[NDArray[np.int8]], Sequence[Any], tuple[Broken, ...]]:
    """Return X of all tables, y of each (zeros without a label column), names and broken rows."""
    labels: list[NDArray[np.int8]] = []
    names: list[Any] = []
    broken: list[Broken] = []
    with Spool(cache_dir) as spool:
        for table in tables:
            parts = []
            for chunk in _encoded(table, schema, reading, start=_rows_in(labels) + len(broken)):
                spool.write(chunk.X.tobytes())
                parts.append(np.zeros(len(chunk.X), np.int8) if chunk.y is None else chunk.y)
                broken += chunk.broken
                if reading.id_column is not None:
                    names += chunk.names
            labels.append(np.concatenate(parts))
        n = _rows_in(labels)
        X = spool.finish(np.float64, (n, schema.n_features))
    return X, labels, names if reading.id_column else _numbers(n, broken), tuple(broken)


def _numbers(n_kept: int, broken: Sequence[Broken]) -> Sequence[int]:
    """Return the numbers of the rows that are left."""
    if not broken:
        return range(n_kept)
    left = np.delete(np.arange(n_kept + len(broken)), [row.name for row in broken])
    numbers: list[int] = left.tolist()
    return numbers


def _rows_in(parts: Sequence[NDArray[np.int8]]) -> int:
    return sum(len(part) for part in parts)


def _encoded(
    table: TableFile, schema: TableSchema, reading: _Reading, start: int = 0
) -> Iterator[Chunk]:
    columns = list(dict.fromkeys([*(c.name for c in schema.columns), *reading.names]))
    next_row = start
    for batch in stream(table, columns, schema.n_features):
        reasons = schema.unusable(batch) if reading.skips else {}
        names, broken = _names(batch, next_row, reading.id_column, reasons)
        usable = _usable(batch, reasons)
        y = None
        if reading.label is not None:
            y = _labels(reading.label, reading.positive, usable.column(reading.label))
        try:
            X = schema.encode(usable)
        except InputError as error:
            raise _at_first_row(error, table, schema, batch, next_row, reading) from error
        next_row += batch.num_rows
        yield Chunk(X, names, y, broken)
    if next_row == start:
        raise InputError(f"{table.path} has no rows.")


def _at_first_row(
    error: InputError,
    table: TableFile,
    schema: TableSchema,
    batch: Any,
    first_row: int,
    reading: _Reading,
) -> InputError:
    """Return an error that names the first row that cannot be used, if it lies with single rows."""
    reasons = {} if reading.skips else schema.unusable(batch)
    if not reasons:
        return error
    place = min(reasons)
    _, (first, *_) = _names(batch, first_row, reading.id_column, {place: reasons[place]})
    row = f"Row {first.name!r}" if reading.id_column else f"Row {first.name} (from 0)"
    return InputError(
        f"{row} of {table.path} cannot be used: {reasons[place]}. Mend such rows (values are never "
        'guessed at), or leave them out with --skip-broken (in Python on_broken="skip").'
    )


def _names(
    batch: Any, first_row: int, id_column: str | None, reasons: Mapping[int, str]
) -> tuple[Sequence[Any], tuple[Broken, ...]]:
    """Return the names of usable rows, and the broken ones: by id where they have one."""
    numbers = range(first_row, first_row + batch.num_rows)
    if id_column is None:
        broken = tuple(Broken(numbers[place], reasons[place]) for place in sorted(reasons))
        if not reasons:
            return numbers, broken
        # Without any row left it is a range still: empty, and of numbers.
        return [n for n in numbers if n - first_row not in reasons] or numbers[:0], broken
    ids = batch.column(id_column)
    broken = tuple(
        Broken(_name_of(ids[place].as_py(), numbers[place]), reasons[place])
        for place in sorted(reasons)
    )
    return _ids(id_column, _usable(batch.select([id_column]), reasons).column(id_column)), broken


def _name_of(row_id: Any, number: int) -> Any:
    return f"row {number}" if row_id is None or row_id == "" else row_id


def _labels(label: str, positive: Any, values: Any) -> NDArray[np.int8]:
    import pyarrow as pa
    import pyarrow.compute as pc

    def is_positive(plain: Any) -> Any:
        return pc.equal(plain, pa.scalar(str(positive)).cast(plain.type))

    if pa.types.is_null(values.type):
        return np.zeros(len(values), np.int8)
    try:
        found = pc.fill_null(mapped(values, is_positive), False)
    except pa.ArrowException as error:
        raise InputError(
            f"The positive value {str(positive)!r} cannot be compared with column {label!r} of "
            f"type {values.type}."
        ) from error
    array: NDArray[np.int8] = found.to_numpy(zero_copy_only=False).astype(np.int8)
    return array


def _some_labels(table: TableFile, label: str) -> list[str]:
    import pyarrow.compute as pc

    for batch in stream(table, [label], 1):
        values = pc.unique(batch.column(label))[:6].to_pylist()
        return ["" if value is None else str(value)[:50] for value in values]
    return []


def _ids(name: str, values: Any) -> list[Any]:
    import pyarrow as pa

    is_text = kind_of_type(values.type) == "category"
    if not is_text and not pa.types.is_integer(values.type):
        raise InputError(f"The id column {name!r} is of type {values.type}. Expected text or ints.")
    n_missing = count_missing(values)
    if n_missing:
        raise InputError(f"The id column {name!r} has {n_missing} missing values.")
    if is_text:
        values = short_text(name, values)
    elif values.type == pa.uint64():  # hashes, which no int64 holds, are names like others
        values = values.cast(pa.string())
    ids: list[Any] = values.to_pylist()
    return ids
