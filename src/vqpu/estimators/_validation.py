"""The contract of every estimator: what X and y may be, and how an answer becomes a label."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from vqpu.base._labels import PULabels, encode_pu_labels, refuse_masked
from vqpu.base._source import ArraySource
from vqpu.errors import InputError, InputTypeError, ModelFileError, VqpuError


class CheckedEstimator(BaseEstimator):  # type: ignore[misc]
    """Base of estimators: checks X and y with scikit-learn's sentences but our exception tree."""

    _takes_images = True

    def save(self, path: Any, *, extras: dict[str, bytes] | None = None) -> None:  # noqa: ARG002
        """Refuse: only estimators with a network of vqpu can be saved."""
        raise ModelFileError(
            f"{type(self).__name__} cannot be saved: it holds scikit-learn estimators of your "
            "choice, and a file that brings back any object could run any code when it is read. "
            "Fit it again where it is needed, or use a classifier with a network."
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "input_shape_")

    def _check_samples(self, X: Any) -> ArraySource:
        """Return the samples of a fit without labels."""
        self._forget()
        source = ArraySource(self._validated(X, "no_validation", reset=True))
        source.check_finite()
        return source

    def _forget(self) -> None:
        """Drop what the last fit left: whatever happens next, it must not be mixed with it."""
        for name in [name for name in vars(self) if name.endswith("_") and name[0] != "_"]:
            delattr(self, name)
        self.__dict__.pop("_folded", None)

    def _source_for_prediction(self, X: Any) -> ArraySource:
        check_is_fitted(self)
        source = ArraySource(self._validated(X, "no_validation", reset=False))
        if source.sample_shape != self.input_shape_:
            raise InputError(
                f"X holds samples of shape {source.sample_shape}, but {type(self).__name__} was "
                f"fitted on samples of shape {self.input_shape_}. Pass samples of that shape "
                "(images: channels, height, width)."
            )
        source.check_finite()
        return source

    def _validated(self, X: Any, y: Any, *, reset: bool) -> Any:
        for name, values in (("X", X), ("y", y)):
            refuse_masked(name, values)
        try:
            return validate_data(
                self,
                X,
                y,
                reset=reset,
                allow_nd=self._takes_images,
                ensure_all_finite=False,  # our own check goes chunk by chunk
                ensure_min_samples=2 if reset else 1,
            )
        except TypeError as error:
            raise InputTypeError(str(error)) from None
        except ValueError as error:
            raise InputError(str(error)) from None


class PUClassifier(ClassifierMixin, CheckedEstimator):  # type: ignore[misc]
    """Base of classifiers: a subclass implements ``fit`` and ``decision_function``."""

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return one of ``classes_`` per sample; the larger one means positive.

        Parameters
        ----------
        X : array-like of the shape given to ``fit``
        """
        is_positive = self.decision_function(X) > 0
        return np.asarray(self.classes_[is_positive.astype(np.intp)])

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probabilities of being negative and positive, shape (n_samples, 2).

        Parameters
        ----------
        X : array-like of the shape given to ``fit``
        """
        log_odds = self.decision_function(X)
        return np.column_stack([positive_probability(-log_odds), positive_probability(log_odds)])

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the log odds of being positive; above 0 is positive, shape (n_samples,)."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.non_deterministic = False
        return tags

    def _check_training_data(self, X: Any, y: Any) -> tuple[ArraySource, PULabels]:
        self._forget()
        X, y = self._validated(X, y, reset=True)
        try:
            check_classification_targets(y)
            labels = encode_pu_labels(y)
        except VqpuError:
            raise
        except (ValueError, TypeError) as error:
            raise InputError(f"y cannot be used: {error}") from None
        source = ArraySource(X)
        source.check_finite()
        return source, labels


def positive_probability(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logistic function of log odds, without overflow at either end."""
    return np.asarray(1 / (1 + np.exp(-np.clip(log_odds, -700, 700))))
