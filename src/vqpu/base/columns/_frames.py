"""Data frames of pandas, polars and pyarrow by the same columns as files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vqpu.base.columns._arrow import first_few, require_pyarrow
from vqpu.base.columns._encoding import encode_batch
from vqpu.base.columns._fitting import fit_plan
from vqpu.base.columns._notes import Notes
from vqpu.base.columns._plan import ColumnPlan
from vqpu.base.columns._rows import EncodedRows, with_plan
from vqpu.base.columns._wishes import Wishes, check_columns
from vqpu.errors import InputTypeError

_ROWS = 1 << 14


def is_frame(X: Any) -> bool:
    """Whether X is a table with named columns: a data frame, or an Arrow table or batch."""
    return hasattr(X, "__arrow_c_stream__") or (hasattr(X, "columns") and hasattr(X, "dtypes"))


def is_plain_frame(X: Any) -> bool:
    """Whether all columns of a data frame are numbers or booleans, which need no plan."""
    if hasattr(X, "schema") and hasattr(X, "num_rows"):  # pyarrow
        from vqpu.base.columns._arrow import is_boolean, is_number

        return all(is_number(field.type) or is_boolean(field.type) for field in X.schema)
    dtypes = list(getattr(X, "dtypes", []))
    return all(
        getattr(dtype, "kind", "") in tuple("biufc")  # of pandas, its nullable types too
        or _is_plain_polars(dtype)
        for dtype in dtypes
    )


def _is_plain_polars(dtype: Any) -> bool:
    is_numeric = getattr(dtype, "is_numeric", None)
    return callable(is_numeric) and (bool(is_numeric()) or str(dtype) == "Boolean")


def column_names(X: Any) -> list[str]:
    """Return the names of a data frame's columns as text."""
    names = X.schema.names if hasattr(X, "num_rows") else X.columns
    return [str(name) for name in names]


class FrameSource:
    """A data frame as record batches.

    Parameters
    ----------
    frame : data frame or Arrow table
    """

    name = "X"

    def __init__(self, frame: Any) -> None:
        require_pyarrow("A data frame with columns other than numbers")
        self._table = _arrow_table(frame)
        self.schema = self._table.schema

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Give record batches of some columns, in order."""
        check_columns(self.schema.names, list(names))
        yield from self._table.select(list(names)).to_batches(max_chunksize=_ROWS)


def fit_frame(frame: Any) -> ColumnPlan:
    """Return the plan of a data frame's columns, guessed."""
    return fit_plan([FrameSource(frame)], Wishes())


def encode_frame(plan: ColumnPlan, frame: Any, notes: Notes) -> EncodedRows:
    """Encode a data frame by a plan; its columns may stand in any order.

    Parameters
    ----------
    plan : ColumnPlan
    frame : data frame
    notes : Notes
    """
    import numpy as np

    source = FrameSource(frame)
    parts = [encode_batch(plan, batch, notes) for batch in source.batches(plan.names)]
    matrix = np.concatenate(parts) if parts else np.empty((0, plan.n_features))
    return with_plan(np.ascontiguousarray(matrix), plan)


def _arrow_table(frame: Any) -> Any:
    import pyarrow as pa

    if isinstance(frame, pa.RecordBatch):
        return pa.table(frame)
    if isinstance(frame, pa.Table):
        return frame
    if hasattr(frame, "to_arrow"):  # polars
        return frame.to_arrow()
    columns, refused = {}, {}
    for place, name in enumerate(column_names(frame)):
        try:
            columns[name] = pa.array(frame.iloc[:, place], from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            refused[name] = " ".join(str(error).split())[:100]
    if refused:
        told = "; ".join(f"{name!r} ({why})" for name, why in list(refused.items())[:5])
        raise InputTypeError(
            f"{len(refused)} columns of X cannot be used: {told}. Convert each to one type, for "
            f"instance by X[{next(iter(refused))!r}].astype(str), or drop it."
        )
    names = column_names(frame)
    if len(set(names)) != len(names):
        repeated = sorted({name for name in names if names.count(name) > 1})
        raise InputTypeError(f"X has columns with the same name: {first_few(repeated)}.")
    return pa.table(columns)
