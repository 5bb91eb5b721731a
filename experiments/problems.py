"""PU problems with their truth: tasks from data sets, and tables, one real and two simulated."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.datasets import data_directory, find_task, is_present, load_task, make_pu
from vqpu.errors import InputError

Labeled = tuple[NDArray[Any], NDArray[np.int64]]


class Problem(NamedTuple):
    """A PU problem with its truth.

    Attributes
    ----------
    X, y : ndarray
        What a method is given.
    truth : ndarray of int
        True labels of X; only the oracle and the judge see them.
    alpha : float
        True share of positives in U.
    X_test, y_test : ndarray
        Samples that are in neither P nor U, and their true labels.
    augment : str
        What may be done to the images.
    """

    X: NDArray[Any]
    y: NDArray[np.int64]
    truth: NDArray[np.int64]
    alpha: float
    X_test: NDArray[Any]
    y_test: NDArray[np.int64]
    augment: str


def make_problem(
    task: str,
    *,
    n_positive: int,
    n_unlabeled: int,
    alpha: float,
    seed: int,
    data_dir: Path | None = None,
    every_pixel: int = 1,
    image_size: int | None = None,
    scenario: str = "case-control",
    thin_test: bool = False,
) -> Problem:
    """Draw P and U from a task's training split; the test set is its test split.

    Tables have no test split: what is in neither P nor U is tested on.

    Parameters
    ----------
    task : str
        A task or a table.
    n_positive, n_unlabeled : int
    alpha : float
        Share of positives in U; in the single-set scenario that in P and U together.
    seed : int
    data_dir : Path or None
    every_pixel : int
        Keep every so many pixels of images, for small studies.
    image_size : int or None
        Side of photographs in pixels.
    scenario : {"case-control", "single-set"}
    thin_test : bool
        Leave test samples out until ``alpha`` of them are positive.
    """
    is_table = task in TABLES
    X, labels = make_table(task) if is_table else load_task(task, data_dir, size=image_size)
    sizes: dict[str, Any] = {"n_positive": n_positive, "n_unlabeled": n_unlabeled, "alpha": alpha}
    if scenario == "single-set":
        n_samples = n_positive + n_unlabeled
        frequency = n_positive / round(alpha * n_samples)
        sizes = {"n_samples": n_samples, "class_prior": alpha, "label_frequency": frequency}
    sample = make_pu(X, labels, **sizes, scenario=scenario, random_state=seed)
    X_test, y_test = X[sample.rest], labels[sample.rest]
    if not is_table:
        X_test, y_test = load_task(task, data_dir, train=False, size=image_size)
    if thin_test:
        kept = _thinned(y_test, alpha, seed)
        X_test, y_test = X_test[kept], y_test[kept]
    step = (slice(None), slice(None, None, every_pixel), slice(None, None, every_pixel))
    images = [part[step] if part.ndim > 2 else part for part in (sample.X, X_test)]
    augment = "none" if is_table else find_task(task).augment
    return Problem(images[0], sample.y, sample.truth, sample.alpha, images[1], y_test, augment)


def draw_problem(config: Mapping[str, Any], data_dir: Path | None = None) -> Problem:
    """Return the problem that a config names, by the arguments of :func:`make_problem` in it."""
    names = inspect.signature(make_problem).parameters
    given = {name: config[name] for name in names if name in config}
    return make_problem(**given, data_dir=data_dir)


def check_task(name: str, data_dir: Path | None) -> None:
    """Refuse a task that is unknown, or whose files are not there; they are not read.

    Parameters
    ----------
    name : str
        A task or a table.
    data_dir : Path or None
    """
    if name in TABLES:
        return
    dataset = find_task(name).dataset
    if not is_present(dataset, data_dir):
        raise InputError(
            f"{name} needs {dataset}, which is not whole in {data_directory(data_dir)}. Fetch it "
            f"('vqpu data list' says how), give --data-dir, or leave it out with --only."
        )


def _thinned(y: NDArray[np.int64], share: float, seed: int) -> NDArray[np.int64]:
    """Return as many places as possible, in order, of which ``share`` hold a positive."""
    positive, negative = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    n_kept = min(len(positive) / share, len(negative) / (1 - share))
    generator = np.random.default_rng(seed)
    kept = [
        generator.permutation(places)[: round(part * n_kept)]
        for places, part in ((positive, share), (negative, 1 - share))
    ]
    return np.sort(np.concatenate(kept))


def make_table(name: str) -> Labeled:
    """Return ``(X, y)`` of a table by name, ``y`` 1 for positives; the same at every call."""
    if name not in TABLES:
        raise InputError(f"Unknown table {name!r}. Valid tables are {list(TABLES)}.")
    return TABLES[name]()


def _breast_cancer() -> Labeled:
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    return np.asarray(data.data), (data.target == 0).astype(np.int64)  # 0 is malignant


def _wide_noise() -> Labeled:
    """57 skewed columns of which 12 say something, none of them much: easy to overfit."""
    rng = np.random.default_rng(57)
    y = (rng.random(6000) < 0.5).astype(np.int64)
    z = rng.standard_normal((6000, 57))
    z[:, :12] += (2 * y[:, None] - 1) * np.linspace(0.8, 0.2, 12)
    return np.exp(z / 2).astype(np.float32), y


def _nonlinear() -> Labeled:
    """20 columns, six clusters a class: no straight line tells the classes apart."""
    from sklearn.datasets import make_classification

    X, y = make_classification(
        26_000,
        20,
        n_informative=10,
        n_redundant=4,
        n_clusters_per_class=6,
        class_sep=1.3,
        random_state=0,
    )
    return X.astype(np.float32), y.astype(np.int64)


TABLES: dict[str, Callable[[], Labeled]] = {
    "breast-cancer": _breast_cancer,
    "wide-noise": _wide_noise,
    "nonlinear": _nonlinear,
}
