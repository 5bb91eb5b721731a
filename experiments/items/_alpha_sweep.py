"""Alpha from .1 to .9: what reviewers asked first."""

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
    "alpha",
    {
        "unlabeled": metric("unlabeled_accuracy"),
        "test": metric("test_accuracy"),
        "balanced": metric("test_balanced_accuracy"),
        "estimate": metric("alpha_estimate"),
    },
    {
        "unlabeled": "Accuracy on the hidden labels of U",
        "test": "Accuracy on the test split",
        "balanced": "Balanced accuracy on the test split",
        "estimate": "Estimated (or given) alpha, per cent",
    },
    """
The share of positives in U is varied, all else is the same. The test split keeps its own share,
near one half, so a method that reckons with alpha is at home on U, not there: the first table says
how well its answers fit what it was given, the third weighs both classes alike. In brackets the
number of runs. What has "true" in its name is given alpha. The oracle is given alpha and the true
labels of U, so that in the first table, and there alone, it is judged by labels it was trained on.
""",
)


def show(records: Mapping[str, Record], expected: Mapping[str, Any]) -> RenderedItem:  # noqa: ARG001
    """Return a table for every measure."""
    return show_sweep(records, _SWEEP)
