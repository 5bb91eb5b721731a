"""CSV, Parquet and Feather files as streams of record batches, in bounded memory."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from vqpu.errors import InputError, MissingDependencyError, VqpuError
from vqpu.files.readers._samples import TABLE_ENDINGS, check_regular_file, first_few

MOST_COLUMNS = 20_000
_BATCH_VALUES = 1 << 20
_MOST_ROWS = 1 << 16
# Longest line of a CSV file; pyarrow reads blocks of this size and refuses lines beyond one.
_CSV_BLOCK = 1 << 19
# A row group of Parquet or a batch of Feather may unpack to this many bytes, or to so many times
# the file's. A batch is held whole, of a row group one page of a column, which is small as a rule.
_MOST_UNPACKED = 1 << 27
_GROUP_RATIO, _BATCH_RATIO = 100, 16
_ARROW_TYPES = {"number": "float64", "boolean": "bool", "category": "string"}


class TableFile(Protocol):
    """A table on disk.

    Attributes
    ----------
    path : Path
    schema : pyarrow.Schema
        Names and types as they are read.
    """

    path: Path
    schema: Any

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        """Yield record batches of the given columns with at most ``rows`` rows."""


def open_table(
    path: str | Path, *, text: Sequence[str] = (), kinds: dict[str, str] | None = None
) -> TableFile:
    """Open a table by its ending.

    Parameters
    ----------
    path : path
    text : sequence of str
        Columns of a CSV file that are read as text, whatever they look like.
    kinds : dict or None
        Kinds of columns where they are known, so that CSV values are read as in training.
    """
    path = Path(path)
    check_regular_file(path)
    ending = path.suffix.lower()
    if ending not in TABLE_ENDINGS:
        raise InputError(f"{path} is no table: expected one of {', '.join(TABLE_ENDINGS)}.")
    require_pyarrow()
    try:
        table: TableFile
        if ending in (".csv", ".tsv"):
            table = _CsvFile(path, text, kinds or {})
        else:
            table = _ParquetFile(path) if ending == ".parquet" else _FeatherFile(path)
    except VqpuError:
        raise
    except Exception as error:  # a parser on foreign bytes may raise anything
        raise _unreadable(path, error) from error
    _check_names(path, table.schema.names)
    return table


def stream(table: TableFile, columns: Sequence[str], width: int) -> Iterator[Any]:
    """Yield record batches whose rows x ``width`` stay within a fixed number of values."""
    rows = max(1, min(_MOST_ROWS, _BATCH_VALUES // max(1, width)))
    try:
        for batch in table.batches(columns, rows):
            batch.validate(full=True)  # Arrow trusts offsets and text in files unless asked
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)
    except VqpuError:
        raise
    except Exception as error:
        raise _unreadable(table.path, error, table.schema.names) from error


def require_pyarrow() -> None:
    """Raise in one sentence if pyarrow is not installed."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            "Reading tables needs pyarrow: pip install 'vqpu[tables]'."
        ) from error


