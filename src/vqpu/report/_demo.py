"""The demo: one small problem, three methods, a table and a picture."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vqpu.base._source import ArraySource
from vqpu.datasets import find_task, load_task, make_pu
from vqpu.persistence._targets import MADE_HERE, check_target, writing
from vqpu.rivals import NaivePUClassifier, OracleClassifier
from vqpu.training import CheckResult
from vqpu.vq._classifier import VQKMeansClassifier

ALPHA = 0.5
_TASK = "digits-even-odd"
_MEMBERS = 2  # the default would be 5; with 2 the demo stays within two minutes


def run_demo(out: Path, seed: int) -> None:
    """Fit all three methods on digits, print a table and write the picture to ``out``."""
    from rich.console import Console

    check_target(out, (".png",), marks=MADE_HERE)
    console = Console()
    X, labels = load_task(_TASK)
    sample = make_pu(X, labels, n_positive=340, n_unlabeled=700, alpha=ALPHA, random_state=seed)
    X_test, y_test = load_task(_TASK, train=False)
    console.print(
        "Even digits are wanted. 340 of them are labelled; 700 digits are not, and half of those "
        "are even.\nP and U are drawn apart (case-control); 360 other digits are for testing.\n"
        f"Defaults, but {_MEMBERS} encoders instead of 5 and one round instead of 2, to be done in "
        "two minutes.\n"
    )
    curve: list[float] = []
    settings: dict[str, Any] = {
        "augment": find_task(_TASK).augment,
        "n_members": _MEMBERS,
        "random_state": seed,
        "verbose": 1,
    }
    rows = []
    for name, model, labels in (
        ("VQ K-means", VQKMeansClassifier(**settings, n_rounds=1), sample.y),
        ("naive P against U", NaivePUClassifier(**settings), sample.y),
        ("supervised oracle", OracleClassifier(class_prior=ALPHA, **settings), sample.truth),
    ):
        started = time.perf_counter()
        if isinstance(model, VQKMeansClassifier):
            model.fit(sample.X, labels, callback=_accuracy_recorder(X_test, y_test, curve))
        else:
            model.fit(sample.X, labels)
        rows.append((name, model, time.perf_counter() - started))
    _print_table(console, rows, X_test, y_test)
    _draw(rows[0][1], curve, out)
    console.print(f"\nThe picture is in {out}.")


def _accuracy_recorder(X_test: NDArray[Any], y_test: NDArray[Any], curve: list[float]) -> Any:
    source = ArraySource(X_test)

    def record(check: CheckResult) -> None:
        is_positive = check.log_odds(source) > 0
        curve.append(100 * float(np.mean(is_positive == (y_test == 1))))

    return record


def _print_table(
    console: Any, rows: list[tuple[str, Any, float]], X_test: NDArray[Any], y_test: NDArray[Any]
) -> None:
    from rich.table import Table

    table = Table()
    for heading in ("method", "labels", "test accuracy", "alpha (true 0.50)", "seconds"):
        table.add_column(heading, no_wrap=True)
    for name, model, seconds in rows:
        accuracy = 100 * model.score(X_test, y_test)
        alpha = f"{model.alpha_:.2f}" if isinstance(model, VQKMeansClassifier) else "-"
        labels = "all" if isinstance(model, OracleClassifier) else "P only"
        table.add_row(name, labels, f"{accuracy:.1f} %", alpha, f"{seconds:.0f}")
    console.print(table)


def _draw(model: VQKMeansClassifier, accuracies: list[float], out: Path) -> None:
    """Draw test accuracy (left) and centre distance (right) per check, the chosen one marked."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    steps = model.history_.column("step")
    chosen = steps[model.best_check_]
    panels = (
        ("Test accuracy (%)", accuracies, "#1b6ca8"),
        ("Distance of the two centres", model.history_.column("center_distance"), "#b8561b"),
    )
    for axes, (title, values, color) in zip(figure.subplots(1, 2), panels, strict=True):
        axes.plot(steps, values, marker="o", markersize=3, color=color)
        axes.axvline(chosen, color="#444444", linewidth=1, linestyle="--")
        ring = {"color": color, "markerfacecolor": "none", "markeredgewidth": 2, "markersize": 9}
        height = values[model.best_check_]
        axes.plot([chosen], [height], "o", label=f"chosen check, step {chosen}", **ring)
        axes.set(title=title, xlabel="training step")
        axes.grid(alpha=0.25)
        axes.legend(loc="lower right", frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(
        f"VQ K-means on digits, even against odd: chosen by {model.variant_.stopping_signal}"
    )
    with writing(out) as file:
        figure.savefig(file, format="png", dpi=120, metadata={"Software": "vqpu"})
