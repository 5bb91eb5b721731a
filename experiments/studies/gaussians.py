"""Every classifier on Gaussians whose Bayes classifier is known.

Positives and negatives are Gaussians with unit covariance, their means apart by a stated distance
along the diagonal; 1,000 in P and 4,000 in U, case-control, 20,000 others to test on with the same
share of positives as in U. "separated" has regions that are nearly pure, which BBE and VPU assume;
"overlapping" has few. One small network each, at most 400 steps (and a warm-up before, where a
method has one); the GANs, which converge late, take 2,000 (D-GAN: for each of its two stages) and
are run on "separated" alone.
Methods that need alpha are given the true one, but for nnpu-bbe, which estimates it. Elkan-Noto
is around its default, boosting, and bagging around ten support vector machines, as in its paper.
"""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.svm import SVC

from experiments.item import Config, Record, RunResult, Seeds, study
from experiments.judged import run_method, scores
from experiments.problems import Problem
from experiments.summary import markdown_table
from vqpu.rivals import BaggingPUClassifier, ElkanNotoClassifier

SETTINGS = {"separated": (3, 4.0), "overlapping": (5, 2.0)}  # columns, distance of the means
ALPHAS = (0.3, 0.6)
SEEDS = range(10)
N_POSITIVE, N_UNLABELED, N_TEST = 1_000, 4_000, 20_000
NETWORK = {"n_vectors": 4, "vector_dim": 16}
BUDGET = {"n_members": 1, "max_steps": 400}
GAN_BUDGETS: dict[str, dict[str, Any]] = {
    "observer-gan": {"max_steps": 2_000},
    "d-gan": {"max_steps": 2_000, "gan_steps": 2_000},
}
# Dist-PU's records were made with as many of P as of U in a batch.
OWN: dict[str, dict[str, Any]] = {"distpu": {"batches": "balanced"}}
TOLERANCE, GAN_TOLERANCE = 2.0, 5.0  # points below Bayes

# name: method, whether it is given alpha
METHODS = {
    "vq": ("vq", False),
    "naive": ("naive", False),
    "oracle": ("oracle", False),
    "tedn": ("tedn", False),
    "cvir": ("cvir", True),
    "nnpu": ("nnpu", True),
    "nnpu-bbe": ("nnpu", False),
    "upu": ("upu", True),
    "distpu": ("distpu", True),
    "vpu": ("vpu", False),
    "observer-gan": ("observer-gan", False),
    "d-gan": ("d-gan", False),
    "elkan-noto": ("elkan-noto", False),
    "bagging": ("bagging", True),
}
WRAPPING: dict[str, Any] = {
    "elkan-noto": ElkanNotoClassifier(),
    "bagging": BaggingPUClassifier(SVC(), n_estimators=10),
}

Floats = NDArray[np.float64]


def draw(setting: str, n_positive: int, n_negative: int, rng: np.random.Generator) -> Floats:
    """Return samples, positives first."""
    width, distance = SETTINGS[setting]
    samples = rng.normal(size=(n_positive + n_negative, width))
    samples[:n_positive] += distance / math.sqrt(width)
    return samples


def bayes_log_odds(samples: Floats, setting: str, alpha: float) -> Floats:
    """Return the true log odds of being positive where a share alpha is."""
    width, distance = SETTINGS[setting]
    along = samples.sum(axis=1) / math.sqrt(width)
    return np.asarray(distance * along - distance**2 / 2 + math.log(alpha / (1 - alpha)))


def make_gaussians(setting: str, alpha: float, seed: int) -> Problem:
    rng = np.random.default_rng([seed, round(100 * alpha)])
    n_hidden, n_test = round(alpha * N_UNLABELED), round(alpha * N_TEST)
    X = draw(setting, N_POSITIVE + n_hidden, N_UNLABELED - n_hidden, rng)
    X_test = draw(setting, n_test, N_TEST - n_test, rng)
    return Problem(
        X=X,
        y=(np.arange(len(X)) < N_POSITIVE).astype(np.int64),
        truth=(np.arange(len(X)) < N_POSITIVE + n_hidden).astype(np.int64),
        alpha=alpha,
        X_test=X_test,
        y_test=(np.arange(N_TEST) < n_test).astype(np.int64),
        augment="none",
    )


def expand(seeds: Seeds | None) -> dict[str, Config]:
    return {
        f"{setting}_alpha{alpha}_{name}_seed{seed}": _config(setting, alpha, name, seed)
        for setting in SETTINGS
        for alpha in ALPHAS
        for name in METHODS
        if setting == "separated" or name not in GAN_BUDGETS
        for seed in seeds or SEEDS
    }


