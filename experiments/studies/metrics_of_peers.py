"""Scores of pulearn and pu-toolbox, run by metrics.py in an environment that has only them.

usage: python metrics_of_peers.py points.npz class_prior
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any

import numpy as np


def main(path: str, class_prior: float) -> None:
    with np.load(path, allow_pickle=False) as points:
        y, called, scores = points["y"], points["called"], points["scores"]
    pulearn: Any = import_module("pulearn.metrics")
    toolbox: Any = import_module("pu_toolbox.metrics.classification")
    lift = pulearn.pu_average_precision_score(y, scores, class_prior)
    found = {
        "pulearn": {
            "recall": pulearn.pu_recall_score(y, called),
            "precision": pulearn.pu_precision_score(y, called, class_prior),
            "f1": pulearn.pu_f1_score(y, called, class_prior),
            "roc_auc": pulearn.pu_roc_auc_score(y, scores, class_prior),
            "average_precision": lift,
            "area_under_lift": lift,
            "lee_liu_times_prior": class_prior * pulearn.lee_liu_score(y, called),
        },
        "pu-toolbox": {
            "recall": toolbox.pu_recall(y, called),
            "precision": toolbox.pu_estimated_precision(y, called, class_prior),
            "zero_one_risk": toolbox.pu_zero_one_risk(y, called, class_prior),
        },
    }
    values = {peer: {key: float(v) for key, v in rows.items()} for peer, rows in found.items()}
    json.dump(values, sys.stdout, allow_nan=False)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
