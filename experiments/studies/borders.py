"""Study of borders: how many points the border costs, against the best one of the same scores.

Default fits on the tasks of the study of decisions, at alpha .2, .5 and .8, judged on the hidden
labels of U, never on a test split. Beside the border of the fit stand those that call as many
unlabelled samples positive as the estimate of alpha says, and as many as there are: what is lost by
alpha and what by the border itself. Unlabelled samples are scored by members that were kept from
them, where a fit has several; large sets have one member, which scores what it was trained on.
Calibration stands beside that of the supervised oracle, a network trained on P and one half of U
with its labels and judged on the other half, both ways; so does what its own border loses, for the
best border is picked by the very labels it is judged by, and nobody reaches it in few samples.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.item import Config, Record, RunResult, Seeds, study
from experiments.judged import rounded, scores_of_unlabeled
from experiments.methods import fit_method
from experiments.problems import Problem, check_task, draw_problem
from experiments.studies.doubt import best_border
from experiments.studies.encoder_tables import Flags, Floats
from experiments.studies.forms import calibration_error
from experiments.studies.study import ALPHAS, CASES
from experiments.summary import markdown_table

BORDERS = {
    "fit": "the fit's",
    "quantile": "as many as estimated",
    "true_quantile": "as many as there are",
    "oracle_fit": "the oracle's",
}

CALIBRATIONS = {"calibration_error": "calibration", "oracle_calibration_error": "oracle's"}


def expand(seeds: Seeds | None) -> dict[str, Config]:
    return {
        f"{task}_alpha{alpha}_seed{seed}": case.config(task, alpha, seed)
        for task, case in CASES.items()
        for alpha in ALPHAS
        for seed in seeds or case.seeds
    }


def check(config: Config, data_dir: Path | None) -> None:
    check_task(config["task"], data_dir)


def run(config: Config, data_dir: Path | None) -> RunResult:
    problem = draw_problem(config, data_dir)
    parameters = {name: config[name] for name in ("max_steps", "check_every")}
    model = fit_method("vq", problem, seed=config["seed"], parameters=parameters)
    is_unlabeled = problem.y == 0
    log_odds = scores_of_unlabeled(model, problem.X[is_unlabeled])
    truth = problem.truth[is_unlabeled] == 1
    oracle = oracle_log_odds(problem, config["seed"], parameters)
    metrics = {
        "n_members": model.n_members_,
        "alpha_estimate": model.alpha_,
        **accuracies(log_odds, truth, model.alpha_),
        "best_border": best_border(log_odds, truth),
        "calibration_error": calibration_error(log_odds, truth),
        "oracle_calibration_error": calibration_error(oracle, truth),
        "oracle_fit": float(((oracle > 0) == truth).mean()),
        "oracle_best_border": best_border(oracle, truth),
    }
    return RunResult(rounded(metrics), [])


def oracle_log_odds(problem: Problem, seed: int, parameters: dict[str, Any]) -> Floats:
    """Return the supervised network's scores of U, each half by one that was trained on the other.

    Parameters
    ----------
    problem : Problem
    seed : int
    parameters : dict
        Of the network.
    """
    unlabeled, positive = np.flatnonzero(problem.y == 0), np.flatnonzero(problem.y == 1)
    is_first = np.random.default_rng(seed).permutation(len(unlabeled)) % 2 == 0
    found = np.empty(len(unlabeled))
    for half in (is_first, ~is_first):
        kept = np.concatenate([positive, unlabeled[~half]])
        own = problem._replace(X=problem.X[kept], y=problem.y[kept], truth=problem.truth[kept])
        model = fit_method("oracle", own, seed=seed, parameters=parameters)
        found[half] = model.decision_function(problem.X[unlabeled[half]])
    return found


def accuracies(log_odds: Floats, truth: Flags, alpha: float) -> dict[str, float]:
    """Return the accuracy of each border.

    Parameters
    ----------
    log_odds : ndarray of shape (n_u,)
    truth : ndarray of bool, shape (n_u,)
    alpha : float
        As estimated.
    """
    ascending = log_odds.argsort(kind="stable").argsort(kind="stable")

    def called_most(share: float) -> Flags:
        return np.asarray(ascending >= len(truth) - round(share * len(truth)))

    called = {
        "fit": log_odds > 0,
        "quantile": called_most(alpha),
        "true_quantile": called_most(float(truth.mean())),
    }
    return {name: float((call == truth).mean()) for name, call in called.items()}


def summary(records: list[Record]) -> str:
    cells: dict[tuple[str, float], list[Record]] = {}
    for record in records:
        cells.setdefault((record.config["task"], record.config["alpha"]), []).append(record)
    rows = [
        [task, str(alpha), *_row(found), str(len(found))]
        for (task, alpha), found in sorted(cells.items())
    ]
    for task in sorted({record.config["task"] for record in records}):
        own = [record for record in records if record.config["task"] == task]
        rows.append([f"mean of {task}", "", *_row(own), str(len(own))])
    rows.append(["mean", "", *_row(records), str(len(records))])
    heads = ["task", "alpha", "best", *(f"lost: {name}" for name in BORDERS.values())]
    return (
        "Accuracy in percent on the hidden labels of U of the best border of a fit's scores, and "
        "points lost against it by the border of the fit, by calling as many positive as alpha is "
        "estimated, and as many as there are; then what the supervised network, trained on P and "
        "the other half of U with its labels, loses by its own border against the best one of its "
        "own scores. Calibration: expected error of the probabilities, in percent, and that of "
        "the supervised network.\n\n"
        + markdown_table([*heads, *CALIBRATIONS.values(), "alpha found", "fits"], rows)
    )


def _row(records: list[Record]) -> list[str]:
    values = [record.values for record in records]
    best = np.mean([100 * one["best_border"] for one in values])
    alpha = np.mean([one["alpha_estimate"] for one in values])
    errors = [np.mean([100 * one[name] for one in values]) for name in CALIBRATIONS]
    return [
        f"{best:.2f}",
        *(_lost(values, name) for name in BORDERS),
        *(f"{error:.2f}" for error in errors),
        f"{alpha:.3f}",
    ]


def _lost(values: list[dict[str, Any]], border: str) -> str:
    """Return the mean points lost by a border, of the records that know it."""
    best = "oracle_best_border" if border == "oracle_fit" else "best_border"
    lost = [100 * (one[best] - one[border]) for one in values if border in one]
    return f"{np.mean(lost):.2f}" if lost else "-"


ITEM = study(expand, run, summary, check=check)