class _CsvFile:
    """Values are read as in the first block; whole numbers as float64, since 1.5 may follow 1."""

    def __init__(self, path: Path, text: Sequence[str], kinds: dict[str, str]) -> None:
        import pyarrow as pa

        self.path = path
        self._delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
        header = self._check_first_line()
        fixed = {name: pa.type_for_alias(_ARROW_TYPES[kind]) for name, kind in kinds.items()}
        fixed |= {name: pa.string() for name in text}
        try:
            with self._open(fixed, None) as reader:
                first = next(iter(reader), None)
        except pa.ArrowException as error:
            raise _unreadable(path, error, header) from error
        if first is None or not first.num_rows:
            raise InputError(f"{path} has no rows.")
        for name, values in zip(first.schema.names, first.columns, strict=True):
            if pa.types.is_binary(values.type):
                raise InputError(f"Column {name!r} of {path} is not UTF-8: save the file as UTF-8.")
            if pa.types.is_integer(values.type) and _fit_float64(values):
                fixed[name] = pa.float64()
        self.schema = pa.schema([(f.name, fixed.get(f.name, f.type)) for f in first.schema])

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:  # noqa: ARG002
        types = {field.name: field.type for field in self.schema}
        with self._open(types, columns) as reader:
            yield from reader

    def _open(self, types: dict[str, Any], columns: Sequence[str] | None) -> Any:
        from pyarrow import csv as arrow_csv

        return arrow_csv.open_csv(
            self.path,
            read_options=arrow_csv.ReadOptions(block_size=_CSV_BLOCK, use_threads=False),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self._delimiter, newlines_in_values=True
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=types, include_columns=columns, strings_can_be_null=True
            ),
        )

    def _check_first_line(self) -> list[str]:
        """Return the names of the columns, unless the file cannot be a table."""
        with open(self.path, "rb") as file:
            line = file.readline(_CSV_BLOCK)
        if not line.strip():
            raise InputError(f"{self.path} is empty: expected a line with the names of columns.")
        if b"\0" in line:
            raise InputError(f"{self.path} is no CSV file but binary. Is its ending right?")
        if len(line) == _CSV_BLOCK:
            raise InputError(f"{self.path} has a first line of more than {_CSV_BLOCK - 1} bytes.")
        if self._delimiter.encode() not in line and b";" in line:
            raise InputError(
                f"{self.path} separates its columns by ';'. Save it with {self._delimiter!r} "
                "between them."
            )
        _check_width(self.path, line.count(self._delimiter.encode()) + 1)
        text = line.decode("utf-8-sig", errors="replace")
        return next(csv.reader([text], delimiter=self._delimiter), [])


class _ParquetFile:
    """Read a batch at a time; a row group whose pages may unpack to far too much is refused.

    The size is that of the row group as a whole: pyarrow's view of a damaged column may end the
    process (``test_mutated_files__read_or_refused__never_a_crash``).
    """

    def __init__(self, path: Path) -> None:
        from pyarrow import parquet

        self.path = path
        with parquet.ParquetFile(path) as file:
            self.schema = file.schema_arrow
            _check_width(path, file.metadata.num_columns)
            groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
            largest = max((group.total_byte_size for group in groups), default=0)
        _check_unpacked(path, largest, _GROUP_RATIO, "smaller row groups")

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
        with parquet.ParquetFile(
            self.path, read_dictionary=text, buffer_size=1 << 16, pre_buffer=False
        ) as file:
            yield from file.iter_batches(rows, columns=list(columns), use_threads=False)


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
        _check_width(path, len(self.schema))
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


def _check_unpacked(path: Path, n_bytes: int, ratio: int, advice: str) -> None:
    size = path.stat().st_size
    if n_bytes > max(_MOST_UNPACKED, ratio * size):
        raise InputError(
            f"{path} has {size} bytes and unpacks to {n_bytes} at once, more than "
            f"{_MOST_UNPACKED}. Save it again with {advice}."
        )


def _fit_float64(integers: Any) -> bool:
    """Whether no integer is too long, as ids are; those keep their type and are refused later."""
    import pyarrow as pa

    try:
        integers.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _check_names(path: Path, names: Sequence[str]) -> None:
    if len(set(names)) != len(names):
        repeated = sorted({name for name in names if names.count(name) > 1})
        raise InputError(f"{path} has columns with the same name: {first_few(repeated)}.")


def _check_width(path: Path, n_columns: int) -> None:
    if n_columns > MOST_COLUMNS:
        raise InputError(
            f"{path} has {n_columns} columns; at most {MOST_COLUMNS} can be read. Save such data "
            "as an .npy array."
        )


def _unreadable(path: Path, error: Exception, names: Sequence[str] = ()) -> InputError:
    def named(match: re.Match[str]) -> str:
        place = int(match[1])
        return f"column {names[place]!r}" if place < len(names) else match[0]

    # pyarrow counts the columns of a CSV file from 0.
    text = re.sub(r"CSV column #(\d+)", named, " ".join(str(error).split()))[:300]
    return InputError(f"{path} cannot be read as {path.suffix.lower()[1:]}: {text}")
