"""Balanced accuracy on tables: VQ K-means, the naive classifier and the supervised oracle.

usage: python benchmarks/tables.py

Defaults only, five seeds, P and U disjoint, tested on what is in neither. alpha is .5, where the
best border for balanced accuracy and the best border for accuracy on U are the same: neither method
is favoured by the score. One record a run in
results/tables; what is there is skipped.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments import (
    METHODS,
    make_problem,
    run_method,
    run_missing,
    set_threads,
    write_summary,
)

RESULTS = Path(__file__).resolve().parent.parent.parent / "results" / "tables"
SEEDS = range(5)

# table: P, U, alpha
CASES = {
    "breast-cancer": (80, 200, 0.5),
    "wide-noise": (600, 1_500, 0.5),
    "nonlinear": (5_000, 15_000, 0.5),
}


def run_one(table: str, method: str, seed: int) -> dict[str, Any]:
    set_threads(1)
    n_positive, n_unlabeled, alpha = CASES[table]
    problem = make_problem(
        table, n_positive=n_positive, n_unlabeled=n_unlabeled, alpha=alpha, seed=seed
    )
    record = run_method(method, problem, seed=seed)
    sizes = {"task": table, "alpha": alpha, "n_positive": n_positive, "n_unlabeled": n_unlabeled}
    return {**sizes, **record}


def summary(records: list[dict[str, Any]]) -> str:
    lines = [
        "Balanced accuracy on samples outside P and U, mean ± standard deviation over seeds, %.\n",
        "| table | P | U | alpha | estimate | " + " | ".join(METHODS) + " | seeds |",
        "|" + " --- |" * (6 + len(METHODS)),
    ]
    for table, (n_positive, n_unlabeled, alpha) in CASES.items():
        cells = []
        for method in METHODS:
            values = [
                100 * record["test_balanced_accuracy"]
                for record in records
                if record["task"] == table and record["method"] == method
            ]
            cells.append(f"{np.mean(values):.2f} ± {np.std(values):.2f}" if values else "missing")
        estimates = [
            record["alpha_estimate"]
            for record in records
            if record["task"] == table and record["method"] == "vq"
        ]
        estimate = f"{np.mean(estimates):.2f}" if estimates else "missing"
        lines.append(
            f"| {table} | {n_positive} | {n_unlabeled} | {alpha} | {estimate} | "
            + " | ".join(cells)
            + f" | {len(estimates)} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    jobs = {
        RESULTS / f"{table}_{method}_seed{seed}.json": (table, method, seed)
        for table in CASES
        for method in METHODS
        for seed in SEEDS
    }
    run_missing(run_one, jobs, workers=2)
    write_summary(RESULTS, summary)


if __name__ == "__main__":
    main()
