"""Forms of rivals on a small MNIST: Dist-PU's batches, and how the newer rivals do.

mnist-even-odd, P 1,000, U 4,000, alpha .5, one seed, at most 400 steps and the warm-up before them;
judged by the hidden labels of U. Methods that need alpha are told it.
"""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

from experiments.item import Config, Record, RunResult, Seeds, study
from experiments.studies.gan_budgets import check, run_on_mnist
from experiments.studies.gan_forms import curve
from experiments.summary import markdown_table
from vqpu.training import StoppingRule

SMALL_MNIST = {
    "task": "mnist-even-odd",
    "n_positive": 1_000,
    "n_unlabeled": 4_000,
    "alpha": 0.5,
    "n_judged": 2_000,
}
# "stopped" main stages end by what is judged on held-out samples, others at the end of the budget.
_BUDGET = {"max_steps": 400, "check_every": 50, "n_members": 1}
_AUTHORS = {
    "alpha": 0.5,
    "optimizer": "adam",
    "learning_rate": 5e-4,
    "weight_decay": 5e-3,
    "batch_size": 256,
    "warmup": 1.0,
    "batches": "natural",
}
# name: method, parameters
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "naive": ("naive", {}),
    "distpu_natural": ("distpu", {"alpha": 0.5, "batches": "natural"}),
    "distpu_natural_stopped": ("distpu", {"alpha": 0.5, "batches": "natural"}),
    "distpu_balanced": ("distpu", {"alpha": 0.5, "batches": "balanced"}),
    "distpu_authors": ("distpu", _AUTHORS),
    "robustpu": ("robustpu", {"alpha": 0.5}),
    "p3mix": ("p3mix", {}),
    "p3mix_stopped": ("p3mix", {}),
    "p3mix_narrow": (  # unlabelled samples as heavy as positives, few in doubt
        "p3mix",
        {"lower": 0.4, "upper": 0.6, "unlabeled_weight": 1.0, "entropy_weight": 0.1},
    ),
    "ncpu": ("ncpu", {"alignment_weight": 0.1}),
    "ncpu_stopped": ("ncpu", {"alignment_weight": 0.1}),
    "ncpu_alignment1": ("ncpu", {"alignment_weight": 1.0}),
}


def expand(seeds: Seeds | None) -> dict[str, Config]:
    return {
        case if seeds is None else f"{case}_seed{seed}": {
            **SMALL_MNIST,
            "case": case,
            "method": method,
            "parameters": {**_BUDGET, **parameters},
            "seed": seed,
        }
        for case, (method, parameters) in CASES.items()
        for seed in seeds or (0,)
    }


def run(config: Config, data_dir: Path | None) -> RunResult:
    kept = ("stage", "step", "epoch", "seconds", "accuracy", "holdout_loss")
    is_stopped = config["case"].endswith("_stopped")
    with patch("vqpu.rivals._training.FixedBudget", _by_its_term) if is_stopped else nullcontext():
        return run_on_mnist(config, data_dir, kept)


def _by_its_term() -> StoppingRule:
    return StoppingRule("holdout-loss", 5)


def summary(records: list[Record]) -> str:
    rows = []
    for record in sorted(records, key=lambda one: list(CASES).index(one.config["case"])):
        values = record.values
        rows.append(
            [
                values["case"],
                f"{100 * values['unlabeled_accuracy']:.2f}",
                f"{100 * values['test_accuracy']:.2f}",
                str(values["n_steps"]),
                curve(record, 12),
                f"{values['seconds']:.0f}",
            ]
        )
    head = ["form", "on U", "answer", "steps", "curve", "seconds"]
    return (
        "Rivals on mnist-even-odd, P 1000, U 4000, alpha 0.5: accuracy in %. On U: of the answer, "
        "on the hidden labels of U. Answer: on the whole test set. Steps: of the main stage. "
        "Curve: of evenly spaced checks, warm-ups included, on 2000 test samples.\n\n"
        + markdown_table(head, rows)
    )


ITEM = study(expand, run, summary, check=check)
