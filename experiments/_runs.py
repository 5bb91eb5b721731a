"""One run: a PU problem, a method, a record of what it reached."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from experiments._tables import TABLES, make_table
from vqpu.base._source import ArraySource
from vqpu.datasets import data_directory, find_task, is_present, load_task, make_pu
from vqpu.errors import InputError, did_you_mean
from vqpu.priors._posterior import RAISED_BY, fit_posterior
from vqpu.rivals import PU_RIVALS, OracleClassifier
from vqpu.vq import Check
from vqpu.vq._classifier import VQKMeansClassifier

METHODS = ("vq", "naive", "oracle")
RAISED_BY_TRIED = (0.0, 1.0, 3.0, 6.0)  # standard errors, for the study of the border


class Problem(NamedTuple):
    """A PU problem with its truth.

    Attributes
    ----------
    X, y : ndarray
        What a method is given.
    truth : ndarray of int
        True labels of X; only the oracle and the judge see them.
    alpha : float
        True share of positives in U.
    X_test, y_test : ndarray
        Samples that are in neither P nor U, and their true labels.
    augment : str
        What may be done to the images.
    """

    X: NDArray[Any]
    y: NDArray[np.int64]
    truth: NDArray[np.int64]
    alpha: float
    X_test: NDArray[Any]
    y_test: NDArray[np.int64]
    augment: str


def make_problem(
    name: str,
    *,
    n_positive: int,
    n_unlabeled: int,
    alpha: float,
    seed: int,
    data_dir: Path | None = None,
    every_pixel: int = 1,
    image_size: int | None = None,
    scenario: str = "case-control",
    thin_test: bool = False,
) -> Problem:
    """Draw P and U from a task's training split; the test set is its test split.

    Tables have no test split: what is in neither P nor U is tested on.

    Parameters
    ----------
    name : str
        A task or a table.
    n_positive, n_unlabeled : int
    alpha : float
        Share of positives in U; in the single-set scenario that in P and U together.
    seed : int
    data_dir : Path or None
    every_pixel : int
        Keep every so many pixels of images, for small studies.
    image_size : int or None
        Side of photographs in pixels.
    scenario : {"case-control", "single-set"}
    thin_test : bool
        Leave test samples out until ``alpha`` of them are positive.
    """
    is_table = name in TABLES
    X, labels = make_table(name) if is_table else load_task(name, data_dir, size=image_size)
    sizes: dict[str, Any] = {"n_positive": n_positive, "n_unlabeled": n_unlabeled, "alpha": alpha}
    if scenario == "single-set":
        n_samples = n_positive + n_unlabeled
        frequency = n_positive / round(alpha * n_samples)
        sizes = {"n_samples": n_samples, "class_prior": alpha, "label_frequency": frequency}
    sample = make_pu(X, labels, **sizes, scenario=scenario, random_state=seed)
    X_test, y_test = X[sample.rest], labels[sample.rest]
    if not is_table:
        X_test, y_test = load_task(name, data_dir, train=False, size=image_size)
    if thin_test:
        kept = _thinned(y_test, alpha, seed)
        X_test, y_test = X_test[kept], y_test[kept]
    step = (slice(None), slice(None, None, every_pixel), slice(None, None, every_pixel))
    images = [part[step] if part.ndim > 2 else part for part in (sample.X, X_test)]
    augment = "none" if is_table else find_task(name).augment
    return Problem(images[0], sample.y, sample.truth, sample.alpha, images[1], y_test, augment)


def check_task(name: str, data_dir: Path | None) -> None:
    """Refuse a task that is unknown, or whose files are not there; they are not read.

    Parameters
    ----------
    name : str
        A task or a table.
    data_dir : Path or None
    """
    if name in TABLES:
        return
    dataset = find_task(name).dataset
    if not is_present(dataset, data_dir):
        raise InputError(
            f"{name} needs {dataset}, which is not whole in {data_directory(data_dir)}. Fetch it "
            f"('vqpu data list' says how), give --data-dir, or leave it out with --only."
        )


def _thinned(y: NDArray[np.int64], share: float, seed: int) -> NDArray[np.int64]:
    """Return as many places as possible, in order, of which ``share`` hold a positive."""
    positive, negative = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    n_kept = min(len(positive) / share, len(negative) / (1 - share))
    generator = np.random.default_rng(seed)
    kept = [
        generator.permutation(places)[: round(part * n_kept)]
        for places, part in ((positive, share), (negative, 1 - share))
    ]
    return np.sort(np.concatenate(kept))


def fit_method(
    method: str,
    problem: Problem,
    *,
    seed: int,
    parameters: dict[str, Any],
    callback: Callable[[Any], None] | None = None,
    classifier: type[VQKMeansClassifier] = VQKMeansClassifier,
) -> Any:
    """Fit one method on a problem and return it.

    Parameters
    ----------
    method : {"vq", "oracle"} or a key of ``PU_RIVALS``
    problem : Problem
    seed : int
    parameters : dict
        Changes of the defaults.
    callback : callable or None
        Observes every check.
    classifier : type
        What "vq" stands for.
    """
    settings = {"random_state": seed, "augment": problem.augment, **parameters}
    if method == "oracle":
        model = make_method(method, {"class_prior": problem.alpha, **settings})
        return model.fit(problem.X, problem.truth, callback=callback)
    return make_method(method, settings, classifier).fit(problem.X, problem.y, callback=callback)


def make_method(
    method: str,
    parameters: dict[str, Any],
    classifier: type[VQKMeansClassifier] = VQKMeansClassifier,
) -> Any:
    """Return a method that is not fitted yet; wrong names and values are refused.

    Parameters
    ----------
    method, classifier
        As in :func:`fit_method`.
    parameters : dict
    """
    known = {"vq": classifier, "oracle": OracleClassifier, **PU_RIVALS}
    if method not in known:
        raise InputError(f"Unknown method {method!r}. Valid methods are {list(known)}.")
    return make_checked(known[method], parameters)


def make_checked(estimator: Any, parameters: dict[str, Any]) -> Any:
    """Return an estimator of a class of ours; wrong names and values of parameters are refused.

    Parameters
    ----------
    estimator : type
    parameters : dict
    """
    names = estimator().get_params(deep=False)
    for name in parameters:
        if name not in names:
            hint = did_you_mean(name, names) or f" Valid are {list(names)}."
            raise InputError(f"{estimator.__name__} has no parameter {name!r}.{hint}")
    model = estimator(**parameters)
    model._check_parameters()
    return model


def run_method(
    method: str,
    problem: Problem,
    *,
    seed: int,
    judge_checks: bool = False,
    parameters: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Fit one method with its defaults and return what it reached.

    Parameters
    ----------
    method : {"vq", "oracle"} or a key of ``PU_RIVALS``
    problem : Problem
    seed : int
    judge_checks : bool
        Also judge every check of "vq" on the hidden labels of U, by both decisions.
    parameters : dict or None
        Changes of the defaults.
    """
    judge = _CheckJudge(problem) if judge_checks and method == "vq" else None
    started = time.perf_counter()
    model = fit_method(method, problem, seed=seed, parameters=parameters or {}, callback=judge)
    seconds = time.perf_counter() - started
    record = {
        "method": method,
        "seed": seed,
        "seconds": round(seconds, 1),
        "n_steps": model.n_steps_,
        "n_members": len(model.network_.encoder.members),
        "best_check": model.best_check_,
        **scores(model.predict, problem),
        "history": [rounded(row) for row in model.history_],
    }
    if hasattr(model, "alpha_"):
        record |= {"alpha_estimate": model.alpha_, "stop_reason": model.stop_reason_}
    if method == "vq":
        record["theoretical_alpha"] = model.theoretical_alpha_
    if hasattr(model, "warmup_history_"):
        record["n_warmup_steps"] = model.warmup_history_[-1]["step"]
    if judge is not None:
        record["judged"] = judge.rows
    return record


