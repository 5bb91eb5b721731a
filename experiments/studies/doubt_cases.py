"""Fits that a user could have made, good and bad, with their truth: the study of doubt's cases.

A case is drawn from its number alone: a table, how many positives are labelled, the share alpha of
hidden ones, what is wrong with the data (in half of the cases: nothing) and what is fitted.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.studies.encoder_tables import TABLES, Flags, Floats, Table
from vqpu import VQKMeansClassifier, stack_pu
from vqpu.base._registry import find_method

# Harmless, then what a user gets wrong. "subclass" cannot be seen without further assumptions.
FAULTS = (
    "none", "selected", "subclass", "shift", "wrong-labels", "id", "leak", "duplicates", "noise",
    "few-steps",
)  # fmt: skip
_FAULTLESS_SHARE = 0.55
_ALPHAS = (0.0, 0.02, 0.04, 0.06, 0.08, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.82, 0.86, 0.9, 0.95,
           0.98, 1.0)  # fmt: skip
_SIZES = (5, 10, 20, 30, 40, 60, 100, 200, 400, 1_000, 5_000)
_N_TREES, _N_OTHERS = 380, 40
_STEPS_OF_NETWORKS = 200
RIVALS = ("naive", "nnpu", "tedn", "vpu")
SMALL_TABLES = ["breast-cancer", "wine", "biopsy", "tiny", "separated", "hdma", "treatment"]
_MOST_UNLABELED = 3_000
_FEWEST_UNLABELED = 60


class Case(NamedTuple):
    """What is fitted on what.

    Attributes
    ----------
    table : str
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
    fault = "none" if rng.random() < _FAULTLESS_SHARE else str(rng.choice(FAULTS[1:]))
    alpha = float(rng.choice(_ALPHAS if fault in ("none", "few-steps") else _ALPHAS[3:-2]))
    is_tree = number % 10_000 < _N_TREES
    tables = list(TABLES) if is_tree else SMALL_TABLES
    method = "trees" if is_tree else str(rng.choice(["network", *RIVALS]))
    return Case(str(rng.choice(tables)), int(rng.choice(_SIZES)), alpha, fault, method, number)


@cache
def _table(name: str) -> Table:
    return TABLES[name]()


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
    unlabeled, of_unlabeled = _mixed(rest, negatives, case.alpha)
    return _spoil(case.fault, Drawn(X[labeled], X[unlabeled], of_unlabeled), rng)


def _labeled(
    fault: str, X: Floats, positives: NDArray[np.int64], count: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return which positives are labelled: any, or those of a kind."""
    if fault == "selected":  # the larger a column, the likelier to be labelled
        values = X[positives][:, _varying(X[positives], rng)]
        rank = values.argsort(kind="stable").argsort(kind="stable") / len(values)
        chance = np.exp(6 * rank)
        return np.asarray(rng.choice(positives, count, replace=False, p=chance / chance.sum()))
    if fault == "subclass":
        from sklearn.cluster import KMeans
        from sklearn.preprocessing import StandardScaler

        scaled = StandardScaler().fit_transform(X[positives])
        kind = KMeans(2, n_init=2, random_state=0).fit_predict(scaled)
        return np.asarray(positives[kind == np.bincount(kind).argmax()][:count])
    return positives[:count]


def _varying(X: Floats, rng: np.random.Generator) -> int:
    """Return a column of many values, if there is one."""
    counts = np.array([len(np.unique(column)) for column in X.T])
    return int(rng.choice(np.flatnonzero(counts >= min(10, counts.max()))))


def _mixed(
    positives: NDArray[np.int64], negatives: NDArray[np.int64], alpha: float
) -> tuple[NDArray[np.int64], Flags]:
    size = _MOST_UNLABELED
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


def n_cases() -> int:
    """Return how many cases the study has."""
    return _N_TREES + _N_OTHERS


def fit_case(case: Case, drawn: Drawn) -> Any:
    """Fit what the case asks for, with the defaults but for the seed and what the fault changes.

    Parameters
    ----------
    case : Case
    drawn : Drawn
    """
    X, y = stack_pu(drawn.positive, drawn.unlabeled)
    parameters: dict[str, Any] = {"random_state": case.seed}
    if case.method in RIVALS:
        parameters["max_steps"] = 20 if case.fault == "few-steps" else _STEPS_OF_NETWORKS
        method = find_method(case.method)
        assert method is not None
        return method.load_class()(**parameters).fit(X, y)
    if case.fault == "few-steps":
        parameters |= {"max_steps": 3, "n_rounds": 1}
    elif case.method == "network":
        parameters["max_steps"] = _STEPS_OF_NETWORKS
    return VQKMeansClassifier(encoder=case.method, **parameters).fit(X, y)
