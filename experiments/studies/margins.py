"""Study of margins: how much larger than its estimate the border of trees should take alpha.

Default fits on the tables of the study of encoders, other draws of them than those that judge
there, at four shares alpha. An alpha too small costs the border more than one too large, so the fit
of the posterior takes it some standard errors larger. Judged on the hidden labels of U by
out-of-fold scores: points lost against the best border of the same scores, balanced accuracy, and
the calibration error. The largest margin that costs neither accuracy nor calibration, against
none, is the default, as it has the highest balanced accuracy.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import balanced_accuracy_score

from experiments.item import Config, Record, RunResult, Seeds, study
from experiments.judged import rounded
from experiments.studies.doubt import best_border
from experiments.studies.encoder_tables import TABLES, Flags, Floats, draw_sample
from experiments.studies.forms import calibration_error
from experiments.summary import markdown_table
from vqpu import VQKMeansClassifier, stack_pu
from vqpu.errors import VqpuWarning
from vqpu.priors._posterior import fit_posterior

ALPHAS = (0.05, 0.2, 0.5, 0.8)
MARGINS = (0.0, 1.0, 2.0, 3.0, 5.0)  # standard errors
SEEDS = (3, 4)
NO_COST = 0.05  # points
MEASURES = ("lost", "balanced_accuracy", "calibration_error")


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
        model = VQKMeansClassifier(encoder="trees", random_state=config["seed"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", VqpuWarning)
            model.fit(*stack_pu(sample.positive, sample.unlabeled))
        # The fit does not depend on a line through the scores, so log odds do for projections.
        positive, unlabeled = model.holdout_log_odds_
        for margin in MARGINS:
            posterior = fit_posterior(positive, unlabeled, alpha=model.alpha_, raised_by=margin)
            judged = measures(posterior.log_odds(unlabeled), sample.truth)
            rows.append(rounded({"table": table, "margin": margin, **judged}))
    return RunResult({"n_tables": len(TABLES)}, rows)


def measures(log_odds: Floats, truth: Flags) -> dict[str, float]:
    """Return what a border costs, its balanced accuracy and the calibration error, in percent.

    Parameters
    ----------
    log_odds : ndarray of shape (n_u,)
    truth : ndarray of bool, shape (n_u,)
    """
    called = log_odds > 0
    return {
        "lost": 100 * (best_border(log_odds, truth) - float((called == truth).mean())),
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


def chosen(records: list[Record]) -> float:
    """Return the largest margin that costs neither accuracy nor calibration.

    Parameters
    ----------
    records : list of Record
    """
    found = means(records)
    none = found[0.0]
    return max(
        margin
        for margin, one in found.items()
        if all(one[name] <= none[name] + NO_COST for name in ("lost", "calibration_error"))
    )


def summary(records: list[Record]) -> str:
    shares = [alpha for alpha in ALPHAS if any(one.config["alpha"] == alpha for one in records)]
    rows = []
    for alpha in (*shares, None):
        for margin, found in means(records, alpha).items():
            cells = [f"{found[name]:.2f}" for name in MEASURES]
            rows.append(["all" if alpha is None else str(alpha), f"{margin:g}", *cells])
    heads = ["alpha", "margin", "lost", "balanced accuracy", "calibration error"]
    return (
        f"Borders of default fits on {len(TABLES)} tables, other draws than those of the study of "
        "encoders, on the hidden labels of U, in percent. Margin: standard errors by which the "
        "fit of the border takes alpha larger than it is estimated. Lost: points of accuracy "
        "against the best border of the same scores. The default is the largest margin whose loss "
        f"and calibration error are within {NO_COST} of those without: {chosen(records):g}.\n\n"
        + markdown_table(heads, rows)
    )


ITEM = study(expand, run, summary)
