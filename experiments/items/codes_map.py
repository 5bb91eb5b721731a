"""Figure 2 in numbers: whether the codes of U fall into the two classes, and how they look."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vqpu.base._two_means import two_means_codes
from vqpu.errors import CollapsedCodesError

Codes = NDArray[np.integer[Any]]
Floats = NDArray[np.float64]


def index_clusters(unlabeled: Codes, seed: int) -> Floats:
    """Return the two K-means centres of code indices, the representation that the paper clusters.

    Parameters
    ----------
    unlabeled : ndarray of int, shape (n_u, K)
    seed : int
    """
    _check_distinct(unlabeled)
    return two_means_codes(unlabeled, seed=seed).centers


def vector_clusters(unlabeled: NDArray[Any], seed: int) -> Floats:
    """Return the two K-means centres of the code vectors themselves.

    Nearby indices need not be nearby codes in a VQ-VAE, whose codebook has no order; its vectors
    have one meaning in both models.

    Parameters
    ----------
    unlabeled : ndarray of shape (n_u, K * p)
    seed : int
    """
    from sklearn.cluster import KMeans

    model = KMeans(2, n_init=4, random_state=seed).fit(unlabeled)
    return np.asarray(model.cluster_centers_, dtype=np.float64)


def vectors_of(codes: Codes, codebook: NDArray[Any]) -> NDArray[Any]:
    """Return the vectors that indices stand for, shape (n, K * p)."""
    return codebook[codes].reshape(len(codes), -1)


def cluster_accuracies(
    centers: Floats,
    positive: NDArray[Any],
    unlabeled: NDArray[Any],
    is_positive: NDArray[np.bool_],
) -> tuple[float, float]:
    """Return the accuracy of two clusters on U, as named by P and as named by the truth.

    Parameters
    ----------
    centers : ndarray of shape (2, d)
    positive : ndarray of shape (n_p, d)
        Labelled positives: the centre that is nearer to them on average is the positive one.
    unlabeled : ndarray of shape (n_u, d)
    is_positive : ndarray of bool, shape (n_u,)
        The hidden truth.

    Returns
    -------
    named_by_positives, named_by_truth : float
        The second is never below one half: what the clusters could give at best.
    """
    is_first = _distances(unlabeled, centers[0]) < _distances(unlabeled, centers[1])
    if_first_is_positive = float((is_first == is_positive).mean())
    nearness = [_distances(positive, center).mean() for center in centers]
    named = if_first_is_positive if nearness[0] < nearness[1] else 1 - if_first_is_positive
    return named, max(if_first_is_positive, 1 - if_first_is_positive)


def _check_distinct(representation: NDArray[Any]) -> None:
    if (representation == representation[:1]).all():
        raise CollapsedCodesError(
            f"All {len(representation)} samples have the same codes, so there is nothing to tell "
            "apart. Train for more steps or with another learning rate."
        )


def _distances(samples: NDArray[Any], center: Floats) -> Floats:
    return np.asarray(np.linalg.norm(samples - center, axis=1))


def map_to_plane(representation: NDArray[Any], seed: int) -> Floats:
    """Return t-SNE's picture of a representation, shape (n, 2).

    Parameters
    ----------
    representation : ndarray of shape (n, d), n > 30
    seed : int
    """
    from sklearn.manifold import TSNE

    _check_distinct(representation)
    model = TSNE(2, perplexity=30, init="pca", random_state=seed)
    return np.asarray(model.fit_transform(representation.astype(np.float32)), dtype=np.float64)
