"""Cells of formats without types, as record batches."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date, datetime, time
from typing import Any

LARGEST_EXACT = 1 << 53


def batch_of(columns: dict[str, list[Any]]) -> Any:
    """Return a record batch of columns of Python values, each of one type or of text.

    Parameters
    ----------
    columns : dict of list
        Plain values, dates, lists or None; what has no common type becomes text.
    """
    import pyarrow as pa

    arrays = [_array(values) for values in columns.values()]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def without_nulls(schema: Any) -> Any:
    """Return a schema in which columns without a value so far are text: values may follow."""
    import pyarrow as pa

    return pa.schema(
        [(f.name, pa.string() if pa.types.is_null(f.type) else f.type) for f in schema]
    )


def _array(values: list[Any]) -> Any:
    import pyarrow as pa

    kinds = {type(value) for value in values if value is not None}
    if not kinds:
        return pa.nulls(len(values))
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    if kinds <= {int, float}:
        return _numbers(values)
    if kinds <= {date, datetime}:
        return pa.array([_moment(value) for value in values], pa.timestamp("us"))
    if kinds == {time}:
        return pa.array(values, pa.time64("us"))
    if kinds == {list} and all(_is_numeric(value) for value in values if value is not None):
        return pa.array([_floats(value) for value in values], pa.list_(pa.float64()))
    if kinds == {dict}:
        return pa.array([None if value is None else {"": ""} for value in values])
    return pa.array([_text(value) for value in values], pa.large_string())


def _numbers(values: Sequence[Any]) -> Any:
    import pyarrow as pa

    are_ids = any(isinstance(v, int) and abs(v) > LARGEST_EXACT for v in values if v is not None)
    if are_ids and all(v is None or (isinstance(v, int) and abs(v) < 1 << 63) for v in values):
        return pa.array(values, pa.int64())
    return pa.array(_floats(values), pa.float64())


def _floats(values: Sequence[Any] | None) -> Any:
    return None if values is None else [None if v is None else _float(v) for v in values]


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _is_numeric(values: list[Any]) -> bool:
    return all(
        v is None or (isinstance(v, (int, float)) and not isinstance(v, bool)) for v in values
    )


def _moment(value: Any) -> Any:
    if value is None or isinstance(value, datetime):
        return value
    return datetime(value.year, value.month, value.day)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    return json.dumps(value, default=str)
