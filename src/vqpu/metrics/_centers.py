"""The paper's own signal: how far apart the two clusters of the unlabelled samples lie."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing

from vqpu.base._two_means import two_means_codes
from vqpu.errors import InputError
from vqpu.metrics._inputs import read_pu_labels


def center_distance_score(codes: ArrayLike) -> float:
    """Return the distance between the two K-means centres of code indices; 0 if all are alike.

    It needs no label and no scenario, and says how clearly the samples fall into two clusters,
    not whether those are positives and negatives. Compare it between models of the same number
    of vectors and codes only: it grows with both.

    Parameters
    ----------
    codes : array-like of int, shape (n_samples, K)
        What ``VQKMeansClassifier.transform`` returns for unlabelled samples.

    Examples
    --------
    >>> center_distance_score([[0, 0], [0, 0], [3, 4], [3, 4]])
    5.0
    """
    codes = np.asarray(codes)
    if codes.ndim != 2 or codes.size == 0 or codes.dtype.kind not in "iu" or codes.min() < 0:
        raise InputError(
            f"codes must be whole numbers from 0 of shape (n_samples, K). Got {codes.dtype} of "
            f"shape {codes.shape}: pass what VQKMeansClassifier.transform returns."
        )
    if (codes == codes[:1]).all():
        return 0.0
    lower, upper = two_means_codes(codes).centers
    return float(np.linalg.norm(upper - lower))


def center_distance_scorer(estimator: Any, X: ArrayLike, y_pu: ArrayLike) -> float:
    """Score a fitted `VQKMeansClassifier` by the unlabelled samples among ``X``.

    For ``scoring=`` of ``GridSearchCV`` and ``cross_val_score``.

    Parameters
    ----------
    estimator : VQKMeansClassifier
        Fitted, with ``encoding="codes"``.
    X : array-like of the shape given to ``fit``
    y_pu : array-like of shape (n_samples,)
        PU labels.
    """
    is_labeled = read_pu_labels(y_pu).is_positive
    return center_distance_score(
        estimator.transform(_safe_indexing(X, np.flatnonzero(~is_labeled)))
    )
