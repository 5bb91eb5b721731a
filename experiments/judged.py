"""Runs that are judged by true labels: for tables and curves, never for training.

What is read of a check of ours, beyond its row, is read here.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments import correctness, sample_sheets
from experiments.item import Row, RunResult
from experiments.methods import fit_method, flat_parameters
from experiments.problems import Problem
from vqpu.base._source import ArraySource
from vqpu.errors import CollapsedCodesError, VqpuWarning
from vqpu.priors._posterior import RAISED_BY, fit_posterior
from vqpu.training import CheckResult, History
from vqpu.vq._network import Encodings

RAISED_BY_TRIED = (0.0, 1.0, 3.0, 6.0)  # standard errors, for the study of the border

# Columns of a method's own history that are worth keeping beside the accuracy.
_KEPT = ("round", "center_distance", "holdout_loss", "holdout_auc", "positive_share", "alpha")
_N_TOP = 5  # the paper's "5 models corresponding to the largest distances"


def fit_quietly(model: Any, X: NDArray[Any], y: NDArray[Any]) -> Any:
    """Fit a model without its warnings, which a study of many fits does not read.

    Parameters
    ----------
    model : estimator
    X, y : ndarray
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VqpuWarning)
        return model.fit(X, y)


def scores_of_unlabeled(model: Any, unlabeled: NDArray[Any]) -> NDArray[np.float64]:
    """Return the scores of all of U, out-of-fold where the fit has them for all.

    A single member of many samples has kept too few apart to be judged by.

    Parameters
    ----------
    model : VQKMeansClassifier
        Fitted.
    unlabeled : ndarray of shape (n_u, ...)
        What it was fitted on.
    """
    held_out: NDArray[np.float64] = model.holdout_log_odds_[1]
    if len(held_out) == len(unlabeled):
        return held_out
    scores: NDArray[np.float64] = model.decision_function(unlabeled)
    return scores


class TestJudge:
    """Judges checks on a fixed random sample of the test set.

    Parameters
    ----------
    problem : Problem
    n_judged : int
        Size of the sample; the whole test set if that is smaller.
    """

    __test__ = False  # pytest: this is no test

    def __init__(self, problem: Problem, n_judged: int) -> None:
        order = np.random.default_rng(0).permutation(len(problem.y_test))
        self._sample = np.sort(order[:n_judged])
        self._problem = problem
        self._source = ArraySource(problem.X_test[self._sample])
        self._started = time.perf_counter()
        self._judging = 0.0
        self._epochs_before = 0.0
        self.rows: list[Row] = []

    @property
    def seconds(self) -> float:
        """Seconds since the beginning without those of judging."""
        return time.perf_counter() - self._started - self._judging

    @property
    def n_judged(self) -> int:
        """Test samples that a check is judged on."""
        return len(self._sample)

    def __call__(self, check: CheckResult) -> None:
        """Add a row for a check; one of a stage that decides nothing is passed over."""
        if check.decision_rule is None:  # such as the generator's of D-GAN
            return
        seconds, began = self.seconds, time.perf_counter()
        if self.rows and check.stage != self.rows[-1]["stage"]:
            self._epochs_before = self.rows[-1]["epoch"]
        row = {
            "stage": check.stage,
            "step": check.row["step"],
            "epoch": self._epochs_before + check.row["epoch"],
            "seconds": seconds,
            **_accuracies(check, self._source, self._problem.y_test[self._sample] == 1),
            **{name: check.row[name] for name in _KEPT if name in check.row},
        }
        self.rows.append(row)
        self._judging += time.perf_counter() - began

    def history(self) -> list[Row]:
        """Return the rows, those of the largest centre distances marked as ``top_distance``."""
        history = History([rounded(row) for row in self.rows])
        if history.rows and "center_distance" in history[0]:
            history.mark_largest("center_distance", _N_TOP, "top_distance")
        return history.rows


def _accuracies(
    check: CheckResult, source: ArraySource, truth: NDArray[np.bool_]
) -> dict[str, float]:
    """Return the accuracy of a check, for VQ K-means also that of the nearest centre."""
    if check.held_out is None:
        return {"accuracy": float(np.mean((check.log_odds(source) > 0) == truth))}
    encodings = _encode(check, source)
    nearest = check.decision_rule.clusters.place(encodings.representation) > 0.5
    called = check.decision_rule.log_odds(encodings) > 0
    return {
        "accuracy": float(np.mean(called == truth)),
        "nearest_center": float(np.mean(nearest == truth)),
    }


def _encode(check: CheckResult, source: ArraySource) -> Encodings:
    """Return what the network of VQ K-means says of all samples of a source."""
    network: Any = check.network
    encodings: Encodings = network.encode(source, None, check.device)
    return encodings


