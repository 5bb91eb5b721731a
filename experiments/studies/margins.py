"""Study of margins: how much larger than its estimate the border of trees should take alpha.

Fits of two rounds on the tables of the study of encoders, other draws of them than those that judge
there, at four shares alpha, each fit with its margin in both rounds. An alpha too small costs the
border more than one too large, so the fit of the posterior takes it some standard errors larger.
Judged on the hidden labels of U by out-of-fold scores: accuracy of the border and points it loses
against the best one of the same scores, balanced accuracy, and the calibration error. A margin must
raise balanced accuracy and cost neither accuracy nor calibration, beyond what tables differ by.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.metrics import balanced_accuracy_score

from experiments.item import Config, Record, RunResult, Seeds, study
from experiments.judged import fit_quietly, rounded
from experiments.studies.doubt import best_border
from experiments.studies.encoder_tables import TABLES, Flags, Floats, draw_sample
from experiments.studies.forms import calibration_error
from experiments.summary import markdown_table
from experiments.variants import varied_margin
from vqpu import VQKMeansClassifier, stack_pu
from vqpu.vq._rounds import RAISED_FOR_TREES

ALPHAS = (0.05, 0.2, 0.5, 0.8)
MARGINS = (0.0, 1.0, 2.0, 3.0)  # standard errors
SEEDS = (3, 4)
MEASURES = ("accuracy", "lost", "balanced_accuracy", "calibration_error")


def expand(seeds: Seeds | None) -> dict[str, Config]:
    return {
        f"alpha{alpha}_seed{seed}": {"alpha": alpha, "seed": seed}
        for alpha in ALPHAS
        for seed in seeds or SEEDS
    }


def run(config: Config, _: Path | None) -> RunResult:
    rows = []
    for table in TABLES:
        sample = draw_sample(table, config["alpha"], config["seed"])
        for margin in MARGINS:
            model = VQKMeansClassifier(encoder="trees", random_state=config["seed"])
            with varied_margin(margin):
                fit_quietly(model, *stack_pu(sample.positive, sample.unlabeled))
            judged = measures(model.holdout_log_odds_[1], sample.truth)
            rows.append(rounded({"table": table, "margin": margin, **judged}))
    return RunResult({"n_tables": len(TABLES)}, rows)


def measures(log_odds: Floats, truth: Flags) -> dict[str, float]:
    """Return a border's accuracies and cost, and the calibration error, in percent.

    Parameters
    ----------
    log_odds : ndarray of shape (n_u,)
    truth : ndarray of bool, shape (n_u,)
    """
    called = log_odds > 0
    accuracy = float((called == truth).mean())
    return {
        "accuracy": 100 * accuracy,
        "lost": 100 * (best_border(log_odds, truth) - accuracy),
        "balanced_accuracy": 100 * float(balanced_accuracy_score(truth, called)),
        "calibration_error": 100 * calibration_error(log_odds, truth),
    }


def means(records: list[Record], alpha: float | None = None) -> dict[float, dict[str, float]]:
    """Return the mean of every measure by margin, of one alpha or of all.

    Parameters
    ----------
    records : list of Record
    alpha : float or None
    """
    rows = [
        row
        for record in records
        if alpha is None or record.config["alpha"] == alpha
        for row in record.history
    ]
    return {
        margin: {
            name: float(np.mean([row[name] for row in rows if row["margin"] == margin]))
            for name in MEASURES
        }
        for margin in MARGINS
    }


class Gap(NamedTuple):
    """A mean difference over tables, and its standard error."""

    mean: float
    error: float


def gaps(records: list[Record]) -> dict[float, dict[str, Gap]]:
    """Return how far each margin is from none, in every measure.

    Parameters
    ----------
    records : list of Record
    """
    found: dict[tuple[float, str], dict[str, list[float]]] = {}
    for record in records:
        none = {row["table"]: row for row in record.history if row["margin"] == 0}
        for row in record.history:
            for name in MEASURES:
                of_tables = found.setdefault((row["margin"], name), {})
                gap = row[name] - none[row["table"]][name]
                of_tables.setdefault(row["table"], []).append(gap)
    return {
        margin: {name: _gap(found[margin, name]) for name in MEASURES}
        for margin in MARGINS
        if margin
    }


def _gap(of_tables: dict[str, list[float]]) -> Gap:
    means = np.array([np.mean(values) for values in of_tables.values()])
    return Gap(float(means.mean()), float(means.std(ddof=1) / len(means) ** 0.5))


def summary(records: list[Record]) -> str:
    shares = [alpha for alpha in ALPHAS if any(one.config["alpha"] == alpha for one in records)]
    rows = []
    for alpha in (*shares, None):
        for margin, found in means(records, alpha).items():
            cells = [f"{found[name]:.2f}" for name in MEASURES]
            rows.append(["all" if alpha is None else str(alpha), f"{margin:g}", *cells])
    heads = ["alpha", "margin", "accuracy", "lost", "balanced accuracy", "calibration error"]
    return (
        f"Borders of fits of two rounds on {len(TABLES)} tables, other draws than those of the "
        "study of encoders, on the hidden labels of U, in percent. Margin: standard errors by "
        "which the fit of the border takes alpha larger than it is estimated, in both rounds. "
        "Lost: points of accuracy against the best border of the same scores. The default is "
        f"{RAISED_FOR_TREES:g}.\n\n"
        + markdown_table(heads, rows)
        + "\nDifference to none (mean ± standard error over tables):\n\n"
        + "\n".join(_shown(margin, found) for margin, found in gaps(records).items())
    )


def _shown(margin: float, found: dict[str, Gap]) -> str:
    parts = [
        f"{name.replace('_', ' ')} {gap.mean:+.2f} ± {gap.error:.2f}" for name, gap in found.items()
    ]
    return f"- {margin:g}: {', '.join(parts)}"


ITEM = study(expand, run, summary)
