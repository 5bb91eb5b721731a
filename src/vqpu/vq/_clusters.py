"""The two clusters of the unlabelled data, and which of them is the positive one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu._twomeans import two_means_codes

Floats = NDArray[np.float64]


class Clusters(NamedTuple):
    """The classifier of the paper: two centres.

    Attributes
    ----------
    negative_center, positive_center : ndarray of float64, shape (n_features,)
    found_positives : bool
        False if no cluster of the unlabelled data lies near the labelled positives; the centres
        are then the means of the unlabelled samples and of the labelled positives.
    """

    negative_center: Floats
    positive_center: Floats
    found_positives: bool

    @property
    def distance(self) -> float:
        """Distance between the centres, the paper's stopping signal."""
        return float(np.linalg.norm(self.positive_center - self.negative_center))

    @property
    def is_collapsed(self) -> bool:
        """Whether the two centres are one point."""
        return self.distance == 0.0

    def place(self, representation: NDArray[Any]) -> Floats:
        """Return where samples lie along the line of centres: 0 negative, 1 positive, 1/2 between.

        Larger than 1/2 means nearer to the positive centre.
        """
        axis = self.positive_center - self.negative_center
        squared_length = axis @ axis
        if squared_length == 0:
            return np.full(len(representation), 0.5)
        along = representation.astype(np.float64) @ axis
        return np.asarray((along - self.negative_center @ axis) / squared_length)


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
    fallback = Clusters(unlabeled_mean, positive_mean, found_positives=False)
    if (unlabeled == unlabeled[:1]).all():
        return fallback
    centers = _two_means(unlabeled, n_starts, seed)
    distances = [float(_mean_distance(positive, center)) for center in centers]
    nearer = int(np.argmin(distances))
    clusters = Clusters(centers[1 - nearer], centers[nearer], found_positives=True)
    # Hidden positives follow the labelled ones (SCAR), so their cluster must lie near the labelled
    # positives' mean; one that is further from it than the clusters are apart is something else.
    gap = float(np.linalg.norm(positive_mean - clusters.positive_center))
    return clusters if gap <= clusters.distance else fallback


def _two_means(samples: NDArray[Any], n_starts: int, seed: int) -> Floats:
    if np.issubdtype(samples.dtype, np.integer):
        return two_means_codes(samples, n_starts=n_starts, seed=seed).centers
    from sklearn.cluster import KMeans

    kmeans = KMeans(2, n_init=n_starts, random_state=seed % 2**31).fit(samples)
    return np.asarray(kmeans.cluster_centers_, dtype=np.float64)


def _mean_distance(samples: NDArray[Any], center: Floats) -> float:
    return float(np.linalg.norm(samples.astype(np.float64) - center, axis=1).mean())
