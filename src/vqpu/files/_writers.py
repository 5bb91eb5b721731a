"""Predictions as files: CSV, Parquet or JSON lines by their ending, whole or not at all."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np

from vqpu.errors import InputError, MissingDependencyError, UsageError
from vqpu.files import KeptColumn
from vqpu.files._scoring import COLUMNS, Predictions
from vqpu.files.readers._stores import local_path
from vqpu.persistence._targets import check_target, writing

ENDINGS = (".csv", ".parquet", ".jsonl")


class Writer(Protocol):
    """Takes predictions in order; ``close`` writes what is due at the end of the file."""

    def write(self, predictions: Predictions) -> None:
        """Append some rows."""

    def close(self) -> None:
        """Finish the file's contents; the file itself stays open."""


_MARKS = (b"score", b"probability")


def check_output(path: str | Path, inputs: Iterable[str | Path], model_path: str | Path) -> None:
    """Refuse, before any work, what cannot be written to, an input, and the model's directory."""
    path = Path(path)
    for given in map(local_path, inputs):
        if path.exists() and given.exists() and path.samefile(given):
            raise UsageError(
                f"{path} is the input: predictions would replace it. Choose another --out."
            )
    check_target(path, ENDINGS, marks=_MARKS, model_path=model_path)
    if path.suffix.lower() == ".parquet":
        _require_pyarrow()


def write_predictions(
    path: str | Path,
    name_column: str,
    predictions: Iterable[Predictions],
    keep: Sequence[str] = (),
) -> int:
    """Write a stream of predictions; nothing is left behind if the stream fails.

    Parameters
    ----------
    path : path
        Its ending says the format.
    name_column : str
        Header of the names: "path" or "id".
    predictions : iterable of Predictions
    keep : sequence of str
        Names of the columns that they carry along.

    Returns
    -------
    int
        Number of rows.
    """
    path, n_rows = Path(path), 0
    with writing(path) as file:
        writer = _make_writer(path, file, headers(name_column, keep))
        try:
            for part in predictions:
                writer.write(part)
                n_rows += len(part)
        except BaseException:
            with suppress(Exception):  # pyarrow's writer would complain when it is thrown away
                writer.close()
            raise
        writer.close()
    return n_rows


def headers(name_column: str, keep: Sequence[str]) -> list[str]:
    """Return the headers of a result; a kept column whose name is taken is that of the input.

    Parameters
    ----------
    name_column : str
    keep : sequence of str
    """
    own = [name_column, *COLUMNS]
    return [*own, *(f"input_{name}" if name in own else name for name in keep)]


def _make_writer(path: Path, file: BinaryIO, columns: list[str]) -> Writer:
    ending = path.suffix.lower()
    if ending == ".parquet":
        return _ParquetRows(file, columns)
    return _CsvRows(file, columns) if ending == ".csv" else _JsonRows(file, columns)


class _CsvRows:
    def __init__(self, file: BinaryIO, columns: list[str]) -> None:
        self._text = io.TextIOWrapper(file, "utf-8", newline="")
        self._rows = csv.writer(self._text, lineterminator="\n")
        self._rows.writerow(columns)

    def write(self, predictions: Predictions) -> None:
        is_plain = predictions.are_numbered and not predictions.n_broken and not predictions.kept
        if is_plain and predictions.labels.dtype.kind in "iu" and _has_pyarrow():
            self._write_numbers(predictions)
            return
        try:
            self._rows.writerows(predictions.rows())
        except UnicodeEncodeError as error:
            raise _no_unicode(predictions.names) from error

    def _write_numbers(self, predictions: Predictions) -> None:
        """Write rows without text by pyarrow: the same digits, three times as fast."""
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        columns = (
            _listed(predictions.names),
            predictions.labels,
            predictions.scores,
            predictions.probabilities,
        )
        arrays = [*(pa.array(column) for column in columns), pa.nulls(len(predictions), pa.int8())]
        batch = pa.record_batch(arrays, names=list("nlspr"))
        self._text.flush()
        arrow_csv.write_csv(batch, self._text.buffer, arrow_csv.WriteOptions(include_header=False))

    def close(self) -> None:
        self._text.flush()
        self._text.detach()


