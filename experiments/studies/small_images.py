"""Study of small image sets: how many members, how large batches, and how many steps of a round.

300 and 900 images of each of the four sets, a third of them labelled positives, the others
unlabelled at alpha .5. Judged on the hidden labels of 1,000 more unlabelled samples of the training
split that no member has seen; never on a test split.
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
N_JUDGED = 1_000
FORMS: dict[str, dict[str, Any]] = {
    "5 members to patience": {"n_members": 5, "batch_size": 128, "max_steps": 4000},
    "5 members, batches of 32, 300 steps": {"n_members": 5, "batch_size": 32, "max_steps": 300},
    "3 members, batches of 32, 250 steps": {"n_members": 3, "batch_size": 32, "max_steps": 250},
    "5 members, batches of 32, 250 steps": {"n_members": 5, "batch_size": 32, "max_steps": 250},
    "5 members, batches of 32, 400 steps": {"n_members": 5, "batch_size": 32, "max_steps": 400},
    "5 members, batches of 32, 600 steps": {"n_members": 5, "batch_size": 32, "max_steps": 600},
    "5 members, batches of 32, 900 steps": {"n_members": 5, "batch_size": 32, "max_steps": 900},
    "5 members, batches of 32, 1350 steps": {"n_members": 5, "batch_size": 32, "max_steps": 1350},
}
# What is asked of so many images; the last form is the default.
ASKED = {
    300: (
        "5 members to patience",
        "5 members, batches of 32, 300 steps",
        "5 members, batches of 32, 1350 steps",
    ),
    900: (
        "5 members to patience",
        "3 members, batches of 32, 250 steps",
        "5 members, batches of 32, 250 steps",
        "5 members, batches of 32, 400 steps",
        "5 members, batches of 32, 600 steps",
        "5 members, batches of 32, 900 steps",
        "5 members, batches of 32, 1350 steps",
    ),
}
_FIRST_ASKED = 900  # which the names of its runs leave out


def expand(seeds: Seeds | None) -> dict[str, Config]:
    return {
        _run_id(task, n_images, seed, form): {
            "task": task,
            "n_positive": n_images // 3,
            "n_unlabeled": n_images - n_images // 3 + N_JUDGED,
            "alpha": 0.5,
            "image_size": 64 if task == "afhq-cats" else None,
            "form": form,
            "seed": seed,
        }
        for seed in seeds or (0,)
        for n_images, forms in ASKED.items()
        for form in forms
        for task in TASKS
    }


def _run_id(task: str, n_images: int, seed: int, form: str) -> str:
    size = "" if n_images == _FIRST_ASKED else f"_{n_images}"
    return f"{task}{size}_seed{seed}_{form.replace(', ', '-').replace(' ', '-')}"


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
    cells: dict[tuple[int, str, str], list[Record]] = {}
    for record in records:
        config = record.config
        n_images = config["n_positive"] + config["n_unlabeled"] - N_JUDGED
        cells.setdefault((n_images, config["form"], config["task"]), []).append(record)
    rows = [
        [f"{n_images:,}", form, *(_shown(cells.get((n_images, form, task), [])) for task in TASKS)]
        for n_images, forms in ASKED.items()
        for form in forms
    ]
    return (
        f"Accuracy / AUC in percent on {N_JUDGED:,} hidden labels of U that were not trained on, "
        "steps of all rounds, seconds on the machine that made the run; mean over seeds. The last "
        "form of every size is the default.\n\n" + markdown_table(["images", "form", *TASKS], rows)
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
