"""Models that the command line fits, small, with names and values that try to break a page."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.command_line import QUICK
from vqpu.cli import main
from vqpu.persistence._model import read_model
from vqpu.report._training_sample import TrainingSample, read_training_sample

HOSTILE = '<script>document.title="owned"<!--'
LONG = "a_column_with_a_name_that_is_longer_than_a_telephone_is_wide"
N_NOISE = 10


def fit_pictures(folder: Path) -> Path:
    """Reddish pictures are wanted; one unlabelled one has a hostile name. Return the model."""
    rng = np.random.default_rng(0)
    for name, is_red, count in (
        ("reds", True, 40),
        ("unlabeled", True, 25),
        ("unlabeled", False, 55),
    ):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number in range(count):
            pixels = rng.integers(0, 120, (24, 24, 3), dtype=np.uint8)
            pixels[..., 0 if is_red else 2] += 120
            kind = "red" if is_red else "blue"
            Image.fromarray(pixels).save(folder / name / f"{kind}{number:03}{HOSTILE}.png")
    sources = ["--positives", folder / "reds", "--unlabeled", folder / "unlabeled"]
    return _fit(folder, [*sources, "--image-size", 16])


def fit_rows(folder: Path) -> Path:
    """x and a category tell the classes apart, ten columns of noise do not. Return the model."""
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    noise = [LONG, *(f"noise{number}" for number in range(1, N_NOISE))]
    with open(folder / "data.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["key", *noise, "x", "<b>kind</b>", "known"])
        for number in range(240):
            is_positive = number % 2 == 0
            x = rng.normal(3.0 if is_positive else -3.0)
            kind = HOSTILE if is_positive else "plain & simple"
            known = "yes" if is_positive and number % 3 == 0 else ""
            rows.writerow([f"r{number}", *rng.normal(size=N_NOISE), x, kind, known])
    labels = ["--label", "known", "--positive", "yes", "--id", "key"]
    return _fit(folder, [folder / "data.csv", *labels])


def kept_sample(model: Path) -> TrainingSample:
    """The sample of its training data that a model directory holds."""
    sample = read_training_sample(read_model(model))
    assert sample is not None
    return sample


def _fit(folder: Path, arguments: list[object]) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        assert main(["fit", *map(str, arguments), "--out", str(folder / "model"), *QUICK]) == 0
    return folder / "model"
