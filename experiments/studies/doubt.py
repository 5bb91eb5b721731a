"""Study of doubt: whether findings are right, and whether intervals of alpha hold the truth.

Fits that a user could have made, good and bad (`doubt_cases`). A record holds what the fit knew of
itself, and what is true. Constants and thresholds are chosen on the first three draws of cases; a
fourth one, which was made and read once the rules were fixed, judges. (The second and the third
judged earlier rules.)
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from experiments.item import Config, RunResult, Seeds, study
from experiments.judged import rounded
from experiments.studies.doubt_cases import (
    CHOOSES,
    DRAW,
    JUDGES,
    JUDGING,
    SECOND,
    THIRD,
    Drawn,
    as_given,
    draw_case,
    draw_data,
    draw_of,
    fit_case,
)
from experiments.studies.doubt_summary import plain_evidence, summary
from experiments.studies.encoder_tables import Flags, Floats
from experiments.studies.forms import calibration_error
from vqpu.errors import VqpuError, VqpuWarning

# Of P these have what U has not, so the supervised model learns from U alone.
_FAULTS_OF_P = ("shift", "wrong-labels", "id", "leak")
_BINS = 32  # of the supervised model's columns: more cost most of a small case's time


def expand(seeds: Seeds | None) -> dict[str, Config]:
    if seeds is None:
        numbers = [
            *range(CHOOSES.n_cases),
            *(
                number
                for first in (SECOND, THIRD, JUDGING)
                for number in range(first, first + JUDGES.n_cases)
            ),
        ]
        return {f"case{number:04d}": _config(number) for number in numbers}
    return {
        f"case{number}": _config(number) | {"seed": seed}
        for seed in seeds
        for number in range(
            DRAW * (1 + seed), DRAW * (1 + seed) + draw_of(DRAW * (1 + seed)).n_cases
        )
    }


def _config(number: int) -> Config:
    return {"number": number, **draw_case(number)._asdict()}


def run(config: Config, _: Path | None) -> RunResult:
    case = draw_case(config["number"])
    drawn = draw_data(case)
    metrics: dict[str, Any] = {
        "n_positive": len(drawn.positive),
        "n_unlabeled": len(drawn.unlabeled),
        "true_alpha": float(drawn.truth.mean()) if len(drawn.truth) else None,
        "usable": drawn.is_usable,
    }
    if not drawn.is_usable:
        return RunResult(metrics, [])
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VqpuWarning)
        try:
            model = fit_case(case, drawn)
        except VqpuError as error:
            return RunResult({**metrics, "error": type(error).__name__}, [])
    metrics["seconds"] = time.perf_counter() - began
    scores = model.decision_function(as_given(drawn.unlabeled))
    told = supervised(drawn, case.fault)
    metrics |= {f"fit_{name}": value for name, value in judged(scores, drawn.truth).items()}
    metrics |= {f"supervised_{name}": value for name, value in judged(told, drawn.truth).items()}
    metrics["calibration_error"] = calibration_error(scores, drawn.truth)
    metrics["best_border"] = best_border(scores, drawn.truth)
    metrics["evidence"] = plain_evidence(model.evidence_)
    return RunResult(rounded(metrics), [])


def judged(scores: Floats, truth: Flags) -> dict[str, float]:
    """Return accuracy, balanced accuracy and AUC; of one class alone its accuracy for the second.

    Parameters
    ----------
    scores : ndarray of shape (n_u,)
        Above 0 is positive.
    truth : ndarray of bool, shape (n_u,)
    """
    called = scores > 0
    accuracy = float((called == truth).mean())
    if truth.all() or not truth.any():
        return {"accuracy": accuracy, "balanced_accuracy": accuracy}
    return {
        "accuracy": accuracy,
        "balanced_accuracy": float(balanced_accuracy_score(truth, called)),
        "auc": float(roc_auc_score(truth, scores)),
    }


def best_border(scores: Floats, truth: Flags) -> float:
    """Return the accuracy of the best border of the same scores.

    Parameters
    ----------
    scores : ndarray of shape (n_u,)
    truth : ndarray of bool, shape (n_u,)
    """
    order = np.argsort(-scores, kind="stable")
    found: NDArray[np.int64] = np.cumsum(np.where(truth[order], 1, -1))
    is_last = np.append(np.diff(scores[order]) != 0, True)  # equal scores are called alike
    return float(((~truth).sum() + max(0, found[is_last].max())) / len(truth))


def supervised(drawn: Drawn, fault: str) -> Floats:
    """Return what boosted trees with all labels say of U, cross-fitted; the truth of one class.

    Parameters
    ----------
    drawn : Drawn
    fault : str
    """
    truth = drawn.truth
    rarer = min(int(truth.sum()), int((~truth).sum()))
    if rarer < 2:
        return np.where(truth, 1.0, -1.0)
    others = drawn.positive[:0] if fault in _FAULTS_OF_P else drawn.positive
    scores, share = np.zeros(len(truth)), float(truth.mean())
    folds = StratifiedKFold(min(5, rarer), shuffle=True, random_state=0)
    for train, rest in folds.split(drawn.unlabeled, truth):
        X = np.concatenate([drawn.unlabeled[train], others]).reshape(len(train) + len(others), -1)
        y: NDArray[Any] = np.concatenate([truth[train], np.ones(len(others), bool)])
        weight = np.where(y, share / y.mean(), (1 - share) / (1 - y.mean()))
        model = HistGradientBoostingClassifier(max_iter=60, max_bins=_BINS, random_state=0)
        scores[rest] = model.fit(X, y, sample_weight=weight).decision_function(
            drawn.unlabeled[rest].reshape(len(rest), -1)
        )
    return scores


ITEM = study(expand, run, summary)
