"""Parameters, X and y in: what is refused, and in which words; samples as one source."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import nn

from vqpu.base._labels import PULabels, encode_pu_labels, refuse_masked
from vqpu.base._parameters import check_choice, check_integer, check_real
from vqpu.base._precision import PRECISIONS
from vqpu.base._seeding import choose_device
from vqpu.base._source import ArraySource
from vqpu.base._sparse import SparseSource
from vqpu.base.columns import ColumnPlan, EncodedRows, Notes, is_frame, is_plain_frame
from vqpu.base.columns._arrow import first_few
from vqpu.base.columns._frames import column_names, encode_frame, fit_frame
from vqpu.errors import (
    InputError,
    InputTypeError,
    ParameterError,
    SwappedLabelsWarning,
    VqpuError,
)
from vqpu.estimators._encoder import table_inputs
from vqpu.nn import ENCODERS
from vqpu.training import OPTIMIZERS, SCHEDULES


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
    _refuse_missing_labels(y)
    X, plan, names = _planned(estimator, X)
    X, y = _validated(estimator, X, y, reset=True, allow_nd=takes_images)
    try:
        check_classification_targets(y)
        labels = encode_pu_labels(y)
    except VqpuError:
        raise
    except (ValueError, TypeError) as error:
        raise InputError(f"y cannot be used: {error}") from None
    if labels.doubt is not None:
        warnings.warn(labels.doubt, SwappedLabelsWarning, stacklevel=4)
    if plan is not None:
        estimator.columns_ = plan
        if names is not None:
            estimator.n_features_in_ = len(names)
            estimator.feature_names_in_ = np.array(names, dtype=object)
    return _checked_source(estimator, X, plan), labels


def _refuse_missing_labels(y: Any) -> None:
    """Raise if some labels are missing: a table often leaves the unlabelled rows empty."""
    if y is None:
        return  # a message of its own follows
    values = np.asarray(y)
    if values.dtype == object:
        n_missing = sum(_is_missing(value) for value in values.ravel())
    else:
        n_missing = int(np.isnan(values).sum()) if values.dtype.kind == "f" else 0
    if n_missing:
        raise InputError(
            f"y has {n_missing} missing values. Unlabelled samples need a value too: give them 0, "
            "positives 1, for instance y = (labels == 'yes') with missing ones filled by False."
        )


def _is_missing(value: Any) -> bool:
    is_nan = isinstance(value, float) and value != value
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")


def _refuse_lazy_frame(X: Any) -> None:
    if type(X).__name__ == "LazyFrame":
        raise InputTypeError("X is a LazyFrame, whose rows are not there yet. Pass X.collect().")


def _planned(estimator: Any, X: Any) -> tuple[Any, ColumnPlan | None, list[str] | None]:
    """Return X as numbers, the plan of its columns and, of a data frame, their names."""
    _refuse_lazy_frame(X)
    is_encoded = isinstance(X, EncodedRows)
    if not is_encoded and (not is_frame(X) or is_plain_frame(X)):
        return X, None, None
    if not _takes_gaps(estimator) and not (is_encoded and not (X.plan and X.plan.categories)):
        raise InputTypeError(
            f"{type(estimator).__name__} takes tables of numbers alone. Encode other columns "
            "first, for instance by a ColumnTransformer in a Pipeline, or drop them."
        )
    if is_encoded:
        return X.view(np.ndarray), X.plan if _takes_gaps(estimator) else None, None
    plan, notes = fit_frame(X), Notes()
    rows = encode_frame(plan, X, notes)
    notes.warn(4, plan=plan)
    return rows.view(np.ndarray), plan, column_names(X)


def check_samples(estimator: Any, X: Any) -> ArraySource:
    """Return the samples of a fit without labels; the estimator forgets its last fit.

    Parameters
    ----------
    estimator : estimator
    X : array-like
    """
    forget(estimator)
    X = _validated(estimator, X, "no_validation", reset=True, allow_nd=True)
    return _checked_source(estimator, X)


def check_prediction_data(estimator: Any, X: Any) -> ArraySource:
    """Return the samples that a fitted estimator is to judge.

    Parameters
    ----------
    estimator : estimator
    X : array-like of the shape given to ``fit``
    """
    check_is_fitted(estimator)
    if getattr(estimator, "columns_", None) is not None:
        return _planned_source(estimator, X)
    allow_nd = len(estimator.input_shape_) > 1 or getattr(X, "ndim", 2) > 2
    source = source_of(_validated(estimator, X, "no_validation", reset=False, allow_nd=allow_nd))
    if source.sample_shape != estimator.input_shape_:
        raise InputError(
            f"X holds samples of shape {source.sample_shape}, but {type(estimator).__name__} was "
            f"fitted on samples of shape {estimator.input_shape_}. Pass samples of that shape "
            "(images: channels, height, width)."
        )
    source.check_finite(allow_missing=_takes_gaps(estimator))
    source.check_present()
    return source


def _planned_source(estimator: Any, X: Any) -> ArraySource:
    """Return samples of a model that was fitted on a table: a data frame, or encoded rows."""
    plan: ColumnPlan = estimator.columns_
    _refuse_lazy_frame(X)
    if is_frame(X):
        notes = Notes()
        X = encode_frame(plan, X, notes).view(np.ndarray)
        notes.check_readable(plan)
        notes.warn(4)
    if isinstance(X, EncodedRows) and X.plan is not None and X.plan.codes != plan.codes:
        raise InputError(
            "X was read with other columns or categories than those of the model. Pass a data "
            "frame, which is encoded as in training."
        )
    shape = getattr(X, "shape", None)
    if (
        not isinstance(X, np.ndarray)
        or X.dtype.kind not in "biuf"
        or X.shape[1:] != (plan.n_features,)
    ):
        raise InputError(
            f"{type(estimator).__name__} was fitted on a table with the columns "
            f"{first_few(plan.names, 10)}: pass a data frame that has them. Got "
            f"{type(X).__name__}{f' of shape {shape}' if shape is not None else ''} instead."
        )
    if not len(X):
        raise InputError("Found array with 0 sample(s) where at least 1 is required.")
    source = ArraySource(X.view(np.ndarray), plan.categories)
    source.check_finite(allow_missing=True)
    source.check_present()
    return source


def _takes_gaps(estimator: Any) -> bool:
    return bool(getattr(estimator, "_takes_gaps", False))


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


def source_of(X: Any, categories: Mapping[int, int] | None = None) -> ArraySource:
    """Return validated samples as a source.

    Parameters
    ----------
    X : ndarray or CSR matrix
    categories : mapping or None
        Columns that hold codes, and how many codes each.
    """
    return ArraySource(X, categories or {}) if isinstance(X, np.ndarray) else SparseSource(X)


def _checked_source(estimator: Any, X: Any, plan: ColumnPlan | None = None) -> ArraySource:
    source = source_of(X, {} if plan is None else plan.categories)
    source.check_finite(allow_missing=_takes_gaps(estimator))
    inputs = table_inputs(source)
    if inputs is not None:
        estimator.table_inputs_ = inputs
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
            accept_sparse="csr" if getattr(estimator, "_takes_sparse", False) else False,
            ensure_all_finite=False,  # our own check goes chunk by chunk
            ensure_min_samples=2 if reset else 1,
        )
    except TypeError as error:
        raise InputTypeError(str(error)) from None
    except ValueError as error:
        raise InputError(str(error)) from None


AUGMENTATIONS = ("auto", "none", "shift", "flip", "flip+shift")


def check_encoder(name: str, value: Any, others: Sequence[str] = ()) -> None:
    """Raise unless ``value`` names an encoder, one of ``others`` too, or is a function.

    Parameters
    ----------
    name : str
    value : object
    others : sequence of str
        Encoders of this estimator that are no networks.
    """
    if isinstance(value, nn.Module):
        raise ParameterError(
            "encoder must be a name or a function of (sample_shape, vector_dim) that returns a "
            "new module, so that every fit starts afresh. Got a module instead."
        )
    if not callable(value):
        check_choice(name, value, ["auto", "network", *ENCODERS, *others])


def _check_verbose(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        check_integer(name, value, 0)


def _check_device(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise ParameterError(f"{name} must be a string such as 'auto'. Got {value!r} instead.")
    choose_device(value)


def check_known_alpha(name: str, value: Any) -> None:
    """Raise unless ``value`` is None, a share, or two shares in order.

    Parameters
    ----------
    name : str
    value : object
    """
    if isinstance(value, (tuple, list)) and len(value) == 2:
        for end in value:
            check_real(f"each end of {name}", end, 0, 1, open_high=False)
        if value[0] > value[1]:
            raise ParameterError(
                f"{name} must be a share or an interval (low, high) of shares. Got {value!r} "
                "instead, whose low end is above its high end."
            )
    else:
        check_real(name, value, 0, 1, open_high=False, optional=True)


_CHECKS: dict[str, Callable[[str, Any], None]] = {
    "encoder": check_encoder,
    "n_members": partial(check_integer, low=1, optional=True),
    "n_vectors": partial(check_integer, low=1),
    "vector_dim": partial(check_integer, low=1),
    "codebook_size": partial(check_integer, low=2),
    "dropout": partial(check_real, low=0, high=1, optional=True),
    "augment": partial(check_choice, choices=AUGMENTATIONS),
    "batch_size": partial(check_integer, low=2, optional=True),
    "learning_rate": partial(check_real, low=0, open_low=True),
    "optimizer": partial(check_choice, choices=("auto", *OPTIMIZERS)),
    "schedule": partial(check_choice, choices=SCHEDULES),
    "weight_average": partial(check_real, low=0, high=1),
    "max_steps": partial(check_integer, low=1, optional=True),
    "max_seconds": partial(check_real, low=0, open_low=True, optional=True),
    "max_epochs": partial(check_integer, low=1, optional=True),
    "check_every": partial(check_integer, low=1, optional=True),
    "patience": partial(check_integer, low=1),
    "warmup": partial(check_real, low=0, high=1, open_low=True, open_high=False),
    "holdout": partial(check_real, low=0, high=0.5, open_high=False),
    "n_init": partial(check_integer, low=1),
    "n_rounds": partial(check_integer, low=1, optional=True),
    "verbose": _check_verbose,
    "device": _check_device,
    "precision": partial(check_choice, choices=PRECISIONS),
}


def check_parameters(values: Mapping[str, Any]) -> None:
    """Raise if one of the parameters that are known here is wrong; others are passed over.

    Parameters
    ----------
    values : mapping
        By name, as ``get_params`` or ``vars`` gives them.
    """
    for name, check in _CHECKS.items():
        if name in values:
            check(name, values[name])
