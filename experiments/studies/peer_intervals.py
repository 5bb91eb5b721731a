"""Study of other intervals: pulearn's bootstrap of the class prior beside our interval of alpha.

The first cases of the judging draw of the study of doubt that are tables of trees with nothing
wrong and both classes in U, by our defaults, and by pulearn's two estimators that have an interval,
on the same samples (scaled, gaps filled by means, as its logistic regression needs). Its interval
is of the share in P and U together and is turned into one of U.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from experiments.errors import FailedRunsError
from experiments.item import Config, Record, RunResult, Seeds, study
from experiments.items.peer_libraries import PEERS, peers_python
from experiments.judged import rounded
from experiments.studies.doubt_cases import (
    DRAW,
    JUDGING,
    draw_case,
    draw_data,
    draw_of,
    fit_case,
)
from experiments.studies.encoder_tables import Floats
from experiments.summary import markdown_table
from vqpu import stack_pu
from vqpu.errors import VqpuWarning

N_CASES, N_RESAMPLES = 24, 40
_SCRIPT = Path(__file__).with_name("peer_prior.py")
_NAMES = {"vqpu": "vqpu", "histogram": "pulearn, histogram match", "EM": "pulearn, EM"}


def expand(seeds: Seeds | None) -> dict[str, Config]:
    version = PEERS["pulearn"]
    if seeds is None:
        return {f"case{n}": {"number": n, "version": version} for n in _numbers_from(JUDGING)}
    return {
        f"case{number}": {"number": number, "version": version, "seed": seed}
        for seed in seeds
        for number in _numbers_from(DRAW * (1 + seed))
    }


def _numbers_from(first: int) -> list[int]:
    """Return the first cases of a draw that are tables of trees with nothing wrong."""
    numbers = []
    for number in range(first, first + draw_of(first).n_cases):
        case = draw_case(number)
        if case.method == "trees" and case.fault == "none" and 0 < case.alpha < 1:
            numbers.append(number)
    return numbers[:N_CASES]


def run(config: Config, _: Path | None) -> RunResult:
    case = draw_case(config["number"])
    drawn = draw_data(case)
    metrics: dict[str, Any] = {"usable": drawn.is_usable}
    if not drawn.is_usable:
        return RunResult(metrics, [])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VqpuWarning)
        model = fit_case(case, drawn)
    metrics["true_alpha"] = float(drawn.truth.mean())
    metrics["vqpu"] = [model.alpha_, *model.alpha_interval_]
    n_positive, n_unlabeled = len(drawn.positive), len(drawn.unlabeled)
    X, y = stack_pu(drawn.positive, drawn.unlabeled)
    for name, shares in _ask_pulearn(X, y).items():
        n_of = np.array(shares) * (n_positive + n_unlabeled) - n_positive
        metrics[name] = np.clip(n_of / n_unlabeled, 0, 1).tolist()
    return RunResult(rounded(metrics), [])


def _ask_pulearn(X: Floats, y: Any) -> dict[str, list[float]]:
    filled = make_pipeline(SimpleImputer(), StandardScaler()).fit_transform(X)
    with tempfile.TemporaryDirectory() as name:
        points = Path(name) / "points.npz"
        np.savez(points, X=filled, y=y)
        command = [str(peers_python()), "-I", str(_SCRIPT), str(points), str(N_RESAMPLES)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise FailedRunsError(f"pulearn failed: {done.stderr.strip()[-300:]}")
    return dict(json.loads(done.stdout))


def summary(records: list[Record]) -> str:
    values = [record.values for record in records if record.values.get("usable")]
    truth = np.array([value["true_alpha"] for value in values])
    rows = []
    for key, name in _NAMES.items():
        found = np.array([value[key] for value in values])
        if len(found):
            error = np.abs(found[:, 0] - truth).mean()
            held = (found[:, 1] <= truth) & (truth <= found[:, 2])
            width = np.median(found[:, 2] - found[:, 1])
            row = [f"{error:.3f}", f"{100 * held.mean():.0f} %", f"{width:.2f}", str(len(found))]
            rows.append([name, *row])
    heads = ["library", "mean distance from alpha", "90 % interval held", "median width", "fits"]
    return (
        "Tables of the study of doubt with nothing wrong. pulearn's intervals are by its bootstrap "
        f"({N_RESAMPLES} resamples).\n\n" + markdown_table(heads, rows)
    )


ITEM = study(expand, run, summary)
