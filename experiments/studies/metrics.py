"""Scores without negatives against the truth that they estimate, ours and those of two peers.

usage: python benchmarks/metrics.py

400,000 simulated points a case: one column, positives N(.75, 1), negatives N(-.75, 1), so that the
posterior and every true score are known. Called positive: above 0, between the class means.
Case-control: 100,000 in P, 300,000 in U. Single-set: 400,000 of which half of the positives are
labelled. Every score is given the true class prior. pulearn 0.2.0 and pu-toolbox 1.11.0 are
installed into a throw-away environment and given the same points. One record a library and case in
results/metrics; what is there is skipped.
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

from experiments import environment, write_json, write_summary
from experiments.items._peers import PEERS, peers_python
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

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "results" / "metrics"
# Not a package: both benchmarks' formula of PA, which differs from ours in single-set data.
PUBLISHED = "PU-Bench, PUBench"
LIBRARIES = ("vqpu", *PEERS, PUBLISHED)

SCENARIOS = ("case-control", "single-set")
PRIORS = (0.1, 0.3, 0.5, 0.7)
CASES = [(scenario, prior) for scenario in SCENARIOS for prior in PRIORS]
N_SAMPLES = 400_000
N_POSITIVE = 100_000
LABEL_FREQUENCY = 0.5
DISTANCE = 1.5
TOLERANCE = 0.01
SEED = 0

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


def draw(scenario: str, prior: float) -> PUSample:
    """Simulate a case; every simulated point ends up in P or in U."""
    single = {"n_samples": N_SAMPLES, "class_prior": prior, "label_frequency": LABEL_FREQUENCY}
    apart = {"n_positive": N_POSITIVE, "n_unlabeled": N_SAMPLES - N_POSITIVE, "alpha": prior}
    n_positives = round(prior * N_SAMPLES)
    if scenario == "case-control":
        n_positives = N_POSITIVE + round(prior * (N_SAMPLES - N_POSITIVE))
    truth = np.repeat([1, 0], [n_positives, N_SAMPLES - n_positives])
    rng = np.random.default_rng([SEED, SCENARIOS.index(scenario), PRIORS.index(prior)])
    X = rng.standard_normal(N_SAMPLES) + DISTANCE * (truth - 0.5)
    sizes: dict[str, Any] = apart if scenario == "case-control" else single
    return make_pu(X, truth, scenario=scenario, random_state=SEED, **sizes)


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


def run_ours() -> None:
    for scenario, prior in CASES:
        sample = draw(scenario, prior)
        called = (sample.X > 0).astype(np.int64)
        found = {
            "vqpu": our_scores(sample.y, called, sample.X, sample),
            PUBLISHED: {"proxy_accuracy": published_proxy_accuracy(sample.y, called, sample)},
        }
        for library, values in found.items():
            write_json(record_path(library, scenario, prior), make_record(library, sample, values))
        print(scenario, prior, flush=True)


def run_peers() -> None:
    """Let the peers score the same points, in an environment of their own."""
    python = str(peers_python())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for scenario, prior in CASES:
            sample = draw(scenario, prior)
            points = folder / "points.npz"
            posterior = expit(DISTANCE * sample.X + math.log(prior / (1 - prior)))
            np.savez(points, y=sample.y, called=(sample.X > 0).astype(np.int64), scores=posterior)
            script = str(ROOT / "benchmarks" / "metrics_of_peers.py")
            done = subprocess.run(
                [python, "-I", script, str(points), str(sample.class_prior)],
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            )
            for library, values in json.loads(done.stdout).items():
                record = make_record(library, sample, values)
                write_json(record_path(library, scenario, prior), record)
            print("peers", scenario, prior, flush=True)


def make_record(library: str, sample: PUSample, values: dict[str, float]) -> dict[str, Any]:
    return {
        "library": library,
        "version": PEERS.get(library),
        "scenario": sample.scenario.value,
        "class_prior": sample.class_prior,
        "alpha": sample.alpha,
        "label_frequency": sample.label_frequency,
        "n_positive": int(sample.y.sum()),
        "n_unlabeled": int((sample.y == 0).sum()),
        "seed": SEED,
        "scores": values,
        "truth": true_scores(sample.class_prior, sample.alpha),
        "environment": environment(),
    }


def record_path(library: str, scenario: str, prior: float) -> Path:
    name = library.replace(", ", "_").lower()
    return RESULTS / f"{name}_{scenario}_pi{prior}.json"


def largest_errors(records: list[dict[str, Any]], library: str) -> dict[tuple[str, str], float]:
    """Largest distance from the truth over class priors, by scenario and quantity."""
    errors: dict[tuple[str, str], float] = {}
    for record in records:
        if record["library"] == library:
            for quantity, value in record["scores"].items():
                key = (record["scenario"], quantity)
                error = abs(value - record["truth"][quantity])
                errors[key] = max(errors.get(key, 0.0), error)
    return errors


def summary(records: list[dict[str, Any]]) -> str:
    lines = [
        f"Scores without negatives on {N_SAMPLES:,} simulated points, by class prior pi. Bold: "
        f"further than {TOLERANCE:g} from the truth.\n"
    ]
    for scenario in SCENARIOS:
        priors = " | ".join(f"pi = {prior:g}" for prior in PRIORS)
        lines += [
            f"## {scenario}\n",
            f"| score | from | {priors} | largest error |",
            "|" + " --- |" * (3 + len(PRIORS)),
        ]
        of_scenario = [record for record in records if record["scenario"] == scenario]
        for quantity, title in QUANTITIES.items():
            lines += _rows(of_scenario, quantity, title)
        lines.append("")
    lines += [
        "pulearn's and pu-toolbox's functions take one prior, documented as the probability that a "
        "sample is positive: pi. pulearn's pu_average_precision_score is compared with average "
        "precision, its name, and with the area under lift, its documentation. The row of "
        "PU-Bench and PUBench is their programs' formula, computed here. Lee-Liu's score lies "
        "between 0 and 1 / pi; times pi it has the scale of the others."
    ]
    return "\n".join(lines) + "\n"


def _rows(records: list[dict[str, Any]], quantity: str, title: str) -> list[str]:
    by_prior = {record["class_prior"]: record["truth"][quantity] for record in records}
    truths = [f"{by_prior[prior]:.3f}" if prior in by_prior else "missing" for prior in PRIORS]
    rows = [f"| {title} | truth | " + " | ".join(truths) + " | |"]
    for library in LIBRARIES:
        found = [r for r in records if r["library"] == library and quantity in r["scores"]]
        if not found:
            continue
        values = {record["class_prior"]: record["scores"][quantity] for record in found}
        errors = {prior: abs(value - by_prior[prior]) for prior, value in values.items()}
        cells = [
            _cell(values[prior], errors[prior]) if prior in values else "missing"
            for prior in PRIORS
        ]
        source = f"{library} {PEERS.get(library, '')}".strip()
        rows.append(f"| | {source} | " + " | ".join(cells) + f" | {max(errors.values()):.3f} |")
    return rows


def _cell(value: float, error: float) -> str:
    return f"**{value:.3f}**" if error > TOLERANCE else f"{value:.3f}"


def main() -> None:
    for libraries, run in ((("vqpu", PUBLISHED), run_ours), (tuple(PEERS), run_peers)):
        paths = [record_path(library, *case) for library in libraries for case in CASES]
        if not all(path.exists() for path in paths):
            run()
    write_summary(RESULTS, summary)


if __name__ == "__main__":
    main()
