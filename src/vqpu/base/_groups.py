"""Samples that belong together: numbered, and shared out as wholes (NumPy only)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vqpu.errors import InputError


def number_groups(groups: ArrayLike, n_samples: int) -> NDArray[np.int64]:
    """Return the number of every sample's group, from 0.

    Parameters
    ----------
    groups : array-like of shape (n_samples,)
        Any values: those that are equal belong together.
    n_samples : int

    Examples
    --------
    >>> number_groups(["b", "a", "b"], 3)
    array([1, 0, 1])
    """
    values = np.asarray(groups)
    if values.shape != (n_samples,):
        raise InputError(
            f"groups must have one value for each of the {n_samples} samples. Got shape "
            f"{values.shape} instead."
        )
    try:
        is_missing = values != values if values.dtype.kind in "fO" else np.zeros(n_samples, bool)
        missing = int(np.sum(is_missing)) + sum(v is None for v in values.tolist())
        if missing:
            raise InputError(
                f"groups has {missing} missing values. Give such samples a group of their own."
            )
        numbers = np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)
    except TypeError as error:
        raise InputError(f"groups cannot be compared with each other: {error}.") from error
    if numbers.max(initial=0) < 1:
        raise InputError("groups has one value only, so nothing can be held out.")
    return numbers


def share_groups(
    is_positive: NDArray[np.bool_],
    groups: NDArray[np.int64],
    n_folds: int,
    generator: np.random.Generator,
) -> NDArray[np.int64]:
    """Return a fold for every group, so that positives and others are spread alike.

    Parameters
    ----------
    is_positive : ndarray of bool, shape (n_samples,)
    groups : ndarray of int, shape (n_samples,)
        Numbers from 0.
    n_folds : int
    generator : Generator
        Orders groups of one size.
    """
    n_groups = int(groups.max()) + 1
    sizes = np.zeros((n_groups, 2))
    np.add.at(sizes, (groups, is_positive.astype(np.int64)), 1)
    shares = sizes / np.maximum(sizes.sum(axis=0), 1)
    order = generator.permutation(n_groups)
    order = order[np.argsort(-shares[order].max(axis=1), kind="stable")]
    filled = np.zeros((n_folds, 2))
    fold_of = np.empty(n_groups, np.int64)
    for group in order:
        # The fold that is least full of what the group has most of.
        worst = ((filled + shares[group]) ** 2).sum(axis=1) - (filled**2).sum(axis=1)
        fold = int(np.argmin(worst + 1e-9 * filled.sum(axis=1)))
        fold_of[group] = fold
        filled[fold] += shares[group]
    return fold_of
