"""Figure 1: the one-dimensional example, its three histograms and the border of K-means."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from experiments.item import Config, Item, ItemSettings, Record, Row, RunResult, Summary, finished
from experiments.items.toy import (
    NEGATIVE,
    POSITIVE,
    ToyClusters,
    best_border,
    cluster_toy,
    draw_toy,
)
from experiments.summary import markdown_table, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_EDGES = np.arange(-20.0, 61.0)  # of the histograms; beyond lies less than 1e-9 of either bell
_COLORS = {"positive": "#1b6ca8", "negative": "#b8561b", "border": "#444444"}


class Settings(ItemSettings):
    """Sizes of P and U; the paper states none."""

    n_positive: int = Field(ge=1)
    n_unlabeled: int = Field(ge=2)


def expand(settings: Settings) -> dict[str, Config]:
    """Return a run for every seed."""
    sizes = {"n_positive": settings.n_positive, "n_unlabeled": settings.n_unlabeled}
    return {f"seed{seed}": {**sizes, "seed": seed} for seed in settings.seeds}


def run(config: Config, _: Path | None) -> RunResult:
    """Draw the example, cluster U, let P name the positive cluster."""
    sample = draw_toy(**config)
    clusters = cluster_toy(sample.positive, sample.unlabeled)
    bayes = best_border()
    metrics = {
        "positive_center": clusters.positive_center,
        "negative_center": clusters.negative_center,
        "border": clusters.border,
        "unlabeled_accuracy": float(
            (clusters.predict(sample.unlabeled) == sample.is_positive).mean()
        ),
        "population_accuracy": clusters.population_accuracy(),
        "best_border": bayes,
        "best_accuracy": (POSITIVE.below(bayes) + 1 - NEGATIVE.below(bayes)) / 2,
    }
    parts = {
        "labeled": sample.positive,
        "hidden": sample.unlabeled[sample.is_positive],
        "negative": sample.unlabeled[~sample.is_positive],
    }
    counts = {name: np.histogram(values, _EDGES)[0] for name, values in parts.items()}
    history = [
        {"from": float(edge), **{name: int(count[i]) for name, count in counts.items()}}
        for i, edge in enumerate(_EDGES[:-1])
    ]
    return RunResult(metrics, history)


def show(records: Mapping[str, Record], _: Mapping[str, Any]) -> Summary:
    """Return centres and accuracies by seed, and the picture of the first run that is there."""
    rows = [_row(name, record) for name, record in records.items()]
    notes = (
        "Figure 1: N(0, 9) and N(30, 25), equally likely in U; K-means on U alone, the labelled "
        "positives say which cluster is positive.\n"
    )
    table = markdown_table(["run", *_COLUMNS.values()], map(_cells, rows))
    return Summary(f"{notes}\n{table}", rows, lambda figure: _draw(figure, finished(records)))


_COLUMNS = {
    "positive_center": "positive centre",
    "negative_center": "negative centre",
    "border": "border",
    "unlabeled_accuracy": "accuracy on U, %",
    "population_accuracy": "in the population, %",
    "best_accuracy": "best possible, %",
}


def _row(name: str, record: Record) -> Row:
    values = record.metrics or dict.fromkeys(_COLUMNS, "missing")
    return {"run": name, **{column: values[column] for column in _COLUMNS}}


def _cells(row: Row) -> list[str]:
    cells = [row["run"]]
    for column in _COLUMNS:
        value = row[column]
        percent = column.endswith("accuracy")
        missing = isinstance(value, str)
        cells.append(value if missing else f"{100 * value:.3f}" if percent else f"{value:.2f}")
    return cells


def _draw(figure: Figure, done: list[Record]) -> None:
    figure.set_size_inches(9, 4.2)
    if not done:
        figure.text(0.5, 0.5, "no run is there yet", ha="center")
        return
    record = done[0]
    upper, lower = figure.subplots(2, 1, sharex=True)
    edges = np.array([row["from"] for row in record.history])
    counts = {
        name: np.array([row[name] for row in record.history])
        for name in ("labeled", "hidden", "negative")
    }
    upper.bar(edges, counts["labeled"], 1.0, align="edge", color=_COLORS["positive"])
    upper.set(ylabel="count", title="P: labelled positives, N(0, 9)")
    lower.bar(edges, counts["hidden"], 1.0, align="edge", color=_COLORS["positive"])
    lower.bar(
        edges,
        counts["negative"],
        1.0,
        bottom=counts["hidden"],
        align="edge",
        color=_COLORS["negative"],
    )
    lower.set(ylabel="count", xlabel="x", title="U: hidden positives (blue), negatives (brown)")
    lower.set_ylim(0, 1.3 * (counts["hidden"] + counts["negative"]).max())  # room for names
    _mark(lower, _clusters(record))
    used = edges[sum(counts.values()) > 0]
    for axes in (upper, lower):
        axes.set_xlim(used.min() - 2, used.max() + 3)
        tidy(axes, grid=False)


def _clusters(record: Record) -> ToyClusters:
    values = record.metrics or {}
    return ToyClusters(values["positive_center"], values["negative_center"])


def _mark(axes: Any, clusters: ToyClusters) -> None:
    axes.axvline(clusters.border, color=_COLORS["border"], linewidth=1.2, linestyle="--")
    for center, name in (
        (clusters.positive_center, "positive"),
        (clusters.negative_center, "negative"),
    ):
        axes.axvline(center, color="black", linewidth=1.2)
        axes.annotate(
            f" {name} centre {center:.1f}", (center, 0.9), xycoords=("data", "axes fraction")
        )
    axes.annotate(
        f" border {clusters.border:.1f}", (clusters.border, 0.9), xycoords=("data", "axes fraction")
    )


ITEM = Item(expand, run, show, Settings)
