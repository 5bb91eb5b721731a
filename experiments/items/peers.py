"""What a user would install instead: pulearn and pu-toolbox beside ours and a plain forest."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from experiments.item import Config, Item, ItemSettings, Record, Row, RunResult, Summary
from experiments.items.peer_libraries import PEERS, PeerResult, ask_peer, peers_python, standardized
from experiments.items.peer_process import METHODS
from experiments.methods import make_method
from experiments.problems import check_task, draw_problem
from experiments.summary import group, markdown_table, threads_text, tidy
from vqpu.errors import CollapsedCodesError, InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_OURS, _PLAIN = "vqpu vq-k-means", "scikit-learn random-forest"
_COLORS = {
    "vqpu": "#1b6ca8",
    "scikit-learn": "#777777",
    "pulearn": "#b8561b",
    "pu-toolbox": "#2a8a4a",
}


class Sizes(BaseModel):
    """Sizes of P and U."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    n_positive: int = Field(ge=1)
    n_unlabeled: int = Field(ge=2)


class Settings(ItemSettings):
    """Tasks and methods.

    Attributes
    ----------
    tasks : dict of Sizes
    alpha : float
    methods : tuple of str
        A library and one of its methods, with a space between.
    timeout : float
        Seconds after which a peer is given up.
    parameters : dict
        Changes of our own defaults, for the smoke profile.
    """

    tasks: dict[str, Sizes]
    alpha: float = Field(gt=0, lt=1)
    methods: tuple[str, ...]
    timeout: float = Field(gt=0)
    parameters: dict[str, Any] = Field(default_factory=dict)


def expand(settings: Settings) -> dict[str, Config]:
    """Return a run for every task, method and seed."""
    return {
        f"{task}_{method.replace(' ', '_')}_seed{seed}": {
            "task": task,
            **sizes.model_dump(),
            "alpha": settings.alpha,
            "method": method,
            "version": PEERS.get(method.split()[0]),
            "timeout": settings.timeout,
            "parameters": settings.parameters if method == _OURS else {},
            "seed": seed,
        }
        for task, sizes in settings.tasks.items()
        for method in settings.methods
        for seed in settings.seeds
    }


def check(config: Config, data_dir: Path | None) -> None:
    """Refuse an unknown task or method, and a task whose files are missing."""
    check_task(config["task"], data_dir)
    library, _, method = config["method"].partition(" ")
    if config["method"] == _OURS:
        _make_ours(config, "none")
    elif config["method"] != _PLAIN and (library, method) not in METHODS:
        valid = [_OURS, _PLAIN, *(" ".join(names) for names in METHODS)]
        raise InputError(f"Unknown method {config['method']!r}. Valid methods are {valid}.")


def run(config: Config, data_dir: Path | None) -> RunResult:
    """Fit one method on P and U; its predictions for samples that are in neither are judged."""
    problem = draw_problem(config, data_dir)
    found = _fit(config, problem)
    metrics = {"seconds": found.seconds, "prior": found.prior, "failure": found.failure}
    return RunResult({**metrics, **_scores(found.called, problem.y_test == 1)}, [])


def _fit(config: Config, problem: Any) -> PeerResult:
    library, _, method = config["method"].partition(" ")
    if config["method"] == _OURS:
        return _ask_ours(config, problem)
    X, X_test = standardized(problem.X, problem.X_test)
    if config["method"] == _PLAIN:
        return _ask_forest(X, problem.y, X_test, config["seed"])
    return ask_peer(
        library,
        method,
        X,
        problem.y,
        X_test,
        seed=config["seed"],
        timeout=config["timeout"],
        python=peers_python(),
        threads=torch.get_num_threads(),
    )


def _ask_ours(config: Config, problem: Any) -> PeerResult:
    model = _make_ours(config, problem.augment)
    started = time.perf_counter()
    try:
        model.fit(problem.X, problem.y)
    except CollapsedCodesError as error:
        return PeerResult(None, None, None, str(error))
    called = model.predict(problem.X_test) == 1
    return PeerResult(called, time.perf_counter() - started, model.alpha_)


def _make_ours(config: Config, augment: str) -> Any:
    settings = {"random_state": config["seed"], "augment": augment}
    return make_method("vq", {**settings, **config["parameters"]})


