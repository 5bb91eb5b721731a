"""Bad input refused, in one sentence, before any work."""

from __future__ import annotations

from typing import Any

import numpy as np

from vqpu.base._labels import refuse_masked
from vqpu.errors import InputError, InputTypeError
from vqpu.priors._prior_estimate import Floats

_LARGEST = 1e150
N_FOLDS = 5  # of cross-fitting, hence the least number of samples


def check_pair(positive: Any, unlabeled: Any) -> tuple[Floats, Floats]:
    """Return both sets as arrays of finite numbers, (n,) scores or (n, d) samples, of one width."""
    first, second = _to_array("positive", positive), _to_array("unlabeled", unlabeled)
    if first.shape[1:] != second.shape[1:]:
        raise InputError(
            f"positive has shape {first.shape} and unlabeled has shape {second.shape}. Both must "
            "be scores (n,), or samples (n, d) with the same number of columns."
        )
    return first, second


def check_scores(positive: Floats, unlabeled: Floats, *, as_probabilities: bool) -> None:
    """Raise unless the scores can be told apart, and are in [0, 1] where that is needed."""
    _check_enough(positive, unlabeled, 2, "scores")
    low = min(positive.min(), unlabeled.min())
    high = max(positive.max(), unlabeled.max())
    if low == high:
        raise InputError(
            f"All scores of P and U are equal ({low:g}), so they say nothing about alpha. Give "
            "scores of a classifier that tells P from U, or samples and another classifier."
        )
    if as_probabilities and (low < 0 or high > 1):
        raise InputError(
            f"Scores lie between {low:g} and {high:g}, but this method needs probabilities of P "
            "against U in [0, 1]. Give predict_proba, or use 'bbe', which takes any scores."
        )


def check_samples(positive: Floats, unlabeled: Floats, method: str) -> None:
    """Raise unless both sets are tables with enough rows that differ."""
    if positive.ndim != 2:
        raise InputError(
            f"'{method}' works on samples of shape (n, d), but scores of shape {positive.shape} "
            "were given. Give the samples, or use 'bbe', 'dedpul', 'elkan-noto' or 'geometry'."
        )
    if positive.shape[1] == 0:
        raise InputError("The samples have no columns. Give samples of shape (n, d), d at least 1.")
    _check_enough(positive, unlabeled, N_FOLDS, "samples")
    if (positive == positive[0]).all() and (unlabeled == positive[0]).all():
        raise InputError(
            "All samples of P and U are equal, so they say nothing about alpha. Give samples "
            "with at least one column that varies."
        )


def _check_enough(positive: Floats, unlabeled: Floats, least: int, kind: str) -> None:
    for name, values in (("positive", positive), ("unlabeled", unlabeled)):
        if len(values) < least:
            raise InputError(
                f"{name} holds {len(values)} {kind}, but at least {least} are needed. Give more."
            )


def _to_array(name: str, values: Any) -> Floats:
    if hasattr(values, "toarray"):
        raise InputTypeError(f"{name} is sparse, but a dense array is needed. Call its toarray().")
    refuse_masked(name, values)
    try:
        array = np.asarray(values)
        is_number = array.dtype.kind in "biufO"
        numbers = array.astype(np.float64) if is_number else None
    except (TypeError, ValueError):
        numbers = None
    if numbers is None:
        raise InputTypeError(f"{name} holds values that are no real numbers. Give a numeric array.")
    if numbers.ndim not in (1, 2):
        raise InputError(
            f"{name} has shape {numbers.shape}. Give scores (n,) or samples (n, d); reshape "
            "images into rows."
        )
    if not np.isfinite(numbers).all():
        row = int(np.argwhere(~np.isfinite(numbers))[0][0])
        raise InputError(
            f"{name} holds NaN or infinity in row {row}. Remove the row or fill the value in."
        )
    if numbers.size and max(numbers.max(), -numbers.min()) > _LARGEST:
        raise InputError(
            f"{name} holds values beyond {_LARGEST:g}, whose squares are infinite. Rescale it."
        )
    return numbers
