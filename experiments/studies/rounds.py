"""Study of rounds: how many trainings, each without what the last one called positive.

usage: python benchmarks/rounds.py [--workers 2]

On the tasks of the study that have several members by default, at alpha .2, .5 and .8: one fit of
three rounds, judged after each on the hidden labels of U (of the at most 1,024 samples that a check
looks at), every sample by the member that was kept from it; never on a test split. One record a
fit in results/rounds; what is there is skipped.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from experiments import fit_method, make_problem, run_missing, set_threads, write_summary
from experiments.studies.study import ALPHAS, CASES
from vqpu.vq import Check

RESULTS = Path(__file__).resolve().parent.parent.parent / "results" / "rounds"
TASKS = ("breast-cancer", "wide-noise", "nonlinear", "digits-even-odd")
N_ROUNDS = 3


class RoundJudge:
    """Judges checks by the hidden labels of the unlabelled samples that they looked at."""

    def __init__(self, truth: NDArray[np.int64]) -> None:
        self._truth = truth
        self.rows: list[dict[str, float]] = []

    def __call__(self, check: Check) -> None:
        log_odds = check.answer.held_out_log_odds(check.judged)[1]
        truth = self._truth[check.judged.indices.unlabeled] == 1
        columns = ("round", "step", "seconds", "holdout_loss", "alpha")
        self.rows.append(
            {name: check.row[name] for name in columns}
            | {
                "accuracy": float(np.mean((log_odds > 0) == truth)),
                "auc": float(roc_auc_score(truth, log_odds)),
            }
        )

    def chosen(self) -> list[dict[str, float]]:
        """Return, for each round, the check that the default signal chooses."""
        by_round: dict[float, list[dict[str, float]]] = {}
        for row in self.rows:
            by_round.setdefault(row["round"], []).append(row)
        return [min(rows, key=lambda row: row["holdout_loss"]) for rows in by_round.values()]


def run_one(name: str, alpha: float, seed: int) -> dict[str, Any]:
    set_threads(1)
    case = CASES[name]
    problem = make_problem(
        name, n_positive=case.n_positive, n_unlabeled=case.n_unlabeled, alpha=alpha, seed=seed
    )
    judge = RoundJudge(problem.truth)
    parameters = {
        "max_steps": case.max_steps, "check_every": case.check_every, "n_rounds": N_ROUNDS
    }  # fmt: skip
    model = fit_method("vq", problem, seed=seed, parameters=parameters, callback=judge)
    rounds = judge.chosen()
    # Where nobody, or nearly everybody, looks positive there is no further round.
    rounds += rounds[-1:] * (N_ROUNDS - model.n_rounds_)
    return {"task": name, "alpha": alpha, "seed": seed, **case._asdict(), "rounds": rounds}


def mean_by_round(records: list[dict[str, Any]], column: str) -> NDArray[np.float64]:
    """Return a column after each round, mean over seeds, then over tasks and alpha."""
    cells: dict[tuple[str, float], list[list[float]]] = {}
    for record in records:
        values = [row[column] for row in record["rounds"]]
        cells.setdefault((record["task"], record["alpha"]), []).append(values)
    return np.asarray(np.mean([np.mean(values, axis=0) for values in cells.values()], axis=0))


def summary(records: list[dict[str, Any]]) -> str:
    names = [
        f"{column} {number}" for column in ("accuracy", "AUC") for number in range(1, N_ROUNDS + 1)
    ]
    lines = [
        "Percent on the hidden labels of U after each round, each sample judged by the member "
        "that was kept from it, mean over seeds; alpha as estimated after each round.\n",
        "| task | alpha | " + " | ".join([*names, "estimates"]) + " | seeds |",
        "|" + " --- |" * (len(names) + 4),
    ]
    for key in sorted({(record["task"], record["alpha"]) for record in records}):
        found = [record for record in records if (record["task"], record["alpha"]) == key]
        values = [*mean_by_round(found, "accuracy"), *mean_by_round(found, "auc")]
        estimates = ", ".join(f"{value:.2f}" for value in mean_by_round(found, "alpha"))
        cells = " | ".join(f"{100 * value:.1f}" for value in values)
        lines.append(f"| {key[0]} | {key[1]} | {cells} | {estimates} | {len(found)} |")
    overall = [*mean_by_round(records, "accuracy"), *mean_by_round(records, "auc")]
    lines.append("| mean | | " + " | ".join(f"{100 * value:.2f}" for value in overall) + " | | |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--workers", type=int, default=2)
    jobs = {
        RESULTS / f"{name}_alpha{alpha}_seed{seed}.json": (name, alpha, seed)
        for name in TASKS
        for alpha in ALPHAS
        for seed in CASES[name].seeds
    }
    run_missing(run_one, jobs, parser.parse_args().workers)
    write_summary(RESULTS, summary)


if __name__ == "__main__":
    main()
