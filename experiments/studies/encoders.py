"""Study of encoders for tables: trees with one to three rounds, the MLP, and boosted-tree peers.

28 tables, four shares alpha, 15 to 5,000 labelled positives. Judged on the hidden labels of U (by
out-of-fold scores where a method has them) and of a fresh part of U that no method trains on. The
history has a row a method: AUC, average precision, balanced accuracy, expected calibration error,
the estimate of alpha and the seconds of ``fit``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import average_precision_score, balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from experiments.item import Config, Record, RunResult, Seeds, study
from experiments.items.peer_libraries import ask_peer, peers_python, standardized
from experiments.judged import fit_quietly, rounded, scores_of_unlabeled
from experiments.studies.encoder_losses import losses, sizes_of
from experiments.studies.encoder_tables import TABLES, Floats, Sample, draw_sample
from experiments.studies.forms import calibration_error
from experiments.summary import markdown_table
from vqpu import VQKMeansClassifier, stack_pu

CHOSEN_HERE = (
    "How trees are grown (thresholds at random, leaves, shrinkage, rate, mean of rounds) was "
    "chosen among about 20 settings by other samples of the same tables, seed 0, alpha .2, .5 and "
    "in part .8, so trees may still be flattered a little; the peers have their defaults, and the "
    "seconds of other libraries hold the start of their process. Seed 1 is shown.\n\n"
)
LOSSES = (
    "Where a method without true labels has a higher AUC or average precision than trees-2, the "
    "default, by more than half a point. Leads are of AUC / average precision in points; the "
    "standard error is that of the default's own scores on the fresh part, by the number of its "
    "positives and negatives. Reasons follow from these numbers: *few*, the rival gives every "
    "sample one score, and so few rows say nothing; *chance*, the mean lead over this "
    "draw and another of the same cell (seed 2) is under one standard error, or the rival is "
    "boosted trees and the same with all labels have no such lead; *caution*, they have: the "
    "border is sharp, and thresholds drawn at random blur it; *form*, the rival is no trees and "
    "ahead of boosted trees with all labels as well: a smooth function suits the table; *labels*, "
    "none of these.\n\n"
)
ALPHAS = (0.2, 0.5, 0.05, 0.8)
# The MLP takes a minute or more a table, so it runs where that is bearable.
MLP_TABLES = (
    "breast-cancer", "wine", "tiny", "separated", "overlapping", "wide", "biopsy", "hdma",
    "participation", "medpar",
)  # fmt: skip
# pulearn's naive Bayes and both nnPUs were behind these on every table of the item ``peers``.
PEER_METHODS = (
    ("pulearn", "elkan-noto"), ("pulearn", "bagging"), ("pu-toolbox", "elkan-noto"),
    ("pu-toolbox", "self-pu"),
)  # fmt: skip
PATIENCE = 300.0
DEFAULT = "trees-2"
SEEDS = (1,)  # how trees are grown was chosen with seed 0
# Another draw of every cell, which says whether a lead was that of one draw.
AGAIN, METHODS_AGAIN = 2, (DEFAULT, "naive", "elkan-noto", "oracle")
COLUMNS = ("auc", "average_precision", "balanced_accuracy", "calibration_error")


class PeerFailedError(Exception):
    """Another library's method gave up."""


class Scored(NamedTuple):
    """Log odds of U and of the fresh part, and what the method thinks alpha is."""

    unlabeled: Floats
    fresh: Floats
    alpha: float | None = None


def vq(**parameters: Any) -> Callable[[Sample, float, int], Scored]:
    def fit(sample: Sample, _: float, seed: int) -> Scored:
        X, y = stack_pu(sample.positive, sample.unlabeled)
        model = VQKMeansClassifier(random_state=seed).set_params(**parameters)
        fit_quietly(model, X, y)
        return Scored(
            scores_of_unlabeled(model, sample.unlabeled),
            model.decision_function(sample.fresh),
            model.alpha_,
        )

    return fit


def naive(sample: Sample, _: float, seed: int) -> Scored:
    X, y = stack_pu(sample.positive, sample.unlabeled)
    model = HistGradientBoostingClassifier(random_state=seed).fit(X, y)
    return Scored(*map(model.decision_function, (sample.unlabeled, sample.fresh)))


