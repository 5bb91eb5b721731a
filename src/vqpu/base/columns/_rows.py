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
        if isinstance(rows, EncodedRows) and rows.ndim == 2 and not isinstance(index, tuple):
            rows.plan = self.plan
        return rows


def with_plan(matrix: NDArray[np.float64], plan: ColumnPlan) -> EncodedRows:
    """Return a view of a matrix that knows its plan.

    Parameters
    ----------
    matrix : ndarray of shape (n, plan.n_features)
    plan : ColumnPlan
    """
    rows = matrix.view(EncodedRows)
    rows.plan = plan
    return rows
