"""Test accuracy of VQ K-means on digits and on the paper's data sets with defaults only.

usage: python benchmarks/accuracy.py DATA_DIR [--only TASK] [--workers 2]

Digits have one record a method and seed in results/accuracy. The paper's data sets are the runs of
VQ K-means in table 2 (``vqpu reproduce table2 --only _vq_``), recorded in results/reproduce/table2
with three seeds each. What is there is skipped. Two threads in all, as on the machine that the
published figures come from: one run at a time, or two with one thread each.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from experiments import make_problem, run_method, run_missing, set_threads, write_summary
from experiments.items import Request, read_item, run_item

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "results" / "accuracy"
DIGITS = "digits-even-odd"
TABLE2 = Request(
    "table2", paper_dir=ROOT / "paper", results_dir=ROOT / "results" / "reproduce", only="_vq_"
)
SEEDS, METHODS = (0, 1, 2, 3, 4), ("vq", "naive", "oracle")
N_POSITIVE, N_UNLABELED, ALPHA = 340, 700, 0.5


def run_digits(method: str, seed: int, threads: int) -> dict[str, Any]:
    set_threads(threads)
    problem = make_problem(
        DIGITS, n_positive=N_POSITIVE, n_unlabeled=N_UNLABELED, alpha=ALPHA, seed=seed
    )
    sizes = {"alpha": ALPHA, "n_positive": N_POSITIVE, "n_unlabeled": N_UNLABELED}
    return {"task": DIGITS, **sizes, **run_method(method, problem, seed=seed)}


def image_records() -> list[dict[str, Any]]:
    """Return table 2's finished runs of VQ K-means: what was asked for, and what came of it."""
    return [
        {**run.config, **run.metrics, "environment": run.environment}
        for run in read_item(TABLE2).values()
        if run.metrics is not None
    ]


def summary(records: list[dict[str, Any]]) -> str:
    lines = [
        "| task | method | P | U | seeds | test accuracy % | alpha (true 0.5) | steps | seconds |",
        "|" + " --- |" * 9,
    ]
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for record in [*records, *image_records()]:
        groups.setdefault((record["task"], record["method"]), []).append(record)
    for (task, method), group in sorted(groups.items()):
        accuracy = 100 * np.array([record["test_accuracy"] for record in group])
        alpha = np.mean([record.get("alpha_estimate", np.nan) for record in group])
        shown = f"{accuracy.mean():.2f}" + (f" ± {accuracy.std():.2f}" if len(group) > 1 else "")
        lines.append(
            f"| {task} | {method} | {group[0]['n_positive']} | {group[0]['n_unlabeled']} | "
            f"{len(group)} | {shown} | {'-' if np.isnan(alpha) else f'{alpha:.3f}'} | "
            f"{np.mean([record['n_steps'] for record in group]):.0f} | "
            f"{np.mean([record['seconds'] for record in group]):.0f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data_dir", type=Path)
    tasks = [run.config["task"] for run in read_item(TABLE2).values()]
    parser.add_argument("--only", choices=[DIGITS, *dict.fromkeys(tasks)], default="")
    parser.add_argument("--workers", type=int, choices=(1, 2), default=1)
    arguments = parser.parse_args()
    if arguments.only in ("", DIGITS):
        jobs = {
            RESULTS / f"{DIGITS}_{method}_seed{seed}.json": (method, seed, 2 // arguments.workers)
            for method in METHODS
            for seed in SEEDS
        }
        run_missing(run_digits, jobs, workers=arguments.workers)
    if arguments.only != DIGITS:
        set_threads(2)  # shared out among the workers
        wanted = f"{arguments.only}_alpha{ALPHA}_vq_" if arguments.only else TABLE2.only
        run_item(
            TABLE2._replace(only=wanted, data_dir=arguments.data_dir, workers=arguments.workers)
        )
    write_summary(RESULTS, summary)


if __name__ == "__main__":
    main()
