"""The literal forms of the two GANs on MNIST: what 5,000 steps and the rate of their papers give.

mnist-even-odd, P 5,000, U 10,000, alpha .5, one seed, 5,000 steps, every network at Adam's rate of
DCGAN, 2e-4, the classifier and the observer too, neither channel nor bfloat16. Table 2's settings
of the literal forms come from here; ``gan-forms`` has the others. Forty minutes on two cores.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.item import Config, Record, RunResult, Seeds, study
from experiments.judged import run_judged
from experiments.problems import check_task, draw_problem
from experiments.summary import markdown_table

MNIST = {
    "task": "mnist-even-odd",
    "n_positive": 5_000,
    "n_unlabeled": 10_000,
    "alpha": 0.5,
    "n_judged": 2_000,
}
_LITERAL = {"learning_rate": 2e-4, "noise": 0.0, "precision": "float32"}
CASES: dict[str, dict[str, Any]] = {
    "observer-gan": {**_LITERAL, "max_steps": 5_000, "check_every": 100},
    "d-gan": {**_LITERAL, "gan_steps": 5_000, "max_steps": 1_000, "check_every": 50},
}
_N_LAST = 10


def expand(seeds: Seeds | None) -> dict[str, Config]:
    return {
        method if seeds is None else f"{method}_seed{seed}": {
            **MNIST,
            "method": method,
            "parameters": parameters,
            "seed": seed,
        }
        for method, parameters in CASES.items()
        for seed in seeds or (0,)
    }


def check(config: Config, data_dir: Path | None) -> None:
    check_task(config["task"], data_dir)


def run(config: Config, data_dir: Path | None) -> RunResult:
    kept = ("step", "epoch", "seconds", "accuracy", "holdout_auc", "positive_share")
    return run_on_mnist(config, data_dir, kept)


def run_on_mnist(
    config: Config, data_dir: Path | None, kept: tuple[str, ...], *, is_flat: bool = False
) -> RunResult:
    """Make a judged run; of its history these columns are kept."""
    problem = draw_problem(config, data_dir)
    if is_flat:
        problem = problem._replace(
            X=problem.X.reshape(len(problem.X), -1),
            X_test=problem.X_test.reshape(len(problem.X_test), -1),
            augment="none",
        )
    result = run_judged(
        config["method"],
        problem,
        seed=config["seed"],
        parameters=config["parameters"],
        n_judged=config["n_judged"],
    )
    rows = [{name: row[name] for name in kept if name in row} for row in result.history]
    return RunResult(result.metrics, rows)


def summary(records: list[Record]) -> str:
    rows = []
    for record in sorted(records, key=lambda one: list(CASES).index(one.config["method"])):
        values, last_check = record.values, record.history[-1]
        accuracies = [100 * row["accuracy"] for row in record.history]
        last = accuracies[-_N_LAST:]
        rows.append(
            [
                values["method"],
                str(values["parameters"].get("gan_steps", 0) + values["n_steps"]),
                f"{100 * values['unlabeled_accuracy']:.2f}",
                f"{100 * values['test_accuracy']:.2f}",
                f"{max(accuracies):.2f}",
                f"{sum(last) / len(last):.2f}",
                f"{last_check['holdout_auc']:.3f}",
                f"{last_check['positive_share']:.3f}",
                f"{values['seconds']:.0f}",
            ]
        )
    head = ["method", "steps", "on U", "answer", "highest", "last", "AUC", "called positive"]
    return (
        "GANs on mnist-even-odd, P 5000, U 10000, alpha 0.5: accuracy in %. On U: of the answer, "
        "on the hidden labels of U. Answer: on the whole test set; "
        f"highest, and the mean of the last {_N_LAST}: of checks, on 2000 test samples. AUC "
        "is that of held-out P against held-out U, which no classifier can have above 0.75 "
        "here; it is told at the last check.\n\n" + markdown_table([*head, "seconds"], rows)
    )


ITEM = study(expand, run, summary, check=check)
