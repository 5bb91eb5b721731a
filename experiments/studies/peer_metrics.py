"""Scores of pulearn and pu-toolbox, run by metrics.py in an environment that has only them.

usage: python peer_metrics.py LIBRARY points.npz class_prior
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any

import numpy as np


def main(library: str, path: str, class_prior: float) -> None:
    with np.load(path, allow_pickle=False) as points:
        y, called, scores = points["y"], points["called"], points["scores"]
    ask = _pulearn if library == "pulearn" else _toolbox
    found = {name: float(value) for name, value in ask(y, called, scores, class_prior).items()}
    json.dump(found, sys.stdout, allow_nan=False)


def _pulearn(y: Any, called: Any, scores: Any, class_prior: float) -> dict[str, Any]:
    metrics: Any = import_module("pulearn.metrics")
    lift = metrics.pu_average_precision_score(y, scores, class_prior)
    return {
        "recall": metrics.pu_recall_score(y, called),
        "precision": metrics.pu_precision_score(y, called, class_prior),
        "f1": metrics.pu_f1_score(y, called, class_prior),
        "roc_auc": metrics.pu_roc_auc_score(y, scores, class_prior),
        "average_precision": lift,
        "area_under_lift": lift,
        "lee_liu_times_prior": class_prior * metrics.lee_liu_score(y, called),
    }


def _toolbox(y: Any, called: Any, _: Any, class_prior: float) -> dict[str, Any]:
    metrics: Any = import_module("pu_toolbox.metrics.classification")
    return {
        "recall": metrics.pu_recall(y, called),
        "precision": metrics.pu_estimated_precision(y, called, class_prior),
        "zero_one_risk": metrics.pu_zero_one_risk(y, called, class_prior),
    }


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
