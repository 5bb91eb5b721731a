"""Whether labelled positives look like the unlabelled samples that are called positive.

They do if those who labelled chose among all positives alike (SCAR). If not, examples and columns
show how the two differ. What the model itself takes for negative is not seen here: a kind of
positives that is missing from P altogether cannot be told from negatives without assumptions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.base._source import ArraySource
from vqpu.base._split import Sets
from vqpu.estimators._sampling import as_rows, some
from vqpu.trees import Binned, Growth, GrowthSettings, Task

Floats = NDArray[np.float64]

_MOST_POSITIVE, _MOST_UNLABELED = 1_000, 2_000
_FOLDS = 3
_FEWEST_TO_COMPARE = 6
_LEAST_WEIGHT = 0.01  # of the heaviest
_LEAST = 1e-12  # of weights that are divided by
_GROWTH = GrowthSettings(rate=0.1, n_trees=40, n_leaves=6, min_samples=3)
_WORTH_EXAMPLES = 0.6
_N_COLUMNS, _N_EXAMPLES = 3, 5
_DIFFERS = 0.6


class Likeness(NamedTuple):
    """How two sets of positives compare.

    Attributes
    ----------
    auc : float
        Of trees that are trained to tell them apart, cross-fitted: 1/2 if they look alike.
    columns : tuple of int
        Those that tell them apart best by themselves, if any does; none for images.
    samples : tuple of int
        Unlabelled samples called positive that look least like labelled ones.
    """

    auc: float
    columns: tuple[int, ...] = ()
    samples: tuple[int, ...] = ()


def compare_positives(source: ArraySource, indices: Sets, probability: Floats) -> Likeness | None:
    """Tell labelled positives from the unlabelled samples called positive, by trees.

    Every unlabelled sample weighs as much as it is likely to be positive.

    Parameters
    ----------
    source : ArraySource
    indices : Sets
    probability : ndarray of shape (n_u,)
        Of being positive, of the unlabelled samples.

    Returns
    -------
    likeness : Likeness or None
        None if there is nothing to compare.
    """
    positive = some(indices.positive, _MOST_POSITIVE)
    unlabeled, heavy = _heavy(indices.unlabeled, probability)
    if min(len(positive), len(unlabeled)) < _FEWEST_TO_COMPARE:
        return None
    rows = as_rows(source, np.concatenate([positive, unlabeled]))
    if rows is None:
        return None
    target = np.repeat([1.0, 0.0], [len(positive), len(unlabeled)])
    weight = np.concatenate([np.ones(len(positive)), heavy * len(positive) / heavy.sum()])
    found = _cross_fitted(rows, source.categories, target, weight)
    auc = weighted_auc(found, target, weight)
    if auc < _WORTH_EXAMPLES:
        return Likeness(auc)
    columns = () if source.is_image else _telling(rows, source.categories, target, weight)
    return Likeness(auc, columns, _examples(unlabeled, heavy, found[len(positive) :]))


def _heavy(unlabeled: NDArray[np.int64], probability: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Return the unlabelled samples that are likely to be positive, and what each weighs."""
    heavy = np.maximum(probability, 1e-6)
    # Of many, those that weigh most are taken for sure and weigh the same as the others then.
    chance = np.minimum(1.0, _MOST_UNLABELED * heavy / heavy.sum())
    kept = np.random.default_rng(0).random(len(heavy)) < chance
    if len(heavy) <= _MOST_UNLABELED:
        chance, kept = np.ones(len(heavy)), np.ones(len(heavy), dtype=bool)
    # What weighs next to nothing would only offer thresholds that cannot be used.
    kept &= heavy / chance > _LEAST_WEIGHT * (heavy / chance)[kept].max(initial=0.0)
    return unlabeled[kept], (heavy / chance)[kept]


def _cross_fitted(rows: Any, categories: Any, target: Floats, weight: Floats) -> Floats:
    """Return what trees that did not see a sample say of it."""
    fold = _folds_of(target)
    tasks = [
        Task(np.flatnonzero(fold != part), target[fold != part], weight[fold != part])
        for part in range(_FOLDS)
    ]
    growth = Growth(Binned(rows, categories, _GROWTH), tasks)
    growth.grow(_GROWTH.n_trees)
    outputs = growth.outputs(rows, 0, _GROWTH.n_trees)
    # A leaf's mean depends on the share of positives in its fold; ranks within folds do not.
    found = np.empty(len(target))
    for part in range(_FOLDS):
        own = fold == part
        found[own] = outputs[own, part] - np.average(outputs[own, part], weights=weight[own])
    return found


def _folds_of(target: Floats) -> NDArray[np.int64]:
    """Return the fold of every sample, of both kinds alike."""
    fold = np.empty(len(target), dtype=np.int64)
    generator = np.random.default_rng(0)
    for kind in (0.0, 1.0):
        members = generator.permutation(np.flatnonzero(target == kind))
        fold[members] = np.arange(len(members)) % _FOLDS
    return fold


def weighted_auc(values: Floats, target: Floats, weight: Floats) -> float:
    """Return how likely a value of target 1 is above one of target 0; of equal ones, half.

    Parameters
    ----------
    values, target, weight : ndarray of shape (n,)
    """
    _, place = np.unique(values, return_inverse=True)
    ours, others = (np.bincount(place, weight * (target == kind)) for kind in (1, 0))
    below = np.cumsum(others) - others / 2
    return float(ours @ below / (ours.sum() * others.sum()))


def _telling(rows: Floats, categories: Any, target: Floats, weight: Floats) -> tuple[int, ...]:
    """Return the columns that tell the sets apart by themselves, the best first."""
    known = np.nan_to_num(rows, nan=-np.inf)
    told = np.empty(rows.shape[1])
    for column, values in enumerate(known.T):
        if column in categories:
            told[column] = told_by_category(values, target, weight)
        else:
            told[column] = 0.5 + abs(weighted_auc(values, target, weight) - 0.5)
    best = np.argsort(-told, kind="stable")[:_N_COLUMNS]
    return tuple(int(column) for column in best if told[column] > _DIFFERS)


def told_by_category(codes: Floats, target: Floats, weight: Floats) -> float:
    """Return the AUC by which categories tell two sets apart, at least 1/2.

    What a category says is learnt without the fold of the sample it is said of: of hundreds of
    categories every sample of a small set has its own.

    Parameters
    ----------
    codes, target, weight : ndarray of shape (n,)
    """
    categories, place = np.unique(codes, return_inverse=True)
    fold, told = _folds_of(target), np.zeros(len(codes))
    for part in range(_FOLDS):
        known = fold != part
        ours, others = (
            np.bincount(place, weight * known * (target == kind), len(categories))
            for kind in (1, 0)
        )
        share = ours / max(ours.sum(), _LEAST) - others / max(others.sum(), _LEAST)
        told[~known] = share[place[~known]]
    return max(weighted_auc(told, target, weight), 0.5)


def _examples(unlabeled: NDArray[np.int64], heavy: Floats, found: Floats) -> tuple[int, ...]:
    """Return samples that are surely called positive and look least like labelled ones."""
    likely = np.flatnonzero(heavy >= heavy.max() / 2)
    least = likely[np.argsort(found[likely], kind="stable")[:_N_EXAMPLES]]
    return tuple(int(row) for row in unlabeled[least])
