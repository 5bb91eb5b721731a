"""Tables as samples: for ``fit`` with a schema learned on the way, for prediction as a stream."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu._parameters import check_integer
from vqpu.errors import InputError
from vqpu.inputs._learning import SchemaLearner
from vqpu.inputs._samples import Chunk, PUData, check_both_kinds
from vqpu.inputs._schema import (
    TableSchema,
    check_columns,
    count_missing,
    kind_of_type,
    mapped,
    short_text,
)
from vqpu.inputs._spool import Spool
from vqpu.inputs._tablefiles import TableFile, open_table, stream


class _Roles(NamedTuple):
    """Columns that are no features."""

    label: str | None
    positive: Any
    id_column: str | None

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
    cache_dir: str | Path | None = None,
) -> PUData:
    """Read one table with a column of labels.

    Numbers and booleans are used as they are, text becomes one column of 0 and 1 for each value.
    Dates, lists and other types are refused by name, and so are missing and infinite values. The
    encoded rows lie on the disk of the cache folder, so memory does not grow with the table.

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
    cache_dir : path or None
        None means the user's cache folder.

    Returns
    -------
    PUData
        X of float64 and shape (n, ``schema.n_features``).
    """
    roles = _Roles(label, positive, id_column)
    table = open_table(path, text=roles.names)
    schema = _learn([table], roles, drop, max_categories)
    X, (y,), names = _encode_all([table], schema, roles, cache_dir)
    if not y.any() or y.all():
        check_both_kinds(y, str(path), positive, _some_labels(table, label))
    return PUData(X, y, names, schema=schema)


def read_tables(
    positives: str | Path,
    unlabeled: str | Path,
    *,
    id_column: str | None = None,
    drop: Collection[str] = (),
    max_categories: int = 64,
    cache_dir: str | Path | None = None,
) -> PUData:
    """Read a table of positives and a table of everything else, with the same columns.

    Parameters
    ----------
    positives, unlabeled : path
        Files as in :func:`read_table`, of any two formats.
    id_column, drop, max_categories, cache_dir
        As in :func:`read_table`.

    Returns
    -------
    PUData
        Positives first. Without an id column, rows are numbered through both tables.
    """
    roles = _Roles(None, None, id_column)
    tables = [open_table(path, text=roles.names) for path in (positives, unlabeled)]
    schema = _learn(tables, roles, drop, max_categories)
    X, parts, names = _encode_all(tables, schema, roles, cache_dir)
    y = np.repeat(np.array([1, 0], np.int8), [len(part) for part in parts])
    return PUData(X, y, names, schema=schema)


def iter_table(
    path: str | Path,
    schema: TableSchema,
    *,
    id_column: str | None = None,
    label: str | None = None,
    positive: Any = None,
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

    Yields
    ------
    Chunk
        About a million values each.
    """
    roles = _Roles(label, positive, id_column)
    kinds = {column.name: column.kind for column in schema.columns}
    table = open_table(path, text=roles.names, kinds=kinds)
    check_columns(table.schema, [*kinds, *roles.names])
    return _encoded(table, schema, roles)


def table_columns(path: str | Path) -> list[str]:
    """Return the names of a table's columns.

    Parameters
    ----------
    path : path
    """
    names: list[str] = open_table(path).schema.names
    return names


def _learn(
    tables: Sequence[TableFile], roles: _Roles, drop: Collection[str], max_categories: int
) -> TableSchema:
    check_integer("max_categories", max_categories, 2)
    if isinstance(drop, str):
        raise InputError(f"drop must be a list of columns. Got the text {drop!r}: use [{drop!r}].")
    left_out = {*roles.names, *drop}
    check_columns(tables[0].schema, sorted(left_out))
    learner = SchemaLearner(tables[0].schema, left_out, max_categories)
    for table in tables:
        check_columns(table.schema, roles.names)
        learner.check_same(table.schema, str(table.path))
    for table in tables:
        before = learner.n_rows
        learner.begin_table()
        for batch in stream(table, learner.names, len(learner.names)):
            learner.update(batch)
        if learner.n_rows == before:
            raise InputError(f"{table.path} has no rows.")
    return learner.finish()


def _encode_all(
    tables: Sequence[TableFile],
    schema: TableSchema,
    roles: _Roles,
    cache_dir: str | Path | None,
) -> tuple[NDArray[np.float64], list[NDArray[np.int8]], Sequence[Any]]:
    """Return X of all tables, y of each (zeros without a label column), and the names."""
    labels: list[NDArray[np.int8]] = []
    names: list[Any] = []
    with Spool(cache_dir) as spool:
        for table in tables:
            parts = []
            for chunk in _encoded(table, schema, roles):
                spool.write(chunk.X.tobytes())
                parts.append(np.zeros(len(chunk.X), np.int8) if chunk.y is None else chunk.y)
                if roles.id_column is not None:
                    names += chunk.names
            labels.append(np.concatenate(parts))
        n = sum(len(part) for part in labels)
        X = spool.finish(np.float64, (n, schema.n_features))
    return X, labels, range(n) if roles.id_column is None else names


def _encoded(table: TableFile, schema: TableSchema, roles: _Roles) -> Iterator[Chunk]:
    columns = list(dict.fromkeys([*(c.name for c in schema.columns), *roles.names]))
    start = 0
    for batch in stream(table, columns, schema.n_features):
        names: Sequence[Any] = range(start, start + batch.num_rows)
        if roles.id_column is not None:
            names = _ids(roles.id_column, batch.column(roles.id_column))
        y = None
        if roles.label is not None:
            y = _labels(roles.label, roles.positive, batch.column(roles.label))
        yield Chunk(schema.encode(batch), names, y)
        start += batch.num_rows
    if start == 0:
        raise InputError(f"{table.path} has no rows.")


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
        return [str(value)[:50] for value in pc.unique(batch.column(label))[:6].to_pylist()]
    return []


def _ids(name: str, values: Any) -> list[Any]:
    import pyarrow as pa

    is_text = kind_of_type(values.type) == "category"
    if not is_text and not pa.types.is_integer(values.type):
        raise InputError(f"The id column {name!r} is of type {values.type}. Expected text or ints.")
    n_missing = count_missing(values)
    if n_missing:
        raise InputError(f"The id column {name!r} has {n_missing} missing values.")
    ids: list[Any] = (short_text(name, values) if is_text else values).to_pylist()
    return ids
