"""Fits that a user could have made, good and bad, with their truth: the study of doubt's cases.

A case is drawn from its number alone: tables, texts or images, how many positives are labelled, the
share alpha of hidden ones, what is wrong with the data (in half of the cases: nothing) and what is
fitted. Most are tables and trees; the last numbers of a draw are texts, images and broken networks.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.studies.doubt_data import TEXTS, digit_images
from experiments.studies.encoder_tables import TABLES, Flags, Floats, Table
from vqpu import VQKMeansClassifier, stack_pu
from vqpu.base._registry import find_method

# Harmless, then what a user gets wrong. "subclass" cannot be seen without further assumptions.
FAULTS = (
    "none", "selected", "subclass", "shift", "wrong-labels", "id", "leak", "duplicates", "noise",
    "few-steps", "broken",
)  # fmt: skip
_OF_TABLES = FAULTS[1:-1]
_OF_IMAGES = ("selected", "subclass", "shift", "wrong-labels", "duplicates", "few-steps")
_FAULTLESS_SHARE = 0.55
_ALPHAS = (0.0, 0.02, 0.04, 0.06, 0.08, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.82, 0.86, 0.9, 0.95,
           0.98, 1.0)  # fmt: skip
_SIZES = (5, 10, 20, 30, 40, 60, 100, 200, 400, 1_000, 5_000)
DRAW = 10_000  # numbers of another draw begin at its multiple
SECOND = 100 * DRAW  # here begins the second draw, which judged earlier rules, as did the third
THIRD = 200 * DRAW
JUDGING = 300 * DRAW  # numbers from here on judge, all others may choose
# Images are small and few, so that a fit takes seconds and not the minutes that a user would give.
_OF_IMAGE_NETWORKS: dict[str, Any] = {
    "n_members": 2, "n_rounds": 1, "batch_size": 32, "precision": "float32",
}  # fmt: skip
_TOO_FAST = (1.0, 30.0, 1_000.0)  # learning rates of networks that collapse or diverge
RIVALS = ("naive", "nnpu", "tedn", "vpu")
SMALL_TABLES = ["breast-cancer", "wine", "biopsy", "tiny", "separated", "hdma", "treatment"]
_FEWEST_UNLABELED = 60


class Draw(NamedTuple):
    """How many cases of each kind a draw has, and what they may cost.

    Attributes
    ----------
    trees, others, texts, images, broken : int
        Tables by trees; small tables by networks and rivals; texts by trees; images by networks and
        rivals; networks and rivals whose learning rate is far too large.
    most_unlabeled : int
    n_steps : int
        Of networks.
    """

    trees: int
    others: int
    texts: int
    images: int
    broken: int
    most_unlabeled: int
    n_steps: int

    @property
    def n_cases(self) -> int:
        return sum(self[:5])


CHOOSES = Draw(380, 40, 0, 0, 0, most_unlabeled=3_000, n_steps=200)
JUDGES = Draw(356, 16, 28, 12, 8, most_unlabeled=600, n_steps=60)


def draw_of(number: int) -> Draw:
    """Return the draw that a case belongs to.

    Parameters
    ----------
    number : int
    """
    return CHOOSES if number < SECOND else JUDGES


class Case(NamedTuple):
    """What is fitted on what.

    Attributes
    ----------
    table : str
        Of TABLES or TEXTS, or "digit-images".
    n_positive : int
        As drawn; a table may have fewer.
    alpha : float
        Share of positives in U.
    fault : str
        One of FAULTS.
    method : str
        "trees", "network" or a rival.
    seed : int
        Draws the samples, and seeds the fit.
    """

    table: str
    n_positive: int
    alpha: float
    fault: str
    method: str
    seed: int


class Drawn(NamedTuple):
    """P and U as the user has them, and what the user does not have.

    Attributes
    ----------
    positive, unlabeled : ndarray of shape (n, d)
    truth : ndarray of bool, shape (n_u,)
        Which of U are positive.
    """

    positive: Floats
    unlabeled: Floats
    truth: Flags

    @property
    def is_usable(self) -> bool:
        """Whether the table has enough samples for the case."""
        return len(self.truth) >= _FEWEST_UNLABELED


def draw_case(number: int) -> Case:
    """Return the case of a number.

    Parameters
    ----------
    number : int
    """
    rng = np.random.default_rng([20, number])
    kind, method, tables, faults = _kind(number)
    fault = "none" if rng.random() < _FAULTLESS_SHARE else str(rng.choice(faults))
    fault = "broken" if kind == "broken" else fault
    alpha = float(rng.choice(_ALPHAS if fault in ("none", "few-steps") else _ALPHAS[3:-2]))
    if method is None:
        method = str(rng.choice(["network", *RIVALS]))
    return Case(str(rng.choice(tables)), int(rng.choice(_SIZES)), alpha, fault, method, number)


def kind_of(number: int) -> str:
    """Return what kind of case has a number: "trees", "others", "texts", "images" or "broken".

    Parameters
    ----------
    number : int
    """
    return _kind(number)[0]


def _kind(number: int) -> tuple[str, str | None, list[str], tuple[str, ...]]:
    """Return what kind of case has a number, its method, data and faults."""
    draw, place = draw_of(number), number % DRAW
    kinds: list[tuple[str, str | None, list[str], tuple[str, ...]]] = [
        ("trees", "trees", list(TABLES), _OF_TABLES),
        ("others", None, SMALL_TABLES, _OF_TABLES),
        ("texts", "trees", list(TEXTS), _OF_TABLES),
        ("images", None, ["digit-images"], _OF_IMAGES),
        ("broken", None, SMALL_TABLES, _OF_TABLES),
    ]
    ends = np.cumsum(draw[: len(kinds)])
    return kinds[int(np.searchsorted(ends, place, side="right"))]


@cache
def _table(name: str) -> Table:
    return digit_images() if name == "digit-images" else {**TABLES, **TEXTS}[name]()


def draw_data(case: Case) -> Drawn:
    """Draw P and U of a case, disjoint but for the fault "duplicates".

    Parameters
    ----------
    case : Case
    """
    X, truth = _table(case.table)
    rng = np.random.default_rng([21, case.seed])
    positives, negatives = (rng.permutation(np.flatnonzero(truth == kind)) for kind in (1, 0))
    n_positive = min(case.n_positive, len(positives) // 2)
    labeled = _labeled(case.fault, X, positives, n_positive, rng)
    rest = positives[~np.isin(positives, labeled)]
    if case.fault == "wrong-labels":
        n_wrong = max(1, round(0.3 * n_positive))
        labeled = np.concatenate([labeled[n_wrong:], negatives[:n_wrong]])
        negatives = negatives[n_wrong:]
    most = draw_of(case.seed).most_unlabeled
    unlabeled, of_unlabeled = _mixed(rest, negatives, case.alpha, most)
    return _spoil(case.fault, Drawn(X[labeled], X[unlabeled], of_unlabeled), rng)


def _labeled(
    fault: str, X: Floats, positives: NDArray[np.int64], count: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return which positives are labelled: any, or those of a kind."""
    if fault == "selected":  # the larger a column, the likelier to be labelled
        flat = X[positives].reshape(len(positives), -1)
        values = flat[:, _varying(flat, rng)] if X.ndim == 2 else flat.mean(axis=1)  # brightness
        rank = values.argsort(kind="stable").argsort(kind="stable") / len(values)
        chance = np.exp(6 * rank)
        return np.asarray(rng.choice(positives, count, replace=False, p=chance / chance.sum()))
    if fault == "subclass":
        from sklearn.cluster import KMeans
        from sklearn.preprocessing import StandardScaler

        scaled = StandardScaler().fit_transform(X[positives].reshape(len(positives), -1))
        kind = KMeans(2, n_init=2, random_state=0).fit_predict(scaled)
        return np.asarray(positives[kind == np.bincount(kind).argmax()][:count])
    return positives[:count]


