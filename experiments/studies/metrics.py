"""Scores without negatives against the truth that they estimate, ours and those of two peers.

400,000 simulated points a case: one column, positives N(.75, 1), negatives N(-.75, 1), so that the
posterior and every true score are known. Called positive: above 0, between the class means.
Case-control: 100,000 in P, 300,000 in U. Single-set: 400,000 of which half of the positives are
labelled. Every score is given the true class prior. pulearn 0.2.0 and pu-toolbox 1.11.0 are
installed into a throw-away environment and given the same points.
"""

from __future__ import annotations

import json
import math
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from experiments.item import Config, Record, RunResult, Seeds, study
from experiments.items.peer_libraries import PEERS, peers_python
from experiments.summary import markdown_table
from vqpu.datasets import PUSample, make_pu
from vqpu.metrics import (
    lee_liu_score,
    proxy_accuracy,
    proxy_auc,
    pu_average_precision_score,
    pu_f1_score,
    pu_precision_score,
    pu_recall_score,
    pu_roc_auc_score,
    pu_zero_one_risk,
)

_SCRIPT = Path(__file__).with_name("peer_metrics.py")
# Not a package: both benchmarks' formula of PA, which differs from ours in single-set data.
PUBLISHED = "PU-Bench, PUBench"
LIBRARIES = ("vqpu", *PEERS, PUBLISHED)

SCENARIOS = ("case-control", "single-set")
PRIORS = (0.1, 0.3, 0.5, 0.7)
N_SAMPLES = 400_000
N_POSITIVE = 100_000
LABEL_FREQUENCY = 0.5
DISTANCE = 1.5
TOLERANCE = 0.01

QUANTITIES = {
    "recall": "recall",
    "precision": "precision",
    "f1": "F1",
    "zero_one_risk": "zero-one risk",
    "non_negative_risk": "zero-one risk, non-negative",
    "proxy_accuracy": "PA = accuracy + pi",
    "proxy_auc": "PAUC = alpha / 2 + (1 - alpha) AUC",
    "roc_auc": "AUC",
    "average_precision": "average precision",
    "area_under_lift": "area under lift",
    "lee_liu_times_prior": "Lee-Liu times pi = precision times recall",
}


def draw(scenario: str, prior: float, seed: int) -> PUSample:
    """Simulate a case; every simulated point ends up in P or in U."""
    single = {"n_samples": N_SAMPLES, "class_prior": prior, "label_frequency": LABEL_FREQUENCY}
    apart = {"n_positive": N_POSITIVE, "n_unlabeled": N_SAMPLES - N_POSITIVE, "alpha": prior}
    n_positives = round(prior * N_SAMPLES)
    if scenario == "case-control":
        n_positives = N_POSITIVE + round(prior * (N_SAMPLES - N_POSITIVE))
    truth = np.repeat([1, 0], [n_positives, N_SAMPLES - n_positives])
    rng = np.random.default_rng([seed, SCENARIOS.index(scenario), PRIORS.index(prior)])
    X = rng.standard_normal(N_SAMPLES) + DISTANCE * (truth - 0.5)
    sizes: dict[str, Any] = apart if scenario == "case-control" else single
    return make_pu(X, truth, scenario=scenario, random_state=seed, **sizes)


def true_scores(prior: float, alpha: float) -> dict[str, float]:
    """Every quantity in the population, from the normal distribution; no sampling."""
    recall = float(norm.sf(0, DISTANCE / 2))
    called = prior * recall + (1 - prior) * float(norm.sf(0, -DISTANCE / 2))
    auc = float(norm.cdf(DISTANCE / math.sqrt(2)))

    def precision_by_recall(t: float) -> float:
        found = prior * norm.sf(t, DISTANCE / 2)
        wrong = (1 - prior) * norm.sf(t, -DISTANCE / 2)
        return float(norm.pdf(t, DISTANCE / 2) * found / (found + wrong))

    risk = prior + called - 2 * prior * recall
    return {
        "recall": recall,
        "precision": prior * recall / called,
        "f1": 2 * prior * recall / (prior + called),
        "zero_one_risk": risk,
        "non_negative_risk": risk,
        "proxy_accuracy": 1 - risk + prior,
        "proxy_auc": alpha / 2 + (1 - alpha) * auc,
        "roc_auc": auc,
        "average_precision": float(quad(precision_by_recall, -8, 8)[0]),
        "area_under_lift": prior / 2 + (1 - prior) * auc,
        "lee_liu_times_prior": prior * recall**2 / called,
    }


def our_scores(y: NDArray[Any], called: NDArray[Any], x: NDArray[Any], sample: PUSample) -> Any:
    given: dict[str, Any] = {"scenario": sample.scenario, "class_prior": sample.class_prior}
    return {
        "recall": pu_recall_score(y, called),
        "precision": pu_precision_score(y, called, **given),
        "f1": pu_f1_score(y, called, **given),
        "zero_one_risk": pu_zero_one_risk(y, called, **given),
        "non_negative_risk": pu_zero_one_risk(y, called, non_negative=True, **given),
        "proxy_accuracy": proxy_accuracy(y, called, **given),
        "proxy_auc": proxy_auc(y, x),
        "roc_auc": pu_roc_auc_score(y, x, **given),
        "average_precision": pu_average_precision_score(y, x, **given),
        "lee_liu_times_prior": sample.class_prior
        * lee_liu_score(y, called, scenario=sample.scenario),
    }


