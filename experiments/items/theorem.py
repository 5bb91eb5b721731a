"""The theorem, measured: residuals along and across w-hat over time, for several alpha."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from experiments.item import Config, Item, ItemSettings, Record, Row, RunResult, Summary, finished
from experiments.items.wide_network import (
    Floats,
    Linearised,
    Rates,
    Samples,
    System,
    WideNetwork,
    draw_samples,
    group_means,
    leftovers,
    limits,
    make_system,
    measure_rates,
    measured_window,
    paper_window,
)
from experiments.summary import markdown_table, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_GROUPS = ("labeled", "hidden", "negative")
_REVISION = 2  # delta is the paper's; in the first it was what is "along" now


class Settings(ItemSettings):
    """What the network, the samples and the targets are.

    Attributes
    ----------
    alphas : tuple of float
    n_positive, n_unlabeled, n_features : int
    spread : float
        Mean distance of a sample from the centre of its cluster; the centres are 2 apart.
    width : int
        Hidden units.
    mu_positive, mu_unlabeled : float
        The targets.
    epsilon : float
        Of the stopping window.
    network_steps : int
        Steps of the network; the linearised model is followed up to ``max_steps``.
    max_steps : int
    """

    alphas: tuple[Annotated[float, Field(gt=0, lt=1)], ...]
    n_positive: int = Field(ge=1)
    n_unlabeled: int = Field(ge=2)
    n_features: int = Field(ge=1)
    spread: float = Field(gt=0)
    width: int = Field(ge=2, multiple_of=2)
    mu_positive: float
    mu_unlabeled: float
    epsilon: float = Field(gt=0, lt=1)
    network_steps: int = Field(ge=1)
    max_steps: int = Field(ge=1)


def expand(settings: Settings) -> dict[str, Config]:
    """Return a run for every alpha and seed."""
    shared = {"revision": _REVISION, **settings.model_dump(exclude={"alphas", "seeds"})}
    return {
        f"alpha{alpha:g}_seed{seed}": {"alpha": alpha, **shared, "seed": seed}
        for alpha in settings.alphas
        for seed in settings.seeds
    }


def run(config: Config, _: Path | None) -> RunResult:
    """Descend with the network and with its linearisation.

    The rate is the paper's 1 / (2 Delta), but never above 1 over the largest eigenvalue: beyond,
    descent need not converge (docs/theorem.md).
    """
    samples = draw_samples(
        config["alpha"],
        config["n_positive"],
        config["n_unlabeled"],
        config["n_features"],
        config["spread"],
        config["seed"],
    )
    system = make_system(samples, config["mu_positive"], config["mu_unlabeled"])
    network = WideNetwork(samples.x.shape[1], config["width"], config["seed"] + 1)
    kernel = network.kernel(samples.x) * np.outer(system.scale, system.scale)
    rates = measure_rates(kernel, system, samples.alpha)
    model = Linearised(kernel, min(1 / (2 * rates.Delta), 1 / rates.first))
    times = _times(config["max_steps"])
    of_network = _follow_network(network, samples, system, model.rate, config["network_steps"])
    history = [_row(model, samples, system, time, of_network.get(time)) for time in times]
    return RunResult(_metrics(config, model, rates, samples, system, history), history)


def _times(max_steps: int) -> list[int]:
    """Return whole numbers, evenly spaced on a logarithmic axis, from 1."""
    return sorted({round(10 ** (k / 8)) for k in range(8 * 20) if 10 ** (k / 8) <= max_steps})


def _follow_network(
    network: WideNetwork, samples: Samples, system: System, rate: float, n_steps: int
) -> dict[int, Floats]:
    """Train, and return the network's outputs at the times of the history."""
    outputs, times = {}, set(_times(n_steps))
    for step in range(1, n_steps + 1):
        network.descend(samples.x, system, rate)
        if step in times:
            outputs[step] = network(samples.x)
    return outputs


def _row(
    model: Linearised, samples: Samples, system: System, time: int, network: Floats | None
) -> Row:
    left, learned = leftovers(model, system, time)
    row: Row = {"step": time, "left_across": left, "learned_along": learned}
    linear = model.outputs(system, time) / system.scale
    row |= _described("linear", linear, samples, system)
    if network is not None:
        row |= _described("network", network, samples, system)
        row["network_gap"] = _weighted_length(network - linear, system)
    return {key: value if key == "step" else round(value, 6) for key, value in row.items()}


def _described(name: str, outputs: Floats, samples: Samples, system: System) -> Row:
    """Return the residual's two parts, as shares of those of y, and the mean of every group."""
    residual = system.scale * outputs - system.y
    along = float(system.w_hat @ residual)
    across = residual - along * system.w_hat
    means = zip(_GROUPS, group_means(outputs, samples), strict=True)
    return {
        f"{name}_residual_along": -along / float(system.w_hat @ system.y),
        f"{name}_residual_across": float(np.linalg.norm(across) / np.linalg.norm(system.y_across)),
        **{f"{name}_{group}": mean for group, mean in means},
    }


def _weighted_length(outputs: Floats, system: System) -> float:
    return float(np.linalg.norm(system.scale * outputs) / np.linalg.norm(system.y))


