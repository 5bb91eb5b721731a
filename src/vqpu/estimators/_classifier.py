"""PUClassifier: what every PU classifier can do once it can score samples."""

from __future__ import annotations

import os
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from vqpu.errors import ModelFileError
from vqpu.persistence._model import read_model
from vqpu.persistence._saving import EncoderMaker, restore_estimator, save_estimator
from vqpu.priors._posterior import positive_probability


class PUClassifier(ClassifierMixin, BaseEstimator):
    """Base of classifiers: a subclass implements ``fit`` and ``decision_function``.

    One that can be saved offers what :class:`vqpu.persistence._saving.Savable` says.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two values of ``y``. In predictions the first means negative.
    input_shape_ : tuple
        ``(d,)`` or ``(channels, height, width)``.
    n_features_in_ : int
        Size of the second axis of X.
    """

    classes_: NDArray[Any]
    input_shape_: tuple[int, ...]
    n_features_in_: int
    _saved: ClassVar[tuple[str, ...]] = ()

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

    def save(self, path: str | os.PathLike[str], *, extras: dict[str, bytes] | None = None) -> None:
        """Save the fitted model as a directory: ``manifest.json`` and ``weights.safetensors``.

        The directory appears whole or not at all, and replaces an older model only then. Reading
        it runs no code from it. A function given as ``encoder`` is not saved: hand it over again
        when loading. Of a ``random_state`` that is a generator only None is kept.

        Parameters
        ----------
        path : path
            Of the directory: free, empty, or an older model.
        extras : dict of bytes or None
            Further files to keep in it by their names.
        """
        if not self._saved:
            raise ModelFileError(
                f"{type(self).__name__} cannot be saved: it holds scikit-learn estimators of your "
                "choice, and a file that brings back any object could run any code when it is "
                "read. Fit it again where it is needed, or use a classifier with a network."
            )
        check_is_fitted(self)
        save_estimator(self, path, extras)  # type: ignore[arg-type]

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        encoder: EncoderMaker | None = None,
        device: str | None = None,
    ) -> Self:
        """Return a model that was saved by this class; it predicts as it did, bit for bit.

        (On other hardware ``precision="auto"`` may be another precision, and last digits with it.)

        Parameters
        ----------
        path : path
        encoder : callable or None
            The function that was given as ``encoder``, if one was.
        device : str or None
            Where to compute. None: as the parameter ``device`` says that was saved.
        """
        bundle = read_model(path)
        return restore_estimator(cls, bundle, encoder=encoder, device=device)  # type: ignore[type-var]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "input_shape_")

    @property
    def _takes_gaps(self) -> bool:
        """Whether NaN in vectors means missing, and columns may hold codes of categories."""
        return False

    @property
    def _takes_sparse(self) -> bool:
        """Whether vectors may stand in a sparse matrix."""
        return False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.non_deterministic = False
        tags.input_tags.allow_nan = self._takes_gaps
        tags.input_tags.sparse = self._takes_sparse
        return tags
