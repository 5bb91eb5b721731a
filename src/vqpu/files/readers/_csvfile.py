"""CSV files: their separator found, read by type as long as cells fit, as text from there on."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from vqpu.base.columns._arrow import COMMA_NUMBER, with_points
from vqpu.errors import InputError
from vqpu.files.readers._stores import Place, size_of
from vqpu.files.readers._tablefiles import FEWEST_ROWS, check_width, unreadable

# Longest line of a CSV file; pyarrow reads blocks of this size and refuses lines beyond one.
CSV_BLOCK = 1 << 19
RAW = "raw"  # the kind of columns whose decimal commas the plan reads by itself
# Of wide tables: a batch costs as much for every column whatever its rows, memory too.
_WIDE_BLOCK, _BYTES_OF_A_CELL = 1 << 24, 8
_SEPARATORS = (",", ";", "\t", "|")
_ARROW_TYPES = {"number": "float64", "boolean": "bool"}
_DECIMAL_COMMA = re.compile(rb'[;\t|\n"][-+]?[\d.]+,\d+["\r\n;\t|]')
# Between commas only quotes tell a decimal comma, and three digits behind it mark thousands.
_QUOTED_COMMA = re.compile(rb'"[-+]?[\d.]*,(?:\d{1,2}|\d{4,})"')
_DECIMAL_POINT = re.compile(rb'[;\t|\n"][-+]?\d+\.\d+["\r\n;\t|]')
# Read as decimals, these may be thousands: three digits behind every mark, and none begins with 0.
_LIKE_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(?:[.,]\d{3})+")
_NO_THOUSANDS = re.compile(r"[-+]?(?:0?[.,]\d+|\d+[.,](?:\d{1,2}|\d{4,}))")
_FEWEST_LIKE, _ROWS_LOOKED_AT = 3, 2_000
_BOTH_MARKS = re.compile(r"[-+]?\d{1,3}(?:\.\d{3})+,\d+")
_FEW_VALUES, _MANY_BYTES = 1 << 16, 1 << 25  # batches of wide tables are joined up to so many
# A packed file may unpack to this many bytes, or to so many times its own.
_MOST_UNPACKED, _RATIO = 1 << 32, 200


class CsvFile:
    """A CSV file, packed (.gz, .zst) or not.

    Types are those of the first block, whole numbers as float64, since 1.5 may follow 1. From the
    first cell that does not fit its type on, all columns come as text, and whoever reads them
    decides what the cell is.

    Parameters
    ----------
    path : Path or StoredFile
    text : sequence of str
        Columns that are read as text.
    kinds : mapping of str
        Kinds of columns where they are known; cells of those that are "raw" come as they are.
    """

    def __init__(self, path: Place, text: Sequence[str], kinds: Mapping[str, str]) -> None:
        import pyarrow as pa

        self.path = path
        start = self._read_start()
        header = self._check_first_line(start)
        wide = FEWEST_ROWS * _BYTES_OF_A_CELL * len(header)
        self._block = max(CSV_BLOCK, min(_WIDE_BLOCK, wide))
        is_plain = self._delimiter == ","
        self._has_commas = bool((_QUOTED_COMMA if is_plain else _DECIMAL_COMMA).search(start))
        # With both marks in the file cells are read as text, and those with a comma mended.
        both = is_plain or _DECIMAL_POINT.search(start)
        self._decimal = "," if self._has_commas and not both else "."
        fixed = {
            name: pa.type_for_alias(_ARROW_TYPES.get(kind, "string"))
            for name, kind in kinds.items()
        }
        fixed |= {name: pa.string() for name in text}
        self._raw = {name for name, kind in kinds.items() if kind == RAW}
        self.like_thousands = _like_thousands(start, self._delimiter)
        first = self._first_batch(fixed, header)
        if first is None or not first.num_rows:
            raise InputError(f"{path} has no rows.")
        for name, values in zip(first.schema.names, first.columns, strict=True):
            if pa.types.is_binary(values.type):
                raise InputError(f"Column {name!r} of {path} is not UTF-8: save the file as UTF-8.")
            if pa.types.is_integer(values.type) and _fit_float64(values):
                fixed[name] = pa.float64()
            elif pa.types.is_null(values.type):  # values may follow in later blocks
                fixed[name] = pa.string()
        self.schema = pa.schema([(f.name, fixed.get(f.name, f.type)) for f in first.schema])

    def _first_batch(self, fixed: dict[str, Any], header: list[str]) -> Any:
        import pyarrow as pa

        try:
            with self._open(fixed, None) as reader:
                return next(iter(reader), None)
        except pa.ArrowInvalid as error:
            if not _is_conversion(error):
                raise unreadable(self.path, error) from error
            with self._open(dict.fromkeys(header, pa.string()), None) as reader:
                return next(iter(reader), None)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:  # noqa: ARG002
        """Yield record batches of the given columns."""
        yield from self._counted(_joined(self._batches(columns), len(columns)))

    def _batches(self, columns: Sequence[str]) -> Iterator[Any]:
        import pyarrow as pa

        types, n_done = {field.name: field.type for field in self.schema}, 0
        try:
            with self._open(types, columns) as reader:
                for batch in reader:
                    yield self._mended(batch)
                    n_done += batch.num_rows
            return
        except pa.ArrowInvalid as error:
            if not _is_conversion(error):
                raise
        yield from self._as_text(columns, n_done)

    def _as_text(self, columns: Sequence[str], n_done: int) -> Iterator[Any]:
        """Read the file again, from a row on, with every column as text."""
        import pyarrow as pa

        with self._open(dict.fromkeys(self.schema.names, pa.string()), columns) as reader:
            start = 0
            for batch in reader:
                stop = start + batch.num_rows
                if stop > n_done:
                    rest = batch.slice(max(0, n_done - start))
                    yield self._mended(rest)
                start = stop

    def _mended(self, batch: Any) -> Any:
        """Return a batch whose cells of text that are numbers with a comma have a point."""
        if not self._has_commas:
            return batch
        return _with_points(batch, self._raw)

    def _counted(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Give batches until a packed file has unpacked to more than it may."""
        size, n_bytes = size_of(self.path), 0
        for batch in batches:
            n_bytes += batch.nbytes
            if n_bytes > max(_MOST_UNPACKED, _RATIO * size) and self._is_packed:
                raise InputError(
                    f"{self.path} has {size} bytes and unpacks to more than {n_bytes}. Unpack it "
                    "yourself if it is really so large."
                )
            yield batch

    @property
    def _is_packed(self) -> bool:
        return self.path.suffix.lower() in (".gz", ".zst")

    def _open(self, types: dict[str, Any], columns: Sequence[str] | None) -> Any:
        from pyarrow import csv as arrow_csv

        return arrow_csv.open_csv(
            str(self.path) if isinstance(self.path, Path) else self.path.stream(),
            read_options=arrow_csv.ReadOptions(block_size=self._block, use_threads=False),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self._delimiter, newlines_in_values=True
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=types,
                include_columns=columns,
                strings_can_be_null=True,
                decimal_point=self._decimal,
            ),
        )

    def _read_start(self) -> bytes:
        with self._stream() as file:
            start: bytes = file.read(CSV_BLOCK)
        return start

    def _stream(self) -> Any:
        """Open the file, unpacked by its ending."""
        import pyarrow as pa

        return (
            pa.input_stream(str(self.path)) if isinstance(self.path, Path) else self.path.stream()
        )

    def _check_first_line(self, start: bytes) -> list[str]:
        """Find the separator and return the names of columns, unless the file is no table."""
        line = start.split(b"\n", 1)[0]
        if not line.strip():
            raise InputError(f"{self.path} is empty: expected a line with the names of columns.")
        if b"\0" in line:
            raise InputError(f"{self.path} is no CSV file but binary. Is its ending right?")
        if len(line) == CSV_BLOCK:
            raise InputError(f"{self.path} has a first line of more than {CSV_BLOCK - 1} bytes.")
        text = line.decode("utf-8-sig", errors="replace")
        self._delimiter = _separator(text, "\t" if ".tsv" in self.path.suffixes else ",")
        check_width(self.path, text.count(self._delimiter) + 1)
        return next(csv.reader([text], delimiter=self._delimiter), [])


