"""Tables as samples: for ``fit`` with a plan learned on the way, for prediction as a stream."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.base.columns import ColumnPlan, Notes, Wishes, encode_batch, fit_plan
from vqpu.base.columns._arrow import as_text, first_letters, missing_mask
from vqpu.base.columns._plan import COMMA_PATTERN
from vqpu.base.columns._rows import with_plan
from vqpu.base.columns._text import LONGEST_READ
from vqpu.base.columns._wishes import check_columns
from vqpu.errors import InputError
from vqpu.files.readers._csvfile import RAW
from vqpu.files.readers._roles import ids_of, is_positive, kept_column, nearly_positive, some_words
from vqpu.files.readers._samples import Chunk, KeptColumn, PUData, check_both_kinds
from vqpu.files.readers._spool import Spool
from vqpu.files.readers._tablefiles import TableFile, open_table, stream, understood

_TEXT_WIDTH = 1024  # values that a text counts as where rows are read


class _Roles(NamedTuple):
    """Columns that are no features."""

    label: str | None = None
    positive: Any = None
    id_column: str | None = None
    keep: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        return [name for name in (self.label, self.id_column) if name is not None]


class _Source:
    """A table as the learner of plans takes it."""

    def __init__(self, table: TableFile) -> None:
        self.table, self.schema = table, table.schema
        self.name = str(table.path)

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        return stream(self.table, names, len(names))


def read_table(
    path: str | Path,
    *,
    label: str,
    positive: Any,
    id_column: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Collection[str] = (),
    number: Collection[str] = (),
    category: Collection[str] = (),
    text: Collection[str] = (),
    missing: str = "keep",
    cache_dir: str | Path | None = None,
) -> PUData:
    """Read one table with a column of labels.

    What each column is, is guessed from all rows: numbers, booleans, categories, dates, free text,
    lists of numbers. A missing value is a value like any other, and no row is left out; columns
    that say nothing are, with a warning. The encoded rows lie on the disk of the cache folder, so
    memory does not grow with the table but for ids.

    Parameters
    ----------
    path : path
        CSV (.csv, .tsv), JSON lines (.jsonl), these packed or not (.gz, .zst), Parquet, Feather
        (.feather, .arrow), Excel (.xlsx), or a folder of such files with the same columns.
    label : str
        Column with labels.
    positive : object
        The label of positives; every other label, or none, means unlabelled.
    id_column : str or None
        Column that names the rows; otherwise they are numbered.
    columns : sequence of str or None
        The only columns to learn from; None means all.
    drop : collection of str
        Columns to leave out.
    number, category, text : collection of str
        Columns that are taken as such, whatever they look like.
    missing : {"keep", "refuse"}, default "keep"
        "refuse": missing values, infinite ones and cells that are no numbers are an error.
    cache_dir : path or None
        None means the user's cache folder.

    Returns
    -------
    PUData
        X of float64 and shape (n, ``plan.n_features``); categories are codes, missing is NaN.
    """
    roles = _Roles(label, positive, id_column)
    wishes = Wishes(columns, drop, number, category, text, missing)
    table = open_table(path, text=[*roles.names, *category, *text])
    plan = _fit([table], roles, wishes)
    read = _encode_all([_again(table, plan, roles)], plan, roles, cache_dir)
    if not read.y.any() or read.y.all():
        check_both_kinds(read.y, str(path), positive, sorted(read.words))
    others = sorted(read.words - {str(positive), ""})
    words = (others[0], str(positive)) if len(others) == 1 else None
    return PUData(with_plan(read.X, plan), read.y, read.names, (), plan, words)


def read_tables(
    positives: str | Path,
    unlabeled: str | Path,
    *,
    id_column: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Collection[str] = (),
    number: Collection[str] = (),
    category: Collection[str] = (),
    text: Collection[str] = (),
    missing: str = "keep",
    cache_dir: str | Path | None = None,
) -> PUData:
    """Read a table of positives and a table of everything else, with the same columns.

    Parameters
    ----------
    positives, unlabeled : path
        Files as in :func:`read_table`, of any two formats.
    id_column, columns, drop, number, category, text, missing, cache_dir
        As in :func:`read_table`.

    Returns
    -------
    PUData
        Positives first. Without an id column, rows are numbered through both tables.
    """
    roles = _Roles(id_column=id_column)
    wishes = Wishes(columns, drop, number, category, text, missing)
    texts = [*roles.names, *category, *text]
    tables = [open_table(path, text=texts) for path in (positives, unlabeled)]
    plan = _fit(tables, roles, wishes)
    again = [_again(table, plan, roles) for table in tables]
    read = _encode_all(again, plan, roles, cache_dir)
    y = np.repeat(np.array([1, 0], np.int8), read.sizes)
    return PUData(with_plan(read.X, plan), y, read.names, (), plan)


def iter_table(
    path: str | Path,
    plan: ColumnPlan,
    *,
    id_column: str | None = None,
    label: str | None = None,
    positive: Any = None,
    keep: Sequence[str] = (),
    missing: str = "keep",
    notes: Notes | None = None,
    row_groups: range | None = None,
    first_row: int | None = None,
) -> Iterator[Chunk]:
    """Encode a table chunk by chunk as in training; columns may stand in any order.

    Parameters
    ----------
    path : path
    plan : ColumnPlan
        From training. Columns that it does not know are passed over.
    id_column : str or None
    label, positive : str and object, or None
        If given, chunks have ``y``.
    keep : sequence of str
        Columns that chunks carry along.
    missing : {"keep", "refuse"}
        Whether missing values end the stream.
    notes : Notes or None
        Takes the counts of cells that are not as in training.
    row_groups : range or None
        Of a Parquet file: only these of its row groups.
    first_row : int or None
        For a part of a larger table: the number of its first row. A part may have none.

    Yields
    ------
    Chunk
        About a million values each, a row for every row of the table.
    """
    roles = _Roles(label, positive, id_column, tuple(keep))
    Wishes(missing=missing).check([])
    kinds = _kinds_to_read(plan, [*roles.names, *keep])
    table = open_table(path, kinds=kinds, row_groups=row_groups)
    check_columns(table.schema.names, [*plan.names, *roles.names, *keep], plan.names)
    notes = Notes() if notes is None else notes
    if first_row is None:  # a part says nothing of the whole
        _note_thousands(table, plan, notes)
    return _encoded(
        table,
        plan,
        roles,
        notes,
        start=first_row or 0,
        missing=missing,
        may_be_empty=first_row is not None,
    )


class _Held:
    """An Arrow table in memory as a :class:`TableFile`."""

    def __init__(self, table: Any) -> None:
        self.path, self.schema, self._table = Path("the batch"), table.schema, table

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        yield from self._table.select(list(columns)).to_batches(max_chunksize=rows)


def iter_arrow(
    table: Any, plan: ColumnPlan, *, id_column: str | None = None, keep: Sequence[str] = ()
) -> Iterator[Chunk]:
    """Encode an Arrow table in memory as :func:`iter_table` does one on disk.

    Parameters
    ----------
    table : pyarrow.Table
        It may have no rows.
    plan, id_column, keep
        As in :func:`iter_table`.
    """
    roles = _Roles(id_column=id_column, keep=tuple(keep))
    check_columns(table.schema.names, [*plan.names, *roles.names, *keep], plan.names)
    return _encoded(_Held(table), plan, roles, Notes(), may_be_empty=True)


def table_columns(path: str | Path) -> list[str]:
    """Return the names of a table's columns.

    Parameters
    ----------
    path : path
    """
    names: list[str] = open_table(path).schema.names
    return names


def texts_of_rows(
    path: str | Path, columns: Sequence[str], rows: Sequence[int]
) -> dict[str, list[str | None]]:
    """Return the texts of some rows of a table as far as a model reads them, a list a column.

    Parameters
    ----------
    path : path
    columns : sequence of str
    rows : sequence of int
        In any order, from 0.
    """
    wanted = np.asarray(rows)
    found: dict[str, list[str | None]] = {name: [None] * len(rows) for name in columns}
    table = open_table(path, kinds=dict.fromkeys(columns, "text"))
    start = 0
    for batch in stream(table, columns, _TEXT_WIDTH * len(columns)):
        here = np.flatnonzero((wanted >= start) & (wanted < start + batch.num_rows))
        start += batch.num_rows
        if not len(here):
            continue
        some = batch.take(wanted[here] - start + batch.num_rows)
        with understood(table.path):
            for name in columns:
                texts = first_letters(as_text(name, some.column(name)), LONGEST_READ)
                for place, text in zip(here, texts, strict=True):
                    found[name][place] = text
    return found


def can_hold(path: str | Path, column: str, value: Any) -> bool:
    """Whether a value can stand in a table's column, by its type.

    Parameters
    ----------
    path : path
    column : str
    value : object
    """
    import pyarrow as pa

    kind = open_table(path, text=[column]).schema.field(column).type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    try:
        pa.scalar(str(value)).cast(kind)
    except pa.ArrowException:
        return bool(pa.types.is_null(kind))
    return True


def count_unlabeled(path: str | Path, label: str) -> int:
    """Return how many rows of a table have no label.

    Parameters
    ----------
    path : path
    label : str
        Column of labels.
    """
    table = open_table(path, text=[label])
    batches = stream(table, [label], 1)
    return sum(int(missing_mask(batch.column(label)).sum()) for batch in batches)


def _fit(tables: Sequence[TableFile], roles: _Roles, wishes: Wishes) -> ColumnPlan:
    for table in tables:
        check_columns(table.schema.names, roles.names)
    with understood(tables[-1].path):
        return fit_plan([_Source(table) for table in tables], wishes, roles.names)


def _kinds_to_read(plan: ColumnPlan, as_text: Iterable[str]) -> dict[str, str]:
    """Return how columns are read as in training, some others or the same as text."""
    kinds = {c.name: "text" if c.pattern else c.kind for c in plan.columns}
    commas = [c.name for c in plan.columns if c.pattern == COMMA_PATTERN]
    return kinds | dict.fromkeys(as_text, "text") | dict.fromkeys(commas, RAW)


def _again(table: TableFile, plan: ColumnPlan, roles: _Roles) -> TableFile:
    """Open a table once more, now that it is known what its columns are."""
    return open_table(table.path, kinds=_kinds_to_read(plan, roles.names))


class _Read(NamedTuple):
    X: NDArray[np.float64]
    y: NDArray[np.int8]
    names: Sequence[Any]
    sizes: list[int]
    words: set[str]


def _encode_all(
    tables: Sequence[TableFile], plan: ColumnPlan, roles: _Roles, cache_dir: str | Path | None
) -> _Read:
    """Return X, y (zeros without a label column), names, rows of each table and some labels."""
    labels: list[NDArray[np.int8]] = []
    names: list[Any] = []
    sizes: list[int] = []
    words: set[str] = set()
    notes = Notes()
    with Spool(cache_dir) as spool:
        for table in tables:
            _note_thousands(table, plan, notes)
            start = sum(sizes)
            n = 0
            for chunk in _encoded(
                table, plan, roles, notes, start=start, words=words, is_training=True
            ):
                spool.write(np.ascontiguousarray(chunk.X).tobytes())
                labels.append(np.zeros(len(chunk.X), np.int8) if chunk.y is None else chunk.y)
                n += len(chunk.X)
                if roles.id_column is not None:
                    names += chunk.names
            if roles.id_column is not None:
                notes.add(roles.id_column, "id", n - len(set(names[start:])), [])
            sizes.append(n)
        X = spool.finish(np.float64, (sum(sizes), plan.n_features))
    notes.warn(3, plan=plan)
    named = names if roles.id_column else range(sum(sizes))
    return _Read(X, np.concatenate(labels), named, sizes, words)


def _note_thousands(table: TableFile, plan: ColumnPlan, notes: Notes) -> None:
    """Count cells of a CSV file whose decimal marks may separate thousands."""
    cells = getattr(table, "like_thousands", {})
    for column in plan.columns:
        if column.kind == "number" and not column.pattern and column.name in cells:
            notes.add(column.name, "thousands", len(cells[column.name]), cells[column.name])


def _encoded(
    table: TableFile,
    plan: ColumnPlan,
    roles: _Roles,
    notes: Notes,
    *,
    start: int = 0,
    missing: str = "keep",
    words: set[str] | None = None,
    may_be_empty: bool = False,
    is_training: bool = False,
) -> Iterator[Chunk]:
    columns = list(dict.fromkeys([*plan.names, *roles.names, *roles.keep]))
    next_row = start
    for batch in stream(table, columns, max(len(columns), plan.n_features)):
        n_odd = notes.n_cells
        with understood(table.path):
            X = encode_batch(plan, batch, notes)
            names, kept = _carried(batch, roles, next_row)
        if missing == "refuse":
            _refuse_missing(X, plan, table, next_row, notes.n_cells - n_odd)
        y = None
        if roles.label is not None:
            values = batch.column(roles.label)
            y = is_positive(roles.label, roles.positive, values)
            if is_training:
                notes.add(
                    roles.label, "label", *nearly_positive(roles.label, roles.positive, values)
                )
            if words is not None and len(words) < 10:
                words.update(some_words(values))
        next_row += batch.num_rows
        yield Chunk(with_plan(X, plan), names, y, (), kept)
    if may_be_empty:  # a part says nothing of the whole
        return
    if next_row == start:
        raise InputError(f"{table.path} has no rows.")
    if not is_training:
        with understood(table.path):
            notes.check_readable(plan)


def _refuse_missing(
    X: NDArray[np.float64], plan: ColumnPlan, table: TableFile, first_row: int, n_odd: int
) -> None:
    gaps = np.isnan(X)
    if not gaps.any():
        return
    row, place = np.argwhere(gaps)[0]
    feature = plan.feature_names[place]
    odd = f" ({n_odd} cells here are not as in training)" if n_odd else ""
    raise InputError(
        f"Row {first_row + row} (from 0) of {table.path} has no value in {feature!r}{odd}. Fill "
        "it, or take missing values as they are with --missing keep."
    )


def _carried(
    batch: Any, roles: _Roles, first_row: int
) -> tuple[Sequence[Any], dict[str, KeptColumn]]:
    kept = {name: kept_column(name, batch.column(name)) for name in roles.keep}
    if roles.id_column is None:
        return range(first_row, first_row + batch.num_rows), kept
    ids = ids_of(roles.id_column, batch.column(roles.id_column))
    return ids.values, {"": ids, **kept}
