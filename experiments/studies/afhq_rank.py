"""AFHQ from folders by the command line alone: precision among the top 100 of ``vqpu rank``.

The data directory holds the official folder ``afhq``. A folder of labelled cats and one of other
cats and dogs, as many of each, are made of links to its training photographs; then ``vqpu fit`` and
``vqpu rank`` do the rest. The goal is a precision of 99 % among the top 100.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from experiments.item import Config, Record, RunResult, Seeds, study
from experiments.problems import check_task
from experiments.summary import markdown_table
from vqpu.datasets import data_directory

N_LABELED, N_HIDDEN, N_DOGS = 2500, 2600, 2600
TOP = 100


def link(photos: list[Path], folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for photo in photos:
        (folder / f"{photo.parent.name}-{photo.name}").symlink_to(photo.resolve())


def make_folders(data_dir: Path, folder: Path, seed: int) -> None:
    """Make the folders ``cats`` and ``mixed``; the kind is in the name, which no command reads."""
    rng = np.random.default_rng(seed)
    photos = {
        kind: sorted((data_dir / "afhq" / "train" / kind).glob("*.jpg")) for kind in ("cat", "dog")
    }
    cats = [photos["cat"][index] for index in rng.permutation(len(photos["cat"]))]
    dogs = [photos["dog"][index] for index in rng.permutation(len(photos["dog"]))]
    link(cats[:N_LABELED], folder / "cats")
    link(cats[N_LABELED : N_LABELED + N_HIDDEN] + dogs[:N_DOGS], folder / "mixed")


def vqpu(*arguments: object) -> Any:
    """Run the command line in a process of its own and return the JSON that it prints."""
    command = [sys.executable, "-m", "vqpu", *map(str, arguments), "--json"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def expand(seeds: Seeds | None) -> dict[str, Config]:
    return {
        f"seed{seed}": {
            "seed": seed,
            "image_size": 64,
            "n_labeled": N_LABELED,
            "n_unlabeled": N_HIDDEN + N_DOGS,
        }
        for seed in seeds or (0,)
    }


def check(_: Config, data_dir: Path | None) -> None:
    check_task("afhq-cats", data_dir)


def run(config: Config, data_dir: Path | None) -> RunResult:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_folders(data_directory(data_dir), folder, config["seed"])
        started = time.perf_counter()
        fitted = vqpu(
            "fit", "--positives", folder / "cats", "--unlabeled", folder / "mixed",
            "--image-size", config["image_size"], "--seed", config["seed"],
            "--out", folder / "model",
        )  # fmt: skip
        seconds_fit = time.perf_counter() - started
        started = time.perf_counter()
        ranked = vqpu("rank", folder / "model", folder / "mixed", "--top", TOP)
        seconds_rank = time.perf_counter() - started
        is_cat = [Path(row["name"]).name.startswith("cat-") for row in ranked["best"]]
        mixed = [path.name.startswith("cat-") for path in (folder / "mixed").iterdir()]
    metrics = {
        "alpha": float(np.mean(mixed)),
        "alpha_estimate": fitted["alpha"],
        "n_steps": fitted["n_steps"],
        "stop_reason": fitted["stop_reason"],
        "precision_at_100": float(np.mean(is_cat)),
        "seconds_fit": round(seconds_fit, 1),
        "seconds_rank": round(seconds_rank, 1),
    }
    return RunResult(metrics, [])


def summary(records: list[Record]) -> str:
    columns = ["seed", "image_size", "n_labeled", "n_unlabeled", "alpha", "alpha_estimate"]
    columns += ["n_steps", "precision_at_100", "seconds_fit", "seconds_rank"]
    rows = [[f"{record.values[name]:.5g}" for name in columns] for record in records]
    return (
        "Cats among cats and dogs by the command line alone: the share of cats in the top 100.\n\n"
        + markdown_table(columns, rows)
    )


ITEM = study(expand, run, summary, check=check, threads=None)
