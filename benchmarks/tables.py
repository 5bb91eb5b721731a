"""Fits of tables beside what a user would pick instead, as ratios within one run.

usage: python benchmarks/tables.py [--threads 2] [--record results/speed-of-tables]

Prints one JSON object; with --record also writes it as ``record.json`` there.
``fit_over_boosting_N``: a default fit of N rows (a quarter of them labelled positives) over ONE
``HistGradientBoostingClassifier`` fit of P against U on the same rows, at most 12.
``fit_4n_over_n``: at most 4.4. ``seconds_of_300``: inside ``fit``, at most 3.
``fewer_rows_over_all``: a fit of 1 % fewer rows over that of all, between 1/2 and 2.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from side_by_side import in_turn
from sklearn.ensemble import HistGradientBoostingClassifier

from vqpu import VQKMeansClassifier

N_COLUMNS = 57
SIZES = (1_000, 4_000, 30_000)

Table = tuple[NDArray[np.float64], NDArray[np.int64]]


def make_table(n: int) -> Table:
    """Rows whose first columns tell the classes apart, not too clearly; half of U is positive."""
    rng = np.random.default_rng(0)
    X, truth = rng.normal(size=(n, N_COLUMNS)), rng.random(n) < 0.6
    X[truth, :8] += 0.8
    X[:, 8:16] = np.exp(X[:, 8:16])
    return X, (truth & (rng.random(n) < 0.4)).astype(np.int64)


def fit(table: Table) -> None:
    VQKMeansClassifier(random_state=0).fit(*table)


def boost(table: Table) -> None:
    HistGradientBoostingClassifier(random_state=0).fit(*table)


def ratios() -> dict[str, float]:
    tables = {n: make_table(n) for n in (300, *SIZES)}
    found = {}
    for n in SIZES:
        ours, theirs = partial(fit, tables[n]), partial(boost, tables[n])
        found[f"fit_over_boosting_{n}"] = in_turn(ours, theirs, 3)
    quarter = make_table(SIZES[1] // 4)
    found["fit_4n_over_n"] = in_turn(partial(fit, tables[SIZES[1]]), partial(fit, quarter), 3)
    started = time.perf_counter()
    fit(tables[300])
    found["seconds_of_300"] = time.perf_counter() - started
    for n in SIZES[:2]:
        X, y = tables[n]
        fewer = X[: round(0.99 * n)], y[: round(0.99 * n)]
        found[f"fewer_rows_over_all_{n}"] = in_turn(partial(fit, fewer), partial(fit, (X, y)), 3)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--record", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    found = {name: round(value, 3) for name, value in ratios().items()}
    print(json.dumps(found, indent=1))
    if given.record is not None:
        libraries = {name: version(name) for name in ("vqpu", "lightgbm", "scikit-learn")}
        environment = {"cores": os.cpu_count(), "threads": given.threads, **libraries}
        given.record.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"environment": environment, **found}, indent=1)
        (given.record / "record.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