def _config(setting: str, alpha: float, name: str, seed: int) -> Config:
    method, is_given_alpha = METHODS[name]
    budget = {} if method in WRAPPING else {**NETWORK, **GAN_BUDGETS.get(name, BUDGET)}
    return {
        "setting": setting,
        "columns": SETTINGS[setting][0],
        "distance": SETTINGS[setting][1],
        "n_positive": N_POSITIVE,
        "n_unlabeled": N_UNLABELED,
        "n_test": N_TEST,
        "alpha": alpha,
        "name": name,
        "method": method,
        "parameters": {
            **budget,
            **OWN.get(name, {}),
            **({"alpha": alpha} if is_given_alpha else {}),
        },
        "seed": seed,
    }


def run(config: Config, _: Path | None) -> RunResult:
    problem = make_gaussians(config["setting"], config["alpha"], config["seed"])
    fit = _run_wrapping if config["method"] in WRAPPING else run_method
    method, seed, parameters = config["method"], config["seed"], config["parameters"]
    metrics = fit(method, problem, seed=seed, parameters=parameters).metrics
    is_positive = bayes_log_odds(problem.X_test, config["setting"], config["alpha"]) > 0
    bayes = float(np.mean(is_positive == (problem.y_test == 1)))
    return RunResult({**metrics, "bayes_accuracy": bayes}, [])


def _run_wrapping(
    method: str, problem: Problem, *, seed: int, parameters: dict[str, Any]
) -> RunResult:
    """Fit a method that is around a scikit-learn classifier."""
    started = time.perf_counter()
    model = clone(WRAPPING[method]).set_params(random_state=seed, **parameters)
    model.fit(problem.X, problem.y)
    seconds = round(time.perf_counter() - started, 1)
    return RunResult({"seconds": seconds, **scores(model.predict, problem)}, [])


def tolerance(name: str) -> float:
    """Return how many points below Bayes are asked of a method."""
    return GAN_TOLERANCE if name in GAN_BUDGETS else TOLERANCE


def mean_gaps(records: list[Record]) -> dict[tuple[str, float, str], float]:
    """Return the mean points of accuracy above Bayes, by setting, alpha and method."""
    return {key: _mean_gap(found) for key, found in _groups(records).items()}


def _groups(records: list[Record]) -> dict[tuple[str, float, str], list[dict[str, Any]]]:
    groups: dict[tuple[str, float, str], list[dict[str, Any]]] = {}
    for record in records:
        key = record.config["setting"], record.config["alpha"], record.config["name"]
        groups.setdefault(key, []).append(record.values)
    return groups


def _mean_gap(found: list[dict[str, Any]]) -> float:
    gaps = [100 * (values["test_accuracy"] - values["bayes_accuracy"]) for values in found]
    return float(np.mean(gaps))


def summary(records: list[Record]) -> str:
    told = "; ".join(f"{name}: {d}-d, distance {far:g}" for name, (d, far) in SETTINGS.items())
    rows = []
    for (setting, alpha, name), found in sorted(_groups(records).items(), key=_order):
        accuracy = 100 * np.array([values["test_accuracy"] for values in found])
        bayes = 100 * np.mean([values["bayes_accuracy"] for values in found])
        shares = [values["alpha_estimate"] for values in found if "alpha_estimate" in values]
        gap = _mean_gap(found)
        rows.append(
            [
                setting,
                str(alpha),
                name,
                f"{accuracy.mean():.2f} ± {accuracy.std():.2f}",
                f"{bayes:.2f}",
                f"{gap:+.2f}",
                "yes" if gap >= -tolerance(name) else "NO",
                f"{np.mean(shares):.3f}" if shares else "-",
                f"{np.mean([values['seconds'] for values in found]):.1f}",
                str(len(found)),
            ]
        )
    head = ["setting", "alpha", "method", "accuracy %", "Bayes %", "gap", "reached"]
    return (
        f"Test accuracy, P {N_POSITIVE}, U {N_UNLABELED}, Gaussians {told}. One network of "
        f"{NETWORK['n_vectors']} vectors, at most {BUDGET['max_steps']} steps, GANs 2000. Gap: "
        "points above the Bayes classifier on the same test samples; asked for: at most "
        f"{TOLERANCE:g} below, GANs {GAN_TOLERANCE:g}.\n\n"
        + markdown_table([*head, "alpha used or found", "seconds", "seeds"], rows)
    )


def _order(item: tuple[tuple[str, float, str], Any]) -> tuple[int, float, int]:
    setting, alpha, name = item[0]
    return list(SETTINGS).index(setting), alpha, list(METHODS).index(name)


ITEM = study(expand, run, summary)
