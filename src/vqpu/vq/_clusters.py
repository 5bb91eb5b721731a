"""The two clusters of the unlabelled data, and which of them is the positive one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.base._two_means import two_means_codes

Floats = NDArray[np.float64]

_CHUNK_ROWS = 4096


class Clusters(NamedTuple):
    """The classifier of the paper: two centres.

    Attributes
    ----------
    negative_center, positive_center : ndarray of float64, shape (n_features,)
        What samples are compared with.
    distance : float
        Between the two K-means centres of the unlabelled samples, the paper's stopping signal;
        0 if they are all alike.
    found_positives : bool
        False if neither cluster of the unlabelled samples lies near the labelled positives. What
        samples are compared with is then the mean of each set.
    """

    negative_center: Floats
    positive_center: Floats
    distance: float
    found_positives: bool

    @property
    def is_collapsed(self) -> bool:
        """Whether labelled positives and unlabelled samples are all represented alike."""
        return bool(np.array_equal(self.negative_center, self.positive_center))

    def place(self, representation: NDArray[Any]) -> Floats:
        """Return where samples lie along the line of centres: 0 negative, 1 positive, 1/2 between.

        Larger than 1/2 means nearer to the positive centre.
        """
        return self.member_places(representation, 1)[:, 0]

    def member_places(self, representation: NDArray[Any], n_members: int) -> Floats:
        """Return the same by every member's own part of the representation, (n, n_members)."""
        axis = (self.positive_center - self.negative_center).reshape(n_members, -1)
        squared_length = np.einsum("mf,mf->m", axis, axis)
        places = np.empty((len(representation), n_members))
        for start in range(0, len(representation), _CHUNK_ROWS):
            part = representation[start : start + _CHUNK_ROWS] - self.negative_center
            # einsum adds up each row by itself; a matrix product would round by the row count.
            along = np.einsum("nmf,mf->nm", part.reshape(len(part), *axis.shape), axis)
            places[start : start + len(part)] = along
        known = squared_length > 0
        return np.where(known, places / np.where(known, squared_length, 1.0), 0.5)


def find_clusters(
    unlabeled: NDArray[Any], positive: NDArray[Any], *, n_starts: int, seed: int
) -> Clusters:
    """Cluster the unlabelled samples into two and find the cluster of the positives.

    Parameters
    ----------
    unlabeled : ndarray of shape (n_u, n_features)
        Codes (integers) or vectors (floats) of unlabelled samples.
    positive : ndarray of shape (n_p, n_features)
        The same of labelled positives.
    n_starts, seed : int
        Of K-means.
    """
    positive_mean = positive.mean(axis=0, dtype=np.float64)
    unlabeled_mean = unlabeled.mean(axis=0, dtype=np.float64)
    if (unlabeled == unlabeled[:1]).all():
        return Clusters(unlabeled_mean, positive_mean, 0.0, found_positives=False)
    centers = _two_means(unlabeled, n_starts, seed)
    distance = float(np.linalg.norm(centers[1] - centers[0]))
    nearer = int(np.argmin([_mean_distance(positive, center) for center in centers]))
    # Hidden positives follow the labelled ones (SCAR), so their cluster must lie near the labelled
    # positives' mean; one that is further from it than the clusters are apart is something else.
    if float(np.linalg.norm(positive_mean - centers[nearer])) > distance:
        return Clusters(unlabeled_mean, positive_mean, distance, found_positives=False)
    return Clusters(centers[1 - nearer], centers[nearer], distance, found_positives=True)


def _two_means(samples: NDArray[Any], n_starts: int, seed: int) -> Floats:
    if np.issubdtype(samples.dtype, np.integer):
        return two_means_codes(samples, n_starts=n_starts, seed=seed).centers
    from sklearn.cluster import KMeans

    kmeans = KMeans(2, n_init=n_starts, random_state=seed % 2**31).fit(samples)
    return np.asarray(kmeans.cluster_centers_, dtype=np.float64)


def _mean_distance(samples: NDArray[Any], center: Floats) -> float:
    total = 0.0
    for start in range(0, len(samples), _CHUNK_ROWS):
        part = samples[start : start + _CHUNK_ROWS] - center
        total += float(np.linalg.norm(part, axis=1).sum())
    return total / len(samples)
