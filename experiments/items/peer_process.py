"""Methods of pulearn and pu-toolbox, run by peer_libraries.py in an environment that has only them.

usage: python -I peer_process.py LIBRARY METHOD SEED samples.npz predictions.json

Neither vqpu nor any true label is in reach here. Every method has its defaults. Where one needs a
class prior it is given its own library's estimate, as that library's documentation has it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.npyio import NpzFile

NOT_INSTALLED = 77  # exit code: the environment's fault, not the method's

Fitted = tuple[Any, float | None]  # a classifier, and the prior it was given


def _forest(seed: int) -> Any:
    return import_module("sklearn.ensemble").RandomForestClassifier(random_state=seed)


def _pulearn_elkan_noto(X: Any, y: Any, seed: int) -> Fitted:
    # The library has no default estimator here: a forest with its own defaults.
    kind: Any = import_module("pulearn").ElkanotoPuClassifier
    return kind(_forest(seed), random_state=seed).fit(X, y), None


def _pulearn_bagging(X: Any, y: Any, seed: int) -> Fitted:
    kind: Any = import_module("pulearn").BaggingPuClassifier
    return kind(random_state=seed).fit(X, y), None


def _pulearn_bayes(X: Any, y: Any, seed: int) -> Fitted:  # noqa: ARG001 - nothing is random
    kind: Any = import_module("pulearn").PositiveNaiveBayesClassifier
    return kind().fit(X, y), None


def _pulearn_nnpu(X: Any, y: Any, seed: int) -> Fitted:
    library: Any = import_module("pulearn")
    # What the library estimates, as it is: its nnPU asks for the share in U, but nothing in it
    # turns the one into the other.
    prior = float(library.ScarEMPriorEstimator().estimate(X, y).pi)
    return library.NNPUClassifier(prior=prior, random_state=seed).fit(X, y), prior


def _toolbox_elkan_noto(X: Any, y: Any, seed: int) -> Fitted:
    kind: Any = import_module("pu_toolbox").ElkanNotoClassifier
    return kind(random_state=seed).fit(X, y), None


def _toolbox_with_prior(name: str) -> Callable[[Any, Any, int], Fitted]:
    def fit(X: Any, y: Any, seed: int) -> Fitted:
        library: Any = import_module("pu_toolbox")
        prior = float(library.ClassPriorEstimator().fit(X, y).class_prior_)
        kind: Any = getattr(library, name)
        return kind(class_prior=prior, random_state=seed).fit(X, y), prior

    return fit


METHODS: dict[tuple[str, str], Callable[[Any, Any, int], Fitted]] = {
    ("pulearn", "elkan-noto"): _pulearn_elkan_noto,
    ("pulearn", "bagging"): _pulearn_bagging,
    ("pulearn", "positive-naive-bayes"): _pulearn_bayes,
    ("pulearn", "nnpu"): _pulearn_nnpu,
    ("pu-toolbox", "elkan-noto"): _toolbox_elkan_noto,
    ("pu-toolbox", "nnpu"): _toolbox_with_prior("NonNegativePUClassifier"),
    ("pu-toolbox", "dist-pu"): _toolbox_with_prior("DistPUClassifier"),
    ("pu-toolbox", "self-pu"): _toolbox_with_prior("SelfPUClassifier"),
}


def _end_with_the_parent() -> None:
    """Wait until the process that asks is gone, and its timeout with it; then end."""
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _scores(model: Any, X_test: Any) -> list[float] | None:
    """Return log odds where it has probabilities, else its own scores; None if it has neither."""
    try:
        share = np.clip(np.asarray(model.predict_proba(X_test))[:, 1], 1e-9, 1 - 1e-9)
        scores = np.log(share / (1 - share))
    except (AttributeError, NotImplementedError, IndexError, ValueError):
        if not hasattr(model, "decision_function"):
            return None
        scores = np.asarray(model.decision_function(X_test), dtype=float)
    return [float(score) for score in scores] if np.isfinite(scores).all() else None


def main(library: str, method: str, seed: int, samples: str, out: str) -> None:
    """Fit one method and write which test samples it calls positive, and its scores."""
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    with open(samples, "rb") as file, NpzFile(file, allow_pickle=False) as arrays:
        X, y, X_test = arrays["X"], arrays["y"], arrays["X_test"]
    fit = METHODS[library, method]
    try:
        import_module(library.replace("-", "_"))  # importing is not what is timed
    except ImportError as error:
        print(error, file=sys.stderr)
        sys.exit(NOT_INSTALLED)
    started = time.perf_counter()
    model, prior = fit(X, y, seed)
    called = np.asarray(model.predict(X_test)) == 1
    found = {
        "seconds": time.perf_counter() - started,
        "prior": prior,
        "called": "".join("01"[int(call)] for call in called),
        "scores": _scores(model, X_test),
    }
    Path(out).write_text(json.dumps(found, allow_nan=False), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5])