def published_proxy_accuracy(y: NDArray[Any], called: NDArray[Any], sample: PUSample) -> float:
    """PA as the programs of both benchmarks have it."""
    recall = called[y == 1].mean()
    right = (called == y) if sample.scenario == "single-set" else (called == y)[y == 0]
    return float(2 * sample.class_prior * recall + right.mean())


def peer_scores(library: str, sample: PUSample) -> dict[str, float]:
    """Let a peer score the same points, in an environment of its own."""
    prior = sample.class_prior
    posterior = expit(DISTANCE * sample.X + math.log(prior / (1 - prior)))
    with tempfile.TemporaryDirectory() as name:
        points = Path(name) / "points.npz"
        np.savez(points, y=sample.y, called=(sample.X > 0).astype(np.int64), scores=posterior)
        command = [peers_python(), "-I", _SCRIPT, library, points, prior]
        done = subprocess.run(
            [str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True
        )
    return dict(json.loads(done.stdout))


def expand(seeds: Seeds | None) -> dict[str, Config]:
    configs = {}
    for library in LIBRARIES:
        for scenario in SCENARIOS:
            for prior in PRIORS:
                for seed in seeds or (0,):
                    name = library.replace(", ", "_").lower()
                    ending = "" if seeds is None else f"_seed{seed}"
                    configs[f"{name}_{scenario}_pi{prior}{ending}"] = {
                        "library": library,
                        "version": PEERS.get(library),
                        "scenario": scenario,
                        "class_prior": prior,
                        "seed": seed,
                    }
    return configs


def run(config: Config, _: Path | None) -> RunResult:
    library, prior = config["library"], config["class_prior"]
    sample = draw(config["scenario"], prior, config["seed"])
    called = (sample.X > 0).astype(np.int64)
    if library == "vqpu":
        found = our_scores(sample.y, called, sample.X, sample)
    elif library == PUBLISHED:
        found = {"proxy_accuracy": published_proxy_accuracy(sample.y, called, sample)}
    else:
        found = peer_scores(library, sample)
    metrics = {
        "alpha": sample.alpha,
        "label_frequency": sample.label_frequency,
        "n_positive": int(sample.y.sum()),
        "n_unlabeled": int((sample.y == 0).sum()),
        "scores": found,
        "truth": true_scores(prior, sample.alpha),
    }
    return RunResult(metrics, [])


def largest_errors(records: list[Record], library: str) -> dict[tuple[str, str], float]:
    """Largest distance from the truth over class priors, by scenario and quantity."""
    errors: dict[tuple[str, str], float] = {}
    for values in (record.values for record in records):
        if values["library"] == library:
            for quantity, value in values["scores"].items():
                key = (values["scenario"], quantity)
                error = abs(value - values["truth"][quantity])
                errors[key] = max(errors.get(key, 0.0), error)
    return errors


def summary(records: list[Record]) -> str:
    lines = [
        f"Scores without negatives on {N_SAMPLES:,} simulated points, by class prior pi. Bold: "
        f"further than {TOLERANCE:g} from the truth.\n"
    ]
    head = ["score", "from", *(f"pi = {prior:g}" for prior in PRIORS), "largest error"]
    for scenario in SCENARIOS:
        found = [record.values for record in records if record.config["scenario"] == scenario]
        rows = [row for quantity in QUANTITIES for row in _rows(found, quantity)]
        lines.append(f"## {scenario}\n\n{markdown_table(head, rows)}")
    lines += [
        "pulearn's and pu-toolbox's functions take one prior, documented as the probability that a "
        "sample is positive: pi. pulearn's pu_average_precision_score is compared with average "
        "precision, its name, and with the area under lift, its documentation. The row of "
        "PU-Bench and PUBench is their programs' formula, computed here. Lee-Liu's score lies "
        "between 0 and 1 / pi; times pi it has the scale of the others."
    ]
    return "\n".join(lines) + "\n"


def _rows(found: list[dict[str, Any]], quantity: str) -> list[list[str]]:
    truth = {values["class_prior"]: values["truth"][quantity] for values in found}
    told = [f"{truth[prior]:.3f}" if prior in truth else "missing" for prior in PRIORS]
    rows = [[QUANTITIES[quantity], "truth", *told, ""]]
    for library in LIBRARIES:
        scores = {
            values["class_prior"]: values["scores"][quantity]
            for values in found
            if values["library"] == library and quantity in values["scores"]
        }
        if scores:
            errors = {prior: abs(value - truth[prior]) for prior, value in scores.items()}
            cells = [
                _cell(scores[prior], errors[prior]) if prior in scores else "missing"
                for prior in PRIORS
            ]
            source = f"{library} {PEERS.get(library, '')}".strip()
            rows.append(["", source, *cells, f"{max(errors.values()):.3f}"])
    return rows


def _cell(value: float, error: float) -> str:
    return f"**{value:.3f}**" if error > TOLERANCE else f"{value:.3f}"


ITEM = study(expand, run, summary, threads=None)
