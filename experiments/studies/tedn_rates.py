"""TED^n as its authors train it, at learning rates from .1 (collapse?) to .01 (recovery?).

usage: python benchmarks/tedn_rates.py DATA_DIR [--workers 2]

The authors' published logs on MNIST end at 85.0 % with learning rate .1 and at 95.5 % with .01.
Here: mnist-even-odd as vectors of 784 numbers (their network for MNIST is fully connected), P
5,000, U 10,000, alpha .5, SGD with momentum .9 and weight decay 5e-4, batches of 200, a constant
rate, neither averaging nor dropout; 30 epochs of warm-up and 60 after it, all of them taken. The
last row is TED^n with this package's defaults. One record a run in results/tedn-rates; what is
there is skipped.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from experiments import make_problem, run_judged, run_missing, set_threads, write_summary

RESULTS = Path(__file__).resolve().parent.parent.parent / "results" / "tedn-rates"
SEEDS = (0, 1, 2)
N_LAST = 10
_AUTHORS = {
    "optimizer": "sgd",
    "schedule": "constant",
    "weight_average": 0.0,
    "dropout": 0.0,
    "batch_size": 200,
    "max_steps": 1_000_000,
    "max_epochs": 60,
    "warmup": 0.5,
    "patience": 1_000_000,
    "n_members": 1,
}
CASES: dict[str, dict[str, Any]] = {
    "sgd 0.1": {**_AUTHORS, "learning_rate": 0.1},
    "sgd 0.03": {**_AUTHORS, "learning_rate": 0.03},
    "sgd 0.01": {**_AUTHORS, "learning_rate": 0.01},
    "defaults": {"n_members": 1},
}


def run_one(case: str, seed: int, data_dir: Path) -> dict[str, Any]:
    set_threads(1)
    images = make_problem(
        "mnist-even-odd",
        n_positive=5_000,
        n_unlabeled=10_000,
        alpha=0.5,
        seed=seed,
        data_dir=data_dir,
    )
    problem = images._replace(
        X=images.X.reshape(len(images.X), -1),
        X_test=images.X_test.reshape(len(images.X_test), -1),
        augment="none",
    )
    run = run_judged("tedn", problem, seed=seed, parameters=CASES[case], n_judged=2_000)
    kept = ("stage", "step", "epoch", "accuracy", "alpha", "holdout_loss")
    rows = [{name: row[name] for name in kept if name in row} for row in run.history]
    return {"case": case, "seed": seed, **run.metrics, "history": rows}


def late_accuracy(record: dict[str, Any]) -> float:
    """Return the mean test accuracy over the last checks, in points."""
    return float(np.mean([100 * row["accuracy"] for row in record["history"][-N_LAST:]]))


def summary(records: list[dict[str, Any]]) -> str:
    lines = [
        "TED^n on mnist-even-odd as vectors, P 5000, U 10000, alpha 0.5: test accuracy in %, mean "
        f"± standard deviation over seeds. Last: over the last {N_LAST} checks, on 2000 test "
        "samples; highest: of any check of the main stage; chosen: the check with the least "
        "held-out loss, on the whole test set. The authors' logs: 85.0 at 0.1, 95.5 at 0.01.\n",
        "| optimiser, rate | last | highest | chosen | alpha at the end | seconds | seeds |",
        "|" + " --- |" * 7,
    ]
    for case in CASES:
        found = [record for record in records if record["case"] == case]
        if not found:
            continue
        last = [late_accuracy(record) for record in found]
        highest = [
            max(100 * row["accuracy"] for row in record["history"] if row["stage"] == 0)
            for record in found
        ]
        chosen = [100 * record["test_accuracy"] for record in found]
        cells = [f"{np.mean(part):.2f} ± {np.std(part):.2f}" for part in (last, highest, chosen)]
        lines.append(
            f"| {case} | {' | '.join(cells)} "
            f"| {np.mean([record['history'][-1]['alpha'] for record in found]):.3f} "
            f"| {np.mean([record['seconds'] for record in found]):.0f} | {len(found)} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    jobs = {
        RESULTS / f"{case.replace(' ', '-')}_seed{seed}.json": (case, seed, arguments.data_dir)
        for case in CASES
        for seed in SEEDS
    }
    run_missing(run_one, jobs, workers=arguments.workers)
    write_summary(RESULTS, summary)


if __name__ == "__main__":
    main()
