"""Numbers as pictures: SVG inside the page, the same bytes for the same numbers."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np

from vqpu.report._codes import CodeMap, CodeUsage
from vqpu.report._curves import ScoreHistogram, StoppingCurve

# Told apart in grey, too: orange is light, blue is dark.
POSITIVE, NEGATIVE, LABELED = "#d9772b", "#1f4e79", "#111111"
_GREY = "#555555"
_WIDTH = 5.4  # inches; small, so that letters stay readable when a phone shrinks the picture
_STYLE: dict[Any, Any] = {
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": _GREY,
    "legend.frameon": False,
    "svg.hashsalt": "vqpu",  # names of parts would be random otherwise
}


def draw_stopping(curve: StoppingCurve) -> str:
    """Draw the signal, and below it the share called positive, at every check.

    Parameters
    ----------
    curve : StoppingCurve

    Returns
    -------
    str
        A data address.
    """

    def draw(figure: Any) -> None:
        above, below = figure.subplots(2, 1, sharex=True)
        chosen = curve.steps[curve.best]
        starts = [0, *(np.flatnonzero(np.diff(curve.rounds)) + 1), len(curve.steps)]
        for part in map(slice, starts, starts[1:]):  # a round's signal is of its own samples
            above.plot(curve.steps[part], curve.values[part], "o-", color=NEGATIVE, markersize=4)
        ring = {"color": POSITIVE, "markerfacecolor": "none", "markeredgewidth": 2.5}
        label = f"chosen: check {curve.best + 1}, step {chosen:,}"
        above.plot([chosen], [curve.values[curve.best]], "o", markersize=12, label=label, **ring)
        above.set_ylabel(curve.signal.replace("-", " "))
        above.legend(loc="best")
        shares = np.array([curve.positive_shares, curve.alphas]) * 100
        below.plot(
            curve.steps, shares[0], "o-", color=POSITIVE, markersize=4, label="called positive"
        )
        below.plot(curve.steps, shares[1], "s--", color=NEGATIVE, markersize=4, label="alpha")
        below.set(ylabel="% of unlabelled", xlabel="training step", ylim=(-3, 103))
        below.legend(loc="best")
        for axes in (above, below):
            axes.axvline(chosen, color=_GREY, linewidth=1, linestyle=":")
            for start in starts[1:-1]:  # a new round began after the check before
                axes.axvline(curve.steps[start - 1], color=_GREY, linewidth=1)
            axes.grid(alpha=0.25)

    return _drawn(draw, 5.0)


def draw_histogram(histogram: ScoreHistogram) -> str:
    """Draw how the scores of labelled positives and of unlabelled samples are spread.

    Parameters
    ----------
    histogram : ScoreHistogram
    """

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for shares, color, name, count in (
            (histogram.unlabeled, NEGATIVE, "unlabelled", histogram.n_unlabeled),
            (histogram.positive, POSITIVE, "labelled positive", histogram.n_positive),
        ):
            label = f"{name} ({count:,})"
            axes.stairs(shares * 100, histogram.edges, fill=True, alpha=0.35, color=color)
            axes.stairs(shares * 100, histogram.edges, color=color, linewidth=1.8, label=label)
        axes.axvline(0, color=_GREY, linewidth=1.2, linestyle=":")
        axes.set(xlabel="score (log odds of being positive)", ylabel="% of its samples")
        axes.grid(alpha=0.25)
        figure.legend(loc="outside upper center", ncols=2, columnspacing=1.0)

    return _drawn(draw, 3.6)


def draw_usage(usage: CodeUsage) -> str:
    """Draw the shares of the most used codes.

    Parameters
    ----------
    usage : CodeUsage
    """

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        places = np.arange(len(usage.codes))
        for shift, shares, color, name in (
            (-0.2, usage.unlabeled, NEGATIVE, "unlabelled"),
            (0.2, usage.positive, POSITIVE, "labelled positive"),
        ):
            axes.barh(places + shift, np.array(shares) * 100, 0.38, color=color, label=name)
        axes.set_yticks(places, [f"code {code}" for code in usage.codes])
        axes.invert_yaxis()
        axes.set(xlabel="% of the vectors of such samples")
        axes.grid(axis="x", alpha=0.25)
        figure.legend(loc="outside upper center", ncols=2)

    return _drawn(draw, 1.3 + 0.36 * max(len(usage.codes), 2))


def draw_map(found: CodeMap) -> str:
    """Draw the map: unlabelled samples coloured by prediction, labelled positives on top.

    Parameters
    ----------
    found : CodeMap
    """

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        unlabeled, labeled = ~found.is_labeled, found.is_labeled
        size = float(np.clip(8000 / len(found.places), 4, 14))
        layers = (
            (unlabeled & ~found.is_positive, "called negative", {"c": NEGATIVE, "s": size}),
            (unlabeled & found.is_positive, "called positive", {"c": POSITIVE, "s": size}),
            (labeled, "labelled positive", {"c": LABELED, "s": 1.6 * size, "marker": "+"}),
        )
        for mask, name, look in layers:
            look |= {"linewidths": 0.8 if "marker" in look else 0, "alpha": 0.8}
            label = f"{name} ({mask.sum():,})"
            axes.scatter(*found.places[mask].T, label=label, rasterized=True, **look)
        axes.set(xticks=[], yticks=[], aspect="equal")
        axes.spines[:].set_visible(False)
        figure.legend(loc="outside lower center", markerscale=1.8)

    wide, high = np.ptp(found.places, axis=0)
    return _drawn(draw, 0.9 + _WIDTH * float(np.clip(high / max(wide, 1e-9), 0.25, 1.0)))


def _drawn(draw: Any, height: float) -> str:
    """Return what ``draw`` does to a figure as the address of an image."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    buffer = io.BytesIO()
    with rc_context(_STYLE):
        figure = Figure(figsize=(_WIDTH, height), layout="constrained")
        FigureCanvasSVG(figure)
        draw(figure)
        nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
        figure.savefig(buffer, format="svg", dpi=200, metadata=nothing)
    return "data:image/svg+xml;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")
