"""Tables with known truth: one real, two simulated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vqpu.errors import InputError

Labeled = tuple[NDArray[Any], NDArray[np.int64]]


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