def _metrics(
    config: Config,
    model: Linearised,
    rates: Rates,
    samples: Samples,
    system: System,
    history: list[Row],
) -> dict[str, Any]:
    positive, negative = limits(samples.alpha, config["mu_positive"], config["mu_unlabeled"])
    first, last = paper_window(config["epsilon"], rates.delta, rates.Delta)
    window = measured_window(model, system, config["epsilon"], config["max_steps"])
    metrics: dict[str, Any] = {
        **rates._asdict(),
        "rate": model.rate,
        "limit_positive": positive,
        "limit_negative": negative,
        "paper_first": first,
        "paper_last": last,
        "window_first": None if window is None else window[0],
        "window_last": None if window is None else window[1],
        "network_gap": max(row["network_gap"] for row in history if "network_gap" in row),
    }
    if window is not None:
        # The geometric middle: a stopping time that is safely inside.
        stop = round((window[0] * window[1]) ** 0.5)
        outputs = model.outputs(system, stop) / system.scale
        metrics["stop"] = stop
        metrics |= dict(zip(_GROUPS, group_means(outputs, samples), strict=True))
    return metrics


def show(records: Mapping[str, Record], _: Mapping[str, Any]) -> Summary:
    """Return where the groups rest at the stopping time, and the two residuals over time."""
    rows = [_shown_row(name, record) for name, record in records.items()]
    notes = (
        "The theorem on a wide network's linearisation, at the paper's rate 1 / (2 Delta), or 1 "
        "over the largest eigenvalue if that is less: mean outputs at a stopping time inside the "
        "measured window, beside the limits. The paper's window is that of the smallest delta "
        "that its definition allows.\n"
    )
    table = markdown_table(list(rows[0]), [[*map(_cell, row.values())] for row in rows])
    return Summary(f"{notes}\n{table}", rows, lambda figure: _draw(figure, finished(records)))


_SHOWN = {
    "stop": "stop",
    "labeled": "labelled positives",
    "hidden": "hidden positives",
    "limit_positive": "limit of positives",
    "negative": "negatives",
    "limit_negative": "limit of negatives",
    "window_first": "window from",
    "window_last": "window to",
    "paper_first": "paper's from",
    "paper_last": "paper's to",
    "delta": "delta",
    "Delta": "Delta",
    "network_gap": "network, largest gap",
}


def _shown_row(name: str, record: Record) -> Row:
    row: Row = {"run": name}
    for key, title in _SHOWN.items():
        value = "missing" if record.metrics is None else record.metrics.get(key)
        row[title] = "none" if value is None else value
    return row


def _cell(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _draw(figure: Figure, done: list[Record]) -> None:
    """Draw a column an alpha, of its first seed: residuals above, mean outputs below."""
    firsts = list({record.config["alpha"]: record for record in reversed(done)}.values())[::-1]
    figure.set_size_inches(4 * max(len(firsts), 2), 6)
    if not firsts:
        figure.text(0.5, 0.5, "no run is there yet", ha="center")
        return
    panels = figure.subplots(2, len(firsts), sharex=True, sharey="row", squeeze=False)
    for column, record in enumerate(firsts):
        _draw_residuals(panels[0, column], record)
        _draw_outputs(panels[1, column], record)
        panels[0, column].set_title(f"alpha = {record.config['alpha']:g}")
    for axes in panels.flat:
        axes.set_xscale("log")
        tidy(axes)
    panels[0, 0].set_ylabel("residual, share of the first")
    panels[1, 0].set_ylabel("mean output v(x)")
    panels[0, 0].legend(fontsize=8)
    panels[1, 0].legend(fontsize=8)


def _series(record: Record, key: str) -> tuple[list[int], list[float]]:
    rows = [row for row in record.history if key in row]
    return [row["step"] for row in rows], [row[key] for row in rows]


def _draw_residuals(axes: Any, record: Record) -> None:
    for part, title, color in (("along", "along ŵ", "#b8561b"), ("across", "across ŵ", "#1b6ca8")):
        axes.plot(*_series(record, f"linear_residual_{part}"), color=color, label=title)
        dots = {"color": color, "markersize": 3, "alpha": 0.7, "label": f"{title}, network"}
        axes.plot(*_series(record, f"network_residual_{part}"), "o", **dots)
    values = record.metrics or {}
    if values["window_first"] is not None:
        axes.axvspan(
            values["window_first"],
            values["window_last"],
            alpha=0.15,
            color="#2a8a4a",
            label="window",
        )
    for end, label in (("paper_first", "paper's window"), ("paper_last", None)):
        axes.axvline(values[end], color="#444444", linestyle=":", linewidth=1, label=label)
    axes.set_ylim(0, 1.05)


def _draw_outputs(axes: Any, record: Record) -> None:
    titles = ("labelled positives", "hidden positives", "negatives")
    for group, title, color in zip(_GROUPS, titles, ("#1b6ca8", "#2a8a4a", "#b8561b"), strict=True):
        axes.plot(*_series(record, f"linear_{group}"), color=color, label=title)
        axes.plot(*_series(record, f"network_{group}"), "o", color=color, markersize=3, alpha=0.7)
    for limit in ("limit_positive", "limit_negative"):
        axes.axhline((record.metrics or {})[limit], color="black", linestyle="--", linewidth=1)
    axes.set_xlabel("step")


ITEM = Item(expand, run, show, Settings)