def _varying(X: Floats, rng: np.random.Generator) -> int:
    """Return a column of many values, if there is one."""
    counts = np.array([len(np.unique(column)) for column in X.T])
    return int(rng.choice(np.flatnonzero(counts >= min(10, counts.max()))))


def _mixed(
    positives: NDArray[np.int64], negatives: NDArray[np.int64], alpha: float, size: int
) -> tuple[NDArray[np.int64], Flags]:
    if alpha > 0:
        size = min(size, int(len(positives) / alpha))
    if alpha < 1:
        size = min(size, int(len(negatives) / (1 - alpha)))
    n_positive = round(alpha * size)
    chosen = np.concatenate([positives[:n_positive], negatives[: size - n_positive]])
    return chosen, np.arange(len(chosen)) < n_positive


def _spoil(fault: str, drawn: Drawn, rng: np.random.Generator) -> Drawn:
    positive, unlabeled, truth = drawn
    n_positive, n_unlabeled = len(positive), len(unlabeled)
    if fault == "shift" and positive.ndim > 2:  # another camera: brighter, less contrast
        moved = 60 + 0.7 * positive
        return Drawn(moved, unlabeled, truth)
    if fault == "shift":  # P was measured by another device
        spread = unlabeled.std(axis=0)
        moved = np.array(rng.random(unlabeled.shape[1]) < 0.4)
        moved[_varying(unlabeled, rng)] = True
        return Drawn(positive + np.where(moved, spread, 0.0), unlabeled, truth)
    if fault == "id":  # rows are numbered, P first
        ids = np.concatenate([np.arange(n_positive), n_positive + rng.permutation(n_unlabeled)])
    elif fault == "leak":  # a column that was filled in by those who labelled
        told = np.repeat([1.0, 0.0], [n_positive, n_unlabeled])
        ids = np.where(rng.random(len(told)) < 0.02, 1 - told, told)
    elif fault == "duplicates":  # P was never taken out of U
        unlabeled = np.concatenate([unlabeled, positive])
        return Drawn(positive, unlabeled, np.concatenate([truth, np.ones(n_positive, bool)]))
    elif fault == "noise":
        return Drawn(rng.normal(size=positive.shape), rng.normal(size=unlabeled.shape), truth)
    else:
        return drawn
    return Drawn(
        np.column_stack([positive, ids[:n_positive]]),
        np.column_stack([unlabeled, ids[n_positive:]]),
        truth,
    )


