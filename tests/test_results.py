"""Published tables are made from committed records and from nothing else."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from vqpu.experiments import read_records

ROOT = Path(__file__).resolve().parent.parent


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["accuracy", "tables", "study"])
def test_summary__made_again_from_the_records__same_text(name: str) -> None:
    folder = ROOT / "results" / name
    text = script(name).summary(read_records(folder))
    assert (folder / "summary.md").read_text() == text


def test_study__defaults__are_the_ones_it_speaks_for() -> None:
    from vqpu import VQKMeansClassifier

    records = read_records(ROOT / "results" / "study")
    regrets = script("study").regrets(records)
    default = VQKMeansClassifier()
    chosen = f"{default.stopping_signal}, {default.decision}"
    assert regrets[chosen] == min(regrets.values())
    assert regrets[chosen] <= 1.0


@pytest.mark.parametrize("name", ["accuracy", "tables", "study"])
def test_readme__numbers__stand_in_the_summaries(name: str) -> None:
    readme = (ROOT / "README.md").read_text()
    marker = f"<!-- from results/{name}/summary.md -->"
    if marker not in readme:
        pytest.skip("README quotes nothing from it")
    summary = (ROOT / "results" / name / "summary.md").read_text()
    quoted = readme.split(marker)[1].split("<!-- end -->")[0]
    for line in quoted.strip().splitlines():
        assert line in summary.splitlines()
