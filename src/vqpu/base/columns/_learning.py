"""Learning what columns hold: one pass over record batches, in bounded memory."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vqpu.base.columns import _arrow as arrow
from vqpu.base.columns._dates import instants
from vqpu.base.columns._encoding import is_matrix_type, number_matrix
from vqpu.base.columns._idlike import NeverRepeating
from vqpu.base.columns._textfacts import TextFacts

LARGEST_EXACT = 2.0**53
# What pandas calls an index without a name: in Parquet, in CSV, and in CSV read and saved again.
SAVED_INDEX = re.compile(r"__index_level_\d+__||Unnamed: \d+")


class Facts:
    """What was seen of some columns, each an entry of the arrays.

    Attributes
    ----------
    n_rows : int
    n_missing, n_numbers, n_infinite : ndarray of int64
        Cells without a value, with a number (booleans too), with an infinite one.
    low, high : ndarray of float64
        Of finite numbers, and of instants.
    """

    def __init__(self, schema: Any, names: Sequence[str]) -> None:
        self.names = list(names)
        self.types = {name: schema.field(name).type for name in names}
        self._places = {name: place for place, name in enumerate(names)}
        n = len(self.names)
        self.n_rows = 0
        self.n_missing, self.n_numbers, self.n_infinite = np.zeros((3, n), np.int64)
        self.low, self.high = np.full(n, np.inf), np.full(n, -np.inf)
        self.is_beyond = np.zeros(n, bool)  # integers that no float64 holds exactly
        self.rises = np.ones(n, bool)
        self._last = np.full(n, -np.inf)
        self._never_repeating = NeverRepeating(n)
        self.texts: dict[str, TextFacts] = {}
        self.n_booleans: dict[str, int] = {}
        self.n_dates: dict[str, int] = {}
        self.has_time: dict[str, bool] = {}
        self.lengths: dict[str, dict[int, int]] = {}
        self.unusable: dict[str, str] = {}

    def begin_table(self) -> None:
        """Say that the next rows are those of another table."""
        self._last = np.full(len(self.names), -np.inf)
        self._never_repeating.begin_table()

    def settle(self) -> None:
        """Say that all rows were seen."""
        for texts in self.texts.values():
            texts.settle()

    @property
    def are_ids(self) -> NDArray[np.bool_]:
        """Which columns hold whole numbers that should repeat and do not."""
        return self._never_repeating.are_ids(self.low, self.high)

    def update(self, batch: Any) -> None:
        """Take in the rows of a record batch, if it has any."""
        if not batch.num_rows:
            return
        self.n_rows += batch.num_rows
        plain = [name for name in self.names if is_matrix_type(batch.schema.field(name).type)]
        matrix = number_matrix(batch, plain)
        if matrix is not None:
            places = np.array([self._places[name] for name in plain])
            self._add_numbers(places, matrix, _whole_columns(batch, plain))
        done = set(plain)
        for name in self.names:
            if name not in done:
                self._add_other(name, self._places[name], batch.column(name))

    def _add_numbers(
        self, places: NDArray[np.int64], matrix: NDArray[np.float64], whole: NDArray[np.bool_]
    ) -> None:
        missing, infinite = np.isnan(matrix), np.isinf(matrix)
        self.n_missing[places] += missing.sum(axis=0)
        self.n_infinite[places] += infinite.sum(axis=0)
        self.n_numbers[places] += len(matrix) - missing.sum(axis=0)
        has_odd = missing.any() or infinite.any()
        finite = np.where(missing | infinite, np.nan, matrix) if has_odd else matrix
        low, high = (
            np.fmin.reduce(finite, axis=0), np.fmax.reduce(finite, axis=0)
        )  # fmt: skip
        self.low[places] = np.fmin(self.low[places], low)
        self.high[places] = np.fmax(self.high[places], high)
        self.is_beyond[places] |= whole & (np.maximum(np.abs(low), np.abs(high)) > LARGEST_EXACT)
        before = np.vstack([self._last[places], matrix[:-1]])
        with np.errstate(invalid="ignore"):
            is_whole = (matrix == np.floor(matrix)).all(axis=0)  # NaN is not
            self.rises[places] &= (matrix > before).all(axis=0) & is_whole
        self._last[places] = matrix[-1]
        self._never_repeating.exclude(places[~is_whole])
        self._never_repeating.update(places, matrix)

    def _add_other(self, name: str, place: int, values: Any) -> None:
        import pyarrow.types as types

        if not arrow.is_number(values.type):
            self.rises[place] = False
            self._never_repeating.exclude(place)
        missing = int(arrow.missing_mask(values).sum())
        if arrow.is_number(values.type) or arrow.is_span(values.type):  # decimals, dictionaries
            numbers = arrow.to_float(values)[:, None]
            self._add_numbers(np.array([place]), numbers, np.array([False]))
            return
        self.n_missing[place] += missing
        if types.is_null(values.type):
            return
        if arrow.is_text(values.type):
            if name not in self.texts:
                self.texts[name] = TextFacts(len(self.names))
            self.texts[name].update(name, values)
        elif arrow.is_boolean(values.type):
            self._add_range(place, arrow.to_float(values))
            self.n_booleans[name] = self.n_booleans.get(name, 0) + len(values) - missing
        elif arrow.is_date(values.type):
            seconds = instants(values)
            self._add_range(place, seconds)
            self.n_dates[name] = self.n_dates.get(name, 0) + len(values) - missing
            has_time = bool((np.nan_to_num(seconds) % 86400).any())
            self.has_time[name] = self.has_time.get(name, False) or has_time
        elif arrow.is_list(values.type):
            self._add_lengths(name, place, values)
        else:
            self.unusable[name] = str(values.type)

    def _add_range(self, place: int, numbers: NDArray[np.float64]) -> None:
        self.low[place] = np.fmin(self.low[place], np.fmin.reduce(numbers))
        self.high[place] = np.fmax(self.high[place], np.fmax.reduce(numbers))

    def _add_lengths(self, name: str, place: int, values: Any) -> None:
        import pyarrow.compute as pc

        found = pc.value_counts(pc.list_value_length(values).drop_null())
        known = self.lengths.setdefault(name, {})
        lengths, counts = found.field("values").to_pylist(), found.field("counts").to_pylist()
        for length, count in zip(lengths, counts, strict=True):
            if length in known or len(known) < 100:
                known[length] = known.get(length, 0) + count
        self._add_range(place, arrow.to_float(values.flatten()))

    def __contains__(self, name: str) -> bool:
        return name in self._places

    def place(self, name: str) -> int:
        """Return where a column stands in the arrays."""
        return self._places[name]


def _whole_columns(batch: Any, names: Collection[str]) -> NDArray[np.bool_]:
    import pyarrow.types as types

    return np.array([types.is_integer(batch.schema.field(name).type) for name in names])
