"""Excel workbooks: the first sheet, its first row the names of columns."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from vqpu.errors import InputError, MissingDependencyError
from vqpu.files.readers._cells import batch_of, without_nulls
from vqpu.files.readers._tablefiles import check_width

_MOST_UNPACKED = 1 << 28
_MOST_STRINGS = 1 << 26
_MOST_EMPTY = 1 << 20


class ExcelFile:
    """The first sheet of an .xlsx workbook.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        _require_openpyxl()
        _check_archive(path)
        header = next(self._rows(), ())
        self._names = ["" if name is None else str(name) for name in header]
        check_width(path, len(self._names))
        if not any(self._names):
            raise InputError(f"The first sheet of {path} has no row with the names of columns.")
        first = next(self.batches(self._names, 1000), None)
        if first is None:
            raise InputError(f"{path} has no rows.")
        self.schema = without_nulls(first.schema)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        """Yield record batches of the given columns with at most ``rows`` rows."""
        places = [self._names.index(name) for name in columns]
        block: list[tuple[Any, ...]] = []
        lines = self._rows()
        next(lines, None)
        for row in lines:
            block.append(row)
            if len(block) == rows:
                yield self._batch(columns, places, block)
                block = []
        if block:
            yield self._batch(columns, places, block)

    def _batch(self, columns: Sequence[str], places: list[int], rows: list[tuple[Any, ...]]) -> Any:
        cells = [[row[place] if place < len(row) else None for row in rows] for place in places]
        return batch_of(dict(zip(columns, cells, strict=True)))

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        """Give the rows of the sheet but for empty ones at its end."""
        import openpyxl

        book = openpyxl.load_workbook(self.path, read_only=True, data_only=True)
        try:
            sheet = book.worksheets[0]
            sheet.reset_dimensions()  # what the file says of its size may be wrong
            n_empty = 0
            for row in sheet.iter_rows(values_only=True):
                if all(cell is None for cell in row):
                    n_empty += 1
                    if n_empty > _MOST_EMPTY:
                        raise InputError(f"{self.path} has more than {n_empty - 1} empty rows.")
                    continue
                yield from [()] * n_empty
                n_empty = 0
                yield row
        finally:
            book.close()


def _require_openpyxl() -> None:
    try:
        import openpyxl  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            "Reading .xlsx needs openpyxl: pip install 'vqpu[excel]'."
        ) from error


def _check_archive(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        sizes = {info.filename: info.file_size for info in archive.infolist()}
    strings = sizes.get("xl/sharedStrings.xml", 0)
    if sum(sizes.values()) > _MOST_UNPACKED or strings > _MOST_STRINGS:
        raise InputError(
            f"{path} unpacks to {sum(sizes.values())} bytes, too many for a workbook. Save it as "
            ".csv or .parquet."
        )
