"""Arrow arrays of any type as numbers, text or instants; what cannot be read is null."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vqpu.errors import InputError, MissingDependencyError

LONGEST_TEXT = 1000  # bytes of a category or an id
_MOST_SHARED = 1 << 26  # bytes that views of text may become
NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"
# With a comma for a point, and points for thousands; of the second kind the comma is no mark of
# thousands; of the third kind the points may be.
COMMA_NUMBER = r"^\s*[-+]?(\d*|\d{1,3}(\.\d{3})+),\d+([eE][-+]?\d+)?\s*$"
SURE_COMMA = (
    r"^\s*[-+]?(0?,\d+|\d*,(\d{1,2}|\d{4,})|0\d*,\d+|\d{4,},\d+|\d{1,3}(\.\d{3})+,\d+"
    r"|\d*,\d+[eE][-+]?\d+)\s*$"
)
LIKE_THOUSANDS = r"^\s*[-+]?[1-9]\d{0,2}(\.\d{3})+\s*$"
CLOCK = r"^\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?$"
TRUE, FALSE = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")


def require_pyarrow(what: str = "Reading tables") -> None:
    """Raise in one sentence if pyarrow is not installed."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise MissingDependencyError(
            f"{what} needs pyarrow: pip install 'vqpu[tables]'."
        ) from error


def first_few(items: Sequence[object], limit: int = 5) -> str:
    """Return the first items as text, with the number of those not shown.

    Examples
    --------
    >>> first_few(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    shown = ", ".join(repr(item) for item in items[:limit])
    more = len(items) - limit
    return f"{shown} and {more} more" if more > 0 else shown


def mapped(values: Any, function: Callable[[Any], Any]) -> Any:
    """Apply an element-wise Arrow function, once a distinct value if the array is a dictionary.

    A dictionary is never expanded: a small file may repeat one huge string a million times.
    """
    import pyarrow.types as types

    if types.is_dictionary(values.type):
        return function(values.dictionary).take(values.indices)
    return function(values)


def value_type(arrow_type: Any) -> Any:
    """Return the type of the values, that of a dictionary's entries too."""
    import pyarrow.types as types

    return arrow_type.value_type if types.is_dictionary(arrow_type) else arrow_type


def is_dictionary(arrow_type: Any) -> bool:
    """Whether values stand in a dictionary, as the categories of a data frame do."""
    import pyarrow.types as types

    return bool(types.is_dictionary(arrow_type))


def is_text(arrow_type: Any) -> bool:
    """Whether values are text, plain or in a dictionary."""
    import pyarrow.types as types

    plain = value_type(arrow_type)
    return bool(
        types.is_string(plain) or types.is_large_string(plain) or types.is_string_view(plain)
    )


def is_number(arrow_type: Any) -> bool:
    """Whether values are numbers of any width, decimals too."""
    import pyarrow.types as types

    plain = value_type(arrow_type)
    return bool(types.is_integer(plain) or types.is_floating(plain) or types.is_decimal(plain))


def is_list(arrow_type: Any) -> bool:
    """Whether values are lists of numbers."""
    import pyarrow.types as types

    is_any = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    return any(check(arrow_type) for check in is_any) and is_number(arrow_type.value_type)


def is_date(arrow_type: Any) -> bool:
    """Whether values are days or instants."""
    import pyarrow.types as types

    plain = value_type(arrow_type)
    return bool(types.is_date(plain) or types.is_timestamp(plain))


def is_span(arrow_type: Any) -> bool:
    """Whether values are times of the day or durations."""
    import pyarrow.types as types

    return bool(types.is_time(arrow_type) or types.is_duration(arrow_type))


def is_boolean(arrow_type: Any) -> bool:
    """Whether values are booleans."""
    import pyarrow.types as types

    return bool(types.is_boolean(value_type(arrow_type)))


def missing_mask(values: Any) -> NDArray[np.bool_]:
    """Return where values are null, or NaN among floats."""
    import pyarrow.compute as pc

    if is_text(values.type) and not is_dictionary(values.type) and not values.null_count:
        return np.zeros(len(values), dtype=bool)
    missing = mapped(values, lambda plain: pc.is_null(plain, nan_is_null=True))
    mask: NDArray[np.bool_] = pc.fill_null(missing, True).to_numpy(zero_copy_only=False)
    return mask


def plain_text(name: str, values: Any) -> Any:
    """Return a column of text as large_string or a dictionary of it.

    Views may share one huge text: their lengths are looked at before anything is copied.
    """
    import pyarrow as pa

    if pa.types.is_dictionary(values.type):
        return pa.DictionaryArray.from_arrays(values.indices, plain_text(name, values.dictionary))
    if pa.types.is_string_view(values.type):  # 16 bytes a view, the length in the first four
        views = np.frombuffer(values.buffers()[1], np.int32).reshape(-1, 4)
        lengths = views[values.offset : values.offset + len(values), 0].astype(np.int64)
        if lengths.sum() > _MOST_SHARED:
            raise InputError(
                f"Column {name!r} holds {lengths.sum()} bytes of text in {len(values)} rows, more "
                f"than {_MOST_SHARED} at once. Leave it out with --drop (in Python drop=[...])."
            )
    return values.cast(pa.large_string())