def _separator(line: str, default: str) -> str:
    """Return what separates the names of columns; what stands in quotes does not count.

    Examples
    --------
    >>> _separator('a;"b,c,d";e', ",")
    ';'
    """
    outside = re.sub(r'"[^"]*"', "", line)
    counts = {mark: outside.count(mark) for mark in dict.fromkeys((default, *_SEPARATORS))}
    return max(counts, key=lambda mark: counts[mark]) if any(counts.values()) else default


def _rows(start: bytes, delimiter: str) -> Iterator[list[str]]:
    """Give the first rows of a file, that of the names too; none from where they are no CSV."""
    text = start.decode("utf-8-sig", errors="replace")
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    with suppress(csv.Error):  # what is wrong is told by reading
        yield from islice(rows, _ROWS_LOOKED_AT + 1)


def _like_thousands(start: bytes, delimiter: str) -> dict[str, list[str]]:
    r"""Return the cells of columns in which marks of decimals may separate thousands.

    Where other cells have both marks, points do: cells with points alone are told then.

    Examples
    --------
    >>> _like_thousands(b"a;b\n1.140;1.5\n879;1.140\n2.536;7\n9.100;2.000\n", ";")
    {'a': ['1.140', '2.536', '9.100']}
    >>> _like_thousands(b"a\n1.140,50\n2.536\n7\n", ";")
    {'a': ['2.536']}
    """
    found: dict[str, list[str]] = {}
    decimals: set[str] = set()
    pointed: set[str] = set()
    rows = _rows(start, delimiter)
    header = next(rows, [])
    for row in rows:
        for name, cell in zip(header, map(str.strip, row), strict=False):
            if _BOTH_MARKS.fullmatch(cell):
                pointed.add(name)
            elif _LIKE_THOUSANDS.fullmatch(cell):
                found.setdefault(name, []).append(cell)
            elif _NO_THOUSANDS.fullmatch(cell):
                decimals.add(name)
    told = {name: [c for c in found.get(name, []) if "," not in c] for name in pointed}
    told |= {
        name: cells
        for name, cells in found.items()
        if name not in decimals | pointed and len(cells) >= _FEWEST_LIKE
    }
    return {name: cells for name, cells in told.items() if cells}


