"""The PU label contract: which samples are labelled positive, which are unlabelled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vqpu.errors import InputError

_USUAL = ((0, 1), (-1, 1))  # of which everybody knows what is positive
# Words that mean negative or unlabelled, but stand behind others in the alphabet.
_NEGATIVE = ("false", "neg", "negative", "negativ", "nein", "no", "non")
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


class KnownLabels(NamedTuple):
    """What is known of samples beyond ``y``.

    Attributes
    ----------
    is_negative : ndarray of bool, shape (n_samples,)
        Known negatives; ``y`` calls none of them positive.
    is_confirmed : ndarray of bool, shape (n_samples,), or None
        Labelled positives that were found by looking at unlabelled samples, as the known
        negatives were. None: known negatives come from elsewhere, or were drawn at random.
    """

    is_negative: NDArray[np.bool_]
    is_confirmed: NDArray[np.bool_] | None = None


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
    first, last = str(smaller).lower(), str(larger).lower()
    is_unlabeled = last in _UNLABELED and first not in _UNLABELED
    if is_unlabeled or (last in _NEGATIVE and first not in (*_NEGATIVE, *_UNLABELED)):
        raise InputError(
            f"y holds {smaller!r} and {larger!r}, and the larger of the two, {larger!r}, would "
            "mark the labelled positives. Use 1 for them and 0 for unlabelled samples."
        )
    return PULabels(inverse.astype(bool), classes)


def check_known_labels(
    known_negatives: ArrayLike | None,
    confirmed_positives: ArrayLike | None,
    is_positive: NDArray[np.bool_],
) -> KnownLabels | None:
    """Return what two masks of rows say, None if both are None; refuse what contradicts ``y``.

    Parameters
    ----------
    known_negatives, confirmed_positives : array-like of bool, shape (n_samples,), or None
    is_positive : ndarray of bool, shape (n_samples,)
        Labelled positives.
    """
    if known_negatives is None and confirmed_positives is None:
        return None
    n_samples = len(is_positive)
    is_negative = _row_mask("known_negatives", known_negatives, n_samples)
    is_confirmed = _row_mask("confirmed_positives", confirmed_positives, n_samples)
    if both := int((is_negative & is_positive).sum()):
        raise InputError(
            f"known_negatives marks {both} samples that y calls positive. A sample is one or the "
            "other: correct y or the mask."
        )
    if others := int((is_confirmed & ~is_positive).sum()):
        raise InputError(
            f"confirmed_positives marks {others} samples that y does not call positive. Mark them "
            "in y as well: they are labelled positives now."
        )
    if not (is_positive & ~is_confirmed).any():
        raise InputError(
            "confirmed_positives marks every labelled positive. Some must have been labelled "
            "before the review: they say what hidden positives look like."
        )
    if not (~is_positive & ~is_negative).any():
        raise InputError(
            f"known_negatives marks all {int(is_negative.sum())} samples that are not labelled "
            "positive, so none is unlabelled. With every label known, use a supervised classifier."
        )
    return KnownLabels(is_negative, None if confirmed_positives is None else is_confirmed)


def _row_mask(name: str, mask: ArrayLike | None, n_samples: int) -> NDArray[np.bool_]:
    """Return a mask as an array; None marks nothing."""
    if mask is None:
        return np.zeros(n_samples, dtype=bool)
    refuse_masked(name, mask)
    values = np.asarray(mask)
    if values.dtype != np.bool_:
        raise InputError(
            f"{name} must be a mask of True and False, a value a row. Got values of type "
            f"{values.dtype} instead."
        )
    if values.shape != (n_samples,):
        raise InputError(
            f"{name} must have one value for each of the {n_samples} samples. Got shape "
            f"{values.shape} instead."
        )
    return values


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


def _shorten(values: NDArray[Any], limit: int = 5) -> str:
    shown = ", ".join(repr(value) for value in values[:limit].tolist())
    return f"[{shown}, ...]" if len(values) > limit else f"[{shown}]"
