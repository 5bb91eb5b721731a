"""Test accuracy of every network method on mnist-even-odd, with one budget for all.

usage: python benchmarks/rivals.py DATA_DIR [--only METHOD] [--seeds COUNT]

P 5,000, U 10,000, alpha .5, case-control. The default encoder and 2,000 steps in total for each
(about 15 passes over U), of which those with a warm-up spend a part on it; the GANs have their
defaults, 4,000 steps (D-GAN: in each of its two stages). Methods that need alpha are given the true
one. Steps that mix batches cost twice as much; seconds are told. One record a run in
results/rivals; what is there is skipped. Two threads.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from vqpu.experiments import make_problem, run_method, run_missing, set_threads, write_summary

RESULTS = Path(__file__).resolve().parent.parent / "results" / "rivals"
TASK = "mnist-even-odd"
N_POSITIVE, N_UNLABELED, ALPHA = 5_000, 10_000, 0.5
STEPS, GAN_STEPS = 2_000, 4_000

GANS = ("observer-gan", "d-gan")

# method: share of its steps that the warm-up adds, whether it is given alpha
METHODS = {
    "vq": (0.0, False),
    "naive": (0.0, False),
    "oracle": (0.0, False),
    "tedn": (0.25, False),
    "cvir": (0.25, True),
    "nnpu": (0.0, True),
    "upu": (0.0, True),
    "distpu": (0.5, True),
    "vpu": (0.0, False),
    "observer-gan": (0.0, False),
    "d-gan": (0.0, False),
}


def run_one(
    method: str,
    seed: int,
    data_dir: Path | None,
    steps: int = STEPS,
    sizes: tuple[int, int] = (N_POSITIVE, N_UNLABELED),
    task: str = TASK,
) -> dict[str, Any]:
    set_threads(2)
    problem = make_problem(
        task,
        n_positive=sizes[0],
        n_unlabeled=sizes[1],
        alpha=ALPHA,
        seed=seed,
        data_dir=data_dir,
    )
    parameters = {} if method in GANS else budget(method, steps)
    record = run_method(method, problem, seed=seed, parameters=parameters)
    told = {"task": task, "alpha": ALPHA, "n_positive": sizes[0], "n_unlabeled": sizes[1]}
    return {**told, "parameters": parameters, **record}


def budget(method: str, steps: int) -> dict[str, Any]:
    """Return the parameters that give a method ``steps`` steps in all."""
    warmup, is_given_alpha = METHODS[method]
    parameters: dict[str, Any] = {"n_members": 1, "max_steps": round(steps / (1 + warmup))}
    if warmup:
        parameters["warmup"] = warmup
    if is_given_alpha:
        parameters["alpha"] = ALPHA
    return parameters


def summary(records: list[dict[str, Any]]) -> str:
    lines = [
        f"{TASK}, P {N_POSITIVE}, U {N_UNLABELED}, alpha {ALPHA}: the same encoder for all. "
        "Steps are those taken before stopping, and those of the warm-up.\n",
        "| method | test accuracy % | alpha used or found | most steps | steps | warm-up | seconds "
        "| seeds |",
        "|" + " --- |" * 8,
    ]
    for method, (warmup, _) in METHODS.items():
        found = [record for record in records if record["method"] == method]
        if not found:
            continue
        accuracy = 100 * np.array([record["test_accuracy"] for record in found])
        shown = f"{accuracy.mean():.2f}" + (f" ± {accuracy.std():.2f}" if len(found) > 1 else "")
        shares = [record["alpha_estimate"] for record in found if "alpha_estimate" in record]
        allowed = [record["parameters"].get("max_steps", GAN_STEPS) for record in found]
        most = round(np.mean(allowed) * (1 + warmup))
        before = np.mean([record.get("n_warmup_steps", 0) for record in found])
        lines.append(
            f"| {method} | {shown} | {f'{np.mean(shares):.3f}' if shares else '-'} | {most} "
            f"| {np.mean([record['n_steps'] for record in found]):.0f} | {before:.0f} "
            f"| {np.mean([record['seconds'] for record in found]):.0f} | {len(found)} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--only", choices=list(METHODS))
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    jobs = {
        RESULTS / f"{method}_seed{seed}.json": (
            method,
            seed,
            arguments.data_dir,
        )
        for method in METHODS
        if arguments.only in (None, method)
        for seed in range(arguments.seeds)
    }
    run_missing(run_one, jobs, workers=1)
    write_summary(RESULTS, summary)


if __name__ == "__main__":
    main()
