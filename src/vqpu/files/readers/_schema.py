"""Table schemas as models of before kept them: one 0 or 1 for every value of a category."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vqpu.base.columns import Column, ColumnPlan
from vqpu.errors import InputError

_FORMAT = 1
_KINDS = {"number": "number", "boolean": "boolean", "category": "indicators"}


def plan_of_schema(data: Any) -> ColumnPlan:
    """Return the plan that a schema of format 1 stands for, or raise if the data are none.

    Parameters
    ----------
    data : object
        From JSON.

    Examples
    --------
    >>> plan_of_schema({"format": 1, "columns": [{"name": "age", "kind": "number"}]}).names
    ['age']
    """
    if not isinstance(data, Mapping) or data.get("format") != _FORMAT:
        raise InputError(f"A table schema of format {_FORMAT} is expected. Got {data!r:.100}.")
    columns = data.get("columns")
    if not isinstance(columns, list) or not columns:
        raise InputError("The table schema has no list of columns.")
    plan = ColumnPlan(tuple(_column_from(entry) for entry in columns))
    plan.check()
    return plan


def _column_from(entry: Any) -> Column:
    fits = isinstance(entry, Mapping) and set(entry) <= {"name", "kind", "categories"}
    if fits and isinstance(entry.get("name"), str) and entry.get("kind") in _KINDS:
        categories = entry.get("categories", [])
        if isinstance(categories, list) and all(isinstance(c, str) for c in categories):
            column = Column(entry["name"], _KINDS[entry["kind"]], tuple(categories))
            if column.is_sound():
                return column
    raise InputError(f"The table schema has an entry that is no column: {entry!r:.200}.")
