"""Test accuracy of VQ K-means on digits and on the paper's data sets with defaults only.

The runs are those on digits. The paper's data sets are the runs of VQ K-means in table 2
(``python -m experiments table2 --only _vq_``, three seeds each), whose records are read. Two
threads in all, as on the machine that the published figures come from: one run at a time, or two
with one thread each.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.item import Config, Record, RunResult, Seeds, finished, study
from experiments.judged import run_method
from experiments.problems import draw_problem
from experiments.summary import markdown_table

ROOT = Path(__file__).resolve().parent.parent.parent
METHODS = ("vq", "naive", "oracle")
DIGITS = {"task": "digits-even-odd", "alpha": 0.5, "n_positive": 340, "n_unlabeled": 700}


def expand(seeds: Seeds | None) -> dict[str, Config]:
    return {
        f"{DIGITS['task']}_{method}_seed{seed}": {**DIGITS, "method": method, "seed": seed}
        for method in METHODS
        for seed in seeds or range(5)
    }


def run(config: Config, data_dir: Path | None) -> RunResult:
    return run_method(config["method"], draw_problem(config, data_dir), seed=config["seed"])


def image_records() -> list[Record]:
    """Return table 2's finished runs of VQ K-means."""
    from experiments.runner import Request, read_item  # which knows this study

    table2 = Request("table2", paper_dir=ROOT / "paper", results_dir=ROOT / "results", only="_vq_")
    return finished(read_item(table2))


def summary(records: list[Record]) -> str:
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for record in [*records, *image_records()]:
        groups.setdefault((record.config["task"], record.config["method"]), []).append(
            record.values
        )
    rows = []
    for (task, method), group in sorted(groups.items()):
        accuracy = 100 * np.array([found["test_accuracy"] for found in group])
        alpha = np.mean([found.get("alpha_estimate", np.nan) for found in group])
        rows.append(
            [
                task,
                method,
                str(group[0]["n_positive"]),
                str(group[0]["n_unlabeled"]),
                str(len(group)),
                f"{accuracy.mean():.2f}" + (f" ± {accuracy.std():.2f}" if len(group) > 1 else ""),
                "-" if np.isnan(alpha) else f"{alpha:.3f}",
                f"{np.mean([found['n_steps'] for found in group]):.0f}",
                f"{np.mean([found['seconds'] for found in group]):.0f}",
            ]
        )
    head = ["task", "method", "P", "U", "seeds", "test accuracy %", "alpha (true 0.5)"]
    return markdown_table([*head, "steps", "seconds"], rows)


ITEM = study(expand, run, summary, threads=None)
