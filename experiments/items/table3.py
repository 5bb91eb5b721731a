"""Table 3: the ablations on AFHQ."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from pydantic import BaseModel, Field, model_validator

from experiments.item import Config, Item, Record, Row, Summary
from experiments.items.grid import (
    STRICT,
    GridSettings,
    TaskSettings,
    check_cell,
    expand_grid,
    run_cell,
)
from experiments.summary import (
    Cell,
    as_printed,
    draw_points,
    markdown_table,
    metric,
    number,
    sizes_text,
    summarize,
    top_distance,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The paper gives one number over all means for these two.
_POOLED = ("constant", "distribution")
_NOTES = """
The number after a row's name is the mean a of the positives' target. Every row is the default with
this change alone, all with the paper's nearest centre as the decision; rows whose name begins with
"paper-" are the text to the letter with this change alone: a VQ-VAE's encoder without batch norm,
targets that move with the codes, no averaging, Adam at 1e-4. "5 largest
distances" is the paper's measure on the checks' sample of the test set, "chosen check" the answer
on the whole of it.
"constant" and "distribution" without a number are over all a, as in the paper. "collapsed": all
samples got the same codes.
"""


class FormSettings(BaseModel):
    """Another form of the method, in which every row is made again.

    Attributes
    ----------
    parameters : dict
        What it changes; a row's own change is over it.
    tasks : dict of TaskSettings or None
        Sizes of its own; None takes the item's.
    """

    model_config = STRICT

    parameters: dict[str, Any]
    tasks: dict[str, TaskSettings] | None = None


class Table3Settings(GridSettings):
    """Settings of table 3.

    Attributes
    ----------
    forms : dict of FormSettings
        By the beginning of their rows' names.
    """

    forms: dict[str, FormSettings] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_tasks_of_forms(self) -> Self:
        for name, form in self.forms.items():
            self._check_tasks_of(name, form.tasks)
        return self


def expand(settings: Table3Settings) -> dict[str, Config]:
    """Return a run for every row and seed, of the default and of every other form."""
    runs = expand_grid(settings)
    for form, own in settings.forms.items():
        methods = {
            f"{form}-{name}": method.model_copy(
                update={"parameters": {**own.parameters, **method.parameters}, "tasks": own.tasks}
            )
            for name, method in settings.methods.items()
        }
        runs |= expand_grid(settings.model_copy(update={"methods": methods}))
    return runs


class _Line(NamedTuple):
    row: str
    paper: Mapping[str, Any] | None
    widest: Cell
    chosen: Cell


def show(records: Mapping[str, Record], expected: Mapping[str, Any]) -> Summary:
    """Return the table, the paper's numbers beside ours."""
    lines = _lines(records, expected)
    head = ["method", "paper", "5 largest distances", "chosen check", "runs", "epochs", "seconds"]
    cells = [
        [
            line.row,
            as_printed(line.paper),
            line.widest.text,
            line.chosen.text,
            line.chosen.runs,
            number(line.chosen.epochs, 1),
            number(line.chosen.seconds),
        ]
        for line in lines
    ]
    markdown = f"{sizes_text(records)}\n{_NOTES}\n{markdown_table(head, cells)}"
    return Summary(markdown, [_csv_row(line) for line in lines], lambda f: _draw(f, lines))


def _lines(records: Mapping[str, Record], expected: Mapping[str, Any]) -> list[_Line]:
    paper = {cell["row"]: cell for cell in expected.get("cells", [])}
    rows: dict[str, list[Record]] = {}
    for record in records.values():
        name = record.config["row"]
        pooled = name.rpartition("-")[0]
        if pooled.endswith(_POOLED):
            rows.setdefault(pooled, []).append(record)
        rows.setdefault(name, []).append(record)
    return [
        _Line(
            name,
            next((cell for row, cell in paper.items() if f"-{name}".endswith(f"-{row}")), None),
            summarize(found, top_distance("nearest_center")),
            summarize(found, metric("test_accuracy")),
        )
        for name, found in rows.items()
    ]


def _csv_row(line: _Line) -> Row:
    paper = line.paper or {}
    row: Row = {
        "method": line.row,
        "paper": paper.get("value", ""),
        "paper_std": paper.get("std", ""),
    }
    row |= {**line.widest.columns("widest"), **line.chosen.columns("chosen")}
    return row | line.chosen.counts | {"seconds": number(line.chosen.seconds)}


def _draw(figure: Figure, lines: list[_Line]) -> None:
    """Draw a panel a form: ours as points with their spread, the paper's as diamonds."""
    forms = [line.row.removesuffix("default") for line in lines if line.row.endswith("default")]
    panels = figure.subplots(1, len(forms), sharex=True, sharey=True, squeeze=False)[0]
    for form, axes in zip(forms, panels, strict=True):
        own = [line for line in lines if _form_of(line.row, forms) == form]
        names = [line.row.removeprefix(form) for line in own]
        found = {name: line.widest for name, line in zip(names, own, strict=True)}
        draw_points(axes, names, found, span=math.inf)
        printed = [
            (line.paper["value"], place) for place, line in enumerate(own) if line.paper is not None
        ]
        if printed:
            values, places = zip(*printed, strict=True)
            axes.plot(values, places, "D", color="#b8561b", label="paper")
            axes.legend(frameon=False, loc="upper left")
        title = f"{form.rstrip('-')} form" if form else "default form"
        axes.set(title=title, xlabel="test accuracy (%), 5 largest distances")


def _form_of(row: str, forms: list[str]) -> str:
    """Return the beginning of a row's name that says of which form it is."""
    return max((form for form in forms if row.startswith(form)), key=len)


ITEM = Item(expand, run_cell, show, Table3Settings, check_cell)
