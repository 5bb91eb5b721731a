"""Predictions of a part as an Arrow file, and back, without the loss of a bit or a type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vqpu.errors import InputError
from vqpu.files._scoring import Predictions
from vqpu.files._writers import arrow_columns
from vqpu.files.readers._roles import kept_column
from vqpu.persistence._targets import writing

_HAS_IDS, _HAS_Y = b"ids", b"y"
_N_COLUMNS = 5  # name, label, score, probability, reason


def write_part(path: Path, predictions: Iterable[Predictions]) -> None:
    """Write all that predictions hold, a record batch a chunk.

    Parameters
    ----------
    path : Path
    predictions : iterable of Predictions
    """
    import pyarrow as pa

    with writing(path) as file:
        writer = None
        for part in predictions:
            if not len(part):
                continue
            try:
                batch = _batch(part)
            except UnicodeEncodeError as error:
                raise InputError(
                    f"{error.object!a:.200} is not Unicode, which names must be for an "
                    "engine: rename the file."
                ) from error
            if writer is None:
                writer = pa.ipc.new_file(file, batch.schema)
            writer.write_batch(batch)
        if writer is not None:
            writer.close()


def _batch(part: Predictions) -> Any:
    import pyarrow as pa

    columns = [pa.array(column) for column in arrow_columns(part)]
    flags = {_HAS_IDS: b"1" if "" in part.kept else b"", _HAS_Y: b""}
    if part.y is not None:
        columns.append(pa.array(part.y))
        flags[_HAS_Y] = b"1"
    schema = pa.schema(
        [pa.field(str(place), column.type) for place, column in enumerate(columns)], flags
    )
    return pa.record_batch(columns, schema=schema)


def read_part(path: Path, keep: Sequence[str]) -> Iterator[Predictions]:
    """Give the predictions again, chunk by chunk.

    Parameters
    ----------
    path : Path
    keep : sequence of str
        Names of the columns that they carry along.
    """
    import pyarrow as pa

    if not path.stat().st_size:  # a part without rows
        return
    with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
        for number in range(reader.num_record_batches):
            yield _predictions(reader.get_batch(number), keep)


def _predictions(batch: Any, keep: Sequence[str]) -> Predictions:
    flags = batch.schema.metadata
    names, labels, scores, probabilities, reasons = batch.columns[:_N_COLUMNS]
    kept = {
        name: kept_column(name, column)
        for name, column in zip(keep, batch.columns[_N_COLUMNS:], strict=False)
    }
    if flags[_HAS_IDS]:
        ids = kept_column("", names)
        kept = {"": ids, **kept}
    found = {
        place: reason for place, reason in enumerate(reasons.to_pylist()) if reason is not None
    }
    return Predictions(
        kept[""].values if "" in kept else _plain_names(names),
        _labels(labels),
        scores.to_numpy(zero_copy_only=False),
        probabilities.to_numpy(zero_copy_only=False),
        batch.columns[-1].to_numpy() if flags[_HAS_Y] else None,
        found,
        kept,
    )


def _plain_names(names: Any) -> Sequence[Any]:
    """Return paths, or row numbers as the range that they are."""
    import pyarrow as pa

    if not pa.types.is_integer(names.type):
        listed: list[str] = names.to_pylist()
        return listed
    first = names[0].as_py()
    return range(first, first + len(names))


def _labels(labels: Any) -> Any:
    """Return labels; where there is none any of them stands, of no meaning beside a reason."""
    import pyarrow as pa

    known = labels.drop_null()
    if len(labels) and not len(known):
        is_text = pa.types.is_string(labels.type)
        return np.zeros(len(labels), "U1" if is_text else labels.type.to_pandas_dtype())
    values = (labels.fill_null(known[0]) if labels.null_count else labels).to_pylist()
    return np.array(values)
