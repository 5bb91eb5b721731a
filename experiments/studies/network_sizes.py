"""Study of sizes: how wide the hidden layers of the network for tables should be.

One round on tables of the study of encoders, other draws of them than those that judge there, with
hidden layers of 64, 128 and 256 units; all else is the default. Judged on the hidden labels of U by
out-of-fold scores.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from torch import nn

from experiments.item import Config, Record, RunResult, Seeds, study
from experiments.judged import fit_quietly, rounded, scores_of_unlabeled
from experiments.studies.encoder_tables import draw_sample
from experiments.studies.encoders import COLUMNS, MLP_TABLES, judge
from experiments.summary import markdown_table
from vqpu import VQKMeansClassifier, stack_pu
from vqpu.base._source import ArraySource
from vqpu.estimators._sizes import resolve_dropout
from vqpu.nn import MLPEncoder

ALPHAS = (0.2, 0.5)
WIDTHS = (64, 128, 256)
LARGE_TABLES = ("movies", "outwork")
SEEDS = (3,)
USUAL = 256
N_VECTORS = 8  # as the default has them


def expand(seeds: Seeds | None) -> dict[str, Config]:
    return {
        f"{table}_alpha{alpha}_seed{seed}": {"table": table, "alpha": alpha, "seed": seed}
        for table in (*MLP_TABLES, *LARGE_TABLES)
        for alpha in ALPHAS
        for seed in seeds or SEEDS
    }


def run(config: Config, _: Path | None) -> RunResult:
    sample = draw_sample(config["table"], config["alpha"], config["seed"])
    X, y = stack_pu(sample.positive, sample.unlabeled)
    dropout = resolve_dropout(None, ArraySource(X))
    rows = []
    for width in WIDTHS:
        model = VQKMeansClassifier(
            encoder=encoder_of(width, dropout), n_rounds=1, random_state=config["seed"]
        )
        began = time.perf_counter()
        fit_quietly(model, X, y)
        seconds = time.perf_counter() - began
        judged = judge(scores_of_unlabeled(model, sample.unlabeled), sample.truth)
        rows.append(rounded({"width": width, "seconds": seconds, **judged}))
    return RunResult({"n_samples": len(X), "n_columns": X.shape[1]}, rows)


def encoder_of(width: int, dropout: float) -> Callable[[tuple[int, ...], int], nn.Module]:
    """Return a function that makes an encoder with hidden layers of a width.

    Parameters
    ----------
    width : int
    dropout : float
    """

    def make(shape: tuple[int, ...], vector_dim: int) -> nn.Module:
        return MLPEncoder(shape, vector_dim, N_VECTORS, dropout, hidden=width)

    return make


def summary(records: list[Record]) -> str:
    heads = ["table", "alpha", "samples", *(f"{width} units" for width in WIDTHS)]
    rows = []
    for record in sorted(records, key=lambda one: one.values["n_samples"]):
        by_width = {row["width"]: row for row in record.history}
        cells = [_shown([by_width[width]]) for width in WIDTHS]
        config = record.config
        n_samples = str(record.values["n_samples"])
        rows.append([config["table"], str(config["alpha"]), n_samples, *cells])
    every = [row for record in records for row in record.history]
    means = [_shown([row for row in every if row["width"] == width]) for width in WIDTHS]
    return (
        "Widths of the hidden layers of the network for tables, one round, on the hidden labels of "
        "U by out-of-fold scores: AUC / average precision / balanced accuracy / calibration error "
        "in percent, and seconds.\n\n"
        + markdown_table(heads, [*rows, ["mean", "", "", *means]])
        + f"\nDifference to {USUAL} units, the default (mean ± standard error):\n\n"
        + "\n".join(_difference(records, width) for width in WIDTHS if width != USUAL)
    )


def _difference(records: list[Record], width: int) -> str:
    """Return how far a width is ahead of the default, in points."""
    pairs = [{row["width"]: row for row in record.history} for record in records]
    parts = []
    for column in COLUMNS:
        gaps = 100 * np.array([pair[width][column] - pair[USUAL][column] for pair in pairs])
        error = f" ± {gaps.std(ddof=1) / len(gaps) ** 0.5:.2f}" if len(gaps) > 1 else ""
        parts.append(f"{column.replace('_', ' ')} {gaps.mean():+.2f}{error}")
    return f"- {width} units: {', '.join(parts)} ({len(pairs)} cells)"


def _shown(rows: list[dict[str, float]]) -> str:
    measures = [f"{100 * np.mean([row[column] for row in rows]):.1f}" for column in COLUMNS]
    return f"{' / '.join(measures)}, {np.mean([row['seconds'] for row in rows]):.0f} s"


ITEM = study(expand, run, summary)
