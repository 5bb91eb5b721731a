"""From records to numbers and from numbers to text: what the tables of grids share."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from experiments.item import Config, Record, Row

MISSING = "missing"
COLLAPSED = "collapsed"

DEFAULT_STEPS = 4_000  # of every network estimator
_SHOWN_SPAN = 20.0  # points below the best that a panel reaches down

Measure = Callable[[Record], list[float]]  # fractions; several, where several checks are averaged


class Cell(NamedTuple):
    """What the records of one cell say, over seeds and, where a measure has several, over checks.

    Attributes
    ----------
    mean, std : float or None
        In per cent; None: there is nothing to average.
    n_seeds, n_missing : int
        Runs that are there, and that are not.
    n_collapsed : int
        Runs that are there but ended without an answer.
    epochs, seconds : float or None
        Mean over the runs that are there.
    """

    mean: float | None
    std: float | None
    n_seeds: int
    n_missing: int
    n_collapsed: int
    epochs: float | None
    seconds: float | None

    @property
    def text(self) -> str:
        """Mean and std as a cell of a table."""
        if self.n_seeds == 0:
            return MISSING
        if self.mean is None:
            return COLLAPSED if self.n_collapsed else "-"
        return percent(self.mean, self.std)

    @property
    def runs(self) -> str:
        """How many runs there are, and how many are missing or collapsed, as a cell of a table."""
        asides = []
        if self.n_missing:
            asides.append(f"{self.n_missing} {MISSING}")
        if self.n_collapsed:
            asides.append(f"{self.n_collapsed} {COLLAPSED}")
        return f"{self.n_seeds} ({', '.join(asides)})" if asides else str(self.n_seeds)

    def columns(self, name: str, std: str = "{}_std") -> Row:
        """Mean and std as columns of a CSV."""
        values = {name: self.mean, std.format(name): self.std}
        return {key: "" if value is None else round(value, 3) for key, value in values.items()}

    @property
    def counts(self) -> Row:
        """How many runs there are, as columns of a CSV."""
        return {
            "seeds": self.n_seeds,
            "missing": self.n_missing,
            "collapsed": self.n_collapsed,
        }


def summarize(records: Iterable[Record], measure: Measure) -> Cell:
    """Average a measure over the runs of one cell; std is 0 for a single value.

    Parameters
    ----------
    records : iterable of Record
    measure : callable
    """
    records = list(records)
    there = [record for record in records if record.metrics is not None]
    values = [100 * value for record in there for value in measure(record)]
    return Cell(
        float(np.mean(values)) if values else None,
        float(np.std(values)) if values else None,
        len(there),
        len(records) - len(there),
        sum("failed" in metrics_of(record) for record in there),
        mean_metric(there, "n_epochs"),
        mean_metric(there, "seconds"),
    )


def metrics_of(record: Record) -> dict[str, Any]:
    """Return the metrics of a run, empty if it is missing."""
    return {} if record.metrics is None else record.metrics


def mean_metric(records: Iterable[Record], name: str) -> float | None:
    """Return the mean of a metric over the runs that have it."""
    values = [metrics_of(record)[name] for record in records if name in metrics_of(record)]
    return float(np.mean(values)) if values else None


def metric(name: str) -> Measure:
    """Return the measure that reads one metric, on the whole test set."""
    return lambda record: [metrics_of(record)[name]] if name in metrics_of(record) else []


def top_distance(column: str = "accuracy") -> Measure:
    """Return the paper's measure of VQ K-means: the checks of the 5 largest centre distances."""
    return lambda record: [row[column] for row in record.history if row.get("top_distance")]


def chosen_on_sample(record: Record) -> list[float]:
    """Return the accuracy of the chosen check on the sample that every check is judged on."""
    best = metrics_of(record).get("best_check")
    return [] if best is None else [main_stage(record)[best]["accuracy"]]


def last_share(share: float) -> Measure:
    """Return the measure over the last checks: at least 2, this share of the main stage's."""

    def measure(record: Record) -> list[float]:
        rows = main_stage(record)
        return [row["accuracy"] for row in rows[-max(2, math.ceil(share * len(rows))) :]]

    return measure


def best_check(record: Record) -> list[float]:
    """Return the highest accuracy of any check: true labels choose, as the paper does for D-GAN."""
    return [max(row["accuracy"] for row in main_stage(record))] if record.history else []


def main_stage(record: Record) -> list[Row]:
    """Return the rows of the main stage."""
    return [row for row in record.history if row["stage"] == 0]


