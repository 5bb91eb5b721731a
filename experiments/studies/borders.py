"""Study of borders: how many points the border costs, against the best one of the same scores.

Default fits on the tasks of the study of decisions, at alpha .2, .5 and .8, judged on the hidden
labels of U, never on a test split. Beside the border of the fit stand those that call as many
unlabelled samples positive as the estimate of alpha says, and as many as there are: what is lost by
alpha and what by the border itself. Unlabelled samples are scored by members that were kept from
them, where a fit has several; large sets have one member, which scores what it was trained on.
Calibration stands beside that of the supervised oracle, a network trained on P and one half of U
with its labels and judged on the other half, both ways. Beside it stands what the supervised
network's own border loses: the best border is picked by the labels that judge it, so that no method
reaches it on few samples.
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
    lost = [f"lost: {name}" for name in BORDERS.values()]
    heads = ["task", "alpha", "best", *lost, "the oracle loses", *CALIBRATIONS.values()]
    return (
        "Accuracy in percent on the hidden labels of U of the best border of a fit's scores, and "
        "points lost against it by the border of the fit, by calling as many positive as alpha is "
        "estimated, and as many as there are; then what the supervised network, trained on P and "
        "the other half of U with its labels, loses by its own border against the best one of its "
        "own scores. Calibration: expected error of the probabilities, in percent, and that of "
        "the supervised network.\n\n" + markdown_table([*heads, "alpha found", "fits"], rows)
    )


def _row(records: list[Record]) -> list[str]:
    values = [record.values for record in records]
    best = np.mean([100 * one["best_border"] for one in values])
    lost = [np.mean([100 * (one["best_border"] - one[name]) for one in values]) for name in BORDERS]
    errors = [np.mean([100 * one[name] for one in values]) for name in CALIBRATIONS]
    alpha = np.mean([one["alpha_estimate"] for one in values])
    return [
        *(f"{one:.2f}" for one in (best, *lost)),
        _oracle_lost(values),
        *(f"{one:.2f}" for one in errors),
        f"{alpha:.3f}",
    ]


def _oracle_lost(values: list[dict[str, Any]]) -> str:
    """Return the mean points lost by the oracle's border; runs of before do not know them."""
    knowing = [one for one in values if "oracle_fit" in one]
    lost = [100 * (one["oracle_best_border"] - one["oracle_fit"]) for one in knowing]
    of = "" if len(knowing) == len(values) else f" [{len(knowing)} of {len(values)}]"
    return f"{np.mean(lost):.2f}{of}" if lost else "-"


ITEM = study(expand, run, summary, check=check)
