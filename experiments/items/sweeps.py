"""Sweeps: methods down, one thing that is varied across, a table for every measure.

The shares of positives, the scenario and the imbalance of the source: what reviewers asked first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from experiments.item import Item, Record, Row, Summary
from experiments.items.grid import grid_item
from experiments.summary import (
    Cell,
    group,
    markdown_table,
    metric,
    number,
    sizes_text,
    summarize,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_METRICS = {
    "unlabeled": "unlabeled_accuracy",
    "test": "test_accuracy",
    "balanced": "test_balanced_accuracy",
    "true_alpha": "true_alpha",
    "estimate": "alpha_estimate",
}


class Sweep(NamedTuple):
    """How a sweep is shown.

    Attributes
    ----------
    column : str
        The key of the configs that is varied.
    headings : dict of str
        What each measure, named as its column in the CSV, is called above its table; the first is
        drawn.
    notes : str
    """

    column: str
    headings: dict[str, str]
    notes: str


def show_sweep(records: Mapping[str, Record], sweep: Sweep) -> Summary:
    """Return a table for every measure and a figure of the first.

    Parameters
    ----------
    records : mapping of run id to Record
    sweep : Sweep
    """
    cells = group(records, "task", "row", sweep.column)
    measures = {name: metric(_METRICS[name]) for name in sweep.headings}
    found = {
        name: {key: summarize(runs, measure) for key, runs in cells.items()}
        for name, measure in measures.items()
    }
    parts = [sizes_text(records), sweep.notes.strip()]
    parts += [f"## {sweep.headings[name]}\n\n{_pivot(found[name])}" for name in found]
    first = next(iter(found.values()))
    parts.append(f"## Seconds of training\n\n{_pivot(first, seconds=True)}")
    rows = [_csv_row(sweep, key, found) for key in cells]
    heading = sweep.headings[next(iter(found))]
    return Summary("\n\n".join(parts), rows, lambda figure: _draw(figure, first, sweep, heading))


def _pivot(found: Mapping[tuple[Any, ...], Cell], *, seconds: bool = False) -> str:
    columns = list(dict.fromkeys(value for _, _, value in found))
    lines: dict[tuple[str, str], dict[Any, str]] = {}
    for (task, row, value), ours in found.items():
        text = (
            number(ours.seconds)
            if seconds
            else ours.text
            if ours.n_seeds == 0
            else f"{ours.text} [{ours.runs}]"
        )
        lines.setdefault((task, row), {})[value] = text
    head = ["data set", "method", *map(str, columns)]
    return markdown_table(
        head, [[*key, *(line.get(value, "-") for value in columns)] for key, line in lines.items()]
    )


def _csv_row(
    sweep: Sweep, key: tuple[Any, ...], found: Mapping[str, Mapping[tuple[Any, ...], Cell]]
) -> Row:
    task, row, value = key
    line: Row = {"task": task, "method": row, sweep.column: value}
    for name, cells in found.items():
        ours = cells[key]
        line |= ours.columns(name)
    return line | ours.counts | {"epochs": number(ours.epochs, 1), "seconds": number(ours.seconds)}


def _draw(
    figure: Figure, found: Mapping[tuple[Any, ...], Cell], sweep: Sweep, heading: str
) -> None:
    """Draw a line a method over what is varied, a panel a task."""
    tasks = list(dict.fromkeys(task for task, _, _ in found))
    for axes, task in zip(
        figure.subplots(1, len(tasks), sharey=True, squeeze=False)[0], tasks, strict=True
    ):
        for name in dict.fromkeys(row for one, row, _ in found if one == task):
            points = [
                (value, ours.mean)
                for (one, row, value), ours in found.items()
                if (one, row) == (task, name) and ours.mean is not None
            ]
            if points:
                axes.plot(*zip(*points, strict=True), marker="o", label=name)
        axes.set(title=task, xlabel=sweep.column)
        tidy(axes)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(frameon=False, fontsize=8)
    figure.suptitle(heading)


def _item(column: str, headings: dict[str, str], notes: str) -> Item:
    sweep = Sweep(column, headings, notes)

    def show(records: Mapping[str, Record], _: Mapping[str, Any]) -> Summary:
        return show_sweep(records, sweep)

    return grid_item(show)


# Alpha from .1 to .9: what reviewers asked first.
ALPHA_SWEEP = _item(
    "alpha",
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

# Case-control against single-set: the same population and sizes, drawn in both ways.
SCENARIOS = _item(
    "scenario",
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

# Class imbalance: a population in which positives are rare or frequent, in P, U and test set.
IMBALANCE = _item(
    "alpha",
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
