"""Figure 4: test accuracy and centre distance per epoch, from table 2's runs of VQ K-means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import rankdata

from experiments.item import Config, Record, Row, Summary
from experiments.items.grid import GridSettings, expand_grid, grid_item
from experiments.summary import (
    COLLAPSED,
    MISSING,
    chosen_on_sample,
    group,
    markdown_table,
    metrics_of,
    sizes_text,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLORS = {
    "vq": "#1b6ca8",
    "vq-adam": "#3a9c6e",
    "vq-literal": "#b8561b",
    "vq-literal-large": "#7a3b8f",
    "vq-literal-conv": "#c9a227",
}
_COLUMNS = ("at_largest_distance", "chosen", "best", "loss", "rank_correlation")
_NOTES = """
The paper: "the point at which the distance between the two clusters [...] is largest also
corresponds to the point of highest accuracy", "evident in all experiments". Below, a line a run:
the accuracy at the largest distance, at the check that was chosen, and at the best check (which
only true labels can find), by the decision of each form. "loss" is what the largest distance loses
against the best check; "rank correlation" is Spearman's, of distance and accuracy over the checks
of the last round.
"""


def expand(settings: GridSettings) -> dict[str, Config]:
    """Return table 2's runs of the forms of VQ K-means; one with fewer steps is no other form."""
    runs = expand_grid(settings)
    return {run_id: config for run_id, config in runs.items() if config["row"] in _COLORS}


def show(records: Mapping[str, Record], _: Mapping[str, Any]) -> Summary:
    """Return the curves, and what the largest distance loses in each run."""
    rows = [_row(record) for record in records.values()]
    head = ["data set", "form", "seed", "largest distance", "chosen", "best check", "loss"]
    head.append("rank correlation")
    keys = _COLUMNS
    cells = [
        [row["task"], row["form"], str(row["seed"])]
        + [row[key] if isinstance(row[key], str) else f"{row[key]:.2f}" for key in keys]
        for row in rows
    ]
    sizes = sizes_text(records, of_checks_alone=True)
    markdown = f"{sizes}\n{_NOTES}\n{markdown_table(head, cells)}"
    return Summary(markdown, rows, lambda figure: _draw(figure, records))


def _row(record: Record) -> Row:
    config, history = record.config, record.history
    row: Row = {
        "task": config["task"],
        "form": config["row"],
        "seed": config["seed"],
        **dict.fromkeys(_COLUMNS, MISSING),
    }
    if history:
        widest = max(history, key=lambda check: check["center_distance"])
        best = max(check["accuracy"] for check in history)
        row["at_largest_distance"] = round(100 * widest["accuracy"], 2)
        row["best"] = round(100 * best, 2)
        row["loss"] = round(100 * (best - widest["accuracy"]), 2)
        row["rank_correlation"] = _rank_correlation(history)
    if "failed" in metrics_of(record):
        row["chosen"] = COLLAPSED
    elif record.metrics is not None:
        row["chosen"] = round(100 * chosen_on_sample(record)[0], 2)
    return row


def _rank_correlation(history: list[Row]) -> float | str:
    """Return Spearman's correlation of distance and accuracy over the last round's checks."""
    last = [check for check in history if check["round"] == history[-1]["round"]]
    distance, accuracy = (
        rankdata([check[name] for check in last]) for name in ("center_distance", "accuracy")
    )
    if np.ptp(distance) == 0 or np.ptp(accuracy) == 0:
        return "-"
    return round(float(np.corrcoef(distance, accuracy)[0, 1]), 2)


def _draw(figure: Figure, records: Mapping[str, Record]) -> None:
    """Draw accuracy above and distance below, a column a data set, a line a run."""
    groups = group(records, "task")
    figure.set_size_inches(3.2 * max(len(groups), 2), 5.5)
    panels = figure.subplots(2, len(groups), sharex="col", squeeze=False)
    for column, ((task,), found) in enumerate(groups.items()):
        upper, lower = panels[:, column]
        for record in found:
            _draw_run(upper, lower, record)
        upper.set(title=task, ylabel="" if column else "test accuracy (%)")
        lower.set(xlabel="epoch", ylabel="" if column else "distance of the centres")
        for axes in (upper, lower):
            tidy(axes)
    named = {
        label: line
        for axes in panels[0]
        for line, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    if named:
        panels[0, 0].legend(list(named.values()), list(named), frameon=False)


def _draw_run(upper: Any, lower: Any, record: Record) -> None:
    if not record.history:
        return
    form = record.config["row"]
    style = {"color": _COLORS.get(form, "#444444"), "linewidth": 1, "alpha": 0.8}
    epochs = [check["epoch"] for check in record.history]
    upper.plot(epochs, [100 * check["accuracy"] for check in record.history], label=form, **style)
    lower.plot(epochs, [check["center_distance"] for check in record.history], **style)
    widest = max(record.history, key=lambda check: check["center_distance"])
    upper.plot([widest["epoch"]], [100 * widest["accuracy"]], "o", markersize=4, **style)
    lower.plot([widest["epoch"]], [widest["center_distance"]], "o", markersize=4, **style)


ITEM = grid_item(show, expand=expand, runs_of="table2")
