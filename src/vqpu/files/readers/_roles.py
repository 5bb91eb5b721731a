"""Columns that are no features: labels, ids, and those that are carried into the result."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vqpu.base.columns import _arrow as arrow
from vqpu.errors import InputError
from vqpu.files.readers._samples import KeptColumn

_LONGEST_KEPT = 100_000  # bytes of a cell
_MOST_KEPT = 1 << 26  # bytes of a batch
_LOOKED_AT = 100  # labels of a batch, for examples


def is_positive(label: str, positive: Any, values: Any) -> NDArray[np.int8]:
    """Return 1 where labels have the positive value.

    Parameters
    ----------
    label : str
        Name of the column.
    positive : object
    values : pyarrow.Array
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    def equals(plain: Any) -> Any:
        return pc.equal(plain, pa.scalar(str(positive)).cast(plain.type))

    if pa.types.is_null(values.type):
        return np.zeros(len(values), np.int8)
    try:
        plain = arrow.plain_text(label, values) if arrow.is_text(values.type) else values
        found = pc.fill_null(arrow.mapped(plain, equals), False)
    except pa.ArrowException as error:
        raise InputError(
            f"The positive value {str(positive)!r} cannot be compared with column {label!r} of "
            f"type {values.type}."
        ) from error
    array: NDArray[np.int8] = found.to_numpy(zero_copy_only=False).astype(np.int8)
    return array


def nearly_positive(label: str, positive: Any, values: Any) -> tuple[int, list[Any]]:
    """Return how many labels are the positive value but for capitals or spaces, and examples.

    Parameters
    ----------
    label : str
        Name of the column.
    positive : object
    values : pyarrow.Array
    """
    import pyarrow.compute as pc

    if not arrow.is_text(values.type):
        return 0, []
    wanted = str(positive)

    def is_near(plain: Any) -> Any:
        folded = pc.utf8_lower(pc.utf8_trim_whitespace(plain))
        return pc.and_(pc.equal(folded, wanted.strip().lower()), pc.not_equal(plain, wanted))

    plain = arrow.plain_text(label, values)
    found = plain.filter(pc.fill_null(arrow.mapped(plain, is_near), False))
    return len(found), found[:_LOOKED_AT].to_pylist()


def some_words(values: Any, most: int = 6) -> list[str]:
    """Return a few of the different labels as text, "" for none.

    Parameters
    ----------
    values : pyarrow.Array
    most : int
    """
    import pyarrow.compute as pc

    found = pc.unique(values)[:most].to_pylist()
    return [arrow.plain_word(value) or "" for value in found]


def ids_of(name: str, values: Any) -> KeptColumn:
    """Return the ids of rows; a missing one is None.

    Parameters
    ----------
    name : str
        Of the column.
    values : pyarrow.Array
        Text or whole numbers, dates too.
    """
    import pyarrow as pa

    values = _whole(values)
    kind = arrow.value_type(values.type)
    if not (arrow.is_text(kind) or pa.types.is_integer(kind) or arrow.is_date(kind)):
        raise InputError(
            f"The id column {name!r} is of type {values.type}. Expected text or whole numbers."
        )
    return kept_column(name, values, arrow.LONGEST_TEXT)


def _whole(values: Any) -> Any:
    """Return floats that are whole numbers, as workbooks hold them, as text: texts may follow."""
    import pyarrow as pa

    if not pa.types.is_floating(values.type):
        return values
    try:
        return values.cast(pa.int64()).cast(pa.large_string())
    except pa.ArrowInvalid:  # some are not whole, or too large to tell
        return values


def kept_column(name: str, values: Any, longest: int = _LONGEST_KEPT) -> KeptColumn:
    """Return a column's values as plain ones, with their type.

    Parameters
    ----------
    name : str
    values : pyarrow.Array
    longest : int
        Bytes of a text.
    """
    import pyarrow as pa

    kind = arrow.value_type(values.type)
    if arrow.is_text(kind):
        _check_lengths(name, values, longest)
        return KeptColumn(arrow.plain_text(name, values).to_pylist(), pa.string())
    if pa.types.is_nested(kind) or pa.types.is_binary(kind):
        raise InputError(
            f"Column {name!r} is of type {values.type} and cannot be kept: only plain values can."
        )
    if pa.types.is_dictionary(values.type):
        values = values.cast(kind)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind):
        return KeptColumn(values.to_pylist(), kind)
    if pa.types.is_floating(kind):
        plain = values.cast(pa.float64()).to_pylist()
        return KeptColumn(
            [None if v is None or not np.isfinite(v) else v for v in plain], pa.float64()
        )
    return KeptColumn(values.cast(pa.string()).to_pylist(), kind)


def _check_lengths(name: str, values: Any, longest: int) -> None:
    """Refuse long texts before they are copied: a dictionary may repeat one of them."""
    import pyarrow.compute as pc

    texts = arrow.plain_text(name, values)
    lengths = arrow.mapped(texts, pc.binary_length)
    largest, total = pc.max(lengths).as_py() or 0, pc.sum(lengths).as_py() or 0
    if largest > longest or total > _MOST_KEPT:
        raise InputError(
            f"Column {name!r} holds text of {largest} bytes, too long to name or describe a row. "
            "Choose another column."
        )
