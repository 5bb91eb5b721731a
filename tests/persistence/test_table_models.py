"""Models of tables: their plan comes back, and a changed one is refused or harmless."""

from __future__ import annotations

import json
import random
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vqpu
from tests.support import FAST
from vqpu.errors import ModelFileError, VqpuError
from vqpu.persistence._bundle import _sealed
from vqpu.rivals import NaivePUClassifier

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

N = 120


def frame() -> Any:
    rng = np.random.default_rng(0)
    return pd.DataFrame({
        "x": np.where(np.arange(N) % 5 == 0, np.nan, rng.normal(size=N)),
        "c": [["a", "b", "c"][i % 3] for i in range(N)],
        "many": [f"v{i % 50}" for i in range(N)] ,
        "d": [f"2020-01-{i % 28 + 1:02}" for i in range(N)],
        "t": [f"remark number {i} about some thing" for i in range(N)],
        "v": [[1.0 * i, 2.0] for i in range(N)],
    })  # fmt: skip


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables") / "model"
    y = np.arange(N) % 3 == 0
    NaivePUClassifier(**FAST, n_members=1).fit(frame(), y).save(path)
    return path


def leaves(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in plain data whose value can be changed, as a container and a key."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in list(entries):
        yield value, key
        if isinstance(part, (dict, list)):
            yield from leaves(part)


CHANGES: list[Any] = [
    None, 0, -1, 1, 2**40, 10**30, 0.5, "", "number", "category", "text", "vector", [], {}, [1],
    {"tuple": []}, {"tuple": [1, "x"]}, {"tensor": "columns_.columns.4.components"}, True,
]  # fmt: skip


def test_plan_in_a_changed_manifest__300_changes__only_our_errors(
    saved: Path, tmp_path: Path
) -> None:
    draw, rows = random.Random(0), frame()
    n_refused = 0
    for _ in range(300):
        copy = Path(shutil.copytree(saved, tmp_path / "copy"))
        manifest = json.loads((copy / "manifest.json").read_text())
        del manifest["sha256"]
        part = manifest["fitted"][draw.choice(["columns_", "table_inputs_", "input_shape_"])]
        container, key = draw.choice(list(leaves(part)))
        container[key] = draw.choice(CHANGES)
        (copy / "manifest.json").write_bytes(_sealed(manifest))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert np.isfinite(vqpu.load(copy).decision_function(rows)).all()
        except VqpuError:
            n_refused += 1
        shutil.rmtree(copy)
    assert n_refused > 200


def test_plan__of_other_width_than_the_network__refused(saved: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(saved, tmp_path / "copy"))
    manifest = json.loads((copy / "manifest.json").read_text())
    del manifest["sha256"]
    manifest["fitted"]["columns_"]["ColumnPlan"]["columns"]["tuple"].pop(0)
    (copy / "manifest.json").write_bytes(_sealed(manifest))
    with pytest.raises(ModelFileError, match="do not fit its network"):
        vqpu.load(copy)


def test_plan__comes_back(saved: Path) -> None:
    plan = vqpu.load(saved).columns_
    assert [column.kind for column in plan.columns] == [
        "number", "category", "category", "date", "text", "vector",
    ]  # fmt: skip
    assert plan.columns[2].values[:2] == ("v0", "v1")
