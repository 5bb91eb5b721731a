"""Intervals of pulearn's class prior, run by peer_intervals.py in an environment of their own.

usage: python peer_prior.py points.npz n_resamples

Prints the estimate and the ends of a 90 % interval for each estimator, of P and U together.
"""

from __future__ import annotations

import json
import sys
import warnings
from importlib import import_module
from typing import Any

import numpy as np

_ESTIMATORS = {
    "histogram": "HistogramMatchPriorEstimator",
    "EM": "ScarEMPriorEstimator",
}


def main(path: str, n_resamples: int) -> None:
    with np.load(path, allow_pickle=False) as points:
        X, y = points["X"], points["y"]
    priors: Any = import_module("pulearn.priors")
    found = {}
    for name, kind in _ESTIMATORS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = getattr(priors, kind)().bootstrap(
                X, y, n_resamples=n_resamples, confidence_level=0.9, random_state=0
            )
        ends = result.confidence_interval
        found[name] = [float(value) for value in (result.pi, ends.lower, ends.upper)]
    json.dump(found, sys.stdout, allow_nan=False)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
