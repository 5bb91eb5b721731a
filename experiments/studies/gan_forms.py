"""Forms of the two GANs on MNIST: what makes the observer learn, and keeps D-GAN's classifier up.

mnist-even-odd, P 5,000, U 10,000, alpha .5, one seed, every network at DCGAN's rate, 2e-4. Forms
are compared by the hidden labels of U, and by the AUC of held-out P against held-out U, which is
there without any. Real samples are shifted before all networks see them, as they were in all of
these records; what came after is in ``observer-tries``. The literal forms with 5,000 steps are in
``gan-budgets``. Each try is a record: "pooled" observers have this package's encoder, whose vectors
are averaged over the places of the image, "flat" ones that of a DCGAN's discriminator, which has
one vector of the whole image.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

from experiments.item import Config, Record, RunResult, Seeds, study
from experiments.studies.gan_budgets import MNIST, check, run_on_mnist
from experiments.summary import markdown_table
from vqpu.rivals._channel import NoisyLogit
from vqpu.rivals._gan import GANClassifier
from vqpu.training import StoppingRule

_OBSERVER = {"learning_rate": 2e-4, "noise": 0.7, "schedule": "constant"}
_POOLED = {**_OBSERVER, "max_steps": 1_000, "check_every": 100, "encoder": "conv"}
_DGAN = {"learning_rate": 2e-4, "gan_steps": 2_000, "max_steps": 600, "check_every": 50}
_STOPPED = "d-gan_flat_stopped"  # by the AUC of held-out samples, as without a channel
_TORCH_INIT = "observer_pooled_cosine_torch-init"  # torch's initial weights where He's are now
# name: method, parameters
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    _TORCH_INIT: (
        "observer-gan",
        {
            "learning_rate": 2e-4,
            "max_steps": 2_400,
            "check_every": 200,
            "noise": 0.7,
            "encoder": "conv",
            "norm": "none",
        },
    ),
    "observer_pooled": ("observer-gan", {**_POOLED, "norm": "none"}),
    "observer_pooled_layer": ("observer-gan", {**_POOLED, "norm": "layer"}),
    "observer_flat": (
        "observer-gan",
        {**_OBSERVER, "max_steps": 2_400, "check_every": 200, "encoder": "dcgan"},
    ),
    "d-gan_flat": ("d-gan", {**_DGAN, "noise": 0.7, "encoder": "dcgan"}),
    _STOPPED: ("d-gan", {**_DGAN, "noise": 0.7, "encoder": "dcgan"}),
    "d-gan_literal": ("d-gan", {**_DGAN, "noise": 0.0}),
}


def expand(seeds: Seeds | None) -> dict[str, Config]:
    return {
        case if seeds is None else f"{case}_seed{seed}": {
            **MNIST,
            "case": case,
            "method": method,
            "parameters": parameters,
            "seed": seed,
        }
        for case, (method, parameters) in CASES.items()
        for seed in seeds or (0,)
    }


@contextmanager
def as_before() -> Iterator[None]:
    """Let all networks see real samples shifted and generated ones as they are; a slower GAN."""

    def unshifted(*parts: Any) -> NoisyLogit:
        return NoisyLogit(*parts[:4])

    with (
        patch("vqpu.rivals._gan.NoisyLogit", unshifted),
        patch("vqpu.rivals._gan._RATE_BEHIND", 2e-4),
        patch.object(GANClassifier, "_batches_of", lambda _, training: training),
    ):
        yield


def run(config: Config, data_dir: Path | None) -> RunResult:
    kept = ("stage", "step", "epoch", "seconds", "accuracy", "holdout_auc", "positive_share")
    changes: dict[str, Any] = {
        _TORCH_INIT: patch("vqpu.nn._encoders.scale_for_relu"),
        _STOPPED: patch("vqpu.rivals._dgan._stopping", _by_auc),
    }
    with as_before(), changes.get(config["case"], nullcontext()):
        return run_on_mnist(config, data_dir, kept)


def _by_auc(*, has_channel: bool, patience: int) -> StoppingRule:  # noqa: ARG001
    return StoppingRule("holdout-auc", patience)


def curve(record: Record, n_points: int = 8) -> str:
    """Return the test accuracy of evenly spaced checks, in points, the last among them."""
    accuracies = [f"{100 * row['accuracy']:.1f}" for row in record.history]
    every = -(-len(accuracies) // n_points)
    return " ".join(accuracies[::-1][::every][::-1])


def table_of(records: list[Record], order: list[str]) -> str:
    """Return a table of tries, in an order of cases."""
    rows = []
    for record in sorted(records, key=lambda one: order.index(one.config["case"])):
        values, last_check = record.values, record.history[-1]
        rows.append(
            [
                values["case"],
                str(values["parameters"].get("gan_steps", 0) + values["n_steps"]),
                f"{100 * values['unlabeled_accuracy']:.2f}",
                f"{100 * values['test_accuracy']:.2f}",
                f"{last_check['holdout_auc']:.3f}",
                f"{last_check['positive_share']:.3f}",
                curve(record),
                f"{values['seconds']:.0f}",
            ]
        )
    head = ["form", "steps", "on U", "answer", "AUC", "called positive", "curve", "seconds"]
    return markdown_table(head, rows)


def summary(records: list[Record]) -> str:
    return (
        "Forms of the GANs on mnist-even-odd, P 5000, U 10000, alpha 0.5: accuracy in %. On U: of "
        "the answer, on the hidden labels of U. Answer: on the whole test set. AUC: of held-out P "
        "against held-out U, at most 0.75 here, at the last check. Curve: of evenly spaced checks, "
        "on 2000 test samples.\n\n" + table_of(records, list(CASES))
    )


ITEM = study(expand, run, summary, check=check)
