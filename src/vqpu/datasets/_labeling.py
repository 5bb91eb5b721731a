"""Which positives get a label: all alike (SCAR), or depending on x (SAR), for stress tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vqpu.errors import InputError, ParameterError

LABELINGS = ("scar", "sar-easy", "sar-hard")

# The propensity of "sar-easy" one standard deviation above the mean positive is e^2 = 7.4 times
# that one standard deviation below: strong, but every positive can be labelled.
_SLOPE = 2.0
_CHUNK = 4096


def labeling_propensity(
    labeling: Any, X: NDArray[Any], is_positive: NDArray[np.bool_]
) -> NDArray[np.float64] | None:
    """Return how likely each sample is labelled, up to a factor; None if all are alike.

    Parameters
    ----------
    labeling : str, callable or array-like of shape (n,)
        One of `LABELINGS`, a function of ``X``, or the propensities themselves.
    X : ndarray of shape (n, ...)
    is_positive : ndarray of bool, shape (n,)
    """
    if isinstance(labeling, str):
        if labeling not in LABELINGS:
            raise ParameterError(
                f"Unknown labeling {labeling!r}. Valid values are {list(LABELINGS)}, a function of "
                "X or an array of propensities."
            )
        return None if labeling == "scar" else _built_in(labeling, X, is_positive)
    values = labeling(X) if callable(labeling) else labeling
    try:
        propensity = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(
            "labeling must be a name, a function of X or an array of numbers. Got an object of "
            f"type {type(values).__name__} instead."
        ) from error
    if propensity.shape != (len(X),):
        raise InputError(
            f"labeling gives propensities of shape {propensity.shape}, expected ({len(X)},): one "
            "number for each sample of X."
        )
    if not (np.isfinite(propensity).all() and (propensity >= 0).all()):
        raise InputError(
            "labeling gives propensities that are negative, NaN or infinite. They must be finite "
            "numbers of at least 0."
        )
    return propensity


def _built_in(
    labeling: str, X: NDArray[Any], is_positive: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Logistic in the position along the difference of the class means."""
    if not np.issubdtype(X.dtype, np.number):
        raise InputError(f"labeling={labeling!r} needs numbers, but X has dtype {X.dtype}.")
    if is_positive.all() or not is_positive.any():
        raise InputError(f"labeling={labeling!r} needs positives and negatives in y.")
    rows = X.reshape(len(X), -1)
    means = [rows[part].mean(axis=0, dtype=np.float64) for part in (is_positive, ~is_positive)]
    direction = means[0] - means[1]
    # In chunks: a product with float64 would copy all of an image data set eightfold.
    starts = range(0, len(rows), _CHUNK)
    position = np.concatenate([rows[start : start + _CHUNK] @ direction for start in starts])
    spread = position[is_positive].std()
    if not (np.isfinite(position).all() and spread > 0):
        raise InputError(
            f"labeling={labeling!r} needs finite X in which positives differ along the difference "
            "of the class means."
        )
    z = (position - position[is_positive].mean()) / spread
    sign = 1 if labeling == "sar-easy" else -1
    return np.asarray(1 / (1 + np.exp(np.clip(-sign * _SLOPE * z, -700, 700))), dtype=np.float64)


def draw_weighted(
    candidates: NDArray[np.int64],
    propensity: NDArray[np.float64],
    size: int,
    generator: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw ``size`` candidates one after another, each time in proportion to the propensities.

    Parameters
    ----------
    candidates : ndarray of int64, shape (m,)
    propensity : ndarray of float64, shape (m,)
    size : int
    generator : Generator

    Returns
    -------
    drawn, left : ndarrays of int64, shapes (size,) and (m - size,)
    """
    n_eligible = int(np.count_nonzero(propensity))
    if size > n_eligible:
        raise InputError(
            f"{size} positives with a labelling propensity above 0 are needed, but there are "
            f"{n_eligible}. Lower n_positive or change labeling."
        )
    with np.errstate(divide="ignore"):
        # The largest sums of log weight and Gumbel noise are a draw without replacement.
        keys = np.log(propensity) + generator.gumbel(size=len(candidates))
    order = np.argsort(-keys, kind="stable")
    return candidates[order[:size]], candidates[order[size:]]
