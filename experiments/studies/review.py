"""Study of reviewing: accuracy after 50, 200 and 1,000 decisions of three queues, on four tables.

A model is fitted, a queue of its unlabelled samples is answered with the truth, and the model is
fitted again: a yes is a labelled positive, confirmed in review, a no a known negative. Judged on a
fresh part of U that nobody trains on or decides about. The history has a row a queue and number of
decisions; the first, with none, is the model before.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.item import Config, Record, RunResult, Seeds, study
from experiments.judged import rounded
from experiments.studies.encoder_tables import Floats, Sample, draw_sample
from experiments.studies.encoders import judge
from experiments.summary import markdown_table
from vqpu import VQKMeansClassifier, stack_pu
from vqpu.errors import VqpuWarning

# Table and share of positives; all have more than 1,000 unlabelled samples.
TASKS = {"overlapping": 0.5, "wide": 0.3, "flchain": 0.3, "wages": 0.3}
QUEUES = ("likely", "doubtful", "random")
COUNTS = (50, 200, 1_000)
_DEFAULT_SEEDS = (0, 1, 2, 3, 4)


def expand(seeds: Seeds | None) -> dict[str, Config]:
    return {
        f"{table}_seed{seed}": {"table": table, "alpha": alpha, "seed": seed, "revision": 1}
        for table, alpha in TASKS.items()
        for seed in seeds or _DEFAULT_SEEDS
    }


def run(config: Config, _: Path | None) -> RunResult:
    sample, seed = draw_sample(config["table"], config["alpha"], config["seed"]), config["seed"]
    first = refit(sample, np.empty(0, np.int64), seed)
    scores = first.decision_function(sample.unlabeled)
    rows = [_row(first, sample, "none", np.empty(0, np.int64))]
    for queue in QUEUES:
        order = order_of(queue, scores, seed)
        for count in COUNTS:
            decided = order[: min(count, len(order) - 1)]
            rows.append(_row(refit(sample, decided, seed), sample, queue, decided))
    return RunResult(
        {"n_positive": len(sample.positive), "n_unlabeled": len(sample.unlabeled)}, rows
    )


def order_of(queue: str, scores: Floats, seed: int) -> NDArray[np.int64]:
    """Return unlabelled samples in the order in which a queue asks about them."""
    if queue == "random":
        return np.random.default_rng(seed).permutation(len(scores))
    return np.argsort(-scores if queue == "likely" else np.abs(scores), kind="stable")


def refit(sample: Sample, decided: NDArray[np.int64], seed: int) -> VQKMeansClassifier:
    """Fit with the truth of some unlabelled samples."""
    X, y = stack_pu(sample.positive, sample.unlabeled)
    rows = len(sample.positive) + decided
    known: dict[str, Any] = {}
    if len(decided):
        is_negative, is_confirmed = np.zeros((2, len(y)), dtype=bool)
        is_negative[rows] = ~sample.truth[decided]
        is_confirmed[rows] = sample.truth[decided]
        y[is_confirmed] = 1
        known = {"known_negatives": is_negative, "confirmed_positives": is_confirmed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VqpuWarning)
        return VQKMeansClassifier(random_state=seed).fit(X, y, **known)


def _row(
    model: VQKMeansClassifier, sample: Sample, queue: str, decided: NDArray[np.int64]
) -> dict[str, Any]:
    log_odds = model.decision_function(sample.fresh)
    left = np.delete(sample.truth, decided)
    accuracy = float(np.mean((log_odds > 0) == sample.fresh_truth))
    return rounded(
        {
            "queue": queue,
            "decisions": len(decided),
            "n_yes": int(sample.truth[decided].sum()),
            "accuracy": accuracy,
            **judge(log_odds, sample.fresh_truth),
            "alpha_error": model.alpha_ - float(left.mean()),
        }
    )


def summary(records: list[Record]) -> str:
    parts = [
        "Accuracy and AUC in percent on a fresh part of U, mean over seeds; the gain in accuracy "
        "over the model before the review (mean ± standard error of the paired difference); the "
        "mean error of alpha, which is that of what is left of U. Default trees, no setting was "
        'chosen here. "wide" has fewer than 1,000 clear samples, so two queues end alike.\n'
    ]
    for table, alpha in TASKS.items():
        mine = [record for record in records if record.config["table"] == table]
        if mine:
            parts.append(f"{table}, alpha {alpha}, {len(mine)} seeds:\n\n{_table_of(mine)}")
    return "\n".join(parts)


def _table_of(records: list[Record]) -> str:
    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for record in records:
        counts = (0, *(count for _ in QUEUES for count in COUNTS))
        for asked, row in zip(counts, record.history, strict=True):
            found.setdefault((row["queue"], asked), []).append(row)
    before = np.array([row["accuracy"] for row in found["none", 0]])
    rows = [["none", "0", *_cells(found["none", 0], before)]]
    for queue in QUEUES:
        rows += [[queue, f"{n:,}", *_cells(found[queue, n], before)] for n in COUNTS]
    heads = ["queue", "decisions", "yes", "accuracy", "gain", "AUC", "alpha error"]
    return markdown_table(heads, rows)


def _cells(rows: list[dict[str, Any]], before: Floats) -> list[str]:
    accuracy = np.array([row["accuracy"] for row in rows])
    gain = 100 * (accuracy - before)
    error = gain.std(ddof=1) / len(gain) ** 0.5 if len(gain) > 1 else np.nan
    mean = {
        name: float(np.mean([row[name] for row in rows])) for name in rows[0] if name != "queue"
    }
    shown = f"{gain.mean():+.2f} ± {error:.2f}" if mean["decisions"] else "-"
    return [
        f"{mean['n_yes']:.0f}", f"{100 * accuracy.mean():.2f}", shown, f"{100 * mean['auc']:.2f}",
        f"{mean['alpha_error']:+.3f}",
    ]  # fmt: skip


ITEM = study(expand, run, summary)
