"""Days and instants: read from types or text, and taken apart into useful numbers."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vqpu.base.columns._arrow import mapped

ISO = "iso"
# What text may look like, by the name of its pattern. Days come before months where both can be
# meant, unless a value says otherwise: only the pattern that fits is kept.
PATTERNS = {
    ISO: r"^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$",
    "%d.%m.%Y": r"^\d{1,2}\.\d{1,2}\.\d{4}$",
    "%d/%m/%Y": r"^\d{1,2}/\d{1,2}/\d{4}$",
    "%m/%d/%Y": r"^\d{1,2}/\d{1,2}/\d{4}$",
    "%Y/%m/%d": r"^\d{4}/\d{1,2}/\d{1,2}$",
}
# What reads the same texts with day and month the other way round.
_SWAPPED = {
    "%d.%m.%Y": "%m.%d.%Y",
    "%d/%m/%Y": "%m/%d/%Y",
    "%m/%d/%Y": "%d/%m/%Y",
    "%Y/%m/%d": "%Y/%d/%m",
}
DAY_PARTS = ("days", "year", "month", "day", "weekday")
_SECONDS = 86_400


def instants(values: Any, pattern: str = ISO) -> NDArray[np.float64]:
    """Return seconds since 1970 of dates, instants or text; NaN where there is none.

    Parameters
    ----------
    values : pyarrow.Array
    pattern : str
        Of text: one of ``PATTERNS``.
    """
    import pyarrow as pa

    from vqpu.base.columns._arrow import is_text

    if is_text(values.type):
        seconds = mapped(values, lambda plain: _parsed(plain, pattern))
    else:
        # Through milliseconds: nanoseconds would not reach beyond the year 2262.
        seconds = mapped(values, lambda plain: _ticks(plain))
    array: NDArray[np.float64] = seconds.cast(pa.float64(), safe=False).to_numpy(
        zero_copy_only=False
    )
    return array


def _ticks(plain: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_date(plain.type):
        days = plain.cast(pa.date32(), safe=False).cast(pa.int32()).cast(pa.float64())
        return pc.multiply(days, float(_SECONDS))
    per_second = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[plain.type.unit]
    return pc.divide(plain.cast(pa.int64()).cast(pa.float64(), safe=False), per_second)


def is_swapped_date(texts: Any, pattern: str) -> NDArray[np.bool_]:
    """Return which texts are dates if day and month change places.

    Parameters
    ----------
    texts : pyarrow.Array
        Of text.
    pattern : str
        One of ``PATTERNS``; no text is such a date where it has a name that cannot be swapped.
    """
    import pyarrow.compute as pc

    if pattern not in _SWAPPED:
        return np.zeros(len(texts), dtype=bool)

    def swapped(plain: Any) -> Any:
        fits = pc.match_substring_regex(plain, PATTERNS[pattern])
        dates = pc.if_else(fits, plain, None)
        return pc.is_valid(_read(dates, _SWAPPED[pattern]))

    found = mapped(texts, swapped)
    return np.asarray(pc.fill_null(found, False).to_numpy(zero_copy_only=False), dtype=bool)


def _parsed(plain: Any, pattern: str) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    fits = pc.match_substring_regex(plain, PATTERNS[pattern])
    texts = pc.if_else(fits, plain, pa.scalar(None, plain.type))
    if pattern != ISO:
        return _ticks(_read(texts, pattern))
    try:
        return _ticks(texts.cast(pa.timestamp("us")))
    except pa.ArrowInvalid:  # a zone, or a day that is none: one by one
        return pa.array([_seconds(text) for text in texts.to_pylist()], pa.float64())


def _read(texts: Any, form: str) -> Any:
    """Return dates of a form as timestamps, null where there is no such day, as on 31.2."""
    import pyarrow as pa
    import pyarrow.compute as pc

    moments = pc.strptime(texts, form, "s", error_is_null=True)
    parts = {"%d": r"0*(?P<day>\d+)", "%m": r"\d+", "%Y": r"\d+"}
    regex = re.sub(r"%\w", lambda part: parts[part[0]], re.escape(form))
    days = pc.extract_regex(texts, f"^{regex}$").field(0)
    same = pc.equal(pc.day(moments).cast(pa.string()), days.cast(pa.string()))
    return pc.if_else(pc.fill_null(same, False), moments, pa.scalar(None, moments.type))


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def date_parts(seconds: NDArray[np.float64], has_time: bool) -> NDArray[np.float64]:
    """Return days since 1970, year, month, day, weekday (0: Monday) and, if wanted, the hour.

    Parameters
    ----------
    seconds : ndarray of shape (n,)
        Since 1970; NaN where there is no date.
    has_time : bool

    Returns
    -------
    ndarray of shape (n, 5) or (n, 6)
    """
    parts = np.full((len(seconds), len(DAY_PARTS) + has_time), np.nan)
    present = np.isfinite(seconds) & (np.abs(seconds) < 1e12)
    days = np.floor(seconds[present] / _SECONDS)
    stamps = days.astype("datetime64[D]")
    months = stamps.astype("datetime64[M]")
    parts[present, 0] = seconds[present] / _SECONDS
    parts[present, 1] = stamps.astype("datetime64[Y]").astype(np.int64) + 1970
    parts[present, 2] = months.astype(np.int64) % 12 + 1
    parts[present, 3] = (stamps - months).astype(np.int64) + 1
    parts[present, 4] = (days + 3) % 7
    if has_time:
        parts[present, 5] = (seconds[present] - days * _SECONDS) / 3600
    return parts