class _JsonRows:
    def __init__(self, file: BinaryIO, columns: list[str]) -> None:
        self._file, self._columns = file, columns

    def write(self, predictions: Predictions) -> None:
        for row in predictions.rows():
            line = json.dumps(dict(zip(self._columns, row, strict=True)), allow_nan=False)
            self._file.write(line.encode() + b"\n")

    def close(self) -> None:
        pass


class _ParquetRows:
    """The first rows decide on the types of names and labels."""

    def __init__(self, file: BinaryIO, columns: list[str]) -> None:
        self._file, self._columns = file, columns
        self._writer: Any = None

    def write(self, predictions: Predictions) -> None:
        if len(predictions):
            self._write(predictions)

    def _write(self, predictions: Predictions) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        try:
            arrays = arrow_columns(predictions)
        except UnicodeEncodeError as error:
            raise _no_unicode(predictions.names) from error
        table = pa.table(dict(zip(self._columns, arrays, strict=False)))
        if self._writer is None:
            # Scores hardly repeat: a dictionary of them is work for nothing.
            self._writer = parquet.ParquetWriter(
                self._file, table.schema, use_dictionary=[self._columns[1]]
            )
        self._writer.write_table(table.cast(self._writer.schema))

    def close(self) -> None:
        if self._writer is None:  # an empty shard: the columns are there all the same
            self._write(Predictions([], np.empty(0, np.int64), np.empty(0), np.empty(0)))
        self._writer.close()


def arrow_columns(predictions: Predictions) -> list[Any]:
    """Return names, labels, scores, probabilities, reasons and kept columns for Arrow.

    Parameters
    ----------
    predictions : Predictions
    """
    import pyarrow as pa

    ids = predictions.kept.get("")
    if ids is not None:
        names = _typed(ids)
    else:
        kind = pa.int64() if predictions.are_numbered else pa.string()
        names = pa.array(_listed(predictions.names), kind)
    unjudged = np.zeros(len(predictions), bool)
    unjudged[list(predictions.reasons)] = True
    numbers = [
        pa.array(part, mask=unjudged)
        for part in (predictions.labels, predictions.scores, predictions.probabilities)
    ]
    reasons = pa.array(
        [predictions.reasons.get(place) for place in range(len(predictions))], pa.string()
    )
    return [names, *numbers, reasons, *map(_typed, predictions.kept_columns().values())]


def _typed(column: KeptColumn) -> Any:
    """Return a kept column in the type that it has in the input."""
    import pyarrow as pa

    types = pa.types
    is_plain = any(
        check(column.type)
        for check in (types.is_boolean, types.is_integer, types.is_floating, types.is_string)
    )
    if is_plain or types.is_null(column.type):
        return pa.array(column.values, column.type)
    return pa.array(column.values, pa.string()).cast(column.type)


def _listed(names: Sequence[Any]) -> Any:
    """Return names as Arrow takes them; row numbers never become Python's."""
    if isinstance(names, range):
        return np.arange(names.start, names.stop, names.step)
    return list(names)


def _no_unicode(names: Sequence[Any]) -> InputError:
    shown = next((name for name in names if "\\udc" in ascii(name)), names[0])
    return InputError(
        f"A sample has the name {shown!a:.200}, which is not Unicode. Rename the file or "
        "write .jsonl."
    )


def _has_pyarrow() -> bool:
    return find_spec("pyarrow") is not None


def _require_pyarrow() -> None:
    if not _has_pyarrow():
        raise MissingDependencyError("Writing Parquet needs pyarrow: pip install 'vqpu[tables]'.")
