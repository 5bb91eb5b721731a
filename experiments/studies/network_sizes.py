"""Study of sizes: how wide the hidden layers of the network for tables should be.

One round on tables of the study of encoders, other draws of them than those that judge there, with
hidden layers of 64, 128 and 256 units; all else is the default. Judged on the hidden labels of U by
out-of-fold scores.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from torch import nn

from experiments.item import Config, Record, RunResult, Seeds, study
from experiments.judged import rounded
from experiments.studies.encoder_tables import draw_sample
from experiments.studies.encoders import COLUMNS, MLP_TABLES, judge
from experiments.summary import markdown_table
from vqpu import VQKMeansClassifier, stack_pu
from vqpu.errors import VqpuWarning
from vqpu.nn import MLPEncoder

ALPHAS = (0.2, 0.5)
WIDTHS = (64, 128, 256)
LARGE_TABLES = ("movies", "outwork")
SEEDS = (3,)
N_VECTORS, DROPOUT = 8, (0.25, 0.5)  # as the default has them: few samples, more dropout
FEW, MANY = 1_000, 9_000


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
    rows = []
    for width in WIDTHS:
        model = VQKMeansClassifier(
            encoder=encoder_of(width, len(X)), n_rounds=1, random_state=config["seed"]
        )
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VqpuWarning)
            model.fit(X, y)
        seconds = time.perf_counter() - began
        held_out = model.holdout_log_odds_[1]
        # One member of many samples has kept too few apart to be judged by.
        is_whole = len(held_out) == len(sample.truth)
        scores = held_out if is_whole else model.decision_function(sample.unlabeled)
        judged = judge(scores, sample.truth)
        rows.append(rounded({"width": width, "seconds": seconds, **judged}))
    return RunResult({"n_samples": len(X), "n_columns": X.shape[1]}, rows)


def encoder_of(width: int, n_samples: int) -> Callable[[tuple[int, ...], int], nn.Module]:
    """Return a function that makes an encoder with hidden layers of a width.

    Parameters
    ----------
    width, n_samples : int
    """
    place = np.log(MANY / n_samples) / np.log(MANY / FEW)
    dropout = DROPOUT[0] + (DROPOUT[1] - DROPOUT[0]) * min(max(float(place), 0.0), 1.0)

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
        "in percent, and seconds.\n\n" + markdown_table(heads, [*rows, ["mean", "", "", *means]])
    )


def _shown(rows: list[dict[str, float]]) -> str:
    measures = [f"{100 * np.mean([row[column] for row in rows]):.1f}" for column in COLUMNS]
    return f"{' / '.join(measures)}, {np.mean([row['seconds'] for row in rows]):.0f} s"


ITEM = study(expand, run, summary)
