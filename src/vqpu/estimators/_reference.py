"""What the unlabelled samples of training look like, in a few numbers that are kept with a model.

New samples are compared with them (``_drift.py``). A column is eleven marks and the share of
samples at most there: below the least value, the deciles, the largest. Of a column of categories
the marks are its commonest codes, with the share of each. Pictures have the brightness of sixteen
parts of every channel for columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.base._source import ArraySource
from vqpu.base._sparse import SparseSource
from vqpu.estimators._sampling import as_rows, n_columns_of, some
from vqpu.priors._mixture import Cells, Interval, count_cells, fit_mixture_of_cells

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

VERSION = 1
N_MARKS = 11
_MOST_SAMPLES, _MOST_PICTURES = 5_000, 2_000
_NO_CODE = -1.0


class ColumnShares(NamedTuple):
    """How the values of d columns are spread.

    Attributes
    ----------
    marks : ndarray of shape (d, 11)
    shares : ndarray of shape (d, 11)
        Of samples at most at a mark, of categories of those with that code.
    missing : ndarray of shape (d,)
        Share of missing values.
    is_category : ndarray of bool, shape (d,)
    """

    marks: Floats
    shares: Floats
    missing: Floats
    is_category: NDArray[np.bool_]

    def of(self, rows: Floats) -> ColumnShares:
        """Return the same of other rows.

        Parameters
        ----------
        rows : ndarray of shape (n, d)
            Of 32 bits; at least one. Missing values are at no mark, yet count as samples.
        """
        counts, missing = self.counts_of(rows)
        return self._replace(shares=counts / len(rows), missing=missing / len(rows))

    def counts_of(self, rows: Floats) -> tuple[Counts, Counts]:
        """Return how many rows are at every mark, and how many are missing.

        Parameters
        ----------
        rows : ndarray of shape (n, d)
            As of :meth:`of`.

        Returns
        -------
        tuple of ndarray of int64, shapes (d, 11) and (d,)
        """
        found = np.empty(self.marks.shape, np.int64)
        parts = zip(rows.T, self.marks, self.is_category, strict=True)
        for place, (column, marks, is_code) in enumerate(parts):
            counted = column[:, None] == marks if is_code else column[:, None] <= marks
            found[place] = counted.sum(axis=0)
        return found, np.isnan(rows).sum(axis=0)

    def is_sound(self, n_columns: int) -> bool:
        """Whether the parts are those of so many columns; a file may say anything.

        Parameters
        ----------
        n_columns : int
        """
        shapes = [part.shape for part in self]
        return shapes == [(n_columns, N_MARKS)] * 2 + [(n_columns,)] * 2


class Reference(NamedTuple):
    """The unlabelled samples of training.

    Attributes
    ----------
    version : int
        Of this layout.
    n_samples : int
        How many were scored.
    scores : ColumnShares
        Of their final scores, one column, by members that had not seen them.
    positives : Cells
        The same scores, counted between quantiles of those of labelled positives.
    alpha : Interval
        Share of positives by these counts.
    columns : ColumnShares or None
        None for sparse and very wide data.
    """

    version: int
    n_samples: int
    scores: ColumnShares
    positives: Cells
    alpha: Interval
    columns: ColumnShares | None = None

    def is_sound(self, sample_shape: tuple[int, ...]) -> bool:
        """Whether the parts belong together, for samples of a shape.

        Parameters
        ----------
        sample_shape : tuple of int
        """
        n_cells = len(self.positives.n_positive)
        return (
            self.n_samples > 0
            and self.scores.is_sound(1)
            and self.positives.edges.shape == (n_cells - 1,)
            and self.positives.n_unlabeled.shape == (n_cells,)
            and (self.columns is None or self.columns.is_sound(n_columns_of(sample_shape)))
        )

    def shifted(self, by: float) -> Reference:
        """Return the reference of a model whose scores are larger by a number.

        Parameters
        ----------
        by : float
        """
        return self._replace(
            scores=self.scores._replace(marks=self.scores.marks + by),
            positives=self.positives._replace(edges=self.positives.edges + by),
        )


def make_reference(
    source: ArraySource, unlabeled: NDArray[np.int64], scores: tuple[Floats, ...]
) -> Reference:
    """Look at the unlabelled samples of training.

    Parameters
    ----------
    source : ArraySource
    unlabeled : ndarray of int
        Their indices.
    scores : tuple of two ndarray
        Of positives and of unlabelled samples, final, above 0 is positive.
    """
    positive, others = (as_float32(part) for part in scores)
    cells = count_cells(positive, others)
    looked_at = some(unlabeled, _MOST_PICTURES if source.is_image else _MOST_SAMPLES)
    rows = None if isinstance(source, SparseSource) else as_rows(source, looked_at)
    return Reference(
        VERSION,
        len(others),
        _spread(others[:, None], {}),
        cells,
        fit_mixture_of_cells(cells).shares.interval(),
        None if rows is None else _spread(as_float32(rows), source.categories),
    )


def as_float32(values: NDArray[Any]) -> Floats:
    """Return values rounded to 32 bits: marks hold, whatever type new samples are read as.

    Parameters
    ----------
    values : ndarray
    """
    return values.astype(np.float32).astype(np.float64)


def _spread(rows: Floats, categories: Mapping[int, int]) -> ColumnShares:
    is_category = np.isin(np.arange(rows.shape[1]), list(categories))
    parts = zip(rows.T, is_category, strict=True)
    marks = np.array([_commonest(part) if is_code else _marks(part) for part, is_code in parts])
    blank = ColumnShares(marks, np.empty_like(marks), np.empty(len(marks)), is_category)
    return blank.of(rows)


def _marks(values: Floats) -> Floats:
    known = values[~np.isnan(values)]
    if not len(known):
        return np.zeros(N_MARKS)
    inner = np.quantile(known, np.linspace(0.1, 0.9, N_MARKS - 2), method="inverted_cdf")
    least = np.nextafter(np.float32(known.min()), np.finfo(np.float32).min)
    return np.array([least, *inner, known.max()], dtype=np.float64)


def _commonest(codes: Floats) -> Floats:
    values, counts = np.unique(codes[~np.isnan(codes)], return_counts=True)
    chosen = values[np.argsort(-counts, kind="stable")][:N_MARKS]
    return np.pad(chosen, (0, N_MARKS - len(chosen)), constant_values=_NO_CODE)
