"""Case-control against single-set: the same population and sizes, drawn in both ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.items._grid import GridSettings as Settings
from experiments.items._grid import check_cell as check
from experiments.items._grid import expand_grid as expand
from experiments.items._grid import run_cell as run
from experiments.items._items import Record, RenderedItem
from experiments.items._summary import metric
from experiments.items._sweep import Sweep, show_sweep

__all__ = ["Settings", "check", "expand", "run", "show"]

_SWEEP = Sweep(
    "scenario",
    {
        "test": metric("test_accuracy"),
        "balanced": metric("test_balanced_accuracy"),
        "unlabeled": metric("unlabeled_accuracy"),
        "true_alpha": metric("true_alpha"),
        "estimate": metric("alpha_estimate"),
    },
    {
        "test": "Accuracy on the test split",
        "balanced": "Balanced accuracy on the test split",
        "unlabeled": "Accuracy on the hidden labels of U",
        "true_alpha": "True share of positives in U, per cent",
        "estimate": "Estimated (or given) alpha, per cent",
    },
    """
Half of the population is positive, and P and U have the same sizes in both. Case-control: P and U
are drawn apart, so half of U is positive. Single-set: one sample is drawn, and the labelled
positives are taken out of it, so fewer of U are: alpha = (1 - c) pi / (1 - c pi). Labels are given
at random (SCAR), so for the same alpha both scenarios are the same to a method; what differs is
that U no longer looks like the population that is tested on (the oracle's border, too, is that of
U). In brackets the number of runs.
""",
)


def show(records: Mapping[str, Record], expected: Mapping[str, Any]) -> RenderedItem:  # noqa: ARG001
    """Return a table for every measure."""
    return show_sweep(records, _SWEEP)
