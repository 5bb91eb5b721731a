"""Vectors in a SciPy sparse matrix: a source that is never made dense."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vqpu.base._source import ALL, ArraySource, Moments
from vqpu.errors import InputError


class SparseSource(ArraySource):
    """Samples in the rows of a sparse matrix; what is not stored is 0, not missing.

    Parameters
    ----------
    matrix : CSR matrix or array of shape (n, d)
    """

    def __init__(self, matrix: Any) -> None:
        from scipy.sparse import csr_matrix

        super().__init__(np.empty((0, matrix.shape[1])))
        kind = matrix.dtype if matrix.dtype in (np.float32, np.float64) else np.float64
        self._matrix = csr_matrix(matrix, dtype=kind)

    def __len__(self) -> int:
        return int(self._matrix.shape[0])

    @property
    def array(self) -> Any:
        """The matrix itself, not a copy."""
        return self._matrix

    def batch(self, indices: NDArray[np.integer[Any]]) -> Tensor:
        """Return some samples as a dense tensor, (n, d)."""
        return torch.from_numpy(self._matrix[indices].toarray())

    def rows(self, indices: Any = ALL) -> Any:
        """Return some samples, or all, as a CSR matrix.

        Parameters
        ----------
        indices : ndarray of int or slice
        """
        return self._matrix[indices]

    def bytes_of(self, indices: NDArray[np.integer[Any]]) -> bytes:
        """Return what some samples consist of, for digests."""
        rows = self._matrix[indices]
        return b"".join(part.tobytes() for part in (rows.data, rows.indices, rows.indptr))

    def check_finite(self, *, allow_missing: bool = False) -> None:  # noqa: ARG002
        """Raise if any value is infinite; NaN is a missing value."""
        if np.isinf(self._matrix.data).any():
            place = int(np.argmax(np.isinf(self._matrix.data)))
            sample = int(np.searchsorted(self._matrix.indptr, place, side="right")) - 1
            raise InputError(
                f"X contains infinity (inf) in sample {sample}. Every value must be finite: remove "
                "or impute such samples first. (NaN and inf are never guessed at.)"
            )

    def moments(self) -> Moments:
        """Return mean and standard deviation of every column."""
        known = self._matrix.copy()
        known.data = np.nan_to_num(known.data.astype(np.float64))
        mean = np.asarray(known.mean(axis=0)).ravel()
        known.data **= 2
        variance = np.asarray(known.mean(axis=0)).ravel() - mean**2
        return Moments(mean, np.sqrt(np.maximum(variance, 0.0)))

    def extremes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the least and the largest value of every column, NaN passed over."""

        def dense(row: Any) -> NDArray[np.float64]:
            return np.asarray(row.toarray(), dtype=np.float64).ravel()

        return dense(self._matrix.nanmin(axis=0)), dense(self._matrix.nanmax(axis=0))
