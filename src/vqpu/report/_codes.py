"""The parts made of codes: which are used, and a map of the samples by their codes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.report._training_sample import TrainingSample

Floats = NDArray[np.float64]

MOST_POINTS = 2500
_SHOWN_CODES = 10
_WIDE = 50
_FEW = 12  # distinct codes; fewer have no neighbourhoods that t-SNE could keep
_SPREAD = 0.2  # radius of a disc of all points, as a share of the map's side
_GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))


class CodeUsage(NamedTuple):
    """How often codes occur among the vectors of the kept samples.

    Attributes
    ----------
    codes : list of int
        The most used ones, the most used first.
    positive, unlabeled : list of float
        Their shares among the vectors of labelled positives and of unlabelled samples.
    n_in_use : int
        Codes that occur at all.
    n_codes : int
        Size of the codebook.
    """

    codes: list[int]
    positive: list[float]
    unlabeled: list[float]
    n_in_use: int
    n_codes: int


def code_usage(codes: NDArray[Any], is_labeled: NDArray[np.bool_], n_codes: int) -> CodeUsage:
    """Count codes.

    Parameters
    ----------
    codes : ndarray of int, shape (n, K)
    is_labeled : ndarray of bool, shape (n,)
    n_codes : int

    Examples
    --------
    >>> usage = code_usage(np.array([[0, 0], [0, 3]]), np.array([False, True]), 4)
    >>> usage.codes, usage.unlabeled, usage.positive, usage.n_in_use
    ([0, 3], [1.0, 0.0], [0.5, 0.5], 2)
    """
    size = max(n_codes, int(codes.max()) + 1)
    unlabeled, positive = (
        np.bincount(codes[mask].ravel(), minlength=size) for mask in (~is_labeled, is_labeled)
    )
    total = unlabeled + positive
    order = np.argsort(-total, kind="stable")[: min(_SHOWN_CODES, int((total > 0).sum()))]
    return CodeUsage(
        order.tolist(),
        (positive[order] / max(positive.sum(), 1)).tolist(),
        (unlabeled[order] / max(unlabeled.sum(), 1)).tolist(),
        int((total > 0).sum()),
        n_codes,
    )


class CodeMap(NamedTuple):
    """Places of samples in the plane.

    Attributes
    ----------
    places : ndarray of shape (n, 2)
        Within the unit square or little outside.
    is_labeled, is_positive : ndarray of bool, shape (n,)
        Labelled positives; samples that are called positive.
    n_distinct : int
        Different codes among them.
    method : {"t-SNE", "principal components"}
    """

    places: Floats
    is_labeled: NDArray[np.bool_]
    is_positive: NDArray[np.bool_]
    n_distinct: int
    method: str


def code_map(sample: TrainingSample, seed: int = 0) -> CodeMap:
    """Place samples so that those with similar codes are near each other.

    Parameters
    ----------
    sample : TrainingSample
        With codes.
    seed : int
        Of t-SNE, and of the choice if there are too many points.
    """
    assert sample.codes is not None
    kept = _kept(len(sample.codes), seed)
    distinct, group = np.unique(sample.codes[kept], axis=0, return_inverse=True)
    group = group.ravel()
    method = "t-SNE" if len(distinct) >= _FEW else "principal components"
    centers = _scaled(_embed(distinct.astype(np.float64), seed))
    return CodeMap(
        centers[group] + spread_equal(group, seed),
        sample.is_labeled[kept],
        sample.scores[kept] > 0,
        len(distinct),
        method,
    )


def spread_equal(group: NDArray[np.int64], seed: int) -> Floats:
    """Return a small shift for every sample, so that those of one group fill a disc.

    Samples with equal codes would hide each other. The disc's area grows with their number; one of
    a group stays where it is.

    Parameters
    ----------
    group : ndarray of int, shape (n,)
    seed : int
        Of their order in the disc, in which labelled and unlabelled ones are to mix.

    Returns
    -------
    shifts : ndarray of shape (n, 2)
    """
    mixed = np.random.default_rng(seed).permutation(len(group))
    order = mixed[np.argsort(group[mixed], kind="stable")]
    ordered = group[order]
    place = np.empty(len(group))
    place[order] = np.arange(len(group)) - np.searchsorted(ordered, ordered)
    radius = _SPREAD * np.sqrt(place / max(len(group), 1))
    angle = place * _GOLDEN_ANGLE
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def _kept(n: int, seed: int) -> NDArray[np.int64]:
    if n <= MOST_POINTS:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, MOST_POINTS, replace=False))


def _embed(rows: Floats, seed: int) -> Floats:
    """Return a place for each of the distinct rows."""
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    if len(rows) < _FEW:
        return _first_components(rows)
    if rows.shape[1] > _WIDE:
        n_kept = min(_WIDE, len(rows))
        rows = PCA(n_kept, svd_solver="full").fit_transform(rows)
    perplexity = min(30.0, (len(rows) - 1) / 3)
    tsne = TSNE(2, perplexity=perplexity, init="pca", random_state=seed, n_jobs=1)
    # Sums of several threads depend on their order, and the page would with them.
    with threadpool_limits(1):
        return np.asarray(tsne.fit_transform(rows), np.float64)


def _first_components(rows: Floats) -> Floats:
    centered = rows - rows.mean(axis=0)
    _, scale, directions = np.linalg.svd(centered, full_matrices=False)
    places = np.zeros((len(rows), 2))
    count = min(2, len(scale))
    places[:, :count] = centered @ directions[:count].T
    return places


def _scaled(places: Floats) -> Floats:
    """Return the places in the unit square, sides in proportion."""
    low, high = places.min(axis=0), places.max(axis=0)
    side = float((high - low).max())
    scaled: Floats = 0.5 + (places - (low + high) / 2) / (side if side > 0 else 1.0)
    return scaled
