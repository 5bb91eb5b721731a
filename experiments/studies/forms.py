"""Study of forms: Adam or Muon, and further rounds that leave out or that draw softly.

On seven tasks of the study (not on its largest table, whose encoder is another study's matter), at
five shares alpha: one fit of several rounds, judged after each
on the hidden labels of U (of the at most 1,024 samples that a check looks at, each judged by a
member that was kept from it); never on a test split. The history has a row a round: accuracy, AUC,
the expected calibration error of the probabilities and the estimate of alpha. Rounds that leave out
need several members, so they are tried where there are several by default.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.item import Config, Record, RunResult, Seeds, study
from experiments.judged import rounded
from experiments.methods import fit_method
from experiments.problems import check_task, draw_problem
from experiments.studies.rounds import TASKS as TASKS_WITH_MEMBERS
from experiments.studies.rounds import RoundJudge
from experiments.studies.study import CASES
from experiments.summary import markdown_table
from vqpu.training import CheckResult

ALPHAS = (0.1, 0.2, 0.5, 0.8, 0.9)
FORMS: dict[str, dict[str, Any]] = {
    f"{optimizer}, {rounds}": {"optimizer": optimizer, "rounds": rounds}
    for rounds in ("soft", "leave-out")
    for optimizer in ("adam", "muon")
}
TASKS = tuple(task for task in CASES if task != "nonlinear")
N_ROUNDS, N_ROUNDS_OF_ONE_MEMBER = 3, 2
COLUMNS = ("accuracy", "auc", "calibration_error")


class FormJudge(RoundJudge):
    """Looks at the calibration of the probabilities too."""

    def __call__(self, check: CheckResult) -> None:
        super().__call__(check)
        self.rows[-1] = rounded(self.rows[-1])

    def scores(self, log_odds: NDArray[np.float64], truth: NDArray[np.bool_]) -> dict[str, float]:
        """Return what a check's scores are worth, by the truth."""
        error = calibration_error(log_odds, truth)
        return super().scores(log_odds, truth) | {"calibration_error": error}


def calibration_error(
    log_odds: NDArray[np.float64], truth: NDArray[np.bool_], n_bins: int = 10
) -> float:
    """Return the mean gap between probability and frequency over bins of equal width.

    Parameters
    ----------
    log_odds : ndarray of shape (n,)
    truth : ndarray of bool, shape (n,)
    n_bins : int
    """
    probability = 1 / (1 + np.exp(-np.clip(log_odds, -700, 700)))
    bins = np.minimum((probability * n_bins).astype(int), n_bins - 1)
    gaps = np.bincount(bins, probability - truth, n_bins)
    return float(np.abs(gaps).sum() / len(truth))


def expand(seeds: Seeds | None) -> dict[str, Config]:
    return {
        f"{task}_alpha{alpha}_seed{seed}_{form.replace(', ', '_')}": {
            **CASES[task].config(task, alpha, seed),
            "form": form,
            "n_rounds": N_ROUNDS if task in TASKS_WITH_MEMBERS else N_ROUNDS_OF_ONE_MEMBER,
        }
        for alpha in sorted(ALPHAS, key=lambda share: abs(share - 0.5))
        for task in TASKS
        for form, parts in FORMS.items()
        if parts["rounds"] == "soft" or task in TASKS_WITH_MEMBERS
        for seed in seeds or CASES[task].seeds[:1]
    }


def check(config: Config, data_dir: Path | None) -> None:
    check_task(config["task"], data_dir)


def run(config: Config, data_dir: Path | None) -> RunResult:
    problem = draw_problem(config, data_dir)
    judge = FormJudge(problem.truth)
    parameters = {name: config[name] for name in ("max_steps", "check_every", "n_rounds")}
    parameters |= {"encoder": "network", **FORMS[config["form"]]}
    if config["task"] not in TASKS_WITH_MEMBERS:
        parameters |= {"n_members": 1, "dropout": 0.0}
    model = fit_method("vq", problem, seed=config["seed"], parameters=parameters, callback=judge)
    rounds = judge.chosen()
    # Where nobody, or nearly everybody, looks positive there is no further round.
    rounds += rounds[-1:] * (config["n_rounds"] - model.n_rounds_)
    return RunResult({"n_members": model.n_members_}, rounds)


def table(records: list[Record]) -> dict[tuple[str, float], dict[str, dict[str, float]]]:
    """Return what was judged, by task and alpha, then by form and round, mean over seeds."""
    found: dict[tuple[str, float], dict[str, dict[str, list[float]]]] = {}
    for record in records:
        config = record.config
        cell = found.setdefault((config["task"], config["alpha"]), {})
        for number, row in enumerate(record.history, 1):
            name = f"{config['form']}, {number}" if number > 1 else config["form"].split(",")[0]
            for column in COLUMNS:
                cell.setdefault(name, {}).setdefault(column, []).append(100 * row[column])
    return {
        key: {
            name: {column: float(np.mean(values)) for column, values in columns.items()}
            for name, columns in cell.items()
        }
        for key, cell in sorted(found.items())
    }


def summary(records: list[Record]) -> str:
    cells = table(records)
    names = sorted({name for cell in cells.values() for name in cell})
    rows = [
        [task, str(alpha), *(_shown(cell.get(name)) for name in names)]
        for (task, alpha), cell in cells.items()
    ]
    return (
        "Accuracy / AUC / expected calibration error in percent on the hidden labels of U, by "
        "optimiser (after one round) and by kind and number of rounds.\n\n"
        + markdown_table(["task", "alpha", *names], rows)
        + "\nMean difference to Adam after one round, over the tasks and shares that both have "
        "(mean ± standard error):\n\n"
        + "\n".join(_difference(cells, name) for name in names if name != "adam")
        + "\n\nDistance of alpha from the truth in points, as best bin finds it in the scores of a "
        "round (mean ± standard error over soft fits of several members):\n\n"
        + "\n".join(_distance_of_alpha(records, number) for number in range(N_ROUNDS))
        + "\n"
    )


def _distance_of_alpha(records: list[Record], place: int) -> str:
    found = [
        100 * abs(record.history[place]["alpha"] - record.config["alpha"])
        for record in records
        if record.values["n_members"] > 1 and record.config["form"].endswith("soft")
    ]
    error = np.std(found, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
    mean = np.mean(found) if found else np.nan
    return f"- round {place + 1}: {mean:.1f} ± {error:.1f} ({len(found)} fits)"


def _shown(found: dict[str, float] | None) -> str:
    if found is None:
        return "-"
    return " / ".join(f"{found[column]:.1f}" for column in COLUMNS)


def _difference(cells: dict[tuple[str, float], dict[str, dict[str, float]]], name: str) -> str:
    both = [cell for cell in cells.values() if name in cell and "adam" in cell]
    parts = []
    for column in COLUMNS:
        gaps = np.array([cell[name][column] - cell["adam"][column] for cell in both])
        error = gaps.std(ddof=1) / np.sqrt(len(gaps)) if len(gaps) > 1 else np.nan
        parts.append(f"{column.replace('_', ' ')} {gaps.mean():+.2f} ± {error:.2f}")
    return f"- {name}: {', '.join(parts)} ({len(both)} cells)"


ITEM = study(expand, run, summary, check=check)
