"""Why a sample was put where it was: what every column adds to s(x)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from vqpu.errors import InputTypeError
from vqpu.estimators._validation import check_prediction_data
from vqpu.vq._tree_network import TreeNetwork

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


class TreeExplainerMixin:
    """What a classifier can say of its columns if its encoder is trees.

    Attributes
    ----------
    encoder : str or callable
    network_ : TreeNetwork or another
    """

    encoder: Any
    network_: Any

    def explain(self, X: ArrayLike) -> Explanation:
        """Return what every column adds to s(x) of every sample, exactly; trees only.

        Parameters
        ----------
        X : array-like of the shape given to ``fit``

        Returns
        -------
        explanation : Explanation
            ``contributions`` of shape (n_samples, n_columns), and the ``base`` that they start
            from.
        """
        source = check_prediction_data(self, X)
        if not isinstance(self.network_, TreeNetwork):
            raise InputTypeError(
                f"Only encoder='trees' says exactly what each column adds. This model has "
                f"encoder={self.encoder!r}: fit it with trees, or use scikit-learn's "
                "permutation_importance for an overall answer."
            )
        return Explanation(*self.network_.contributions(source))

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of every column in the gain of all splits, shape (n_columns,); trees only."""
        check_is_fitted(self)
        if not isinstance(self.network_, TreeNetwork):
            raise AttributeError("feature_importances_ needs encoder='trees'.")
        return self.network_.encoder.arrays.importance(self.network_.encoder.n_features)
