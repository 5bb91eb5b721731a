"""Balanced accuracy on tables: VQ K-means by networks and by trees, naive and supervised ones.

Of VQ K-means "vq" is the network that tables had by default once, and "trees" the default of today;
"naive" and "oracle" are networks, "boosted-oracle" is scikit-learn's boosted trees with all labels:
what steps along columns can reach on a table. Else defaults only, five seeds, P and U disjoint,
tested on what is in neither. alpha is .5, where the best border for balanced accuracy and the best
border for accuracy on U are the same: neither method is favoured by the score.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from experiments.item import Config, Record, RunResult, Seeds, study
from experiments.judged import run_method, scores
from experiments.problems import Problem, draw_problem
from experiments.summary import markdown_table

METHODS = ("vq", "trees", "naive", "oracle", "boosted-oracle")
_ENCODERS = {"vq": "network", "trees": "trees"}

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


def run(config: Config, data_dir: Path | None) -> RunResult:
    problem, method, seed = draw_problem(config, data_dir), config["method"], config["seed"]
    if method == "boosted-oracle":
        return RunResult(_boosted(problem, seed), [])
    if method in _ENCODERS:
        return run_method("vq", problem, seed=seed, parameters={"encoder": _ENCODERS[method]})
    return run_method(method, problem, seed=seed)


def _boosted(problem: Problem, seed: int) -> dict[str, Any]:
    """Fit boosted trees with all labels, weighted to the share of positives in U."""
    truth, alpha = problem.truth, problem.alpha
    weight = np.where(truth == 1, alpha / truth.mean(), (1 - alpha) / (1 - truth.mean()))
    model = HistGradientBoostingClassifier(random_state=seed)
    model.fit(problem.X, truth, sample_weight=weight)
    return scores(model.predict, problem)


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
