"""Study of rounds: how many trainings, each without what the last one called positive.

On the tasks of the study that have several members by default, at alpha .2, .5 and .8: one fit of
three rounds, judged after each on the hidden labels of U (of the at most 1,024 samples that a check
looks at), every sample by the member that was kept from it; never on a test split. The history has
a row a round.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from experiments.item import Config, Record, RunResult, Seeds, study
from experiments.judged import held_out_unlabeled
from experiments.methods import fit_method
from experiments.problems import draw_problem
from experiments.studies.study import ALPHAS, CASES
from experiments.summary import markdown_table
from vqpu.training import CheckResult

TASKS = ("breast-cancer", "wide-noise", "nonlinear", "digits-even-odd")
N_ROUNDS = 3


class RoundJudge:
    """Judges checks by the hidden labels of the unlabelled samples that they looked at."""

    def __init__(self, truth: NDArray[np.int64]) -> None:
        self._truth = truth
        self.rows: list[dict[str, float]] = []

    def __call__(self, check: CheckResult) -> None:
        indices, log_odds = held_out_unlabeled(check)
        truth = self._truth[indices] == 1
        columns = ("round", "step", "seconds", "holdout_loss", "alpha")
        row = {name: check.row[name] for name in columns}
        self.rows.append(row | self.scores(log_odds, truth))

    def scores(self, log_odds: NDArray[np.float64], truth: NDArray[np.bool_]) -> dict[str, float]:
        """Return what a check's scores are worth, by the truth."""
        return {
            "accuracy": float(np.mean((log_odds > 0) == truth)),
            "auc": float(roc_auc_score(truth, log_odds)),
        }

    def chosen(self) -> list[dict[str, float]]:
        """Return, for each round, the check that the default signal chooses."""
        by_round: dict[float, list[dict[str, float]]] = {}
        for row in self.rows:
            by_round.setdefault(row["round"], []).append(row)
        return [min(rows, key=lambda row: row["holdout_loss"]) for rows in by_round.values()]


def expand(seeds: Seeds | None) -> dict[str, Config]:
    return {
        f"{task}_alpha{alpha}_seed{seed}": {
            **CASES[task].config(task, alpha, seed),
            "n_rounds": N_ROUNDS,
        }
        for task in TASKS
        for alpha in ALPHAS
        for seed in seeds or CASES[task].seeds
    }


def run(config: Config, data_dir: Path | None) -> RunResult:
    problem = draw_problem(config, data_dir)
    judge = RoundJudge(problem.truth)
    parameters = {name: config[name] for name in ("max_steps", "check_every", "n_rounds")}
    parameters |= {"encoder": "network", "rounds": "leave-out"}
    model = fit_method("vq", problem, seed=config["seed"], parameters=parameters, callback=judge)
    rounds = judge.chosen()
    # Where nobody, or nearly everybody, looks positive there is no further round.
    rounds += rounds[-1:] * (config["n_rounds"] - model.n_rounds_)
    return RunResult({}, rounds)


def mean_by_round(records: list[Record], column: str) -> NDArray[np.float64]:
    """Return a column after each round, mean over seeds, then over tasks and alpha."""
    cells: dict[tuple[str, float], list[list[float]]] = {}
    for record in records:
        values = [row[column] for row in record.history]
        cells.setdefault((record.config["task"], record.config["alpha"]), []).append(values)
    return np.asarray(np.mean([np.mean(values, axis=0) for values in cells.values()], axis=0))


def summary(records: list[Record]) -> str:
    groups: dict[tuple[str, float], list[Record]] = {}
    for record in records:
        groups.setdefault((record.config["task"], record.config["alpha"]), []).append(record)
    rows = []
    for (task, alpha), found in sorted(groups.items()):
        shares = [f"{100 * value:.1f}" for value in _both(found)]
        estimates = ", ".join(f"{value:.2f}" for value in mean_by_round(found, "alpha"))
        rows.append([task, str(alpha), *shares, estimates, str(len(found))])
    rows.append(["mean", "", *(f"{100 * value:.2f}" for value in _both(records)), "", ""])
    names = [
        f"{column} {number}" for column in ("accuracy", "AUC") for number in range(1, N_ROUNDS + 1)
    ]
    return (
        "Percent on the hidden labels of U after each round, each sample judged by the member "
        "that was kept from it, mean over seeds; alpha as estimated after each round.\n\n"
        + markdown_table(["task", "alpha", *names, "estimates", "seeds"], rows)
    )


def _both(records: list[Record]) -> list[float]:
    return [*mean_by_round(records, "accuracy"), *mean_by_round(records, "auc")]


ITEM = study(expand, run, summary)
