"""Whether the number of processes that fit one model changes how good it is.

The same fit in 1, 2 and 4 processes with the same batch of 128 in all: what differs is that batch
norm, augmentation and dropout are each process's own (docs/scale.md). Pictures: even digits among
digits, 8 x 8, a convolutional network with batch norm and shifts, at most 600 steps in each of two
rounds; vectors: the overlapping Gaussians of ``gaussians``, alpha .3, a network with dropout, one
round of at most 300. One network each.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from experiments.item import Config, Record, RunResult, Seeds, study
from experiments.problems import Problem, draw_problem
from experiments.studies.gaussians import make_gaussians
from experiments.summary import markdown_table
from vqpu import VQKMeansClassifier
from vqpu.distributed import fit
from vqpu.errors import VqpuWarning

SIZES = (1, 2, 4)
SEEDS = (0, 1, 2)
BATCH_SIZE = 128
_COMMON = {"n_members": 1, "batch_size": BATCH_SIZE}
PARAMETERS: dict[str, dict[str, Any]] = {
    "digits": {**_COMMON, "max_steps": 600, "n_rounds": 2},
    "gaussians": {**_COMMON, "encoder": "network", "max_steps": 300, "n_rounds": 1},
}
CASES: dict[str, dict[str, Any]] = {
    "digits": {"task": "digits-even-odd", "n_positive": 340, "n_unlabeled": 700, "alpha": 0.5},
    "gaussians": {"setting": "overlapping", "alpha": 0.3},
}


def expand(seeds: Seeds | None) -> dict[str, Config]:
    return {
        f"{case}_ranks{size}_seed{seed}": {
            **given,
            "case": case,
            "processes": size,
            "parameters": PARAMETERS[case],
            "seed": seed,
        }
        for case, given in CASES.items()
        for size in SIZES
        for seed in seeds or SEEDS
    }


def _problem(config: Config, data_dir: Path | None) -> Problem:
    if "task" in config:
        return draw_problem(config, data_dir)
    return make_gaussians(config["setting"], config["alpha"], config["seed"])


def run(config: Config, data_dir: Path | None) -> RunResult:
    problem, started = _problem(config, data_dir), time.perf_counter()
    model = VQKMeansClassifier(
        **config["parameters"], augment=problem.augment, random_state=config["seed"]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VqpuWarning)
        fitted = fit(model, problem.X, problem.y, processes=config["processes"])
    is_positive = fitted.predict(problem.X_test) == 1
    metrics = {
        "test_accuracy": float(np.mean(is_positive == (problem.y_test == 1))),
        "alpha_error": abs(float(fitted.alpha_) - problem.alpha),
        "steps": int(fitted.n_steps_),
        "seconds": time.perf_counter() - started,
    }
    return RunResult(metrics, [])


def accuracies(records: list[Record], case: str, size: int) -> list[float]:
    """Return the test accuracies of a case in points, in the order of seeds."""
    found = [
        record.values
        for record in records
        if (record.config["case"], record.config["processes"]) == (case, size)
    ]
    return [100 * values["test_accuracy"] for values in sorted(found, key=lambda one: one["seed"])]


def summary(records: list[Record]) -> str:
    rows = []
    for case in CASES:
        for size in SIZES:
            found = accuracies(records, case, size)
            if not found:
                continue
            cells = [f"{value:.2f}" for value in found]
            rows.append(
                [case, str(size), f"{np.mean(found):.2f} ± {np.std(found):.2f}", ", ".join(cells)]
            )
    head = ["data", "processes", "test accuracy", "by seed"]
    return (
        f"The same fit in several processes, {BATCH_SIZE} samples in all in every batch: test "
        "accuracy in %, mean ± standard deviation over seeds.\n\n" + markdown_table(head, rows)
    )


ITEM = study(expand, run, summary)
