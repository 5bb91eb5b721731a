"""Sensitivity of VQ K-means: codebook draw, restarts, distance of the targets, m, p and K; PCA."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from experiments.item import Record, Row, Summary
from experiments.items.grid import grid_item
from experiments.summary import (
    Cell,
    Measure,
    group,
    markdown_table,
    metric,
    number,
    percent,
    sizes_text,
    summarize,
    tidy,
    top_distance,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DEFAULT = "default"
_NOTES = """
Each row is the default with one change. draw-N: the codebook alone is drawn with another seed.
restarts-N: starts of K-means. gap-G: c_m is moved towards c_1, to the share G of the distance that
was drawn (mu_P near mu_U). codes-M, dim-P, places-K: the size of the codebook, the dimension of the
vectors, their number per image (the last feature map averaged down). pca-kmeans and pca-naive: no
encoder, 50 principal components, then K-means on U or the naive classifier. "chosen check" is what
the default answers with: its border lies on the line between c_1 and c_m and its stopping looks at
held-out losses, so neither restarts nor codes other than these two can change it. "nearest centre"
is the paper's way, K-means on indices, over the 5 checks with the largest distance. A "change" is
against the default with the same seeds.
"""


class _Line(NamedTuple):
    row: str
    chosen: Cell
    nearest: Cell
    estimate: Cell
    change: float | None
    nearest_change: float | None


def show(records: Mapping[str, Record], _: Mapping[str, Any]) -> Summary:
    """Return a row a variant, and the spread of every question's variants."""
    lines = _lines(records)
    head = ["variant", "chosen check", "change", "nearest centre", "change", "alpha %"]
    head += ["seeds", "seconds"]
    cells = [
        [
            line.row,
            line.chosen.text,
            _signed(line.change),
            "-" if line.row.startswith("pca") else line.nearest.text,
            _signed(line.nearest_change),
            number(line.estimate.mean, 1),
            line.chosen.runs,
            number(line.chosen.seconds),
        ]
        for line in lines
    ]
    spread = markdown_table(["question", "variants", "chosen checks"], _spreads(lines))
    parts = [sizes_text(records), _NOTES, markdown_table(head, cells), spread]
    return Summary("\n".join(parts), [_csv_row(line) for line in lines], lambda f: _draw(f, lines))


def _signed(change: float | None) -> str:
    return "-" if change is None else f"{change:+.2f}"


def _lines(records: Mapping[str, Record]) -> list[_Line]:
    groups = {row: found for (row,), found in group(records, "row").items()}
    default = groups.get(_DEFAULT, [])
    chosen, nearest = metric("test_accuracy"), top_distance("nearest_center")
    return [
        _Line(
            row,
            summarize(found, chosen),
            summarize(found, nearest),
            summarize(found, metric("alpha_estimate")),
            None if row == _DEFAULT else _change(found, default, chosen),
            None if row == _DEFAULT else _change(found, default, nearest),
        )
        for row, found in groups.items()
    ]


def _change(variant: list[Record], default: list[Record], measure: Measure) -> float | None:
    """Return by how many points a variant differs, over the seeds that both have."""
    ours, theirs = (
        {record.config["seed"]: np.mean(values) for record in found if (values := measure(record))}
        for found in (variant, default)
    )
    changes = [100 * (ours[seed] - theirs[seed]) for seed in ours if seed in theirs]
    return float(np.mean(changes)) if changes else None


def _spreads(lines: list[_Line]) -> list[list[str]]:
    """Return the mean and the spread over the variants of every question."""
    questions: dict[str, list[float]] = {}
    for line in lines:
        question = line.row.rpartition("-")[0]
        if question and question != "pca" and line.chosen.mean is not None:
            questions.setdefault(question, []).append(line.chosen.mean)
    return [
        [name, str(len(values)), percent(float(np.mean(values)), float(np.std(values)))]
        for name, values in questions.items()
    ]


def _csv_row(line: _Line) -> Row:
    row: Row = {"variant": line.row}
    named = (("chosen", line.chosen), ("nearest", line.nearest), ("alpha", line.estimate))
    for name, ours in named:
        row |= ours.columns(name)
    return row | line.chosen.counts | {"seconds": number(line.chosen.seconds)}


def _draw(figure: Figure, lines: list[_Line]) -> None:
    """Draw both accuracies of every variant."""
    figure.set_size_inches(8, max(3.0, 0.25 * len(lines) + 1))
    axes = figure.subplots()
    for name, marker in (("chosen", "o"), ("nearest", "x")):
        points = [(getattr(line, name).mean, line.row) for line in lines]
        known = [point for point in points if point[0] is not None]
        if known:
            axes.plot(*zip(*known, strict=True), marker, label=name)
            axes.legend(frameon=False)
    axes.set(xlabel="test accuracy (%)")
    axes.invert_yaxis()
    tidy(axes)


ITEM = grid_item(show)