def _is_conversion(error: Exception) -> bool:
    return "conversion error" in str(error)


def _joined(batches: Iterator[Any], width: int) -> Iterator[Any]:
    """Join small batches of wide tables, which cost the same as large ones."""
    waiting: list[Any] = []
    n_rows = n_bytes = 0
    for batch in batches:
        is_much = n_rows >= FEWEST_ROWS and n_rows * width >= _FEW_VALUES
        is_other = bool(waiting) and batch.schema != waiting[0].schema
        if is_much or is_other or n_bytes >= _MANY_BYTES:
            yield from _as_one(waiting)
            waiting, n_rows, n_bytes = [], 0, 0
        if batch.num_rows:
            waiting.append(batch)
            n_rows += batch.num_rows
            n_bytes += batch.nbytes
    yield from _as_one(waiting)


def _as_one(batches: list[Any]) -> Iterator[Any]:
    import pyarrow as pa

    if len(batches) > 1:
        yield from pa.Table.from_batches(batches).combine_chunks().to_batches()
    else:
        yield from batches


def _with_points(batch: Any, raw: Collection[str]) -> Any:
    """Return a batch in whose text 1.234,5 and 1234,5 have become 1234.5, but for some columns."""
    import pyarrow as pa

    for place, field in enumerate(batch.schema):
        if pa.types.is_string(field.type) and field.name not in raw:
            values = with_points(batch.column(place), COMMA_NUMBER)
            batch = batch.set_column(place, field.name, values)
    return batch


def _fit_float64(integers: Any) -> bool:
    """Whether no integer is too long, as ids are; those keep their type and are refused later."""
    import pyarrow as pa

    try:
        integers.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True
