"""Encoded rows that know the columns they were made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from vqpu.base.columns._plan import ColumnPlan


class EncodedRows(np.ndarray[Any, np.dtype[np.float64]]):
    """A float matrix with the plan that made it, so that ``fit`` knows which columns hold codes.

    Rows that are picked keep the plan; whatever else is computed does not, as its columns may be
    others.

    Attributes
    ----------
    plan : ColumnPlan or None
    """

    plan: ColumnPlan | None = None

    def __array_finalize__(self, _: Any) -> None:
        self.plan = None

    def __getitem__(self, index: Any) -> Any:
        rows = super().__getitem__(index)
        if isinstance(rows, EncodedRows) and rows.ndim == 2 and _picks_rows(index):
            rows.plan = self.plan
        return rows

    def __reduce__(self) -> Any:
        return with_plan, (np.asarray(self), self.plan)


def _picks_rows(index: Any) -> bool:
    """Return whether an index leaves all columns in place, as scikit-learn's ``[rows, ...]``."""
    if not isinstance(index, tuple):
        return True
    return all(
        part is Ellipsis or (isinstance(part, slice) and part == slice(None)) for part in index[1:]
    )


def with_plan(matrix: NDArray[np.float64], plan: ColumnPlan | None) -> EncodedRows:
    """Return a view of a matrix that knows its plan.

    Parameters
    ----------
    matrix : ndarray of shape (n, plan.n_features)
    plan : ColumnPlan or None
    """
    rows = matrix.view(EncodedRows)
    rows.plan = plan
    return rows
