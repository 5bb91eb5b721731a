"""Balanced accuracy on tables: VQ K-means, the naive classifier and the supervised oracle.

Defaults only, five seeds, P and U disjoint, tested on what is in neither. alpha is .5, where the
best border for balanced accuracy and the best border for accuracy on U are the same: neither method
is favoured by the score.
"""

from __future__ import annotations

import numpy as np

from experiments.item import Config, Record, Seeds, study
from experiments.studies.accuracy import METHODS, run
from experiments.summary import markdown_table

CASES = {
    "breast-cancer": {"alpha": 0.5, "n_positive": 80, "n_unlabeled": 200},
    "wide-noise": {"alpha": 0.5, "n_positive": 600, "n_unlabeled": 1_500},
    "nonlinear": {"alpha": 0.5, "n_positive": 5_000, "n_unlabeled": 15_000},
}


def expand(seeds: Seeds | None) -> dict[str, Config]:
    return {
        f"{task}_{method}_seed{seed}": {"task": task, **case, "method": method, "seed": seed}
        for task, case in CASES.items()
        for method in METHODS
        for seed in seeds or range(5)
    }


def values_of(records: list[Record], task: str, method: str, metric: str) -> list[float]:
    """Return a metric of every seed."""
    found = [record.values for record in records]
    return [one[metric] for one in found if (one["task"], one["method"]) == (task, method)]


def summary(records: list[Record]) -> str:
    rows = []
    for task, case in CASES.items():
        cells = []
        for method in METHODS:
            values = values_of(records, task, method, "test_balanced_accuracy")
            points = 100 * np.array(values)
            cells.append(f"{points.mean():.2f} ± {points.std():.2f}" if values else "missing")
        estimates = values_of(records, task, "vq", "alpha_estimate")
        estimate = f"{np.mean(estimates):.2f}" if estimates else "missing"
        sizes = [str(case[name]) for name in ("n_positive", "n_unlabeled", "alpha")]
        rows.append([task, *sizes, estimate, *cells, str(len(estimates))])
    head = ["table", "P", "U", "alpha", "estimate", *METHODS, "seeds"]
    return (
        "Balanced accuracy on samples outside P and U, mean ± standard deviation over seeds, %.\n\n"
        + markdown_table(head, rows)
    )


ITEM = study(expand, run, summary)
