"""Tables on disk as streams of record batches, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from vqpu.base.columns._arrow import require_pyarrow
from vqpu.errors import InputError, VqpuError
from vqpu.files.readers._samples import (
    TABLE_ENDINGS,
    check_regular_file,
    first_few,
    table_ending,
    table_parts,
)
from vqpu.files.readers._stores import STORE_ENDINGS, Place, as_place, size_of

MOST_COLUMNS = 20_000
_BATCH_VALUES = 1 << 20
# A batch costs as much for every column whatever its rows: wide tables have larger ones.
FEWEST_ROWS, _WIDE_VALUES = 256, 1 << 23
_MOST_ROWS = 1 << 16
_BATCH_BYTES = 1 << 25
# A row group of Parquet or a batch of Feather may unpack to this many bytes, or to so many times
# the file's. A batch is held whole, of a row group one page of a column, which is small as a rule.
_MOST_UNPACKED = 1 << 27
_GROUP_RATIO, _BATCH_RATIO = 100, 16


class TableFile(Protocol):
    """A table on disk.

    Attributes
    ----------
    schema : pyarrow.Schema
        Names and types as they are read at first; later batches may be text instead.
    """

    schema: Any

    @property
    def path(self) -> Place:
        """Where it lies."""

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        """Yield record batches of the given columns with about ``rows`` rows."""


def open_table(
    path: str | Place,
    *,
    text: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    row_groups: range | None = None,
) -> TableFile:
    """Open a table by its ending, or a folder of tables as one.

    Parameters
    ----------
    path : path
    text : sequence of str
        Columns of a CSV file that are read as text, whatever they look like.
    kinds : mapping or None
        Kinds of columns where they are known, so that CSV values are read as in training:
        "number", "boolean", and all others as text.
    row_groups : range or None
        Of a Parquet file: only these of its row groups.
    """
    path = as_place(path)
    parts = table_parts(path)
    if parts:
        return _Parts(path, [open_table(part, text=text, kinds=kinds) for part in parts])
    check_regular_file(path)
    ending = table_ending(path)
    endings = TABLE_ENDINGS if isinstance(path, Path) else STORE_ENDINGS
    if ending not in endings:
        raise InputError(f"{path} is no table: expected one of {', '.join(endings)}.")
    require_pyarrow()
    try:
        if row_groups is not None:
            table: TableFile = ParquetFile(path, row_groups)
        else:
            table = _opened(path, ending, text, kinds or {})
        check_names(path, table.schema.names)  # damaged names may be no text
    except VqpuError:
        raise
    except Exception as error:  # a parser on foreign bytes may raise anything
        raise unreadable(path, error) from error
    return table


def _opened(path: Place, ending: str, text: Sequence[str], kinds: Mapping[str, str]) -> TableFile:
    from vqpu.files.readers._csvfile import CsvFile
    from vqpu.files.readers._excelfile import ExcelFile
    from vqpu.files.readers._jsonfile import JsonFile

    if ending == ".parquet":
        return ParquetFile(path)
    if ending in (".csv", ".tsv"):
        return CsvFile(path, text, kinds)
    assert isinstance(path, Path)  # of stores nothing else is read
    if ending == ".xlsx":
        return ExcelFile(path)
    return JsonFile(path) if ending == ".jsonl" else _FeatherFile(path)


def stream(table: TableFile, columns: Sequence[str], width: int) -> Iterator[Any]:
    """Yield record batches whose rows x ``width`` stay within a fixed number of values."""
    width = max(1, width)
    rows = max(1, _BATCH_VALUES // width, min(FEWEST_ROWS, _WIDE_VALUES // width))
    rows = min(_MOST_ROWS, rows)
    try:
        for batch in table.batches(columns, rows):
            batch.validate(full=True)  # Arrow trusts offsets and text in files unless asked
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)
    except VqpuError:
        raise
    except Exception as error:
        raise unreadable(table.path, error) from error


@contextmanager
def understood(path: Place) -> Iterator[None]:
    """Turn what Arrow or Python say of values that a damaged file holds into one sentence."""
    import pyarrow as pa

    try:
        yield
    except VqpuError:
        raise
    except (pa.ArrowException, OverflowError, ValueError) as error:
        raise unreadable(path, error) from error


class _Parts:
    """Several files with the same columns, one after the other."""

    def __init__(self, path: Place, tables: Sequence[TableFile]) -> None:
        self.path, self._tables = path, tables
        self.schema = tables[0].schema
        names = set(self.schema.names)
        for table in tables[1:]:
            differing = sorted(names ^ set(table.schema.names))
            if differing:
                raise InputError(
                    f"{table.path} differs from {tables[0].path} in having or lacking "
                    f"{first_few(differing)}. All parts of a table must have the same columns."
                )

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        for table in self._tables:
            yield from table.batches(columns, rows)


class ParquetFile:
    """Read a batch at a time; a row group whose pages may unpack to far too much is refused.

    The size is that of the row group as a whole: pyarrow's view of a damaged column may end the
    process (``test_mutated_files__read_or_refused__never_a_crash``).

    Attributes
    ----------
    group_rows : list of int
        Rows of every row group.
    """

    def __init__(self, path: Place, row_groups: range | None = None) -> None:
        from pyarrow import parquet

        self.path, self._row_groups = path, row_groups
        with _native(path) as source, parquet.ParquetFile(source) as file:
            self.schema = file.schema_arrow
            check_width(path, file.metadata.num_columns)
            groups = [*map(file.metadata.row_group, range(file.metadata.num_row_groups))]
        self.group_rows = [group.num_rows for group in groups]
        sizes = [(group.total_byte_size, max(1, group.num_rows)) for group in groups]
        largest = max((size for size, _ in sizes), default=0)
        _check_unpacked(path, largest, _GROUP_RATIO, "smaller row groups")
        widest = max((size // rows for size, rows in sizes), default=0)
        self._most_rows = max(1, _BATCH_BYTES // max(1, widest))

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        import pyarrow as pa
        from pyarrow import parquet

        # Text stays in dictionaries: one long value repeated a million times stays one value.
        is_text = (pa.types.is_string, pa.types.is_large_string)
        text = [
            field.name
            for field in self.schema
            if field.name in columns and any(check(field.type) for check in is_text)
        ]
        # A store answers each request late: what is read of a row group is asked for at once, and
        # by a reader of its own, as one reader would keep all groups that it has asked for.
        is_local = isinstance(self.path, Path)
        buffers = {"buffer_size": (1 << 16) * is_local, "pre_buffer": not is_local}
        groups = [*(self._row_groups or range(len(self.group_rows)))]
        for some in [groups] if is_local else [[group] for group in groups]:
            with (
                _native(self.path) as source,
                parquet.ParquetFile(source, read_dictionary=text, **buffers) as file,
            ):
                yield from file.iter_batches(
                    min(rows, self._most_rows),
                    row_groups=some,
                    columns=list(columns),
                    use_threads=False,
                )


def _native(path: Place) -> Any:
    """Open a file for pyarrow, here or in a store."""
    import pyarrow as pa

    return pa.OSFile(str(path)) if isinstance(path, Path) else path.open()


class _FeatherFile:
    """Read a batch of the file at a time; batches of far too many values are refused.

    Their size is rows times the width of a row, as Arrow tells no other before it unpacks. Text
    counts as its offsets alone: a batch of repeated texts may take more memory than that.
    """

    def __init__(self, path: Path) -> None:
        import pyarrow as pa
        from pyarrow import dataset, fs

        self.path = path
        with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
            self.schema = reader.schema
            n_batches = reader.num_record_batches
        check_width(path, len(self.schema))
        file_format = dataset.IpcFileFormat()
        n_rows = file_format.make_fragment(str(path), fs.LocalFileSystem()).count_rows()
        n_bits = n_rows * sum(_bits_of(field.type) for field in self.schema)
        n_bytes = n_bits // (8 * max(1, n_batches))
        _check_unpacked(path, n_bytes, _BATCH_RATIO, "a smaller chunksize")

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:  # noqa: ARG002
        import pyarrow as pa

        options = pa.ipc.IpcReadOptions(
            included_fields=[self.schema.get_field_index(name) for name in columns],
            use_threads=False,
        )
        with (
            pa.OSFile(str(self.path)) as file,
            pa.ipc.open_file(file, options=options) as reader,
        ):
            yield from map(reader.get_batch, range(reader.num_record_batches))


def _bits_of(arrow_type: Any) -> int:
    try:
        return int(arrow_type.bit_width)
    except ValueError:  # of text and lists
        return 32


def _check_unpacked(path: Place, n_bytes: int, ratio: int, advice: str) -> None:
    size = size_of(path)
    if n_bytes > max(_MOST_UNPACKED, ratio * size):
        raise InputError(
            f"{path} has {size} bytes and unpacks to {n_bytes} at once, more than "
            f"{_MOST_UNPACKED}. Save it again with {advice}."
        )


def check_names(path: Place, names: Sequence[str]) -> None:
    """Raise if two columns have one name."""
    if len(set(names)) != len(names):
        seen: set[str] = set()
        repeated = sorted({name for name in names if name in seen or seen.add(name)})  # type: ignore[func-returns-value]
        raise InputError(f"{path} has columns with the same name: {first_few(repeated)}.")


def check_width(path: Place, n_columns: int) -> None:
    """Raise if a table has more columns than can be read."""
    if n_columns > MOST_COLUMNS:
        raise InputError(
            f"{path} has {n_columns} columns; at most {MOST_COLUMNS} can be read. Save such data "
            "as an .npy array."
        )


def unreadable(path: Place, error: Exception) -> InputError:
    """Return what is said of a file that its parser cannot read."""
    text = " ".join(str(error).split())[:300]
    return InputError(f"{path} cannot be read as {table_ending(path)[1:] or 'a table'}: {text}")
