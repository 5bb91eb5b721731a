"""Test accuracy of VQ K-means on the paper's data sets with defaults only.

usage: python benchmarks/accuracy.py DATA_DIR [--only TASK] [--workers 2]

One record a task and seed in results/accuracy; what is there is skipped. Two threads in all, as on
the machine that the published figures come from: one run at a time, or two with one thread each.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from vqpu.experiments import (
    make_problem,
    run_method,
    run_missing,
    set_threads,
    write_summary,
)

RESULTS = Path(__file__).resolve().parent.parent / "results" / "accuracy"

# task: P, U, seeds, methods
CASES: dict[str, tuple[int, int, tuple[int, ...], tuple[str, ...]]] = {
    "digits-even-odd": (340, 700, (0, 1, 2, 3, 4), ("vq", "naive", "oracle")),
    "mnist-even-odd": (5_000, 10_000, (0,), ("vq",)),
    "afhq-cats": (2_500, 5_200, (0,), ("vq",)),
    "cifar10-animals": (10_000, 20_000, (0,), ("vq",)),
    "fashion-last5": (5_000, 10_000, (0,), ("vq",)),
}


def run_one(task: str, method: str, seed: int, data_dir: Path, threads: int) -> dict[str, Any]:
    set_threads(threads)
    n_positive, n_unlabeled, _, _ = CASES[task]
    problem = make_problem(
        task,
        n_positive=n_positive,
        n_unlabeled=n_unlabeled,
        alpha=0.5,
        seed=seed,
        data_dir=data_dir,
    )
    record = run_method(method, problem, seed=seed)
    sizes = {"task": task, "alpha": 0.5, "n_positive": n_positive, "n_unlabeled": n_unlabeled}
    return {**sizes, **record}


def summary(records: list[dict[str, Any]]) -> str:
    lines = [
        "| task | method | P | U | seeds | test accuracy % | alpha (true 0.5) | steps | seconds |",
        "|" + " --- |" * 9,
    ]
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for record in records:
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
    parser.add_argument("--only", choices=list(CASES))
    parser.add_argument("--workers", type=int, choices=(1, 2), default=1)
    arguments = parser.parse_args()
    threads = 2 // arguments.workers
    jobs = {
        RESULTS / f"{task}_{method}_seed{seed}.json": (
            task,
            method,
            seed,
            arguments.data_dir,
            threads,
        )
        for task, (_, _, seeds, methods) in CASES.items()
        if arguments.only in (None, task)
        for method in methods
        for seed in seeds
    }
    run_missing(run_one, jobs, workers=arguments.workers)
    write_summary(RESULTS, summary)


if __name__ == "__main__":
    main()