def as_text(name: str, values: Any) -> Any:
    """Return values of any plain type as text: whole numbers without a point, true and false."""
    import pyarrow as pa

    if is_text(values.type):
        return plain_text(name, values)
    if pa.types.is_null(values.type):
        return values.cast(pa.large_string())
    if not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    texts = [plain_word(value) for value in values.dictionary.to_pylist()]
    return pa.DictionaryArray.from_arrays(values.indices, pa.array(texts, pa.large_string()))


def first_letters(texts: Any, most: int) -> list[str | None]:
    """Return the beginnings of texts, plain or in a dictionary, None where there is none."""
    import pyarrow.compute as pc

    cut: list[str | None] = mapped(
        texts, lambda plain: pc.utf8_slice_codeunits(plain, 0, most)
    ).to_pylist()
    return cut


def plain_word(value: Any) -> str | None:
    """Return a value as text, None for a missing one."""
    if value is None or value != value:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    return str(value)


def to_float(values: Any) -> NDArray[np.float64]:
    """Return numbers, booleans, times (hours) and durations (days) as float64, null as NaN."""
    import pyarrow as pa

    kind = value_type(values.type)
    if is_span(kind):
        ticks = values.cast(pa.int32() if kind.bit_width == 32 else pa.int64())
        per_second = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}[kind.unit]
        scale = per_second * (3600 if pa.types.is_time(kind) else 86400)
        return to_float(ticks) / scale

    def cast(plain: Any) -> Any:
        narrow = plain.cast(pa.int8()) if pa.types.is_boolean(plain.type) else plain
        return narrow.cast(pa.float64(), safe=False)

    array: NDArray[np.float64] = mapped(values, cast).to_numpy(zero_copy_only=False)
    return array


def numbers_in_text(values: Any) -> NDArray[np.float64]:
    """Return text as float64; NaN where it is no number or null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def parse(plain: Any) -> Any:
        fits = pc.match_substring_regex(plain, NUMBER)
        numbers = pc.if_else(fits, plain, pa.scalar(None, plain.type))
        return pc.utf8_trim_whitespace(numbers).cast(pa.float64())

    array: NDArray[np.float64] = mapped(values, parse).to_numpy(zero_copy_only=False)
    return array


def numbers_with_commas(values: Any) -> NDArray[np.float64]:
    """Return text such as 1.140,5 and 2.5 as float64, NaN where it is none."""
    return numbers_in_text(with_points(values, COMMA_NUMBER))


def numbers_or_sure_commas(values: Any) -> NDArray[np.float64]:
    """Return text such as 1.5, and 1,5 but not 1,500, as float64, NaN where it is none."""
    numbers = numbers_in_text(values)
    if not (np.isnan(numbers) & ~missing_mask(values)).any():
        return numbers
    return numbers_in_text(with_points(values, SURE_COMMA))


def fitting(values: Any, regex: str) -> NDArray[np.bool_]:
    """Return which texts fit a regular expression; null does not."""
    import pyarrow.compute as pc

    fits = mapped(values, lambda plain: pc.match_substring_regex(plain, regex))
    return np.asarray(pc.fill_null(fits, False).to_numpy(zero_copy_only=False), dtype=bool)


def with_points(values: Any, regex: str) -> Any:
    """Take the points out of texts that fit, and put one where their comma is.

    Examples
    --------
    >>> import pyarrow as pa
    >>> with_points(pa.array(["1.234,5", "-2,25", "a,5", "?"]), COMMA_NUMBER).to_pylist()
    ['1234.5', '-2.25', 'a,5', '?']
    """
    import pyarrow.compute as pc

    def mended(plain: Any) -> Any:
        digits = pc.replace_substring(plain, ".", "")
        fits = pc.match_substring_regex(plain, regex)
        return pc.if_else(fits, pc.replace_substring(digits, ",", "."), plain)

    return mapped(values, mended)


def hours_in_text(values: Any) -> NDArray[np.float64]:
    """Return times of the day such as 12:30 as hours; NaN where text is none."""
    import pyarrow as pa

    def parse(plain: Any) -> Any:
        return pa.array([_hours(text) for text in plain.to_pylist()], pa.float64())

    array: NDArray[np.float64] = mapped(values, parse).to_numpy(zero_copy_only=False)
    return array


def _hours(text: str | None) -> float | None:
    parts = [] if text is None else text.split(":")
    if len(parts) not in (2, 3):
        return None
    try:
        return float(sum(float(part) / 60**place for place, part in enumerate(parts)))
    except ValueError:
        return None


def booleans_in_text(values: Any) -> NDArray[np.float64]:
    """Return words such as yes and false as 1 and 0; NaN where text is none of them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def parse(plain: Any) -> Any:
        words = pc.utf8_lower(pc.utf8_trim_whitespace(plain))
        is_true = pc.is_in(words, value_set=pa.array(TRUE, words.type))
        is_false = pc.is_in(words, value_set=pa.array(FALSE, words.type))
        return pc.case_when(pc.make_struct(is_true, is_false), 1.0, 0.0)

    array: NDArray[np.float64] = mapped(values, parse).to_numpy(zero_copy_only=False)
    return array