def as_given(X: Floats) -> NDArray[Any]:
    """Return samples as a user has them: images as bytes.

    Parameters
    ----------
    X : ndarray of shape (n, d) or (n, h, w)
    """
    return X.astype(np.uint8) if X.ndim > 2 else X


def fit_case(case: Case, drawn: Drawn) -> Any:
    """Fit what the case asks for, with the defaults but for the seed and what the fault changes.

    Parameters
    ----------
    case : Case
    drawn : Drawn
    """
    X, y = stack_pu(as_given(drawn.positive), as_given(drawn.unlabeled))
    parameters: dict[str, Any] = {"random_state": case.seed}
    if case.method != "trees":
        parameters |= _of_networks(case, is_image=drawn.positive.ndim > 2)
    if case.method in RIVALS:
        method = find_method(case.method)
        assert method is not None
        return method.load_class()(**parameters).fit(X, y)
    if case.fault == "few-steps":
        parameters |= {"max_steps": 3, "n_rounds": 1}
    if drawn.positive.ndim == 2:
        parameters["encoder"] = case.method
    return VQKMeansClassifier(**parameters).fit(X, y)


def _of_networks(case: Case, *, is_image: bool) -> dict[str, Any]:
    parameters: dict[str, Any] = {"max_steps": draw_of(case.seed).n_steps}
    if is_image:
        parameters |= {
            name: value
            for name, value in _OF_IMAGE_NETWORKS.items()
            if case.method == "network" or name != "n_rounds"
        }
    if case.fault == "few-steps":
        parameters["max_steps"] = 20
    if case.fault == "broken":
        rate = _TOO_FAST[case.seed % len(_TOO_FAST)]
        parameters |= {"max_steps": min(60, parameters["max_steps"]), "learning_rate": rate}
    return parameters