def elkan_noto(sample: Sample, _: float, seed: int) -> Scored:
    """Cross-fitted, with the odds of being a positive among U, (1 - c) / c * g / (1 - g)."""
    X, y = stack_pu(sample.positive, sample.unlabeled)
    n_folds = min(5, len(sample.positive), len(sample.unlabeled))
    out_of_fold, fresh = np.zeros(len(X)), np.zeros(len(sample.fresh))
    for train, rest in StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(X, y):
        model = HistGradientBoostingClassifier(random_state=seed).fit(X[train], y[train])
        out_of_fold[rest] = model.predict_proba(X[rest])[:, 1]
        fresh += model.predict_proba(sample.fresh)[:, 1] / n_folds
    c = float(out_of_fold[y == 1].mean())

    def log_odds(labeled: Floats) -> Floats:
        share = np.clip(labeled, 1e-12, 1 - 1e-12)
        found = np.clip((1 - c) / c * share / (1 - share), 1e-12, 1 - 1e-9)
        # Beyond certainty the order is kept: ranks must not suffer from the clip.
        return np.asarray(np.log(found / (1 - found)) + 1e-6 * share)

    unlabeled = log_odds(out_of_fold[y == 0])
    return Scored(unlabeled, log_odds(fresh), float((1 / (1 + np.exp(-unlabeled))).mean()))


def oracle(sample: Sample, alpha: float, seed: int) -> Scored:
    """Supervised, on P and U, weighted so that the share of positives is that of U."""
    X, y = stack_pu(sample.positive, sample.unlabeled)
    truth = y == 1
    truth[y == 0] = sample.truth
    weight = np.where(truth, alpha / truth.mean(), (1 - alpha) / (1 - truth.mean()))
    model = HistGradientBoostingClassifier(random_state=seed).fit(X, truth, sample_weight=weight)
    return Scored(*map(model.decision_function, (sample.unlabeled, sample.fresh)))


def peer(library: str, method: str) -> Callable[[Sample, float, int], Scored]:
    """Return a method of another library with its defaults, on standardised columns."""

    def fit(sample: Sample, _: float, seed: int) -> Scored:
        X, y = stack_pu(sample.positive, sample.unlabeled)
        X, X_test = standardized(X, np.vstack([sample.unlabeled, sample.fresh]))
        found = ask_peer(
            library, method, X, y.astype(np.int64), X_test,
            seed=seed, timeout=PATIENCE, python=peers_python(), threads=1,
        )  # fmt: skip
        if found.called is None:
            raise PeerFailedError(found.failure)
        # One that has no scores ranks by its labels.
        scores = np.where(found.called, 1.0, -1.0) if found.scores is None else found.scores
        n = len(sample.unlabeled)
        return Scored(scores[:n], scores[n:], found.prior)

    return fit


METHODS: dict[str, Callable[[Sample, float, int], Scored]] = {
    "trees": vq(encoder="trees", n_rounds=1),
    "trees-2": vq(encoder="trees", n_rounds=2),
    "trees-3": vq(encoder="trees", n_rounds=3),
    "naive": naive,
    "elkan-noto": elkan_noto,
    "oracle": oracle,
    "mlp": vq(encoder="mlp"),
    **{f"{library} {method}": peer(library, method) for library, method in PEER_METHODS},
}
PEERS = tuple(f"{library} {method}" for library, method in PEER_METHODS)
QUICK = tuple(name for name in METHODS if name != "mlp" and name not in PEERS)


def expand(seeds: Seeds | None) -> dict[str, Config]:
    quick = {
        f"{table}_alpha{alpha}_seed{seed}": _config(table, alpha, seed, QUICK)
        for alpha in ALPHAS
        for table in TABLES
        for seed in seeds or SEEDS
    }
    slow = {
        f"{table}_alpha{alpha}_seed{seed}_mlp": _config(table, alpha, seed, ("mlp",))
        for alpha in (0.2, 0.5)
        for table in MLP_TABLES
        for seed in seeds or SEEDS
    }
    foreign = {
        f"{table}_alpha{alpha}_seed{seed}_peers": _config(table, alpha, seed, PEERS)
        for alpha in (0.2, 0.5)
        for table in TABLES
        for seed in seeds or SEEDS
    }
    again = {
        f"{table}_alpha{alpha}_seed{AGAIN}_again": _config(table, alpha, AGAIN, METHODS_AGAIN)
        for alpha in ALPHAS
        for table in TABLES
    }
    return quick | slow | foreign | (again if seeds is None else {})


def _config(table: str, alpha: float, seed: int, methods: tuple[str, ...]) -> Config:
    return {"table": table, "alpha": alpha, "seed": seed, "methods": list(methods)}


def run(config: Config, _: Path | None) -> RunResult:
    sample = draw_sample(config["table"], config["alpha"], config["seed"])
    rows = []
    failures = {}
    for method in config["methods"]:
        began = time.perf_counter()
        try:
            scored = METHODS[method](sample, config["alpha"], config["seed"])
        except PeerFailedError as error:
            failures[method] = str(error)
            continue
        row: dict[str, Any] = {"method": method, "seconds": time.perf_counter() - began}
        if scored.alpha is not None:
            row["alpha_estimate"] = scored.alpha
        row |= {f"u_{k}": v for k, v in judge(scored.unlabeled, sample.truth).items()}
        rows.append(rounded(row | judge(scored.fresh, sample.fresh_truth)))
    sizes = ("positive", "unlabeled", "fresh")
    counts = {f"n_{name}": len(getattr(sample, name)) for name in sizes}
    metrics: dict[str, Any] = {**counts, "n_columns": sample.positive.shape[1]}
    return RunResult(metrics | ({"failures": failures} if failures else {}), rows)


