"""The two GANs on MNIST: what 5,000 steps and the rate of their papers give.

usage: python benchmarks/gan_budgets.py DATA_DIR [--workers 2]

mnist-even-odd, P 5,000, U 10,000, alpha .5, one seed, 5,000 steps, every network at Adam's rate of
DCGAN, 2e-4, the classifier and the observer too. Table 2's settings of the GANs come from here.
One record a run in results/gan-budgets; what is there is skipped. Forty minutes on two cores.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from experiments import make_problem, run_judged, run_missing, set_threads, write_summary

RESULTS = Path(__file__).resolve().parent.parent.parent / "results" / "gan-budgets"
CASES: dict[str, dict[str, Any]] = {
    "observer-gan": {"learning_rate": 2e-4, "max_steps": 5_000, "check_every": 100},
    "d-gan": {"learning_rate": 2e-4, "gan_steps": 5_000, "max_steps": 1_000, "check_every": 50},
}
_N_LAST = 10


def run_one(method: str, data_dir: Path) -> dict[str, Any]:
    set_threads(1)
    problem = make_problem(
        "mnist-even-odd", n_positive=5_000, n_unlabeled=10_000, alpha=0.5, seed=0, data_dir=data_dir
    )
    run = run_judged(method, problem, seed=0, parameters=CASES[method], n_judged=2_000)
    kept = ("step", "epoch", "seconds", "accuracy", "holdout_auc", "positive_share")
    rows = [{name: row[name] for name in kept if name in row} for row in run.history]
    return {"method": method, **run.metrics, "parameters": CASES[method], "history": rows}


def summary(records: list[dict[str, Any]]) -> str:
    lines = [
        "GANs on mnist-even-odd, P 5000, U 10000, alpha 0.5: accuracy in %. On U: of the answer, "
        "on the hidden labels of U. DecisionRule: on the whole test set; "
        f"highest, and the mean of the last {_N_LAST}: of checks, on 2000 test samples. AUC "
        "is that of held-out P against held-out U, which no classifier can have above 0.75 "
        "here; it is told at the last check.\n",
        "| method | steps | on U | answer | highest | last | AUC | called positive | seconds |",
        "|" + " --- |" * 9,
    ]
    for record in sorted(records, key=lambda record: list(CASES).index(record["method"])):
        checks = record["history"]
        accuracies = [100 * row["accuracy"] for row in checks]
        steps = record["parameters"].get("gan_steps", 0) + record["n_steps"]
        last = accuracies[-_N_LAST:]
        lines.append(
            f"| {record['method']} | {steps} | {100 * record['unlabeled_accuracy']:.2f} "
            f"| {100 * record['test_accuracy']:.2f} "
            f"| {max(accuracies):.2f} | {sum(last) / len(last):.2f} "
            f"| {checks[-1]['holdout_auc']:.3f} | {checks[-1]['positive_share']:.3f} "
            f"| {record['seconds']:.0f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    jobs = {RESULTS / f"{method}.json": (method, arguments.data_dir) for method in CASES}
    run_missing(run_one, jobs, workers=arguments.workers)
    write_summary(RESULTS, summary)


if __name__ == "__main__":
    main()
