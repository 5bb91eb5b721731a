"""What scores are given, checked: labels, predictions, scores."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vqpu.base._labels import PULabels, encode_pu_labels
from vqpu.errors import InputError


def read_pu_labels(y_pu: ArrayLike) -> PULabels:
    """Return which samples are labelled positive, from any two values; the larger marks them."""
    return encode_pu_labels(read_labels("y_pu", y_pu))


def read_labels(name: str, values: ArrayLike) -> NDArray[Any]:
    """Return labels as an array of shape (n_samples,), n_samples >= 1, none of them missing."""
    array = _one_dimensional(name, values)
    if array.dtype.kind == "O" and all(isinstance(value, Real) for value in array):
        array = array.astype(np.float64)
    if not (array.dtype.kind in "biufU" or all(isinstance(value, str) for value in array)):
        kinds = sorted({type(value).__name__ for value in array})
        raise InputError(
            f"{name} must hold numbers alone or strings alone. Got values of type {kinds} instead."
        )
    # np.unique would take NaN for one more label, and the largest.
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError(f"{name} holds NaN or infinity. Give every sample one of two labels.")
    return array


def read_predictions(
    predictions: ArrayLike, classes: NDArray[Any], n_samples: int
) -> NDArray[np.bool_]:
    """Return which samples are called positive.

    Parameters
    ----------
    predictions : array-like of shape (n_samples,)
        Members of ``classes``.
    classes : ndarray of shape (2,)
        Second: positive.
    n_samples : int
    """
    array = _one_dimensional("predictions", predictions, n_samples)
    is_called, is_rejected = array == classes[1], array == classes[0]
    strange = np.flatnonzero(~(is_called | is_rejected))
    if strange.size:
        raise InputError(
            f"predictions must hold the two values of the labels, {classes.tolist()}. Got "
            f"{array[strange[0]]!r} at position {strange[0]} instead: pass what predict returns, "
            "not scores or probabilities."
        )
    return np.asarray(is_called, dtype=bool)


def read_scores(name: str, scores: ArrayLike, n_samples: int) -> NDArray[np.float64]:
    """Return finite scores as float64, shape (n_samples,)."""
    raw = _one_dimensional(name, scores, n_samples)
    if raw.dtype.kind == "c":
        raise InputError(f"{name} must hold real numbers. Got complex ones instead.")
    try:
        array = raw.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must hold numbers. Got dtype {raw.dtype} instead.") from error
    if not np.isfinite(array).all():
        position = int(np.flatnonzero(~np.isfinite(array))[0])
        raise InputError(
            f"{name} must be finite. Got {array[position]} at position {position} instead; find "
            "out which sample the model cannot score."
        )
    return array


def _one_dimensional(name: str, values: ArrayLike, n_samples: int | None = None) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InputError(f"{name} must be an array of shape (n_samples,): {error}.") from error
    if array.ndim != 1:
        advice = " Take one column, such as predict_proba(X)[:, 1]." if array.ndim == 2 else ""
        raise InputError(f"{name} must have shape (n_samples,). Got {array.shape} instead.{advice}")
    if array.size == 0:
        raise InputError(f"{name} is empty. At least one sample of each kind is needed.")
    if n_samples is not None and len(array) != n_samples:
        raise InputError(
            f"{name} has {len(array)} values for {n_samples} labels. There must be one for each."
        )
    return array
