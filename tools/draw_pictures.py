"""Draws the pictures of README and guide: ``python tools/draw_pictures.py`` (10 seconds).

Every number in them comes from a fit that is made here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from numpy.typing import NDArray

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import FancyArrowPatch, Rectangle
from sklearn.datasets import load_digits

from vqpu import VQKMeansClassifier, make_pu

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "pictures"
POSITIVE, UNKNOWN, NEGATIVE = "#1f6feb", "#8a8f98", "#c2571a"
_DPI = 130


def main() -> None:
    """Write all pictures."""
    FOLDER.mkdir(exist_ok=True)
    for draw in (draw_in_and_out, draw_pu_learning, draw_scenarios):
        figure = draw()
        name = draw.__name__.removeprefix("draw_").replace("_", "-")
        figure.savefig(FOLDER / f"{name}.png", dpi=_DPI, facecolor="white")
        plt.close(figure)


def draw_in_and_out() -> Figure:
    """Draw what goes in (labelled threes, unlabelled digits) and what comes out."""
    digits = load_digits()
    sample = make_pu(
        digits.images, digits.target == 3, n_positive=60, n_unlabeled=400, alpha=0.25,
        random_state=0,
    )  # fmt: skip
    table = sample.X.reshape(len(sample.X), -1)
    model = VQKMeansClassifier(random_state=0).fit(table, sample.y)
    figure = plt.figure(figsize=(11, 5.0))
    parts: Any = figure.subfigures(1, 3, width_ratios=[4.3, 1.0, 5.7])
    left, middle, right = parts
    _draw_given(left, sample.X[sample.y == 1], sample.X[sample.y == 0])
    _draw_arrow(middle)
    unlabeled = sample.y == 0
    probability = model.predict_proba(table[unlabeled])[:, 1]
    _draw_gained(right, sample.X[unlabeled], probability, model)
    return figure


def _draw_given(part: SubFigure, positives: NDArray[Any], unlabeled: NDArray[Any]) -> None:
    part.suptitle("You have", x=0.05, ha="left", fontsize=15, fontweight="bold")
    above = part.add_axes((0.05, 0.68, 0.9, 0.15))
    _mosaic(above, positives[:24], 12, POSITIVE)
    above.set_title(f"{len(positives)} labelled positives: threes", loc="left", color=POSITIVE)
    below = part.add_axes((0.05, 0.04, 0.9, 0.525))
    _mosaic(below, unlabeled[:84], 12, UNKNOWN)
    below.set_title(f"{len(unlabeled)} unlabelled: could be anything", loc="left", color="#555a63")


def _mosaic(axis: Axes, images: NDArray[Any], columns: int, color: str) -> None:
    rows = len(images) // columns
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    tiles = padded.reshape(rows, columns, 10, 10).transpose(0, 2, 1, 3)
    axis.imshow(tiles.reshape(rows * 10, columns * 10), cmap="gray_r", aspect="auto")
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set(color=color, linewidth=2)


def _draw_arrow(part: SubFigure) -> None:
    axis = part.add_axes((0, 0, 1, 1))
    axis.set(xlim=(0, 1), ylim=(0, 1))
    axis.axis("off")
    axis.add_patch(
        FancyArrowPatch((0.05, 0.44), (0.95, 0.44), mutation_scale=30, color="#30343b", lw=3)
    )
    axis.text(0.5, 0.53, "fit", ha="center", fontsize=14, family="monospace")
    axis.text(0.5, 0.35, "no negatives,\nno class prior", ha="center", va="top", fontsize=9.5)


def _draw_gained(
    part: SubFigure, images: NDArray[Any], probability: NDArray[Any], model: VQKMeansClassifier
) -> None:
    part.suptitle("You get", x=0.03, ha="left", fontsize=15, fontweight="bold")
    order = probability.argsort(kind="stable")[::-1]
    called = int((probability > 0.5).sum())
    likely = np.linspace(0, called - 1, 30).astype(int)
    unlikely = np.linspace(called, len(order) - 1, 30).astype(int)
    sides = [
        (0.03, POSITIVE, f"{called} called positive", order[likely]),
        (0.53, NEGATIVE, f"{len(order) - called} called negative", order[unlikely]),
    ]
    for x, color, title, places in sides:
        part.text(x, 0.85, title, color=color, fontsize=12)
        for number, place in enumerate(places):
            column, row = number % 6, number // 6
            axis = part.add_axes((x + column * 0.075, 0.735 - row * 0.124, 0.07, 0.08))
            axis.imshow(images[place], cmap="gray_r")
            axis.set(xticks=[], yticks=[])
            axis.spines[:].set(color=color, linewidth=1)
            axis.set_xlabel(f"{probability[place]:.2f}", fontsize=8, labelpad=1.5)
    _draw_alpha(part.add_axes((0.03, 0.075, 0.915, 0.045)), model)


def _draw_alpha(axis: Axes, model: VQKMeansClassifier) -> None:
    low, high = model.alpha_interval_
    axis.barh([0], [1], color="#e8eaee", height=1)
    axis.barh([0], [high - low], left=[low], color=POSITIVE, alpha=0.35, height=1)
    axis.plot([model.alpha_] * 2, [-0.5, 0.5], color=POSITIVE, linewidth=3)
    axis.set(xlim=(0, 1), ylim=(-0.5, 0.5), yticks=[], xticks=[0, 0.25, 0.5, 0.75, 1])
    axis.set_xticklabels(["0", "25 %", "50 %", "75 %", "100 %"], fontsize=8)
    axis.spines[:].set_visible(False)
    title = f"positives among the unlabelled: {model.alpha_:.0%} ({low:.0%} to {high:.0%})"
    axis.set_title(title, loc="left", fontsize=12, color=POSITIVE, pad=5)


def draw_pu_learning() -> Figure:
    """Draw the same points with all labels, with PU labels, and what a fit makes of them."""
    rng = np.random.default_rng(1)
    points = np.vstack(
        [rng.normal((2.2, 0.8), 0.9, (220, 2)), rng.normal((-0.9, -0.6), 1, (330, 2))]
    )
    truth = np.arange(len(points)) < 220
    is_labeled = np.arange(len(points)) < 60
    model = VQKMeansClassifier(random_state=0).fit(points, is_labeled.astype(int))
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained")
    for axis, title in zip(
        axes[:2],
        ["What is true, and nobody knows", "What is known: some positives, no negative"],
        strict=True,
    ):
        axis.set_title(title, fontsize=11)
        axis.set(xticks=[], yticks=[])
    axes[0].scatter(*points[truth].T, s=12, color=POSITIVE, label="positive")
    axes[0].scatter(*points[~truth].T, s=12, color=NEGATIVE, label="negative")
    axes[1].scatter(*points[~is_labeled].T, s=12, color=UNKNOWN, label="unlabelled")
    axes[1].scatter(*points[is_labeled].T, s=16, color=POSITIVE, label="labelled positive")
    for axis in axes[:2]:
        axis.legend(loc="upper left", fontsize=9)
    _draw_probabilities(axes[2], model, points[~is_labeled], truth[~is_labeled])
    return figure


def _draw_probabilities(
    axis: Axes, model: VQKMeansClassifier, unlabeled: NDArray[Any], truth: NDArray[np.bool_]
) -> None:
    probability = model.predict_proba(unlabeled)[:, 1]
    parts = [probability[truth], probability[~truth]]
    axis.hist(parts, 20, range=(0, 1), stacked=True, color=[POSITIVE, NEGATIVE])
    axis.axvline(0.5, color="black", linewidth=1, linestyle="--")
    axis.set_title("What a fit gives the unlabelled ones", fontsize=11)
    axis.set(xlabel="probability of being positive (colours: the truth)", yticks=[])


def draw_scenarios() -> Figure:
    """Draw how P and U come about in the two scenarios; widths are numbers of samples."""
    figure, axes = plt.subplots(1, 2, figsize=(11, 3.2), layout="constrained")
    for axis in axes:
        axis.set(xlim=(0, 10), ylim=(0.2, 5.4))
        axis.axis("off")
    axes[0].set_title("case-control: P and U are drawn apart", loc="left", fontsize=12)
    _draw_set(axes[0], 0.2, 3.2, "all positives", 2.4, 0)
    _draw_set(axes[0], 0.2, 0.6, "the population: 40 % positive", 1.6, 2.4)
    _draw_set(axes[0], 6.2, 3.2, "P, labelled", 1.2, 0)
    _draw_set(axes[0], 6.2, 0.6, "U: alpha = 40 %", 1.2, 1.8)
    _draw_step(axes[0], 3.8, 3.8, "draw")
    _draw_step(axes[0], 1.2, 1.2, "draw")
    axes[1].set_title("single-set: positives of one draw are labelled", loc="left", fontsize=12)
    _draw_set(axes[1], 0.2, 1.9, "one draw: 40 % positive", 1.6, 2.4)
    _draw_set(axes[1], 6.2, 3.2, "P, half of its positives", 0.8, 0)
    _draw_set(axes[1], 6.2, 0.6, "U, the rest: alpha = 25 %", 0.8, 2.4)
    _draw_step(axes[1], 2.5, 3.8, "")
    _draw_step(axes[1], 2.5, 1.2, "")
    return figure


def _draw_set(
    axis: Axes, x: float, y: float, name: str, positives: float, negatives: float
) -> None:
    axis.add_patch(Rectangle((x, y), positives, 1.2, facecolor=POSITIVE))
    axis.add_patch(Rectangle((x + positives, y), negatives, 1.2, facecolor=NEGATIVE))
    axis.text(x, y + 1.35, name, fontsize=10.5)


def _draw_step(axis: Axes, y_from: float, y_to: float, word: str) -> None:
    arrow = FancyArrowPatch((4.5, y_from), (6.0, y_to), mutation_scale=12, color="#30343b", lw=1.5)
    axis.add_patch(arrow)
    axis.text(5.2, y_from + 0.25, word, ha="center", fontsize=10)


if __name__ == "__main__":
    main()
