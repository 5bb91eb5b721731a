"""What could be made of the evidence at all: forests on the same numbers, and best bin's interval.

Rules that miss a goal may be bad rules, or the evidence may not tell more. Forests of randomised
trees that get every number that a rule rests on, and are taught the truth of the draws that choose,
say how much is left to gain; they are judged on the draw that judges, as the rules are.
"""

from __future__ import annotations

import math

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.model_selection import GroupKFold, cross_val_predict

from experiments.studies.encoder_tables import Flags, Floats
from vqpu.estimators._evidence import FitEvidence
from vqpu.estimators._expected import expected_accuracy, expected_auc
from vqpu.priors._best_bin import term_of_chance
from vqpu.priors._mixture import Cells, Interval

_N_TREES, _LEAF, _N_FOLDS = 200, 3, 5
_USUAL = {"agreement": 0.9, "likeness": 0.5, "late_gain": 0.0}


def numbers_of(evidence: FitEvidence) -> list[float]:
    """Return all numbers of the evidence that any rule rests on, and what is expected from them.

    Parameters
    ----------
    evidence : FitEvidence
    """
    found: list[float] = [math.log(evidence.n_positive), math.log(evidence.n_unlabeled)]
    for name in (
        "best_bin", "proxy_auc", "called", "recall", "agreement", "likeness", "twins",
        "column_auc", "other_column_auc", "like_unlabeled", "late_gain",
    ):  # fmt: skip
        value = getattr(evidence, name)
        found.append(_USUAL[name] if value is None else float(value))
    for interval in (
        evidence.alpha, evidence.auc, expected_accuracy(evidence), expected_auc(evidence),
    ):  # fmt: skip
        found += [*interval, interval.high - interval.low]
    return found


def forest_alarms(
    X: Floats, is_bad: Flags, groups: list[str], X_judged: Floats, least_bad: float
) -> Flags:
    """Return which judged fits a forest would alarm that alarms so many of the bad ones it knows.

    Parameters
    ----------
    X, X_judged : ndarray of shape (n, d) and (n_judged, d)
        `numbers_of` fits that are bad or good, and of those to be judged.
    is_bad : ndarray of bool, shape (n,)
    groups : list of str
        The table of each fit: where to put the threshold is learnt on tables not trained on.
    least_bad : float
        The share of bad fits that must be alarmed.
    """
    forest = ExtraTreesClassifier(
        _N_TREES, min_samples_leaf=_LEAF, class_weight="balanced", random_state=0
    )
    folds = GroupKFold(_N_FOLDS)
    own = cross_val_predict(forest, X, is_bad, groups=groups, cv=folds, method="predict_proba")
    threshold = np.quantile(own[is_bad, 1], 1 - least_bad)
    return np.asarray(forest.fit(X, is_bad).predict_proba(X_judged)[:, 1] >= threshold)


def forest_values(X: Floats, truth: Floats, X_judged: Floats) -> Floats:
    """Return what a forest expects of judged fits.

    Parameters
    ----------
    X, X_judged : ndarray of shape (n, d) and (n_judged, d)
    truth : ndarray of shape (n,)
    """
    forest = ExtraTreesRegressor(_N_TREES, min_samples_leaf=_LEAF, random_state=0)
    return np.asarray(forest.fit(X, truth).predict(X_judged))


def best_bin_interval(cells: Cells) -> Interval:
    """Return best bin's ratio, plus and minus its term of chance, tried at the cells' edges.

    Parameters
    ----------
    cells : Cells
    """
    above = [np.cumsum(part[::-1])[:-1] for part in (cells.n_positive, cells.n_unlabeled)]
    n_positive, n_unlabeled = cells.n_positive.sum(), cells.n_unlabeled.sum()
    enough = (above[0] > 1) & (above[1] > 1)
    if not enough.any():
        return Interval(0.5, 0.0, 1.0)
    share = above[0][enough] / n_positive
    ratio = above[1][enough] / n_unlabeled / share
    chance = term_of_chance(n_positive, n_unlabeled)
    best = int(np.argmin(ratio + chance / share))
    value, off = float(ratio[best]), float(chance / share[best])
    low, high = max(0.0, value - off), min(1.0, value + off)
    return Interval(min(value, 1.0), min(low, 1.0), high)
