"""Vectors in a SciPy sparse matrix: a source that is never made dense, but for single batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vqpu.base._source import ALL, ArraySource, Moments
from vqpu.errors import InputError, UnusableSampleError


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

    def slice(self, start: int, stop: int) -> Tensor:
        """Return the samples from ``start`` to ``stop`` as :meth:`batch` does."""
        return torch.from_numpy(self._matrix[start:stop].toarray())

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

    def check_finite(self, *, allow_missing: bool = False) -> None:
        """Raise if any value is infinite, or NaN where none may be; count those that are missing.

        Parameters
        ----------
        allow_missing : bool
            Whether NaN means missing.
        """
        values = self._matrix.data
        bad = np.isinf(values) if allow_missing else ~np.isfinite(values)
        if bad.any():
            place = int(np.argmax(bad))
            sample = int(np.searchsorted(self._matrix.indptr, place, side="right")) - 1
            kind = "NaN" if np.isnan(values[place]) else "infinity (inf)"
            raise InputError(
                f"X contains {kind} in sample {sample}. Every value must be finite: remove "
                "or impute such samples first."
            )
        columns = self._matrix.indices[np.isnan(values)]
        n_missing = np.bincount(columns, minlength=self.sample_shape[0])
        self.n_missing = n_missing.astype(np.int64) if len(columns) else None

    def check_present(self) -> None:
        """Raise if a sample has no value at all; to be called after :meth:`check_finite`."""
        if self.n_missing is None:
            return
        is_missing = self._matrix.copy()
        is_missing.data = np.isnan(is_missing.data)
        is_empty = np.asarray(is_missing.sum(axis=1)).ravel() == self.sample_shape[0]
        if is_empty.any():
            raise UnusableSampleError(
                f"X contains no value at all in sample {int(np.argmax(is_empty))}. "
                "There is nothing to judge it by: leave such samples out."
            )

    def moments(self) -> Moments:
        """Return mean and standard deviation of every column; missing values do not count."""
        known = self._matrix.copy()
        known.data = np.nan_to_num(known.data.astype(np.float64))
        missing = 0 if self.n_missing is None else self.n_missing
        present = np.maximum(len(self) - missing, 1)
        mean = np.asarray(known.sum(axis=0)).ravel() / present
        known.data **= 2
        variance = np.asarray(known.sum(axis=0)).ravel() / present - mean**2
        std = np.sqrt(np.maximum(variance, 0.0))
        std[std <= 1e-7 * np.abs(mean)] = 0.0  # squares keep half of the digits
        return Moments(mean, std)

    def extremes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the least and the largest value of every column, NaN passed over."""

        def dense(row: Any) -> NDArray[np.float64]:
            return np.asarray(row.toarray(), dtype=np.float64).ravel()

        return dense(self._matrix.nanmin(axis=0)), dense(self._matrix.nanmax(axis=0))
