"""Generated negatives: a sheet of samples of every GAN and data set, from table 2's runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from experiments.item import Config, Record, Summary
from experiments.items.grid import GridSettings, expand_grid, grid_item
from experiments.sample_sheets import KEY, read_sheet
from experiments.summary import MISSING, group, markdown_table, metrics_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_METHODS = ("observer-gan", "d-gan")
_NOTES = """What the GANs of table 2 take for negatives: 16 samples of the averaged generator of the
first seed. Odd digits, the first five kinds of clothes, vehicles and dogs are what they should
show. Runs made before sheets were kept have none.
"""


def expand(settings: GridSettings) -> dict[str, Config]:
    """Return table 2's runs of GANs."""
    runs = expand_grid(settings)
    return {run_id: config for run_id, config in runs.items() if config["method"] in _METHODS}


def show(records: Mapping[str, Record], _: Mapping[str, Any]) -> Summary:
    """Return which runs have a sheet, and the sheets as a picture."""
    cells = [
        [task, row, "yes" if _sheet_of(found) else MISSING]
        for (task, row), found in group(records, "task", "row").items()
    ]
    text = _NOTES + "\n" + markdown_table(["data set", "method", "sheet"], cells)
    return Summary(text, draw=lambda figure: _draw(figure, records))


def _sheet_of(records: list[Record]) -> str | None:
    """Return the sheet of the first of some runs that has one."""
    found = (metrics_of(record).get(KEY) for record in records)
    return next((sheet for sheet in found if sheet is not None), None)


def _draw(figure: Figure, records: Mapping[str, Record]) -> None:
    groups = group(records, "task", "row")
    sheets = {key: sheet for key, found in groups.items() if (sheet := _sheet_of(found))}
    if not sheets:
        figure.text(0.5, 0.5, "no run has a sheet yet", ha="center")
        return
    tasks = list(dict.fromkeys(task for task, _ in sheets))
    rows = list(dict.fromkeys(row for _, row in sheets))
    panels = figure.subplots(len(rows), len(tasks), squeeze=False)
    for line, row in zip(panels, rows, strict=True):
        for axes, task in zip(line, tasks, strict=True):
            axes.set_axis_off()
            if (task, row) in sheets:
                axes.imshow(read_sheet(sheets[task, row]), cmap="gray")
                axes.set_title(f"{row}, {task}", size=8)


ITEM = grid_item(show, expand=expand, runs_of="table2")
