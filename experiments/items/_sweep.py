"""Sweeps: methods down, one thing that is varied across, a table for every measure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from experiments.items._items import Record, RenderedItem, Row
from experiments.items._summary import (
    Measure,
    Summary,
    group,
    markdown_table,
    number,
    sizes_text,
    summarize,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Sweep(NamedTuple):
    """How a sweep is shown.

    Attributes
    ----------
    column : str
        The key of the configs that is varied.
    measures : dict of Measure
        By the name of their columns in the CSV; the first is drawn.
    headings : dict of str
        What each measure is called above its table.
    notes : str
    """

    column: str
    measures: dict[str, Measure]
    headings: dict[str, str]
    notes: str


def show_sweep(records: Mapping[str, Record], sweep: Sweep) -> RenderedItem:
    """Return a table for every measure and a figure of the first.

    Parameters
    ----------
    records : mapping of run id to Record
    sweep : Sweep
    """
    cells = group(records, "task", "row", sweep.column)
    found = {
        name: {key: summarize(runs, measure) for key, runs in cells.items()}
        for name, measure in sweep.measures.items()
    }
    parts = [sizes_text(records), sweep.notes.strip()]
    parts += [f"## {sweep.headings[name]}\n\n{_pivot(found[name])}" for name in found]
    first = next(iter(found.values()))
    parts.append(f"## Seconds of training\n\n{_pivot(first, seconds=True)}")
    rows = [_csv_row(sweep, key, found) for key in cells]
    heading = sweep.headings[next(iter(found))]
    return RenderedItem(
        "\n\n".join(parts), rows, lambda figure: _draw(figure, first, sweep, heading)
    )


def _pivot(found: Mapping[tuple[Any, ...], Summary], *, seconds: bool = False) -> str:
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
    sweep: Sweep, key: tuple[Any, ...], found: Mapping[str, Mapping[tuple[Any, ...], Summary]]
) -> Row:
    task, row, value = key
    line: Row = {"task": task, "method": row, sweep.column: value}
    for name, summaries in found.items():
        ours = summaries[key]
        line[name] = "" if ours.mean is None else round(ours.mean, 3)
        line[f"{name}_std"] = "" if ours.std is None else round(ours.std, 3)
    line |= {"seeds": ours.n_seeds, "missing": ours.n_missing, "collapsed": ours.n_collapsed}
    return line | {"epochs": number(ours.epochs, 1), "seconds": number(ours.seconds)}


def _draw(
    figure: Figure, found: Mapping[tuple[Any, ...], Summary], sweep: Sweep, heading: str
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
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(frameon=False, fontsize=8)
    figure.suptitle(heading)