class _CheckJudge:
    """Accuracy of every check on the hidden labels of U."""

    def __init__(self, problem: Problem) -> None:
        unlabeled = np.flatnonzero(problem.y == 0)
        self._source = ArraySource(problem.X[unlabeled])
        self._truth = problem.truth[unlabeled] == 1
        self.rows: list[dict[str, float]] = []

    def __call__(self, check: Check) -> None:
        encodings = check.encode(self._source)
        held_out = check.judged.projections()
        called = {"nearest-center": check.answer.clusters.place(encodings.representation) > 0.5}
        for raised_by in RAISED_BY_TRIED:
            posterior = fit_posterior(*held_out, raised_by=raised_by)
            called[f"posterior+{raised_by:g}"] = posterior.log_odds(encodings.projection) > 0
        accuracy = {name: float((call == self._truth).mean()) for name, call in called.items()}
        self.rows.append({**accuracy, "posterior": accuracy[f"posterior+{RAISED_BY:g}"]})


def scores(predict: Callable[[Any], NDArray[Any]], problem: Problem) -> dict[str, float]:
    """Return the scores of predictions on the test set and on the hidden labels of U."""
    from sklearn.metrics import accuracy_score, balanced_accuracy_score

    predicted = predict(problem.X_test)
    unlabeled = problem.y == 0
    transductive = predict(problem.X[unlabeled])
    return {
        "test_accuracy": float(accuracy_score(problem.y_test, predicted)),
        "test_balanced_accuracy": float(balanced_accuracy_score(problem.y_test, predicted)),
        "unlabeled_accuracy": float(accuracy_score(problem.truth[unlabeled], transductive)),
    }


def rounded(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row whose floats have five decimals, for small records."""
    return {
        key: round(value, 5) if isinstance(value, float) else value for key, value in row.items()
    }


def set_threads(count: int) -> None:
    """Use ``count`` threads for torch in this process."""
    torch.set_num_threads(count)


def count_threads() -> int:
    """Return how many threads torch uses in this process."""
    return torch.get_num_threads()