def run_judged(
    method: str,
    problem: Problem,
    *,
    seed: int,
    parameters: dict[str, Any],
    n_judged: int,
) -> RunResult:
    """Fit a method and judge every check; codes that collapse are told in the metrics.

    Parameters
    ----------
    method, problem, seed, parameters
        As in :func:`fit_method`.
    n_judged : int
        Test samples that every check is judged on.

    Returns
    -------
    metrics : dict
        Of the chosen check, on the whole test set, and which samples of it are right;
        ``estimator`` is what was fitted, with every parameter, defaults included. Of a GAN on
        images also a sheet of samples.
    history : list of dict
        A row a check; ``accuracy`` is that on the judged sample of the test set. ``stage`` is 0
        for the main stage; ``epoch`` and ``seconds`` count from the beginning of the first.
    """
    judge = TestJudge(problem, n_judged)
    model, failure = None, {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", VqpuWarning)
        try:
            model = fit_method(method, problem, seed=seed, parameters=parameters, callback=judge)
        except CollapsedCodesError as error:
            failure = {"failed": str(error)}
    metrics = {
        "seconds": judge.seconds,  # before the whole test set is judged
        "n_epochs": judge.rows[-1]["epoch"],
        "n_test": len(problem.y_test),
        "n_judged": judge.n_judged,
        "true_alpha": problem.alpha,
        "warnings": _ours(caught),
        **failure,
        **({} if model is None else _fitted_metrics(model, problem, keeps_answers=True)),
    }
    if model is not None and hasattr(model, "sample") and problem.X.ndim > 2:
        metrics[sample_sheets.KEY] = sample_sheets.draw_sheet(model)
    return RunResult(rounded(metrics), judge.history())


def _fitted_metrics(model: Any, problem: Problem, *, keeps_answers: bool = False) -> dict[str, Any]:
    metrics = {
        "estimator": {"class": type(model).__name__, **flat_parameters(model)},
        "n_steps": model.n_steps_,
        "best_check": model.best_check_,
        "stop_reason": model.stop_reason_,
        "n_members": model.n_members_,
        **scores(model.predict, problem, keeps_answers=keeps_answers),
    }
    if hasattr(model, "alpha_"):
        metrics["alpha_estimate"] = model.alpha_
    return metrics


def _ours(caught: list[warnings.WarningMessage]) -> list[str]:
    """Return the names of our warnings and issue all others again."""
    for message in caught:
        if not issubclass(message.category, VqpuWarning):
            warnings.warn_explicit(
                message.message, message.category, message.filename, message.lineno
            )
    found = {item.category.__name__ for item in caught if issubclass(item.category, VqpuWarning)}
    return sorted(found)


def run_method(
    method: str,
    problem: Problem,
    *,
    seed: int,
    judge_checks: bool = False,
    parameters: dict[str, Any] | None = None,
) -> RunResult:
    """Fit one method with its defaults and return what it reached, and its own history.

    Parameters
    ----------
    method, problem, seed
        As in :func:`fit_method`.
    judge_checks : bool
        Also judge every check of "vq" on the hidden labels of U, by both decisions.
    parameters : dict or None
        Changes of the defaults.
    """
    judge = _CheckJudge(problem) if judge_checks and method == "vq" else None
    started = time.perf_counter()
    model = fit_method(method, problem, seed=seed, parameters=parameters or {}, callback=judge)
    seconds = round(time.perf_counter() - started, 1)
    metrics = {"seconds": seconds, **_fitted_metrics(model, problem)}
    if method == "vq":
        metrics["theoretical_alpha"] = model.theoretical_alpha_
    if hasattr(model, "warmup_history_"):
        metrics["n_warmup_steps"] = model.warmup_history_[-1]["step"]
    history = [rounded(row) for row in model.history_]
    if judge is not None:
        history = [row | judged for row, judged in zip(history, judge.rows, strict=True)]
    return RunResult(metrics, history)


class _CheckJudge:
    """Accuracy of every check on the hidden labels of U."""

    def __init__(self, problem: Problem) -> None:
        unlabeled = np.flatnonzero(problem.y == 0)
        self._source = ArraySource(problem.X[unlabeled])
        self._truth = problem.truth[unlabeled] == 1
        self.rows: list[dict[str, float]] = []

    def __call__(self, check: CheckResult) -> None:
        encodings = _encode(check, self._source)
        held_out = check.held_out.projections()
        places = check.decision_rule.clusters.place(encodings.representation)
        called = {"nearest-center": places > 0.5}
        for raised_by in RAISED_BY_TRIED:
            posterior = fit_posterior(*held_out, raised_by=raised_by)
            called[f"posterior+{raised_by:g}"] = posterior.log_odds(encodings.projection) > 0
        accuracy = {name: float((call == self._truth).mean()) for name, call in called.items()}
        self.rows.append({**accuracy, "posterior": accuracy[f"posterior+{RAISED_BY:g}"]})


def scores(
    predict: Callable[[Any], NDArray[Any]], problem: Problem, *, keeps_answers: bool = False
) -> dict[str, Any]:
    """Return the scores of predictions on the test set and on the hidden labels of U.

    Parameters
    ----------
    predict : callable
    problem : Problem
    keeps_answers : bool
        Whether to tell as well which test samples are right, for intervals of differences.
    """
    from sklearn.metrics import accuracy_score, balanced_accuracy_score

    predicted = predict(problem.X_test)
    unlabeled = problem.y == 0
    transductive = predict(problem.X[unlabeled])
    answers = {correctness.KEY: correctness.pack(predicted == problem.y_test)}
    return {
        **(answers if keeps_answers else {}),
        "test_accuracy": float(accuracy_score(problem.y_test, predicted)),
        "test_balanced_accuracy": float(balanced_accuracy_score(problem.y_test, predicted)),
        "unlabeled_accuracy": float(accuracy_score(problem.truth[unlabeled], transductive)),
    }


def rounded(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row whose floats have five decimals, for small records."""
    return {
        key: round(value, 5) if isinstance(value, float) else value for key, value in row.items()
    }


def held_out_unlabeled(check: CheckResult) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the unlabelled samples that a check looked at, and the log odds it gives them.

    Every sample is judged by the member that was kept from it.
    """
    log_odds = check.decision_rule.held_out_log_odds(check.held_out)[1]
    return check.held_out.indices.unlabeled, log_odds
