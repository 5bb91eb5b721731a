"""``(X, y)`` of two sets of samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vqpu.base._labels import refuse_masked
from vqpu.base.columns._arrow import first_few
from vqpu.base.columns._frames import column_names, is_frame
from vqpu.errors import InputError


def stack_pu(positive: ArrayLike, unlabeled: ArrayLike) -> tuple[Any, NDArray[np.int64]]:
    """Make ``(X, y)`` from an array of positives and an array of unlabelled samples.

    Parameters
    ----------
    positive : array-like of shape (n_positive, ...), data frame or sparse matrix
        Labelled positives (X_P).
    unlabeled : array-like of shape (n_unlabeled, ...), data frame or sparse matrix
        Unlabelled samples (X_U), of the same kind, and of the same shape or columns per sample.

    Returns
    -------
    X : ndarray of shape (n_positive + n_unlabeled, ...), data frame or sparse matrix
        Both, positives first; a data frame has the columns in the order of the positives'.
    y : ndarray of shape (n_positive + n_unlabeled,)
        1 for labelled positives, 0 for unlabelled samples.

    Examples
    --------
    >>> import numpy as np
    >>> from vqpu import stack_pu
    >>> X, y = stack_pu(np.ones((2, 3)), np.zeros((4, 3)))
    >>> X.shape, y.tolist()
    ((6, 3), [1, 1, 0, 0, 0, 0])
    """
    X = _stacked(positive, unlabeled)
    n_positive = _n_rows(positive)
    y = np.zeros(_n_rows(X), dtype=np.int64)
    y[:n_positive] = 1
    return X, y


def _n_rows(samples: Any) -> int:
    return int(samples.shape[0]) if hasattr(samples, "shape") else len(samples)


def _stacked(positive: Any, unlabeled: Any) -> Any:
    if is_frame(positive) or is_frame(unlabeled):
        return _stacked_frames(positive, unlabeled)
    if _is_sparse(positive) and _is_sparse(unlabeled):
        from scipy.sparse import vstack

        _check_shapes(positive, unlabeled)
        return vstack([positive, unlabeled], format="csr")
    refuse_masked("positive", positive)
    refuse_masked("unlabeled", unlabeled)
    positive, unlabeled = np.asarray(positive), np.asarray(unlabeled)
    _check_shapes(positive, unlabeled)
    return np.concatenate([positive, unlabeled])


def _is_sparse(samples: Any) -> bool:
    return hasattr(samples, "tocsr")


def _check_shapes(positive: Any, unlabeled: Any) -> None:
    if positive.ndim < 2 or positive.shape[1:] != unlabeled.shape[1:]:
        raise InputError(
            f"positive has shape {positive.shape} and unlabeled has shape {unlabeled.shape}. Both "
            "must be arrays of samples with the same shape per sample: (n, d), (n, h, w) or "
            "(n, h, w, c)."
        )


def _stacked_frames(positive: Any, unlabeled: Any) -> Any:
    library = _library(positive)
    if library != _library(unlabeled):
        raise InputError(
            f"positive is a {type(positive).__name__} of {library} and unlabeled a "
            f"{type(unlabeled).__name__} of {_library(unlabeled)}. Give two of the same kind."
        )
    names, others = column_names(positive), column_names(unlabeled)
    if sorted(names) != sorted(others):
        lacking = first_few([name for name in names if name not in others])
        further = first_few([name for name in others if name not in names])
        raise InputError(
            "positive and unlabeled must have the same columns. Only in positive: "
            f"{lacking or 'none'}; only in unlabeled: {further or 'none'}. Leave those out."
        )
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise InputError(f"Columns must have different names. Repeated: {first_few(repeated)}.")
    if library == "pyarrow":
        import pyarrow as pa

        tables = [
            one if isinstance(one, pa.Table) else pa.table(one) for one in (positive, unlabeled)
        ]
        return pa.concat_tables([tables[0], tables[1].select(names)], promote_options="permissive")
    if library == "polars":
        import polars as pl

        return pl.concat([positive, unlabeled.select(positive.columns)], how="vertical_relaxed")
    import pandas as pd

    return pd.concat([positive, unlabeled[list(positive.columns)]], ignore_index=True)


def _library(frame: Any) -> str:
    return type(frame).__module__.partition(".")[0]
