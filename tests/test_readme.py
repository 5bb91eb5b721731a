"""The Python of README and docs runs as it stands there, on tiny data and with few steps."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

import vqpu
from tests.features_tools import pictures, texts, write_text_network

ROOT = Path(__file__).resolve().parent.parent
GUIDES = ("index", "guide", "methods", "features", "evaluating", "reading-findings", "scenarios")
PAGES = ["README.md", *(f"docs/{name}.md" for name in GUIDES), "docs/deploying.md"]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


@pytest.fixture
def tiny_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names and files that the pages speak of, and an estimator that is soon done."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    defaults = vqpu.VQKMeansClassifier.__init__.__kwdefaults__
    assert defaults is not None
    for name, value in {"max_steps": 150, "n_members": 1, "n_rounds": 1}.items():
        monkeypatch.setitem(defaults, name, value)
    rng = np.random.default_rng(0)
    _write_pictures(tmp_path, rng)
    for name in ("customers.csv", "new.csv"):
        _write_table(tmp_path / name, rng)
    unlabeled = np.vstack([rng.normal(3, 1, (50, 4)), rng.normal(-3, 1, (100, 4))])
    write_text_network(tmp_path / "words.onnx")
    positives = rng.normal(3, 1, (60, 4))
    model = vqpu.VQKMeansClassifier(random_state=0).fit(*vqpu.stack_pu(positives, unlabeled))
    return {
        "positives": positives,
        "unlabeled": unlabeled,
        "network": _network(),
        "wanted": pictures(30, is_positive=True, seed=0),
        "rest": [one for p in (0, 1) for one in pictures(30, is_positive=p == 1, seed=1)],
        "new_samples": unlabeled[:5],
        "model": model,  # for pages that begin after the fit
        "wanted_texts": texts(60, is_positive=True, seed=0),
        "other_texts": [text for p in (0, 1) for text in texts(60, is_positive=p == 1, seed=1)],
    }


def _network() -> nn.Sequential:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        first = nn.AdaptiveAvgPool2d(16), nn.Conv2d(3, 6, 5, stride=4), nn.ReLU(), nn.Flatten()
        return nn.Sequential(*first, nn.Linear(54, 32), nn.BatchNorm1d(32))


def _write_pictures(folder: Path, rng: np.random.Generator) -> None:
    for name in ("wanted", "unlabelled"):
        (folder / name).mkdir()
        for number in range(4):
            pixels = rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{number}.png")


def _write_table(path: Path, rng: np.random.Generator) -> None:
    with open(path, "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["customer", "age", "spent", "city", "bought"])
        for number in range(120):
            is_positive = number % 2 == 0
            center = 3.0 if is_positive else -3.0
            bought = "yes" if is_positive and number % 3 == 0 else ""
            city = rng.choice(["Delft", "Gouda"])
            rows.writerow([f"c{number}", rng.normal(center), rng.normal(), city, bought])


@pytest.mark.parametrize("page", PAGES)
def test_page__python_blocks__run_in_order(page: str, tiny_world: dict[str, Any]) -> None:
    pytest.importorskip("pyarrow")
    blocks = BLOCK.findall((ROOT / page).read_text("utf-8"))
    assert blocks
    for number, block in enumerate(blocks, 1):
        exec(compile(block, f"{page}, block {number}", "exec"), tiny_world)


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda path: path.name)
def test_page__links_inside_the_repository__lead_somewhere(page: Path) -> None:
    _check_links(page)


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"])
def test_root_page__links__lead_somewhere(name: str) -> None:
    _check_links(ROOT / name)


def _check_links(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text("utf-8")):
        assert "://" in link or (page.parent / link).exists(), link
