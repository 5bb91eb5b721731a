"""Class imbalance: a population in which positives are rare or frequent, in P, U and test set."""

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
        "balanced": metric("test_balanced_accuracy"),
        "test": metric("test_accuracy"),
        "estimate": metric("alpha_estimate"),
    },
    {
        "balanced": "Balanced accuracy on the thinned test split",
        "test": "Accuracy on the thinned test split",
        "estimate": "Estimated (or given) alpha, per cent",
    },
    """
The source itself is imbalanced: the column's share of it is positive, so U and the test split
(thinned out) have that share of positives, and P grows and shrinks with it (the size above stands
for one half). Always answering with the larger class reaches a balanced accuracy of 50. In brackets
the number of runs.
""",
)


def show(records: Mapping[str, Record], expected: Mapping[str, Any]) -> RenderedItem:  # noqa: ARG001
    """Return a table for every measure."""
    return show_sweep(records, _SWEEP)
