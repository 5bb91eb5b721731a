"""Class-prior estimators on Gaussians whose Bayes classifier is known.

Positives and negatives are Gaussians with unit covariance, their means apart by a stated distance
along the diagonal; 1,000 in P and 4,000 in U, case-control. "separated" overlaps but has regions
that are nearly pure, as every method here assumes; with fewer or more columns TIcE, whose delta was
settled on "separated", and Elkan-Noto miss; "overlapping" is harder and fewer are right.
Methods on scores are also given logistic regression's and the true s(x), which shows what is owed
to the classifier. The history has a row an estimate.
"""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments.item import Config, Record, RunResult, Seeds, study
from experiments.summary import markdown_table
from vqpu.priors import PRIOR_METHODS, cross_fit_scores, estimate_prior

SETTINGS = {  # columns, distance of the means
    "separated": (3, 4.0),
    "separated-2d": (2, 4.0),
    "separated-5d": (5, 4.0),
    "overlapping": (5, 2.0),
}
ALPHAS = (0.3, 0.6)
SEEDS = range(10)
N_POSITIVE, N_UNLABELED = 1_000, 4_000
SCORERS = ("boosting", "logistic", "bayes")
ON_SAMPLES = ("km2", "tice")
TOLERANCE = 0.05

Floats = NDArray[np.float64]


def draw(setting: str, alpha: float, seed: int) -> tuple[Floats, Floats]:
    """Return P and U, the latter with exactly a share alpha of positives."""
    width, distance = SETTINGS[setting]
    rng = np.random.default_rng([seed, round(100 * alpha)])
    mean = np.full(width, distance / math.sqrt(width))
    n_hidden = round(alpha * N_UNLABELED)
    negative = rng.normal(size=(N_UNLABELED - n_hidden, width))
    positive = rng.normal(size=(N_POSITIVE + n_hidden, width)) + mean
    return positive[:N_POSITIVE], np.concatenate([positive[N_POSITIVE:], negative])


def true_scores(samples: Floats, setting: str, alpha: float) -> Floats:
    """Return s(x) = p_P / (p_P + p_U), p_U = alpha p_P + (1 - alpha) p_N."""
    width, distance = SETTINGS[setting]
    along = samples.sum(axis=1) / math.sqrt(width)
    negative_over_positive = np.exp(distance**2 / 2 - distance * along)
    return np.asarray(1 / (1 + alpha + (1 - alpha) * negative_over_positive))


def score(
    scorer: str, sets: tuple[Floats, Floats], setting: str, alpha: float, seed: int
) -> tuple[Floats, Floats]:
    if scorer == "bayes":
        return true_scores(sets[0], setting, alpha), true_scores(sets[1], setting, alpha)
    if scorer == "boosting":
        return cross_fit_scores(*sets, random_state=seed)
    logistic = make_pipeline(StandardScaler(), LogisticRegression())
    return cross_fit_scores(*sets, classifier=logistic, random_state=seed)


def expand(seeds: Seeds | None) -> dict[str, Config]:
    return {
        f"{setting}_alpha{alpha}_seed{seed}": {
            "setting": setting,
            "columns": columns,
            "distance": distance,
            "alpha": alpha,
            "seed": seed,
            "n_positive": N_POSITIVE,
            "n_unlabeled": N_UNLABELED,
            "scenario": "case-control",
        }
        for setting, (columns, distance) in SETTINGS.items()
        for alpha in ALPHAS
        for seed in seeds or SEEDS
    }


def run(config: Config, _: Path | None) -> RunResult:
    setting, alpha, seed = config["setting"], config["alpha"], config["seed"]
    sets = draw(setting, alpha, seed)
    inputs = {scorer: score(scorer, sets, setting, alpha, seed) for scorer in SCORERS}
    estimates = []
    for method in PRIOR_METHODS:
        given = {"samples": sets} if method in ON_SAMPLES else inputs
        for kind, pair in given.items():
            start = time.perf_counter()
            found = estimate_prior(method, *pair, random_state=seed)
            seconds = round(time.perf_counter() - start, 3)
            entry = {"method": method, "input": kind, "alpha": found.alpha}
            estimates.append({**entry, "interval": found.interval, "seconds": seconds})
    return RunResult({}, estimates)


def collect(records: list[Record]) -> dict[tuple[str, float, str, str], list[Any]]:
    """Return the estimates of all seeds, by setting, alpha, method and input."""
    table: dict[tuple[str, float, str, str], list[Any]] = {}
    for record in records:
        for entry in record.history:
            key = record.config["setting"], record.config["alpha"], entry["method"], entry["input"]
            table.setdefault(key, []).append(entry)
    return table


def summary(records: list[Record]) -> str:
    rows, missed = [], []
    for (setting, alpha, method, kind), entries in sorted(collect(records).items(), key=_order):
        values = np.array([entry["alpha"] for entry in entries])
        error = float(values.mean()) - alpha
        is_within = abs(error) <= TOLERANCE
        if not is_within and kind in ("boosting", "samples"):
            missed.append(f"{method} ({setting}, alpha {alpha}: {error:+.3f})")
        rows.append(
            [
                setting,
                str(alpha),
                method,
                kind,
                f"{values.mean():.3f} ± {values.std():.3f}",
                f"{error:+.3f}",
                "yes" if is_within else "NO",
                _coverage(entries, alpha),
                str(len(entries)),
            ]
        )
    head = ["setting", "alpha", "method", "input", "mean ± std", "error", "within .05"]
    told = "; ".join(f"{name}: {d}-d, distance {far:g}" for name, (d, far) in SETTINGS.items())
    return (
        f"Estimates of alpha, P {N_POSITIVE}, U {N_UNLABELED}, Gaussians {told}. The default input "
        "is boosting (cross-fitted) or samples; bayes is the true s(x). In interval: seeds whose "
        "interval holds alpha.\n\n"
        + markdown_table([*head, "in interval", "seeds"], rows)
        + f"\nMore than .05 off on average, by default: {', '.join(missed) or 'none'}.\n"
    )


def _order(item: tuple[tuple[str, float, str, str], list[Any]]) -> tuple[int, float, int, str]:
    setting, alpha, method, kind = item[0]
    kinds = (*SCORERS, "samples")
    return (
        list(SETTINGS).index(setting),
        alpha,
        PRIOR_METHODS.index(method),
        str(kinds.index(kind)),
    )


def _coverage(entries: list[Any], alpha: float) -> str:
    intervals = [entry["interval"] for entry in entries if entry["interval"] is not None]
    if not intervals:
        return "-"
    return f"{sum(low <= alpha <= high for low, high in intervals)} of {len(intervals)}"


ITEM = study(expand, run, summary)
