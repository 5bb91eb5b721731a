"""Applying a plan: record batches in, a float matrix out; odd cells are counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vqpu.base._finite import all_finite
from vqpu.base.columns import _arrow as arrow
from vqpu.base.columns._dates import DAY_PARTS, date_parts, instants, is_swapped_date
from vqpu.base.columns._notes import Notes
from vqpu.base.columns._plan import CLOCK_PATTERN, COMMA_PATTERN, Column, ColumnPlan
from vqpu.base.columns._text import LONGEST_READ, text_features
from vqpu.base.columns._wishes import check_columns
from vqpu.errors import InputError

Floats = NDArray[np.float64]

_LOOKED_AT = 200  # unreadable cells of a batch, for different examples


def encode_batch(plan: ColumnPlan, batch: Any, notes: Notes) -> Floats:
    """Encode a record batch; columns are found by name, others are passed over.

    Parameters
    ----------
    plan : ColumnPlan
    batch : pyarrow.RecordBatch
    notes : Notes
        Takes the counts of cells that are not as in training.

    Returns
    -------
    ndarray of float64, shape (n_rows, plan.n_features)
        Column after column in memory where all are float64 already.
    """
    check_columns(batch.schema.names, plan.names, plan.names)
    plain = _plain_names(plan, batch.schema)
    matrix = number_matrix(batch, plain)
    if matrix is None or (not all_finite(matrix) and np.isinf(matrix).any()):
        return _each(plan, batch, notes, {})
    if len(plain) == len(plan.columns):
        return matrix
    return _each(plan, batch, notes, _columns_of(plain, matrix))


def _columns_of(names: list[str], matrix: Floats) -> dict[str, Floats]:
    return {name: matrix[:, place] for place, name in enumerate(names)}


def _each(plan: ColumnPlan, batch: Any, notes: Notes, ready: dict[str, Floats]) -> Floats:
    X = np.empty((batch.num_rows, plan.n_features))
    start = 0
    for column in plan.columns:
        stop = start + column.n_features
        if column.name in ready:
            X[:, start] = ready[column.name]
        else:
            values = batch.column(column.name)
            encoded = _ENCODERS[column.kind](column, values, notes)
            X[:, start:stop] = encoded.reshape(batch.num_rows, -1)
        start = stop
    return X


def _plain_names(plan: ColumnPlan, schema: Any) -> list[str]:
    """Return the numbers that come as such, which one call makes a matrix of."""
    names = {c.name for c in plan.columns if c.kind == "number" and not c.pattern}
    return [
        name for name in plan.names if name in names and is_matrix_type(schema.field(name).type)
    ]


def is_matrix_type(arrow_type: Any) -> bool:
    """Whether Arrow puts columns of a type into a matrix of floats by itself."""
    import pyarrow.types as types

    return bool(
        types.is_float64(arrow_type) or types.is_float32(arrow_type) or _is_small(arrow_type)
    )


def _is_small(arrow_type: Any) -> bool:
    """Whether integers are of a width that every float64 matrix takes."""
    import pyarrow.types as types

    return bool(
        types.is_signed_integer(arrow_type)
        or (types.is_unsigned_integer(arrow_type) and arrow_type.bit_width < 64)
    )


def number_matrix(batch: Any, names: list[str]) -> Floats | None:
    """Return columns of plain numbers as one matrix, null as NaN; None if there are none."""
    if not names or not batch.num_rows:
        return None
    tensor = batch.select(names).to_tensor(null_to_nan=True, row_major=False)
    return np.asarray(tensor.to_numpy()).astype(np.float64, copy=False)


def _number(column: Column, values: Any, notes: Notes) -> Floats:
    if arrow.is_text(values.type):
        texts = arrow.plain_text(column.name, values)
        numbers = _PARSERS[column.pattern](texts)
        if column.pattern == COMMA_PATTERN:
            _note_thousands(column, texts, notes)
        _note_lost(column, values, numbers, notes)
    elif _is_numeric(values.type):
        numbers = arrow.to_float(values)
    else:
        raise _other_type(column, values)
    return _without_infinity(column.name, numbers, notes)


def _note_thousands(column: Column, texts: Any, notes: Notes) -> None:
    """Count cells such as 2.572, which beside decimal commas may be whole numbers."""
    places = np.flatnonzero(arrow.fitting(texts, arrow.LIKE_THOUSANDS))
    examples = [_short(texts[int(place)]) for place in places[:3]]
    notes.add(column.name, "thousands", len(places), examples)


_PARSERS: dict[str, Callable[[Any], Floats]] = {
    "": arrow.numbers_or_sure_commas,
    CLOCK_PATTERN: arrow.hours_in_text,
    COMMA_PATTERN: arrow.numbers_with_commas,
}


def _is_numeric(arrow_type: Any) -> bool:
    import pyarrow.types as types

    return (
        arrow.is_number(arrow_type)
        or arrow.is_boolean(arrow_type)
        or arrow.is_span(arrow_type)
        or types.is_null(arrow_type)
    )


def _without_infinity(name: str, numbers: Floats, notes: Notes) -> Floats:
    infinite = np.isinf(numbers)
    if not infinite.any():
        return numbers
    notes.add(name, "infinite", int(infinite.sum()), [])
    return np.where(infinite, np.nan, numbers)


def _note_lost(
    column: Column,
    values: Any,
    found: Floats,
    notes: Notes,
    is_lost: NDArray[np.bool_] | None = None,
) -> None:
    """Count cells that have a value which could not be read; None: those without one in found."""
    is_given = ~arrow.missing_mask(values)
    unread = np.isnan(found)
    lost = np.flatnonzero((unread if is_lost is None else is_lost) & is_given)
    texts = [_short(values[int(place)]) for place in lost[:_LOOKED_AT]]
    examples = list(dict.fromkeys(texts))
    notes.add_lost(column, len(lost), examples, is_any_read=bool((is_given & ~unread).any()))


def _short(scalar: Any) -> str:
    try:
        return str(scalar.as_py())[:50]
    except (OverflowError, ValueError):  # a moment that Python has no date for
        return str(scalar.type)


def _boolean(column: Column, values: Any, notes: Notes) -> Floats:
    if arrow.is_text(values.type):
        found = arrow.booleans_in_text(arrow.plain_text(column.name, values))
    elif _is_numeric(values.type):
        found = arrow.to_float(values)
        found = np.where((found == 0) | (found == 1), found, np.nan)
    else:
        raise _other_type(column, values)
    _note_lost(column, values, found, notes)
    return found


def _codes(column: Column, values: Any, notes: Notes) -> Floats:
    import pyarrow as pa
    import pyarrow.compute as pc

    if arrow.is_list(values.type) or pa.types.is_nested(values.type):
        raise _other_type(column, values)
    texts = arrow.as_text(column.name, values)
    known = pa.array(column.values, pa.large_string())
    # Null is looked for as any value would be, and is none of them.
    found = arrow.mapped(texts, lambda plain: pc.index_in(plain, value_set=known))
    codes = np.asarray(found.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    missing = arrow.missing_mask(texts)
    unseen = np.isnan(codes) & ~missing
    if unseen.any():
        examples = [_short(texts[int(place)]) for place in np.flatnonzero(unseen)[:3]]
        notes.add(column.name, "unseen", int(unseen.sum()), examples)
    codes = np.where(unseen, float(len(column.values)), codes)
    return np.where(missing, np.nan, codes)


def _indicators(column: Column, values: Any, notes: Notes) -> Floats:
    codes = _codes(column, values, notes)
    return np.asarray(codes[:, None] == np.arange(len(column.values)), dtype=np.float64)


def _date(column: Column, values: Any, notes: Notes) -> Floats:
    import pyarrow.types as types

    is_null = types.is_null(values.type)
    if not (is_null or arrow.is_date(values.type) or arrow.is_text(values.type)):
        raise _other_type(column, values)
    if is_null:
        return np.full((len(values), column.n_features), np.nan)
    texts = arrow.plain_text(column.name, values) if arrow.is_text(values.type) else values
    parts = date_parts(instants(texts, column.pattern), column.has_time)
    is_lost = np.isnan(parts[:, 0])
    if arrow.is_text(values.type):
        is_lost &= ~_note_swapped(column, texts, parts, notes)
    _note_lost(column, values, parts[:, 0], notes, is_lost)
    return parts


def _note_swapped(column: Column, texts: Any, parts: Floats, notes: Notes) -> NDArray[np.bool_]:
    """Count and return the dates that make sense only if day and month change places."""
    is_swapped = np.isnan(parts[:, 0]) & ~arrow.missing_mask(texts)
    if is_swapped.any():
        is_swapped &= is_swapped_date(texts, column.pattern)
    places = np.flatnonzero(is_swapped)
    examples = [_short(texts[int(place)]) for place in places[:3]]
    n_as_trained = int((parts[:, DAY_PARTS.index("day")] > 12).sum())
    notes.add_swapped(column.name, len(places), n_as_trained, examples)
    return is_swapped


def _text(column: Column, values: Any, notes: Notes) -> Floats:  # noqa: ARG001
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_nested(values.type):
        raise _other_type(column, values)
    assert column.components is not None
    texts = arrow.as_text(column.name, values)
    if not pa.types.is_dictionary(texts.type):
        texts = texts.dictionary_encode()
    words = pc.utf8_slice_codeunits(texts.dictionary, 0, LONGEST_READ).to_pylist()
    features = text_features([word or "" for word in words], column.components)
    places = texts.indices.cast(pa.float64()).to_numpy(zero_copy_only=False)
    missing = np.isnan(places)
    found = np.full((len(values), column.n_features), np.nan)
    found[~missing] = features[places[~missing].astype(np.int64)]
    return found


def _vector(column: Column, values: Any, notes: Notes) -> Floats:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = np.full((len(values), column.width), np.nan)
    if pa.types.is_null(values.type):
        return found
    if not arrow.is_list(values.type):
        raise _other_type(column, values)
    lengths = pc.list_value_length(values)
    fits = pc.fill_null(pc.equal(lengths, column.width), False)
    fitting = fits.to_numpy(zero_copy_only=False)
    n_other = len(values) - int(fitting.sum()) - values.null_count
    notes.add_lost(column, n_other, [], is_any_read=bool(fitting.any()))
    numbers = arrow.to_float(values.filter(fits).flatten())
    found[fitting] = numbers.reshape(-1, column.width)
    return _without_infinity(column.name, found, notes)


def _other_type(column: Column, values: Any) -> InputError:
    return InputError(
        f"Column {column.name!r} is of type {values.type}, but was a {column.kind} in training. "
        "Convert it first."
    )


_ENCODERS: dict[str, Callable[[Column, Any, Notes], Floats]] = {
    "number": _number,
    "boolean": _boolean,
    "category": _codes,
    "date": _date,
    "text": _text,
    "vector": _vector,
    "indicators": _indicators,
}
