from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from experiments import (
    METHODS,
    TABLES,
    make_problem,
    make_table,
    read_records,
    run_method,
    write_json,
)


@pytest.mark.parametrize("name", TABLES)
def test_table__same_at_every_call_and_both_classes(name: str) -> None:
    (X, y), (again, _) = make_table(name), make_table(name)
    assert np.array_equal(X, again)
    assert 0.3 < y.mean() < 0.7
    assert len(X) == len(y)


@pytest.mark.parametrize("method", METHODS)
def test_run__every_method__a_json_record(method: str, tmp_path: Path) -> None:
    problem = make_problem("breast-cancer", n_positive=60, n_unlabeled=120, alpha=0.5, seed=0)
    record = run_method(
        method, problem, seed=0, judge_checks=True, parameters={"max_steps": 60, "check_every": 20}
    )
    assert 0.5 < record["test_balanced_accuracy"] <= 1
    assert len(record["history"]) == (9 if method == "vq" else 3)  # three rounds of three checks
    if method == "vq":
        assert len(record["judged"]) == 9
    write_json(tmp_path / "record.json", record)
    assert read_records(tmp_path) == [json.loads(json.dumps(record))]


def test_problem__test_samples__are_in_neither_set() -> None:
    problem = make_problem("wide-noise", n_positive=100, n_unlabeled=200, alpha=0.4, seed=1)
    seen = {row.tobytes() for row in problem.X}
    assert not any(row.tobytes() in seen for row in problem.X_test)
    assert len(problem.X) + len(problem.X_test) == 6000


def test_write_json__failure__leaves_the_old_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "record.json"
    write_json(path, {"value": 1})

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write_json(path, {"value": 2})
    assert json.loads(path.read_text()) == {"value": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["record.json"]


def test_write_json__nan__refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(tmp_path / "record.json", {"value": float("nan")})
    assert not list(tmp_path.iterdir())