def group(records: Mapping[str, Record], *keys: str) -> dict[tuple[Any, ...], list[Record]]:
    """Group records by what their configs say, in the order of the runs."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for record in records.values():
        groups.setdefault(tuple(record.config[key] for key in keys), []).append(record)
    return groups


def percent(mean: float, std: float | None) -> str:
    """Return a mean with one decimal more than the paper has, and its spread if there is any."""
    return f"{mean:.2f} ± {std:.2f}" if std else f"{mean:.2f}"


def number(value: float | None, decimals: int = 0) -> str:
    """Return a number as a cell of a table, "-" for none."""
    return "-" if value is None else f"{value:.{decimals}f}"


def as_printed(cell: Mapping[str, Any] | None) -> str:
    """Return a number of the paper as the paper prints it, "-" for none."""
    if cell is None:
        return "-"
    return f"{cell['value']:g} ± {cell['std']:g}" if "std" in cell else f"{cell['value']:g}"


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    texts = ("".join(f"| {cell} " if cell else "| " for cell in line) + "|" for line in lines)
    return "\n".join(texts) + "\n"


def sizes_text(records: Mapping[str, Record], *, of_checks_alone: bool = False) -> str:
    """Return the sizes of the sets, the budgets and what was judged, in sentences.

    Parameters
    ----------
    records : mapping of run id to Record
    of_checks_alone : bool
        Whether all that is shown is of the sample that checks are judged on.
    """
    configs = [record.config for record in records.values()]
    steps = {
        config["parameters"].get("max_steps", DEFAULT_STEPS)
        for config in configs
        if config.get("method") != "pca-kmeans"  # which takes no steps
    }
    epochs = {
        config["parameters"]["max_epochs"]
        for config in configs
        if "max_epochs" in config["parameters"]
    }
    whole = "" if of_checks_alone else ", the chosen check on the whole test set"
    budget = f"{_range(steps)} steps of the main stage"
    if epochs:
        budget += f", but at most {_range(epochs)} epochs"
    return (
        f"Sizes: {_sizes(configs)}. Budget: {budget}. Every check was judged on the "
        f"same {configs[0]['n_judged']:,} random test samples (the whole test set where it is "
        f"smaller){whole}; no true label steered training or "
        "stopping, but for the oracle's. Accuracies in per cent; ± is a standard deviation (by n) "
        "over seeds and, where several checks are averaged, over them."
    )


def _range(values: Iterable[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def usual_threads(records: Iterable[Record]) -> int | None:
    """Return how many threads most of the runs had that are there, None without one."""
    used = [record.environment["threads"] for record in records if record.environment]
    return Counter(used).most_common(1)[0][0] if used else None


def threads_text(records: Mapping[str, Record]) -> str:
    """Return which runs had another number of threads than most; empty if there is none."""
    usual = usual_threads(records.values())
    others = [
        f"{run_id} {record.environment['threads']}"
        for run_id, record in records.items()
        if record.environment and record.environment["threads"] != usual
    ]
    if not others:
        return ""
    return (
        f"Threads: {usual} for most runs. Others, whose seconds do not compare: "
        f"{', '.join(others)}.\n\n"
    )


def float32_text(records: Mapping[str, Record]) -> str:
    """Return which runs a machine without bfloat16 made though "auto" would take it; else "".

    Records made before this was noted say nothing of it, and are not named.
    """
    without = [
        run_id
        for run_id, record in records.items()
        if record.environment.get("native_bfloat16") is False
        and record.config["parameters"].get("precision", "auto") == "auto"
    ]
    if not without:
        return ""
    return (
        "Made in float32, on a machine that does not multiply bfloat16 itself: "
        f"{', '.join(without)}.\n\n"
    )


def _sizes(configs: Iterable[Config]) -> str:
    """Return the sizes of every task, those of rows that have their own in brackets behind it."""
    usual: dict[str, str] = {}
    own: dict[tuple[str, str], str] = {}
    for config in configs:
        pixels = f" at {config['image_size']} px" if config["image_size"] else ""
        size = f"P {config['n_positive']:,}, U {config['n_unlabeled']:,}{pixels}"
        if usual.setdefault(config["task"], size) != size:
            own[config["task"], config["row"]] = size
    return "; ".join(
        f"{task}: {size}" + _own_sizes({row: of for (on, row), of in own.items() if on == task})
        for task, size in usual.items()
    )


def _own_sizes(sizes: Mapping[str, str]) -> str:
    found = ""
    for size in dict.fromkeys(sizes.values()):
        rows = [row for row, of in sizes.items() if of == size]
        names = ", ".join(rows) if len(rows) < 4 else f"{rows[0]} and {len(rows) - 1} rows like it"
        found += f" ({names}: {size})"
    return found


def draw_points(
    axes: Any, names: Sequence[str], found: Mapping[str, Cell], *, span: float = _SHOWN_SPAN
) -> None:
    """Draw mean and spread of every name that has one, a line each, the first on top.

    What is more than ``span`` points below the best is told as a number at the edge, so that the
    others can be told apart.
    """
    means = {name: ours.mean for name, ours in found.items() if ours.mean is not None}
    edge = max(means.values(), default=0.0) - span
    for place, name in enumerate(names):
        if name not in means:
            continue
        if means[name] < edge:
            told = f"\u25c2 {means[name]:.1f}"
            axes.text(0.02, place, told, transform=axes.get_yaxis_transform(), va="center", size=8)
        else:
            std = found[name].std or 0.0
            spread = [[std], [min(std, 100 - means[name])]]  # no accuracy is above 100
            axes.errorbar(means[name], place, xerr=spread, fmt="o", color="#1b6ca8")
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    tidy(axes)


def tidy(axes: Any, *, grid: bool = True) -> None:
    """Leave out what says nothing: the frame above and on the right."""
    if grid:
        axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
