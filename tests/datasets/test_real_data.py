"""The official files themselves: skipped where they are not."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from vqpu.datasets import TASKS, check_dataset, is_present, load_task

DATA = os.environ.get("VQPU_DATA_DIR")

# Images and the first twelve hexadecimal digits of the SHA-256 of X and of y as read. None: the
# bytes depend on the version of the decoder.
TRUTH: dict[tuple[str, bool], tuple[tuple[int, ...], int, str | None, str]] = {
    ("mnist-even-odd", True): ((60_000, 28, 28), 29_492, "741c988805d0", "4eea7c074da0"),
    ("mnist-even-odd", False): ((10_000, 28, 28), 4_926, "6d87418db22c", "b6235f0cad26"),
    ("fashion-last5", True): ((60_000, 28, 28), 30_000, "2e487a6c8912", "274a5cf3021c"),
    ("fashion-last5", False): ((10_000, 28, 28), 5_000, "c867c93ff953", "aad64de07091"),
    ("cifar10-animals", True): ((50_000, 32, 32, 3), 30_000, "47af8b02cfcf", "d4d5d52d94f2"),
    ("cifar10-animals", False): ((10_000, 32, 32, 3), 6_000, "f9b1e2130bab", "5bebfa212db6"),
    ("afhq-cats", True): ((9_892, 64, 64, 3), 5_153, None, "2e12072d76ba"),
    ("afhq-cats", False): ((1_000, 64, 64, 3), 500, None, "fd49f405507f"),
}

# Of the official images resized to 64 pixels, their bytes in order: the only copy at hand when
# this was written.
AFHQ_64_FILES = {"train": "49523ade75d3", "val": "848d07684533"}


def skip_without(dataset: str) -> None:
    if DATA is None or not is_present(dataset, DATA):
        pytest.skip(f"VQPU_DATA_DIR does not hold {dataset}")


def short_digest(content: Any) -> str:
    return hashlib.sha256(np.ascontiguousarray(content).data).hexdigest()[:12]


@pytest.mark.parametrize(("task", "train"), TRUTH)
def test_real_task__shapes_counts_and_digests(task: str, train: bool) -> None:
    skip_without(TASKS[task].dataset)
    shape, n_positive, images, labels = TRUTH[task, train]
    X, y = load_task(task, DATA, train=train)
    assert X.shape == shape
    assert X.dtype == np.uint8
    assert int(y.sum()) == n_positive
    assert short_digest(y) == labels
    assert images is None or short_digest(X) == images


@pytest.mark.parametrize("dataset", ["mnist", "fashion-mnist", "cifar10", "afhq"])
def test_real_dataset__check__sound(dataset: str) -> None:
    skip_without(dataset)
    assert [finding.text for finding in check_dataset(dataset, DATA) if not finding.sound] == []


@pytest.mark.parametrize("split", AFHQ_64_FILES)
def test_real_afhq__resized_copy__digest(split: str) -> None:
    skip_without("afhq")
    folder = Path(DATA or "") / "afhq" / split
    if not folder.exists():
        pytest.skip("AFHQ is not unpacked")
    files = [path for kind in ("cat", "dog") for path in sorted((folder / kind).glob("*.jpg"))]
    with Image.open(files[0]) as image:
        if image.size != (64, 64):
            pytest.skip("not the copy of 64 pixels")
    total = hashlib.sha256()
    for path in files:
        total.update(path.read_bytes())
    assert total.hexdigest()[:12] == AFHQ_64_FILES[split]
