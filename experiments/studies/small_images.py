"""Study of small image sets: how many members, how large batches, and how many steps of a round.

300 labelled positives and 600 unlabelled images of each of the four sets, at alpha .5. Judged on
the hidden labels of 1,000 more unlabelled samples of the training split that no member has seen;
never on a test split.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from experiments.item import Config, Record, RunResult, Seeds, study
from experiments.methods import fit_method
from experiments.problems import Problem, check_task, draw_problem
from experiments.summary import markdown_table

TASKS = ("afhq-cats", "cifar10-animals", "fashion-last5", "mnist-even-odd")
N_POSITIVE, N_UNLABELED, N_JUDGED = 300, 600, 1_000
FORMS: dict[str, dict[str, Any]] = {
    "5 members to patience": {"n_members": 5, "batch_size": 128, "max_steps": 4000},
    "3 members, batches of 32, 250 steps": {"n_members": 3, "batch_size": 32, "max_steps": 250},
    "5 members, batches of 32, 250 steps": {"n_members": 5, "batch_size": 32, "max_steps": 250},
    "5 members, batches of 32, 400 steps": {"n_members": 5, "batch_size": 32, "max_steps": 400},
    "5 members, batches of 32, 600 steps": {"n_members": 5, "batch_size": 32, "max_steps": 600},
    "5 members, batches of 32, 900 steps": {"n_members": 5, "batch_size": 32, "max_steps": 900},
    "5 members, batches of 64, 600 steps": {"n_members": 5, "batch_size": 64, "max_steps": 600},
}


def expand(seeds: Seeds | None) -> dict[str, Config]:
    return {
        f"{task}_seed{seed}_{form.replace(', ', '-').replace(' ', '-')}": {
            "task": task,
            "n_positive": N_POSITIVE,
            "n_unlabeled": N_UNLABELED + N_JUDGED,
            "alpha": 0.5,
            "image_size": 64 if task == "afhq-cats" else None,
            "form": form,
            "seed": seed,
        }
        for seed in seeds or (0,)
        for form in FORMS
        for task in TASKS
    }


def check(config: Config, data_dir: Path | None) -> None:
    check_task(config["task"], data_dir)


def run(config: Config, data_dir: Path | None) -> RunResult:
    problem = draw_problem(config, data_dir)
    unlabeled = np.flatnonzero(problem.y != 1)
    kept = np.sort(np.random.default_rng(config["seed"]).permutation(unlabeled)[:N_JUDGED])
    trained = np.setdiff1d(np.arange(len(problem.y)), kept)
    given: Problem = problem._replace(
        X=problem.X[trained], y=problem.y[trained], truth=problem.truth[trained]
    )
    start = time.perf_counter()
    model = fit_method("vq", given, seed=config["seed"], parameters=FORMS[config["form"]])
    seconds = time.perf_counter() - start
    scores, truth = model.decision_function(problem.X[kept]), problem.truth[kept] == 1
    return RunResult(
        {
            "accuracy": float(np.mean((scores > 0) == truth)),
            "auc": float(roc_auc_score(truth, scores)),
            "alpha_estimate": model.alpha_,
            "n_steps": model.n_steps_,
            "n_rounds": model.n_rounds_,
            "seconds": seconds,
        },
        [],
    )


def summary(records: list[Record]) -> str:
    cells: dict[str, dict[str, list[Record]]] = {form: {} for form in FORMS}
    for record in records:
        cells[record.config["form"]].setdefault(record.config["task"], []).append(record)
    rows = [
        [form, *(_shown(found.get(task, [])) for task in TASKS)] for form, found in cells.items()
    ]
    return (
        f"Accuracy / AUC in percent on {N_JUDGED:,} hidden labels of U that were not trained on, "
        "steps of all rounds, seconds on the machine that made the run; mean over seeds.\n\n"
        + markdown_table(["form", *TASKS], rows)
    )


def _shown(records: list[Record]) -> str:
    if not records:
        return "-"
    values = [record.values for record in records]
    accuracy, auc, steps, seconds = (
        float(np.mean([value[name] for value in values]))
        for name in ("accuracy", "auc", "n_steps", "seconds")
    )
    return f"{100 * accuracy:.1f} / {100 * auc:.1f}, {steps:.0f}, {seconds:.0f} s"


ITEM = study(expand, run, summary, check=check)
