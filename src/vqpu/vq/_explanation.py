"""Why a sample was put where it was: what every column adds to s(x)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Explanation(NamedTuple):
    """What the columns add to s(x), exactly: Shapley values, the mean over the members.

    Attributes
    ----------
    contributions : ndarray of float64, shape (n_samples, n_columns)
        Above 0 speaks for positive. With ``base`` the sum of a row is s(x).
    base : float
        s(x) of nobody in particular: the mean over the training samples.
    """

    contributions: Floats
    base: float

    @property
    def projection(self) -> Floats:
        """s(x), shape (n_samples,)."""
        return np.asarray(self.base + self.contributions.sum(axis=1))

    def strongest(self, sample: int, most: int, *, sign: int) -> list[int]:
        """Return the columns that speak most for (sign 1) or against (-1) a sample, if any do.

        Parameters
        ----------
        sample : int
        most : int
        sign : {1, -1}
        """
        signed = sign * self.contributions[sample]
        order = np.argsort(-signed, kind="stable")[:most]
        return [int(column) for column in order if signed[column] > 0]
