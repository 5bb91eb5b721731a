"""PU learning after plain dimension reduction: what a principal component analysis reaches."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.judged import rounded, scores
from experiments.methods import make_method
from experiments.problems import Problem
from vqpu.errors import InputError

REDUCED_METHODS = ("pca-kmeans", "pca-naive")

Predict = Callable[[NDArray[Any]], NDArray[np.int64]]


def run_reduced(
    method: str, problem: Problem, *, seed: int, n_components: int, parameters: dict[str, Any]
) -> dict[str, Any]:
    """Reduce P and U together to their principal components, then cluster or classify.

    Parameters
    ----------
    method : {"pca-kmeans", "pca-naive"}
        K-means with two clusters on U, the positive one being nearer to P (no encoder, no
        codebook); or the naive classifier of P against U.
    problem : Problem
    seed : int
    n_components : int
        At most as many as there are samples and features.
    parameters : dict
        Of the naive classifier.
    """
    check_reduced(method, parameters)
    started = time.perf_counter()
    reduce = _fit_pca(problem.X, n_components, seed)
    if method == "pca-kmeans":
        predict = _two_clusters(reduce(problem.X), problem.y, seed)
    else:
        model = make_method("naive", {"random_state": seed, **parameters})
        predict = model.fit(reduce(problem.X), problem.y).predict
    seconds = time.perf_counter() - started
    told = {"n_test": len(problem.y_test), "true_alpha": problem.alpha, "seconds": seconds}
    return rounded({**told, **scores(lambda X: predict(reduce(X)), problem)})


def check_reduced(method: str, parameters: dict[str, Any]) -> None:
    """Refuse a method that is unknown, and parameters that it does not take.

    Parameters
    ----------
    method : str
    parameters : dict
    """
    if method not in REDUCED_METHODS:
        raise InputError(f"Unknown method {method!r}. Valid methods are {list(REDUCED_METHODS)}.")
    if method == "pca-kmeans" and parameters:
        raise InputError(f"pca-kmeans has no parameters. Got {parameters} instead.")
    if method == "pca-naive":
        make_method("naive", parameters)


def _flat(X: NDArray[Any]) -> NDArray[np.float32]:
    return np.asarray(X, dtype=np.float32).reshape(len(X), -1)


def _fit_pca(X: NDArray[Any], n_components: int, seed: int) -> Callable[[NDArray[Any]], Any]:
    from sklearn.decomposition import PCA

    flat = _flat(X)
    pca = PCA(min(n_components, *flat.shape), random_state=seed).fit(flat)
    return lambda samples: pca.transform(_flat(samples))


def _two_clusters(X: NDArray[Any], y: NDArray[np.int64], seed: int) -> Predict:
    from sklearn.cluster import KMeans

    kmeans = KMeans(2, n_init=10, random_state=seed).fit(X[y == 0])
    # As in the paper: the cluster whose centre is nearer to the labelled positives.
    positive = int(np.argmin(kmeans.transform(X[y == 1]).mean(axis=0)))
    return lambda samples: (kmeans.predict(samples) == positive).astype(np.int64)
