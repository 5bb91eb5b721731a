"""Classifiers of scikit-learn that the user hands over: checked, cloned and seeded."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vqpu.errors import InputError, ParameterError


def default_classifier() -> Any:
    """Return gradient boosting of small trees: needs no scaling, and its probabilities level off.

    The true p_P / p_U levels off where only positives are, at 1 / alpha; logistic regression
    cannot follow that, whatever the columns.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        learning_rate=0.05, max_leaf_nodes=8, early_stopping=False
    )


def takes_gaps(classifier: Any) -> bool:
    """Return whether a classifier says that NaN means missing to it, as trees do.

    Parameters
    ----------
    classifier : object
    """
    from sklearn.utils import get_tags

    is_estimator = hasattr(classifier, "get_params") and not isinstance(classifier, type)
    return is_estimator and bool(get_tags(classifier).input_tags.allow_nan)


def seeded_clone(name: str, classifier: Any, seed: int, *, method: str = "predict_proba") -> Any:
    """Return a clone that draws from ``seed`` wherever it would draw from the global state.

    Parameters
    ----------
    name : str
        Of the parameter, for the message.
    classifier : object
    seed : int
        Below 2**32.
    method : str
        What it must be able to do besides ``fit``.
    """
    from sklearn.base import clone

    is_class = isinstance(classifier, type)
    if is_class or not (hasattr(classifier, "get_params") and hasattr(classifier, method)):
        raise ParameterError(
            f"{name} must be a scikit-learn classifier with {method}. Got {classifier!r} instead."
        )
    model = clone(classifier)
    unset = {
        key: seed
        for key, value in model.get_params(deep=True).items()
        if key.split("__")[-1] == "random_state" and value is None
    }
    return model.set_params(**unset)


def checked_probability(model: Any, probability: Any) -> NDArray[np.float64]:
    """Return probabilities as they are, or refuse what is none.

    Parameters
    ----------
    model : object
        Who gave them, for the message.
    probability : array-like of shape (n,)
    """
    values = np.asarray(probability, dtype=np.float64)
    if not ((values >= 0) & (values <= 1)).all():  # NaN fails too
        raise InputError(
            f"predict_proba of {type(model).__name__} returned values outside [0, 1] or NaN. "
            "Give another classifier."
        )
    return values
