"""X and y in: scikit-learn's checks and sentences, our exceptions, samples as one source."""

from __future__ import annotations

from typing import Any

from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from vqpu.base._labels import PULabels, encode_pu_labels, refuse_masked
from vqpu.base._source import ArraySource
from vqpu.errors import InputError, InputTypeError, VqpuError


def check_training_data(
    estimator: Any, X: Any, y: Any, *, takes_images: bool = True
) -> tuple[ArraySource, PULabels]:
    """Return the samples and what ``y`` says of them; the estimator forgets its last fit.

    Parameters
    ----------
    estimator : estimator
        Its ``n_features_in_`` and ``feature_names_in_`` are set.
    X, y : array-like
    takes_images : bool
        Whether X may have more than two axes.
    """
    forget(estimator)
    X, y = _validated(estimator, X, y, reset=True, allow_nd=takes_images)
    try:
        check_classification_targets(y)
        labels = encode_pu_labels(y)
    except VqpuError:
        raise
    except (ValueError, TypeError) as error:
        raise InputError(f"y cannot be used: {error}") from None
    return _checked_source(X), labels


def check_samples(estimator: Any, X: Any) -> ArraySource:
    """Return the samples of a fit without labels; the estimator forgets its last fit.

    Parameters
    ----------
    estimator : estimator
    X : array-like
    """
    forget(estimator)
    return _checked_source(_validated(estimator, X, "no_validation", reset=True, allow_nd=True))


def check_prediction_data(estimator: Any, X: Any) -> ArraySource:
    """Return the samples that a fitted estimator is to judge.

    Parameters
    ----------
    estimator : estimator
    X : array-like of the shape given to ``fit``
    """
    check_is_fitted(estimator)
    allow_nd = len(estimator.input_shape_) > 1 or getattr(X, "ndim", 2) > 2
    source = ArraySource(_validated(estimator, X, "no_validation", reset=False, allow_nd=allow_nd))
    if source.sample_shape != estimator.input_shape_:
        raise InputError(
            f"X holds samples of shape {source.sample_shape}, but {type(estimator).__name__} was "
            f"fitted on samples of shape {estimator.input_shape_}. Pass samples of that shape "
            "(images: channels, height, width)."
        )
    source.check_finite()
    return source


def forget(estimator: Any) -> None:
    """Drop what the last fit left: whatever happens next, it must not be mixed with it.

    Parameters
    ----------
    estimator : estimator
    """
    fitted = [name for name in vars(estimator) if name.endswith("_") and name[0] != "_"]
    for name in fitted:
        delattr(estimator, name)
    estimator.__dict__.pop("_folded", None)


def _checked_source(X: Any) -> ArraySource:
    source = ArraySource(X)
    source.check_finite()
    return source


def _validated(estimator: Any, X: Any, y: Any, *, reset: bool, allow_nd: bool) -> Any:
    for name, values in (("X", X), ("y", y)):
        refuse_masked(name, values)
    try:
        return validate_data(
            estimator,
            X,
            y,
            reset=reset,
            allow_nd=allow_nd,
            ensure_all_finite=False,  # our own check goes chunk by chunk
            ensure_min_samples=2 if reset else 1,
        )
    except TypeError as error:
        raise InputTypeError(str(error)) from None
    except ValueError as error:
        raise InputError(str(error)) from None
