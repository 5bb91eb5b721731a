"""Observer-GAN and D-GAN: simulated Gaussians over seeds, and the paper's images.

usage: python benchmarks/gans.py [DATA_DIR] [--only SETTING] [--steps N]

Without DATA_DIR only the Gaussians are run: in the plane, 3 apart, P 1,000, U 4,000, alpha .3 and
.6, ten seeds, balanced accuracy beside that of the Bayes border. With it also mnist-even-odd, P
5,000, U 10,000, alpha .5, defaults only. One record a run in results/gans; what is there is
skipped. --steps sets every budget, for a trial of one seed; such records go to runs/gans.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from vqpu.datasets import make_pu
from vqpu.experiments import (
    Problem,
    make_problem,
    read_records,
    run_method,
    run_missing,
    set_threads,
)

ROOT = Path(__file__).resolve().parent.parent
METHODS = ("observer-gan", "d-gan")
DISTANCE = 3.0

# setting: P, U, alpha, seeds
CASES: dict[str, tuple[int, int, float, tuple[int, ...]]] = {
    "gaussians-0.3": (1_000, 4_000, 0.3, tuple(range(10))),
    "gaussians-0.6": (1_000, 4_000, 0.6, tuple(range(10))),
    "mnist-even-odd": (5_000, 10_000, 0.5, (0,)),
}


def gaussian_problem(n_positive: int, n_unlabeled: int, alpha: float, seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    labels = np.arange(30_000) % 2
    X = rng.normal(size=(len(labels), 2))
    X[:, 0] += np.where(labels == 1, DISTANCE / 2, -DISTANCE / 2)
    drawn = make_pu(
        X, labels, n_positive=n_positive, n_unlabeled=n_unlabeled, alpha=alpha, random_state=seed
    )
    rest = drawn.rest
    return Problem(drawn.X, drawn.y, drawn.truth, alpha, X[rest], labels[rest], "none")


def run_one(
    setting: str, method: str, seed: int, data_dir: Path | None, steps: int | None
) -> dict[str, Any]:
    n_positive, n_unlabeled, alpha, _ = CASES[setting]
    is_simulated = setting.startswith("gaussians")
    set_threads(1 if is_simulated else 2)
    if is_simulated:
        problem = gaussian_problem(n_positive, n_unlabeled, alpha, seed)
    else:
        problem = make_problem(
            setting,
            n_positive=n_positive,
            n_unlabeled=n_unlabeled,
            alpha=alpha,
            seed=seed,
            data_dir=data_dir,
        )
    parameters: dict[str, Any] = {} if steps is None else {"max_steps": steps}
    if method == "d-gan" and steps is not None:
        parameters["gan_steps"] = steps
    record = run_method(method, problem, seed=seed, parameters=parameters)
    if is_simulated:
        truth = problem.y_test == 1
        is_right = (problem.X_test[:, 0] > 0) == truth
        record["bayes"] = float((is_right[truth].mean() + is_right[~truth].mean()) / 2)
    sizes = {"task": setting, "alpha": alpha, "n_positive": n_positive, "n_unlabeled": n_unlabeled}
    return {**sizes, **record}


def summary(records: list[dict[str, Any]]) -> str:
    lines = [
        "Balanced accuracy on samples outside P and U, %, mean ± standard deviation over seeds.\n",
        "| setting | method | accuracy | Bayes | steps | seconds | seeds |",
        "|" + " --- |" * 7,
    ]
    for setting in CASES:
        for method in METHODS:
            group = [r for r in records if (r["task"], r["method"]) == (setting, method)]
            if not group:
                lines.append(f"| {setting} | {method} | missing | | | | 0 |")
                continue
            accuracy = 100 * np.array([r["test_balanced_accuracy"] for r in group])
            bayes = [100 * r["bayes"] for r in group if "bayes" in r]
            lines.append(
                f"| {setting} | {method} | {accuracy.mean():.2f} ± {accuracy.std():.2f} | "
                f"{f'{np.mean(bayes):.2f}' if bayes else '-'} | "
                f"{np.mean([r['n_steps'] for r in group]):.0f} | "
                f"{np.mean([r['seconds'] for r in group]):.0f} | {len(group)} |"
            )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data_dir", type=Path, nargs="?")
    parser.add_argument("--only", choices=list(CASES))
    parser.add_argument("--steps", type=int)
    arguments = parser.parse_args()
    folder = ROOT / ("results/gans" if arguments.steps is None else "runs/gans")
    jobs = {
        folder / f"{setting}_{method}_seed{seed}.json": (
            setting,
            method,
            seed,
            arguments.data_dir,
            arguments.steps,
        )
        for setting, (_, _, _, seeds) in CASES.items()
        if arguments.only in (None, setting)
        and (setting.startswith("gaussians") or arguments.data_dir is not None)
        for method in METHODS
        for seed in (seeds if arguments.steps is None else seeds[:1])
    }
    run_missing(run_one, jobs, workers=1)
    text = summary(read_records(folder))
    (folder / "summary.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
