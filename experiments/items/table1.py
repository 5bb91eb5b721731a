"""Table 1: epochs and seconds to 90 % of each method's highest accuracy, from table 2's runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.item import Config, Record, Row, Summary
from experiments.items.grid import GridSettings, expand_grid, grid_item
from experiments.summary import (
    MISSING,
    group,
    markdown_table,
    number,
    sizes_text,
    threads_text,
    tidy,
    usual_threads,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TASK = "afhq-cats"
_SHARE = 0.9
_THROWN_AWAY = 2  # the stage of networks that only estimate alpha
_NO_BETTER_THAN_CHANCE = 0.6
_NOTES = """
The first check whose accuracy is at least 90 % of the method's highest, read off table 2's runs.
Epochs are passes over U and warm-ups count; D-GAN's are passes over P after its GAN, whose seconds
count. A check is about half an epoch to one, so smaller differences say nothing; seconds are those
of the machine that made a run, and machines differ by a factor of two and more; they are averaged
over the runs with the usual number of threads. TED^n and Dist-PU can get there in their warm-ups,
and who has a low highest accuracy has a low bar. The paper leaves D-GAN out, as it "did not
outperform random chance"; here no epochs are told of a run that never reaches 60 %. Rows that
nobody has run are left out, unless the paper has them.
"""


def expand(settings: GridSettings) -> dict[str, Config]:
    """Return table 2's runs on AFHQ, or all of them in a profile without AFHQ."""
    runs = expand_grid(settings)
    on_task = {run_id: config for run_id, config in runs.items() if config["task"] == _TASK}
    return on_task or runs


def first_near_best(history: list[Row]) -> Row | None:
    """Return the first row with 90 % of the highest accuracy, None if that is near chance.

    Parameters
    ----------
    history : list of dict
        Networks that were thrown away do not count.
    """
    highest = highest_accuracy(history)
    if highest < _NO_BETTER_THAN_CHANCE:
        return None
    return next(row for row in _kept(history) if row["accuracy"] >= _SHARE * highest)


def highest_accuracy(history: list[Row]) -> float:
    """Return the highest accuracy of any check of a network that was kept, 0 without one."""
    return max((float(row["accuracy"]) for row in _kept(history)), default=0.0)


def _kept(history: list[Row]) -> list[Row]:
    return [row for row in history if row["stage"] != _THROWN_AWAY]


def show(records: Mapping[str, Record], expected: Mapping[str, Any]) -> Summary:
    """Return the table, the paper's epochs beside ours."""
    threads = usual_threads(records.values())
    rows = [
        _row(name, found, expected.get("epochs", {}).get(name), threads)
        for (name,), found in group(records, "row").items()
    ]
    rows = [row for row in rows if row["seeds"] or row["paper_epochs"] != ""]
    head = ["method", "paper: epochs", "epochs", "seconds", "highest accuracy %", "seeds"]
    cells = [
        [
            row["method"],
            "-" if row["paper_epochs"] == "" else str(row["paper_epochs"]),
            number(row["epochs"], 1) if row["seeds"] else MISSING,
            number(row["seconds"]),
            number(row["highest"], 2),
            f"{row['seeds']} ({row['missing']} {MISSING})" if row["missing"] else str(row["seeds"]),
        ]
        for row in rows
    ]
    notes = f"{sizes_text(records)}\n{_NOTES}\n{threads_text(records)}"
    markdown = notes + markdown_table(head, cells)
    csv_rows = [{key: "" if value is None else value for key, value in row.items()} for row in rows]
    return Summary(markdown, csv_rows, lambda figure: _draw(figure, records))


def _row(name: str, records: list[Record], paper: int | None, threads: int | None) -> Row:
    there = [record for record in records if record.history]
    found = [(record, first_near_best(record.history)) for record in there]
    firsts = [row for _, row in found if row is not None]
    timed = [row for record, row in found if row and record.environment["threads"] == threads]
    highest = [highest_accuracy(record.history) for record in there]
    return {
        "method": name,
        "paper_epochs": "" if paper is None else paper,
        "epochs": _mean([row["epoch"] for row in firsts], 2),
        "seconds": _mean([row["seconds"] for row in timed], 1),
        "highest": _mean([100 * value for value in highest], 2),
        "seeds": len(there),
        "missing": sum(record.metrics is None for record in records),
    }


def _mean(values: list[float], decimals: int) -> float | None:
    return round(float(np.mean(values)), decimals) if values else None


def _draw(figure: Figure, records: Mapping[str, Record]) -> None:
    """Draw accuracy over epochs, a line a method: its first seed that is there."""
    axes = figure.subplots()
    for place, ((name,), found) in enumerate(group(records, "row").items()):
        rows = next((kept for record in found if (kept := _kept(record.history))), [])
        if rows:
            epochs = [row["epoch"] for row in rows]
            style = "-" if place < 10 else "--"  # there are ten colours
            axes.plot(epochs, [100 * row["accuracy"] for row in rows], style, label=name)
            axes.legend(frameon=False, fontsize=8, ncols=2)
    axes.set(xlabel="epochs, warm-ups included", ylabel="accuracy (%)", title="Accuracy over time")
    tidy(axes)


ITEM = grid_item(show, expand=expand, runs_of="table2")
