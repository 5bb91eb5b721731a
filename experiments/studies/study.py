"""Study of stopping signals and decision rules: which should be the defaults.

usage: python benchmarks/study.py DATA_DIR [--workers 2]

For digits, the four image sets at small sizes and three tables, at alpha .2, .5 and .8, one
long training is judged at every check, by both decision rules, on the hidden labels of U; never on
a test split. The naive classifier and the supervised oracle stand beside it. Every run is one
record in results/study; runs that are there are skipped. The summary is made from the records.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments import (
    METHODS,
    RAISED_BY_TRIED,
    make_problem,
    run_method,
    run_missing,
    set_threads,
    write_summary,
)
from vqpu.training import SIGNALS, StoppingRule

RESULTS = Path(__file__).resolve().parent.parent.parent / "results" / "study"
ALPHAS = (0.2, 0.5, 0.8)
DECISIONS = ("posterior", "nearest-center")
PATIENCES = (3, 5, 10)


class Case(NamedTuple):
    """Sizes and budget of one task."""

    n_positive: int
    n_unlabeled: int
    max_steps: int
    check_every: int
    seeds: tuple[int, ...]
    every_pixel: int = 1


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


def run_one(name: str, alpha: float, seed: int, method: str, data_dir: Path) -> dict[str, Any]:
    set_threads(1)
    case = CASES[name]
    problem = make_problem(
        name,
        n_positive=case.n_positive,
        n_unlabeled=case.n_unlabeled,
        alpha=alpha,
        seed=seed,
        data_dir=data_dir,
        every_pixel=case.every_pixel,
    )
    parameters: dict[str, Any] = {"max_steps": case.max_steps, "check_every": case.check_every}
    if method == "vq":
        # Every check of the first round is looked at; further ones are benchmarks/rounds.py's.
        parameters |= {"patience": case.max_steps, "n_rounds": 1}
    record = run_method(method, problem, seed=seed, judge_checks=True, parameters=parameters)
    # What a test split says must not choose a default: it is not even kept.
    record = {key: value for key, value in record.items() if not key.startswith("test_")}
    return {"task": name, "alpha": alpha, **case._asdict(), **record}


def mean_accuracies(records: list[dict[str, Any]]) -> dict[tuple[str, float], dict[str, float]]:
    """Return accuracy in percent by task and alpha, then by column, averaged over seeds."""
    rows: dict[tuple[str, float], dict[str, list[float]]] = {}
    for record in records:
        row = rows.setdefault((record["task"], record["alpha"]), {})
        for column, value in columns(record).items():
            row.setdefault(column, []).append(100 * value)
    return {
        key: {column: float(np.mean(values)) for column, values in row.items()}
        for key, row in sorted(rows.items())
    }


def regrets(records: list[dict[str, Any]]) -> dict[str, float]:
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


def summary(records: list[dict[str, Any]]) -> str:
    """Return the table and the regrets as Markdown."""
    rows = mean_accuracies(records)
    names = list(dict.fromkeys(column for row in rows.values() for column in row))
    lines = [
        "Accuracy in percent on the hidden labels of U, mean over seeds.\n",
        "| task | alpha | " + " | ".join(names) + " |",
        "|" + " --- |" * (len(names) + 2),
    ]
    for (task, alpha), row in rows.items():
        cells = " | ".join(f"{row[name]:.1f}" if name in row else "missing" for name in names)
        lines.append(f"| {task} | {alpha} | {cells} |")
    average = {name: np.mean([row[name] for row in rows.values() if name in row]) for name in names}
    lines.append("| mean | | " + " | ".join(f"{average[name]:.2f}" for name in names) + " |")
    lines.append("\nMean regret, in points, against the best check under the better decision:\n")
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


def columns(record: dict[str, Any]) -> dict[str, float]:
    if record["method"] != "vq":
        return {record["method"]: record["unlabeled_accuracy"]}
    history, judged = record["history"], record["judged"]
    found: dict[str, float] = {}
    for decision in DECISIONS:
        accuracy = [row[decision] for row in judged]
        for name, signal in SIGNALS.items():
            value = [signal.sign * row[signal.column] for row in history]
            found[f"{name}, {decision}"] = accuracy[int(np.argmax(value))]
        found[f"last, {decision}"] = accuracy[-1]
        found[f"best {decision}"] = max(accuracy)
    return found


def patience_accuracies(records: list[dict[str, Any]]) -> dict[int, float]:
    """Return mean accuracy in percent of (holdout-loss, posterior) by patience."""
    found: dict[tuple[str, float], list[list[float]]] = {}
    for record in records:
        if record["method"] == "vq":
            chosen = [chosen_check(record["history"], patience) for patience in PATIENCES]
            values = [100 * record["judged"][check]["posterior"] for check in chosen]
            found.setdefault((record["task"], record["alpha"]), []).append(values)
    means = np.mean([np.mean(values, axis=0) for values in found.values()], axis=0)
    return dict(zip(PATIENCES, means.tolist(), strict=True))


def chosen_check(history: list[dict[str, Any]], patience: int) -> int:
    rule = StoppingRule("holdout-loss", patience)
    for row in history:
        if rule.update(row, None):
            break
    return rule.best_check


def border_accuracies(records: list[dict[str, Any]]) -> dict[float, float]:
    """Return mean accuracy in percent by how far alpha is raised in the fit of the border.

    At the check that the held-out loss chooses, mean over tasks and alpha.
    """
    found: dict[tuple[str, float], list[list[float]]] = {}
    for record in records:
        if record["method"] == "vq":
            chosen = int(np.argmin([row["holdout_loss"] for row in record["history"]]))
            row = record["judged"][chosen]
            values = [100 * row[f"posterior+{raised:g}"] for raised in RAISED_BY_TRIED]
            found.setdefault((record["task"], record["alpha"]), []).append(values)
    means = np.mean([np.mean(values, axis=0) for values in found.values()], axis=0)
    return dict(zip(RAISED_BY_TRIED, means.tolist(), strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--show", action="store_true", help="only print what the records say")
    arguments = parser.parse_args()
    if not arguments.show:
        jobs = {
            record_path(name, alpha, seed, method): (name, alpha, seed, method, arguments.data_dir)
            for method in METHODS
            for name, case in CASES.items()
            for alpha in ALPHAS
            for seed in case.seeds
        }
        run_missing(run_one, jobs, arguments.workers)
    write_summary(RESULTS, summary)


def record_path(name: str, alpha: float, seed: int, method: str) -> Path:
    return RESULTS / f"{name}_alpha{alpha}_seed{seed}_{method}.json"


if __name__ == "__main__":
    main()
