"""Columns of whole numbers that never repeat, as ids do, in whatever order they come."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MOST_KEPT, _MOST_VALUES = 1 << 14, 1 << 22  # of a column, and of all
_REPEATS_EXPECTED = 7.0  # exp(-7): fewer than one measurement in a thousand would have none


class NeverRepeating:
    """Finds ids by what measurements do and ids do not: repeat.

    n values out of R possible whole numbers have at least n (n - 1) / (2 R) pairs that are equal,
    however they are distributed; where many are expected and there is none, the values were given
    out, not measured. Only the first rows of each table are looked at, and a column is forgotten
    as soon as a value repeats, is missing or is not whole.

    Parameters
    ----------
    n_columns : int
    """

    def __init__(self, n_columns: int) -> None:
        self._most_kept = max(2, min(_MOST_KEPT, _MOST_VALUES // max(1, n_columns)))
        self._is_possible = np.ones(n_columns, dtype=bool)
        self._n_pairs = np.zeros(n_columns)
        self._kept: dict[int, NDArray[np.float64]] = {}

    def begin_table(self) -> None:
        """Say that the next rows are those of another table, which may number them anew."""
        self._kept = {}

    def exclude(self, places: int | NDArray[np.int64]) -> None:
        """Say that columns have values that are missing or not whole."""
        self._is_possible[places] = False

    def update(self, places: NDArray[np.int64], matrix: NDArray[np.float64]) -> None:
        """Take in columns as a matrix; those that are not of whole numbers are excluded before.

        Parameters
        ----------
        places : ndarray of int, shape (n_some,)
        matrix : ndarray of shape (n_rows, n_some)
        """
        for column in np.flatnonzero(self._is_possible[places]):
            place = int(places[column])
            before = self._kept.get(place, np.empty(0))
            new = matrix[: self._most_kept - len(before), column]
            if not len(new):
                continue
            both = np.concatenate([before, new])
            if len(np.unique(both)) < len(both):
                self._is_possible[place] = False
                self._kept.pop(place, None)
                continue
            self._n_pairs[place] += _pairs(len(both)) - _pairs(len(before))
            self._kept[place] = both

    def are_ids(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which columns look like ids.

        Parameters
        ----------
        low, high : ndarray of shape (n_columns,)
            The smallest and the largest value of each.
        """
        with np.errstate(invalid="ignore"):
            n_possible = high - low + 1
            enough = self._n_pairs >= _REPEATS_EXPECTED * n_possible
        return np.asarray(self._is_possible & enough)


def _pairs(n: int) -> float:
    return n * (n - 1) / 2
