"""Learning a table's schema: one pass over record batches, in bounded memory."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vqpu.errors import InputError, RowNumberWarning
from vqpu.files.readers._samples import first_few
from vqpu.files.readers._schema import (
    Column,
    TableSchema,
    count_missing,
    kind_of_type,
    numbers_of,
    short_text,
)

_ENOUGH_ROWS = 20  # fewer may rise by chance
# What pandas calls an index without a name: in Parquet, in CSV, and in CSV read and saved again.
_SAVED_INDEX = re.compile(r"__index_level_\d+__||Unnamed: \d+")


class SchemaLearner:
    """Collects what the columns hold.

    Parameters
    ----------
    arrow_schema : pyarrow.Schema
    left_out : collection of str
        Columns that are not features: label, id and what the user drops.
    max_categories : int
        Columns of text with more distinct values are refused.
    """

    def __init__(self, arrow_schema: Any, left_out: Collection[str], max_categories: int) -> None:
        self._left_out = frozenset(left_out)
        self._max_categories = max_categories
        self._kinds = self._kinds_of(arrow_schema)
        self._categories: dict[str, set[str]] = {
            name: set() for name, kind in self._kinds.items() if kind == "category"
        }
        self._n_missing = dict.fromkeys(self._kinds, 0)
        self._counting = {name for name, kind in self._kinds.items() if kind == "number"}
        self._last: dict[str, float] = {}
        self.n_rows = 0

    @property
    def names(self) -> list[str]:
        """Columns that become features, in order."""
        return list(self._kinds)

    def check_same(self, arrow_schema: Any, where: str) -> None:
        """Raise unless a second table has the same columns of the same kinds."""
        others = self._kinds_of(arrow_schema)
        differing = sorted(set(others) ^ set(self._kinds))
        if differing:
            raise InputError(
                f"{where} differs from the first table in having or lacking {first_few(differing)}."
                " Both must have the same columns."
            )
        for name, kind in self._kinds.items():
            if others[name] != kind:
                raise InputError(
                    f"Column {name!r} is a {kind} in the first table but a {others[name]} in "
                    f"{where}. Both must be of one kind."
                )

    def begin_table(self) -> None:
        """Say that the next rows are those of another table."""
        self._last = {}

    def update(self, batch: Any) -> None:
        """Take in the rows of a record batch, if it has any."""
        if not batch.num_rows:
            return
        self.n_rows += batch.num_rows
        for name, kind in self._kinds.items():
            values = batch.column(name)
            n_missing = count_missing(values)
            self._n_missing[name] += n_missing
            if n_missing:
                continue  # refused at the end, with the count of the whole table
            if kind == "category":
                self._add_categories(name, values)
            else:
                self._watch_order(name, numbers_of(name, values))

    def _watch_order(self, name: str, numbers: NDArray[np.float64]) -> None:
        """Strike a column off those that count the rows unless it goes on doing so."""
        if name not in self._counting:
            return
        joined = np.concatenate([[self._last[name]] if name in self._last else [], numbers])
        rises = bool((np.diff(joined) > 0).all()) and bool((numbers == np.floor(numbers)).all())
        if rises:
            self._last[name] = float(numbers[-1])
        else:
            self._counting.discard(name)

    def _warn_of_counters(self) -> None:
        if self._counting and self.n_rows >= _ENOUGH_ROWS:
            warnings.warn(
                f"Whole numbers rise from row to row in {first_few(sorted(self._counting))}, as "
                "row numbers and ids do: they say where a row stands, not what it is. Name rows by "
                "such a column with --id, or leave it out with --drop (in Python id_column= and "
                "drop=[...]).",
                RowNumberWarning,
                stacklevel=5,  # where read_table was called
            )

    def finish(self) -> TableSchema:
        """Return the schema, or raise if columns have missing values."""
        missing = {name: count for name, count in self._n_missing.items() if count}
        if missing:
            counts = [f"{name} ({count})" for name, count in missing.items()]
            raise InputError(
                f"Values are missing in {len(missing)} of {len(self._kinds)} columns among "
                f"{self.n_rows} rows: {first_few(counts)}. Fill them (for text with a word such as "
                "'missing'), leave such rows out with --skip-broken, or such columns with --drop "
                '(in Python on_broken="skip" and drop=[...]).'
            )
        self._warn_of_counters()
        return TableSchema(
            tuple(
                Column(name, kind, tuple(sorted(self._categories.get(name, ()))))
                for name, kind in self._kinds.items()
            )
        )

    def _kinds_of(self, arrow_schema: Any) -> dict[str, str]:
        kinds = {
            field.name: kind_of_type(field.type)
            for field in arrow_schema
            if field.name not in self._left_out
        }
        refused = [
            f"{field.name} ({field.type})"
            for field in arrow_schema
            if kinds.get(field.name, "left out") is None
        ]
        if refused:
            raise InputError(
                f"{len(refused)} columns are neither numbers, booleans nor text: "
                f"{first_few(refused)}. Convert them (dates, say, to days since some day), "
                "or leave them out with --drop (in Python drop=[...])."
            )
        if not kinds:
            raise InputError("The table has no column left to learn from.")
        saved = [name for name in kinds if _SAVED_INDEX.fullmatch(name)]
        if saved:
            raise InputError(
                f"{first_few(saved)} looks like the index of a data frame, which says where a row "
                "stood, not what it is. Leave it out with --drop, name rows by it with --id (in "
                "Python drop=[...] and id_column=), or rename it if it is data."
            )
        return {name: kind for name, kind in kinds.items() if kind is not None}

    def _add_categories(self, name: str, values: Any) -> None:
        import pyarrow.compute as pc

        known = self._categories[name]
        known.update(pc.unique(short_text(name, values)).to_pylist())
        if len(known) > self._max_categories:
            raise InputError(
                f"Column {name!r} has more than {self._max_categories} distinct texts, so it is "
                f"hardly a category: {first_few(sorted(known))}. If it names the rows, say so with "
                "--id; else leave it out with --drop (in Python id_column= and drop=[...], or "
                "raise max_categories)."
            )
