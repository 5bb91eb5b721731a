"""The plan of a table's columns: plain data that is saved with a model."""

from __future__ import annotations

import math
from datetime import date
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.base.columns._arrow import first_few
from vqpu.base.columns._dates import DAY_PARTS, ISO, PATTERNS
from vqpu.base.columns._text import MOST_COMPONENTS, N_HASHED
from vqpu.errors import InputError

KINDS = ("number", "boolean", "category", "date", "text", "vector", "indicators")
CLOCK_PATTERN = "clock"
COMMA_PATTERN = "comma"
MOST_WIDE = 1 << 20
_PATTERNS_OF = {"date": set(PATTERNS), "number": {"", CLOCK_PATTERN, COMMA_PATTERN}}


class Column(NamedTuple):
    """A column of a table and how it becomes numbers.

    Attributes
    ----------
    name : str
    kind : str
        "number", "boolean" (0 and 1), "category" (a code), "date" (its parts), "text" (a few
        directions of its letters), "vector" (a list of numbers) or "indicators" (a 0 or 1 for
        every value, in models of before).
    values : tuple of str
        Of a category: value number i has code i; the next code is that of all others.
    pattern : str
        Of text that is read as a date, as a time of day or as a number with a decimal comma.
    has_time : bool
        Whether dates have an hour.
    width : int
        Of a vector, its length.
    components : ndarray of float32, shape (n_components, 4096), or None
        Of free text.
    """

    name: str
    kind: str
    values: tuple[str, ...] = ()
    pattern: str = ""
    has_time: bool = False
    width: int = 1
    components: NDArray[Any] | None = None

    @property
    def n_features(self) -> int:
        """Number of columns of the encoded matrix."""
        if self.kind == "date":
            return len(DAY_PARTS) + self.has_time
        if self.kind == "text":
            assert self.components is not None
            return len(self.components)
        if self.kind == "indicators":
            return len(self.values)
        return self.width if self.kind == "vector" else 1

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns of the encoded matrix."""
        if self.kind == "date":
            return [f"{self.name}.{part}" for part in (*DAY_PARTS, "hour")[: self.n_features]]
        if self.kind == "indicators":
            return [f"{self.name}={value}" for value in self.values]
        if self.kind in ("text", "vector"):
            return [f"{self.name}.{place}" for place in range(self.n_features)]
        return [self.name]

    def describe(self) -> str:
        """Return in a few words how the column is taken.

        Examples
        --------
        >>> Column("pet", "category", ("cat", "dog")).describe()
        'category of 2 values and others'
        """
        if self.kind == "category":
            return f"category of {len(self.values)} values and others"
        if self.kind == "date":
            return "date with its time" if self.has_time else "date"
        if self.kind in ("text", "vector"):
            kind = "free text" if self.kind == "text" else "list"
            return f"{kind}, {self.n_features} numbers"
        form = {CLOCK_PATTERN: "time of the day", COMMA_PATTERN: "number with a decimal comma"}
        return form.get(self.pattern, self.kind)

    def form(self) -> str:
        """Return how a date or such was written in training, by an example; empty for others.

        Examples
        --------
        >>> Column("day", "date", pattern="%d.%m.%Y").form()
        ' such as 31.12.2026'
        """
        if self.pattern == CLOCK_PATTERN:
            return " such as 18:30"
        if self.pattern == COMMA_PATTERN:
            return " such as 1,5"
        if self.kind != "date":
            return ""
        day = date(2026, 12, 31).strftime("%Y-%m-%d" if self.pattern == ISO else self.pattern)
        return f" such as {day}{' 18:30' * self.has_time}"

    def is_sound(self) -> bool:
        """Whether the parts belong together; a file that somebody changed may say anything."""
        texts = (self.name, *self.values, self.pattern)
        if not all(isinstance(text, str) for text in texts) or self.kind not in KINDS:
            return False
        if len(set(self.values)) != len(self.values):
            return False
        has_values = self.kind in ("category", "indicators")
        needed = {
            "values": bool(self.values) == has_values,
            "pattern": self.pattern in _PATTERNS_OF.get(self.kind, {""}),
            "time": not self.has_time or self.kind == "date",
            "width": 1 <= self.width <= (MOST_WIDE if self.kind == "vector" else 1),
            "components": (self.components is not None) == (self.kind == "text"),
        }
        return all(needed.values()) and _are_components(self.components)


def _are_components(components: NDArray[Any] | None) -> bool:
    return components is None or (
        components.ndim == 2
        and components.dtype == np.float32
        and 1 <= len(components) <= MOST_COMPONENTS
        and components.shape[1] == N_HASHED
    )


class ColumnPlan(NamedTuple):
    """The columns that are used, in order, and those that are not.

    Attributes
    ----------
    columns : tuple of Column
    left_out : tuple of (str, str)
        Columns that say nothing, and why.

    Examples
    --------
    >>> plan = ColumnPlan((Column("age", "number"), Column("pet", "category", ("cat", "dog"))))
    >>> plan.feature_names, dict(plan.categories)
    (['age', 'pet'], {1: 3})
    """

    columns: tuple[Column, ...]
    left_out: tuple[tuple[str, str], ...] = ()

    @property
    def codes(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """What numbers of encoded rows mean: name, kind and categories of every column."""
        return [(column.name, column.kind, column.values) for column in self.columns]

    @property
    def names(self) -> list[str]:
        """Names of the columns that are used."""
        return [column.name for column in self.columns]

    @property
    def feature_names(self) -> list[str]:
        """Name of every column of the encoded matrix."""
        return [name for column in self.columns for name in column.feature_names]

    @property
    def n_features(self) -> int:
        """Number of columns of the encoded matrix."""
        return sum(column.n_features for column in self.columns)

    @property
    def categories(self) -> dict[int, int]:
        """Columns of the encoded matrix that hold codes, and how many codes each has."""
        found, place = {}, 0
        for column in self.columns:
            if column.kind == "category":
                found[place] = len(column.values) + 1
            place += column.n_features
        return found

    def values_by_column(self) -> dict[str, list[str]]:
        """Return the values of every category: value number i has code i."""
        return {c.name: list(c.values) for c in self.columns if c.kind == "category"}

    def check(self) -> None:
        """Raise if the plan does not hold together."""
        sound = all(isinstance(column, Column) and column.is_sound() for column in self.columns)
        sound = sound and all(
            isinstance(entry, tuple) and len(entry) == 2 and all(isinstance(t, str) for t in entry)
            for entry in self.left_out
        )
        if not self.columns or not sound:
            raise InputError("The plan of the table's columns does not hold together.")
        if len(set(self.names)) != len(self.names):
            raise InputError(f"The plan names columns twice: {first_few(self.names)}.")

    def describe(self) -> dict[str, str]:
        """Return in a few words how every column was taken, those left out too."""
        return {column.name: column.describe() for column in self.columns} | {
            name: f"left out: {reason}" for name, reason in self.left_out
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain data, but for the directions of free text."""
        columns = [
            {name: value for name, value in column._asdict().items() if name != "components"}
            for column in self.columns
        ]
        return {"columns": columns, "left_out": [list(entry) for entry in self.left_out]}

    def row(self, values: NDArray[np.float64]) -> dict[str, Any]:
        """Return an encoded row in words, for people: None where a value is missing.

        Parameters
        ----------
        values : ndarray of shape (n_features,)
        """
        row: dict[str, Any] = {}
        place = 0
        for column in self.columns:
            part = values[place : place + column.n_features]
            place += column.n_features
            row[column.name] = _in_words(column, part)
        return row


def _in_words(column: Column, part: NDArray[np.float64]) -> Any:
    first = float(part[0])
    if math.isnan(first):
        return None
    if column.kind == "category":
        code = int(first)
        return column.values[code] if code < len(column.values) else "(other)"
    if column.kind == "indicators":
        return column.values[int(part.argmax())]
    if column.kind == "date":
        day = np.datetime64(0, "D") + math.floor(first)
        return str(day) if not column.has_time else f"{day} {part[-1]:.1f} h"
    if column.kind == "boolean":
        return bool(first)
    if column.kind in ("text", "vector"):
        return f"({column.describe()})"
    return first