def _ask_forest(X: NDArray[Any], y: NDArray[Any], X_test: NDArray[Any], seed: int) -> PeerResult:
    """P against U by a forest, both sets of equal weight: what one tries first."""
    from sklearn.ensemble import RandomForestClassifier

    started = time.perf_counter()
    model = RandomForestClassifier(class_weight="balanced", random_state=seed).fit(X, y)
    called = model.predict(X_test) == 1
    return PeerResult(called, time.perf_counter() - started, None)


def _scores(called: NDArray[np.bool_] | None, truth: NDArray[np.bool_]) -> dict[str, Any]:
    if called is None:
        return {"accuracy": None, "balanced_accuracy": None}
    right = called == truth
    balanced = (right[truth].mean() + right[~truth].mean()) / 2
    return {"accuracy": float(right.mean()), "balanced_accuracy": float(balanced)}


def show(records: Mapping[str, Record], _: Mapping[str, Any]) -> Summary:
    """Return a table a task, and bars of balanced accuracy."""
    cells = group(records, "task", "method")
    rows = [_row(task, method, found) for (task, method), found in cells.items()]
    notes = (
        "Defaults only; a method that needs a class prior is given its own library's estimate. "
        "Columns are standardised and images flattened for all but vqpu. Judged on samples "
        "in neither P nor U: mean ± standard deviation (by n) over seeds, %. "
        "Seconds are for the prior, fit and prediction. The forest is P against U with "
        "class_weight='balanced'. pulearn estimates the share of positives in P and U "
        "together, pu-toolbox and vqpu that in U; pulearn's nnPU is given its library's estimate "
        "as it is, although it asks for the share in U.\n"
    )
    table = markdown_table(list(rows[0]), [[str(cell) for cell in row.values()] for row in rows])
    markdown = f"{notes}\n{threads_text(records)}{table}"
    return Summary(markdown, rows, lambda figure: _draw(figure, cells))


def _row(task: str, method: str, records: list[Record]) -> Row:
    config = records[0].config
    done = [record.metrics for record in records if record.metrics is not None]
    failures = sorted({metrics["failure"] for metrics in done if metrics["failure"]})
    return {
        "task": task,
        "P": config["n_positive"],
        "U": config["n_unlabeled"],
        "method": method,
        "version": config["version"] or "-",
        "balanced accuracy": _told(done, "balanced_accuracy", 100, 1),
        "accuracy": _told(done, "accuracy", 100, 1),
        "prior": _told(done, "prior", 1, 2),
        "seconds": _told(done, "seconds", 1, 1),
        "runs": f"{len(done)} of {len(records)}",
        "failures": "; ".join(failures).replace("|", "/") or "-",
    }


def _told(done: list[dict[str, Any]], key: str, scale: float, digits: int) -> str:
    values = [scale * metrics[key] for metrics in done if metrics[key] is not None]
    if not values:
        return "-" if done else "missing"
    spread = f" ± {np.std(values):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{spread}"


def _draw(figure: Figure, cells: Mapping[tuple[Any, ...], list[Record]]) -> None:
    """Draw a panel a task, a bar a method: the mean balanced accuracy."""
    tasks = list(dict.fromkeys(task for task, _ in cells))
    methods = list(dict.fromkeys(method for _, method in cells))
    figure.set_size_inches(2 + 2.4 * len(tasks), 1.2 + 0.32 * len(methods))
    panels = figure.subplots(1, max(len(tasks), 1), sharey=True, squeeze=False)[0]
    for axes, task in zip(panels, tasks, strict=False):
        for place, method in enumerate(methods):
            done = [record.metrics for record in cells.get((task, method), []) if record.metrics]
            values = [100 * m["balanced_accuracy"] for m in done if m["accuracy"] is not None]
            if values:
                color = _COLORS[method.split()[0]]
                axes.barh(place, np.mean(values), color=color)
                ink = "white" if np.mean(values) > 60 else "black"  # a short bar has no room
                axes.text(51, place, f"{np.mean(values):.1f}", va="center", color=ink, size=8)
            else:
                axes.text(51, place, "no answer" if done else "missing", va="center", size=8)
        axes.set(title=task, xlim=(50, 100), yticks=range(len(methods)), yticklabels=methods)
        tidy(axes, grid=False)
    panels[0].set_ylim(len(methods) - 0.4, -0.6)  # the first method on top
    figure.supxlabel("balanced accuracy, %", fontsize=9)


ITEM = Item(expand, run, show, Settings, check=check)