def judge(log_odds: Floats, truth: NDArray[np.bool_]) -> dict[str, float]:
    """Return all scores of some samples.

    Parameters
    ----------
    log_odds : ndarray of shape (n,)
    truth : ndarray of bool, shape (n,)
    """
    return {
        "auc": float(roc_auc_score(truth, log_odds)),
        "average_precision": float(average_precision_score(truth, log_odds)),
        "balanced_accuracy": float(balanced_accuracy_score(truth, log_odds > 0)),
        "calibration_error": calibration_error(log_odds, truth),
    }


Cells = dict[tuple[str, float], dict[str, dict[str, float]]]


def cells_of(records: list[Record]) -> Cells:
    """Return the rows of all methods by table and alpha, mean over seeds."""
    found: dict[tuple[str, float], dict[str, list[dict[str, Any]]]] = {}
    for record in records:
        cell = found.setdefault((record.config["table"], record.config["alpha"]), {})
        for row in record.history:
            cell.setdefault(row["method"], []).append(row)
    return {
        key: {
            method: {
                name: float(np.mean([row[name] for row in rows]))
                for name in rows[0]
                if name != "method"
            }
            for method, rows in cell.items()
        }
        for key, cell in sorted(found.items())
    }


def summary(records: list[Record]) -> str:
    is_again = [record.config["methods"] == list(METHODS_AGAIN) for record in records]
    shown = [record for record, again in zip(records, is_again, strict=True) if not again]
    other = [record for record, again in zip(records, is_again, strict=True) if again]
    cells = cells_of(shown)
    methods = [name for name in METHODS if any(name in cell for cell in cells.values())]
    heads = ["table", "alpha", *methods]
    rows = [
        [table, str(alpha), *(_shown(cell.get(method)) for method in methods)]
        for (table, alpha), cell in cells.items()
    ]
    return (
        CHOSEN_HERE
        + "Means over tables and shares, on a fresh part of U, in percent, and on U itself in "
        "brackets (out-of-fold but for naive and oracle, which score what they were fitted on):\n\n"
        + _means(cells, methods)
        + "\nDifference to trees of one round on the cells that both have (mean ± standard error; "
        "below, where the classes overlap: the oracle's AUC is under 95):\n\n"
        + "\n".join(_difference(cells, name) for name in methods if name != "trees")
        + "\n\n"
        + LOSSES
        + losses(cells, sizes_of(shown), [cells_of(other)], DEFAULT)
        + "\nAUC / average precision / balanced accuracy / calibration error on the fresh "
        "part:\n\n" + markdown_table(heads, rows)
    )


def _means(cells: Cells, methods: list[str]) -> str:
    rows = []
    for method in methods:
        own = [cell[method] for cell in cells.values() if method in cell]
        fresh, seen = (
            [100 * np.mean([one[f"{start}{name}"] for one in own]) for name in COLUMNS]
            for start in ("", "u_")
        )
        shown = [f"{a:.2f} ({b:.2f})" for a, b in zip(fresh, seen, strict=True)]
        seconds = f"{np.median([one['seconds'] for one in own]):.2f}"
        rows.append([method, *shown, seconds, str(len(own))])
    names = [name.replace("_", " ") for name in COLUMNS]
    return markdown_table(["method", *names, "seconds, median", "cells"], rows)


def _difference(cells: Cells, method: str) -> str:
    both = [cell for cell in cells.values() if method in cell and "trees" in cell]
    overlapping = [cell for cell in both if cell.get("oracle", {"auc": 1.0})["auc"] < 0.95]
    return f"- {method}: {_gaps(both, method)}\n  - overlapping: {_gaps(overlapping, method)}"


def _gaps(cells: list[dict[str, dict[str, float]]], method: str) -> str:
    if not cells:
        return "none"
    parts = []
    for column in COLUMNS:
        gaps = 100 * np.array([cell[method][column] - cell["trees"][column] for cell in cells])
        error = f" ± {gaps.std(ddof=1) / len(gaps) ** 0.5:.2f}" if len(gaps) > 1 else ""
        parts.append(f"{column.replace('_', ' ')} {gaps.mean():+.2f}{error}")
    return f"{', '.join(parts)} ({len(cells)} cells)"


def _shown(found: dict[str, float] | None) -> str:
    if found is None:
        return "-"
    return " / ".join(f"{100 * found[column]:.1f}" for column in COLUMNS)


ITEM = study(expand, run, summary)
