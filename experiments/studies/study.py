"""Study of stopping signals and decision rules: which should be the defaults.

For digits, the four image sets at small sizes and three tables, at alpha .2, .5 and .8, one
long training is judged at every check, by both decision rules, on the hidden labels of U; never on
a test split.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from experiments.item import Config, Record, Row, RunResult, Seeds, study
from experiments.judged import RAISED_BY_TRIED, run_method
from experiments.problems import check_task, draw_problem
from experiments.summary import markdown_table
from vqpu.training import SIGNALS, StoppingRule

ALPHAS = (0.2, 0.5, 0.8)
DECISIONS = ("posterior", "nearest-center")
PATIENCES = (3, 5, 10)
Choice = TypeVar("Choice", int, float)


class Case(NamedTuple):
    """Sizes and budget of one task."""

    n_positive: int
    n_unlabeled: int
    max_steps: int
    check_every: int
    seeds: tuple[int, ...]
    every_pixel: int = 1

    def config(self, task: str, alpha: float, seed: int) -> Config:
        """Return what all runs on this task have in common."""
        sizes = self._asdict()
        del sizes["seeds"]
        return {"task": task, "alpha": alpha, **sizes, "seed": seed}


CASES = {
    "breast-cancer": Case(60, 160, 400, 20, (0, 1, 2)),
    "wide-noise": Case(600, 1500, 500, 20, (0, 1)),
    "nonlinear": Case(3000, 10000, 2000, 100, (0,)),
    "digits-even-odd": Case(300, 500, 400, 20, (0,)),
    "mnist-even-odd": Case(1000, 2000, 500, 50, (0,)),
    "fashion-last5": Case(1000, 2000, 500, 50, (0,)),
    "cifar10-animals": Case(1000, 2000, 500, 50, (0,)),
    "afhq-cats": Case(1000, 2000, 500, 50, (0,), every_pixel=2),
}


def expand(seeds: Seeds | None) -> dict[str, Config]:
    return {
        f"{task}_alpha{alpha}_seed{seed}_vq": {**case.config(task, alpha, seed), "method": "vq"}
        for task, case in CASES.items()
        for alpha in ALPHAS
        for seed in seeds or case.seeds
    }


def check(config: Config, data_dir: Path | None) -> None:
    check_task(config["task"], data_dir)


def run(config: Config, data_dir: Path | None) -> RunResult:
    parameters = {name: config[name] for name in ("max_steps", "check_every")}
    # Every check of the first round is looked at; further ones are the study of rounds.
    parameters |= {"patience": config["max_steps"], "n_rounds": 1}
    result = run_method(
        config["method"],
        draw_problem(config, data_dir),
        seed=config["seed"],
        judge_checks=True,
        parameters=parameters,
    )
    # What a test split says must not choose a default: it is not even kept.
    kept = {key: value for key, value in result.metrics.items() if not key.startswith("test_")}
    return RunResult(kept, result.history)


def mean_accuracies(records: list[Record]) -> dict[tuple[str, float], dict[str, float]]:
    """Return accuracy in percent by task and alpha, then by column, averaged over seeds."""
    rows: dict[tuple[str, float], dict[str, list[float]]] = {}
    for record in records:
        row = rows.setdefault(_cell(record), {})
        for column, value in columns(record).items():
            row.setdefault(column, []).append(100 * value)
    return {
        key: {column: float(np.mean(values)) for column, values in row.items()}
        for key, row in sorted(rows.items())
    }


def regrets(records: list[Record]) -> dict[str, float]:
    """Return, by signal and decision, the mean loss in points against the best check.

    The best check is that of the better decision: what nobody without labels could beat.
    """
    rows = list(mean_accuracies(records).values())
    best = [max(value for name, value in row.items() if name.startswith("best ")) for row in rows]
    names = [name for name in rows[0] if name.split(",")[0] in SIGNALS]
    return {
        name: float(np.mean([top - row[name] for top, row in zip(best, rows, strict=True)]))
        for name in names
    }


def summary(records: list[Record]) -> str:
    """Return the table and the regrets as Markdown."""
    rows = mean_accuracies(records)
    names = list(dict.fromkeys(column for row in rows.values() for column in row))
    cells = [
        [task, str(alpha), *(f"{row[name]:.1f}" if name in row else "missing" for name in names)]
        for (task, alpha), row in rows.items()
    ]
    average = {name: np.mean([row[name] for row in rows.values() if name in row]) for name in names}
    cells.append(["mean", "", *(f"{average[name]:.2f}" for name in names)])
    lines = [
        "Accuracy in percent on the hidden labels of U, mean over seeds.\n",
        markdown_table(["task", "alpha", *names], cells),
        "Mean regret, in points, against the best check under the better decision:\n",
    ]
    ranked = sorted(regrets(records).items(), key=lambda item: item[1])
    lines += [f"- {name}: {value:.2f}" for name, value in ranked]
    lines.append(
        "\nMean accuracy of (holdout-loss, posterior) by the standard errors that alpha is raised "
        "by in the fit of the border:\n"
    )
    lines += [f"- {raised:g}: {value:.2f}" for raised, value in border_accuracies(records).items()]
    lines.append("\nThe same by patience:\n")
    lines += [f"- {number}: {value:.2f}" for number, value in patience_accuracies(records).items()]
    return "\n".join(lines) + "\n"


def columns(record: Record) -> dict[str, float]:
    """Return the accuracy of every way to choose a check and to decide."""
    history = record.history
    found: dict[str, float] = {}
    for decision in DECISIONS:
        accuracy = [row[decision] for row in history]
        for name, signal in SIGNALS.items():
            value = [signal.sign * row[signal.column] for row in history]
            found[f"{name}, {decision}"] = accuracy[int(np.argmax(value))]
        found[f"last, {decision}"] = accuracy[-1]
        found[f"best {decision}"] = max(accuracy)
    return found


def patience_accuracies(records: list[Record]) -> dict[int, float]:
    """Return mean accuracy in percent of (holdout-loss, posterior) by patience."""
    return _means(
        records, PATIENCES, lambda rows, patience: rows[chosen_check(rows, patience)]["posterior"]
    )


def chosen_check(history: list[Row], patience: int) -> int:
    """Return the check that the default signal chooses."""
    rule = StoppingRule("holdout-loss", patience)
    for row in history:
        if rule.update(row, None):
            break
    return rule.best_check


def border_accuracies(records: list[Record]) -> dict[float, float]:
    """Return mean accuracy in percent by how far alpha is raised in the fit of the border.

    At the check that the held-out loss chooses.
    """

    def accuracy(rows: list[Row], raised: float) -> float:
        chosen = min(rows, key=lambda row: row["holdout_loss"])
        return float(chosen[f"posterior+{raised:g}"])

    return _means(records, RAISED_BY_TRIED, accuracy)


def _means(
    records: list[Record],
    choices: tuple[Choice, ...],
    accuracy: Callable[[list[Row], Choice], float],
) -> dict[Choice, float]:
    """Return the accuracy of every choice in percent: mean over seeds, then tasks and alpha."""
    found: dict[tuple[str, float], list[list[float]]] = {}
    for record in records:
        values = [100 * accuracy(record.history, choice) for choice in choices]
        found.setdefault(_cell(record), []).append(values)
    means = np.mean([np.mean(values, axis=0) for values in found.values()], axis=0)
    return dict(zip(choices, means.tolist(), strict=True))


def _cell(record: Record) -> tuple[str, float]:
    return record.config["task"], record.config["alpha"]


ITEM = study(expand, run, summary, check=check)
