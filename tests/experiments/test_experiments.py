from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from experiments.item import Record
from experiments.judged import run_method
from experiments.methods import flat_parameters, make_method
from experiments.problems import TABLES, make_problem, make_table
from experiments.records import read_record, write_record
from experiments.studies.accuracy import METHODS
from vqpu.errors import InputError


@pytest.mark.parametrize("name", TABLES)
def test_table__same_at_every_call_and_both_classes(name: str) -> None:
    (X, y), (again, _) = make_table(name), make_table(name)
    assert np.array_equal(X, again)
    assert 0.3 < y.mean() < 0.7
    assert len(X) == len(y)


@pytest.mark.parametrize("method", METHODS)
def test_run__every_method__a_json_record(method: str, tmp_path: Path) -> None:
    problem = make_problem("breast-cancer", n_positive=60, n_unlabeled=120, alpha=0.5, seed=0)
    result = run_method(
        method, problem, seed=0, judge_checks=True, parameters={"max_steps": 60, "check_every": 20}
    )
    assert 0.5 < result.metrics["test_balanced_accuracy"] <= 1
    assert len(result.history) == (6 if method == "vq" else 3)  # two rounds of three checks
    if method == "vq":
        assert {"holdout_loss", "posterior", "nearest-center"} <= {*result.history[0]}
    record = Record({"seed": 0}, result.metrics, result.history, {"threads": 1})
    write_record(tmp_path / "record.json", record)
    assert read_record(tmp_path / "record.json", {"seed": 0}) == record


def test_parameters__flat_names__as_in_settings_and_records() -> None:
    model = make_method("vq", {"anchors": "frozen", "max_steps": 7})
    found = flat_parameters(model)
    assert (found["anchors"], found["max_steps"]) == ("frozen", 7)
    assert {"decision", "stopping_signal", "encoder"} <= {*found}
    with pytest.raises(InputError, match=r"no parameter 'anchor'. Did you mean 'anchors'"):
        make_method("vq", {"anchor": "fixed"})


def test_problem__test_samples__are_in_neither_set() -> None:
    problem = make_problem("wide-noise", n_positive=100, n_unlabeled=200, alpha=0.4, seed=1)
    seen = {row.tobytes() for row in problem.X}
    assert not any(row.tobytes() in seen for row in problem.X_test)
    assert len(problem.X) + len(problem.X_test) == 6000


def test_write_record__failure__leaves_the_old_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "record.json"
    old = Record({"seed": 0}, {"value": 1})
    write_record(path, old)

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write_record(path, Record({"seed": 0}, {"value": 2}))
    assert read_record(path, {"seed": 0}) == old
    assert [entry.name for entry in tmp_path.iterdir()] == ["record.json"]


def test_write_record__nan__refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_record(tmp_path / "record.json", Record({}, {"value": float("nan")}))
    assert not list(tmp_path.iterdir())
