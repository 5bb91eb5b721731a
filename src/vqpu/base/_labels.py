"""The PU label contract: which samples are labelled positive, which are unlabelled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vqpu.errors import InputError

# Words that mean unlabelled, but stand behind most others in the alphabet.
_USUAL = ((0, 1), (-1, 1))  # of which everybody knows what is positive
_UNLABELED = ("u", "unl", "unlabeled", "unlabelled", "unknown", "unmarked")


class PULabels(NamedTuple):
    """What ``y`` says.

    Attributes
    ----------
    is_positive : ndarray of bool, shape (n_samples,)
        True for labelled positives (X_P), False for unlabelled samples (X_U).
    classes : ndarray of shape (2,)
        The two values of ``y`` in ascending order; the second marks positives.
    """

    is_positive: NDArray[np.bool_]
    classes: NDArray[Any]

    @property
    def doubt(self) -> str | None:
        """What is odd about them: that most samples would be labelled positives, by their value.

        Nobody said which value means what, and positives are rarely more than what is unlabelled.
        Of 0 and 1, and of -1 and 1, the larger is positive by common use.
        """
        smaller, larger = self.classes.tolist()
        n_positive = int(self.is_positive.sum())
        if (smaller, larger) in _USUAL or 2 * n_positive <= len(self.is_positive):
            return None
        return (
            f"y holds {smaller!r} and {larger!r}; the larger of the two, {larger!r}, is taken for "
            f"labelled positives, which are {n_positive} of {len(self.is_positive)} samples. If it "
            "means unlabelled, use 1 for positives and 0 for the others."
        )


def encode_pu_labels(y: NDArray[Any]) -> PULabels:
    """Split a two-valued ``y`` into labelled positives and unlabelled samples.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Two distinct values; the larger one marks labelled positives.
    """
    classes, inverse = np.unique(y, return_inverse=True)
    if len(classes) > 2:
        raise InputError(
            "Only binary classification is supported. y must hold two values, one for labelled "
            f"positives and one for unlabelled samples. Got {len(classes)} values instead: "
            f"{_shorten(classes)}."
        )
    if len(classes) < 2:
        raise InputError(
            f"y contains only one class ({classes.tolist()[0]!r}). PU learning needs labelled "
            "positives and unlabelled samples: mark the positives with the larger of two values."
        )
    smaller, larger = classes.tolist()
    if str(larger).lower() in _UNLABELED and str(smaller).lower() not in _UNLABELED:
        raise InputError(
            f"y holds {smaller!r} and {larger!r}, and the larger of the two, {larger!r}, would "
            "mark the labelled positives. Use 1 for them and 0 for unlabelled samples."
        )
    return PULabels(inverse.astype(bool), classes)


def refuse_masked(name: str, values: Any) -> None:
    """Refuse a masked array: what lies under the mask would be used as if it were there.

    Parameters
    ----------
    name : str
        Of the argument, for the message.
    values : object
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        n_masked = int(np.ma.getmaskarray(values).sum())
        raise InputError(
            f"{name} is a masked array with {n_masked} masked values. They are never guessed "
            "at: leave such samples out, or fill them with filled(...)."
        )


def stack_pu(positive: ArrayLike, unlabeled: ArrayLike) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Make ``(X, y)`` from an array of positives and an array of unlabelled samples.

    Parameters
    ----------
    positive : array-like of shape (n_positive, ...)
        Labelled positives (X_P).
    unlabeled : array-like of shape (n_unlabeled, ...)
        Unlabelled samples (X_U), of the same shape per sample.

    Returns
    -------
    X : ndarray of shape (n_positive + n_unlabeled, ...)
        Both arrays, positives first.
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
    refuse_masked("positive", positive)
    refuse_masked("unlabeled", unlabeled)
    positive, unlabeled = np.asarray(positive), np.asarray(unlabeled)
    if positive.ndim < 2 or positive.shape[1:] != unlabeled.shape[1:]:
        raise InputError(
            f"positive has shape {positive.shape} and unlabeled has shape {unlabeled.shape}. Both "
            "must be arrays of samples with the same shape per sample: (n, d), (n, h, w) or "
            "(n, h, w, c)."
        )
    y = np.zeros(len(positive) + len(unlabeled), dtype=np.int64)
    y[: len(positive)] = 1
    return np.concatenate([positive, unlabeled]), y


def _shorten(values: NDArray[Any], limit: int = 5) -> str:
    shown = ", ".join(repr(value) for value in values[:limit].tolist())
    return f"[{shown}, ...]" if len(values) > limit else f"[{shown}]"
