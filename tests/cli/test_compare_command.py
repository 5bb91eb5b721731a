"""``vqpu compare``: a table of methods, its words, and a model of the best."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import vqpu
from tests.command_line import read_csv, run, run_json, write_table
from vqpu.cli import main
from vqpu.cli._compare import _describe_model, _print_comparison
from vqpu.files._comparison import Comparison
from vqpu.vq._classifier import VQKMeansClassifier

pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("compare") / "data.csv"
    write_table(path)
    return path


def line_of(table: Path) -> list[object]:
    return ["compare", table, "--label", "known", "--positive", "yes", "--id", "key", "--drop",
            "truth", "--set=max_steps=20", "--folds", 2, "--scenario", "single-set"]  # fmt: skip


def test_compare__a_row_a_method(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run_json(capsys, *line_of(table), "--quiet")
    assert {row["method"] for row in found["rows"]} == {"vq", "elkan-noto"}
    assert (found["n_judged"], found["n_folds"]) == ([40, 200], 2)
    assert found["alpha_from"] == "vq"
    aucs = [row["proxy_auc"] for row in found["rows"]]
    assert aucs == sorted(aucs, reverse=True)
    assert all(0 <= row["recall"] <= 1 for row in found["rows"])
    assert (found["model"], found["model_method"]) == (None, None)


@pytest.mark.parametrize("method", ["vq", "naive"])
def test_fit_best__a_model_for_predict(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    line = [*line_of(table), "--methods", f"{method},elkan-noto", "--fit-best", tmp_path / "model",
            "--set=n_members=1", "--alpha", 0.4]  # fmt: skip
    assert main([str(part) for part in line]) == 0
    captured = capsys.readouterr()
    assert f"set: max_steps=20 for {method}; n_members=1 for {method}" in captured.err
    assert f"{method}: fold 2 of 2 took" in captured.err
    assert "elkan-noto: fold 1 of 2 took" in captured.err
    assert "noise of 2 folds" in captured.out
    assert f"{tmp_path / 'model'}: {method}, " in captured.out
    out = tmp_path / "out.csv"
    run(capsys, "predict", tmp_path / "model", table, "--out", out)
    rows = read_csv(out)
    assert (len(rows), {row["label"] for row in rows}) == (240, {"yes", "not yes"})
    model = vqpu.load(tmp_path / "model")
    assert isinstance(model, VQKMeansClassifier) == (method == "vq")
    found = run_json(capsys, "inspect", tmp_path / "model")
    assert found["findings"]
    said = run(capsys, *line, code=2)
    assert "is a model already. Pass --overwrite" in said


def test_fit_best__methods_that_cannot_be_saved__refused_before_any_work(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = [*line_of(table)[:-2], "--methods", "elkan-noto,bagging", "--alpha", 0.4]
    line = [part for part in line if not str(part).startswith("--set")]
    assert "None of elkan-noto, bagging can be saved" in run(
        capsys, *line, "--fit-best", tmp_path / "model", code=2
    )
    assert "--overwrite is for --fit-best" in run(capsys, *line, "--overwrite", code=2)
    (tmp_path / "taken").write_text("x")
    assert "is no model" in run(capsys, *line, "--fit-best", tmp_path / "taken", code=1)


NAMES = ("proxy_auc", "auc", "lee_liu", "recall", "precision", "f1", "called_positive")


def a_row(method: str, **scores: Any) -> dict[str, Any]:
    fixed = {"behind": 0.0, "noise": 0.0, "is_level": True, "proxy_auc_spread": 0.01}
    return {"method": method, "seconds": 1.0, **dict.fromkeys(NAMES, 0.5), **fixed, **scores}


def test_words__estimates_beyond_1_explained(capsys: pytest.CaptureFixture[str]) -> None:
    for precision, is_explained in ((1.2, True), (0.9, False)):
        rows = [a_row("vq", precision=precision)]
        _print_comparison(Comparison("case-control", 0.5, "given", 5, (5, 5), rows))
        said = capsys.readouterr().out
        assert ("Estimates below 0 or above 1" in said) == is_explained


def test_words__table_failures_and_leads(capsys: pytest.CaptureFixture[str]) -> None:
    behind = {"behind": 0.02, "noise": 0.03, "is_level": True}
    rows = [a_row("elkan-noto"), a_row("vq", **behind), {"method": "upu", "error": "No."}]
    found = Comparison("single-set", 0.5, "given", 5, (5, 5), rows)
    _print_comparison(found)
    head, first, _, failed, lead, *explained = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["method", "proxy_auc", "auc"]
    assert first.split()[:4] == ["elkan-noto", "0.500", "±", "0.010"]
    assert failed == "upu           failed: No."
    assert lead == (
        "elkan-noto is ahead of vq by 0.020 in proxy_auc, which is within the noise of 5 folds "
        "(0.030): they are level on these data."
    )
    assert explained[0].startswith("Scored in 5 folds on 5 labelled and 5 unlabelled samples")
    assert "share of all samples called" in " ".join(explained)
    assert explained[-1].endswith("should be near alpha.")
    assert found.best_saved == "vq"
    assert "the best of those that can be saved. elkan-noto holds" in _describe_model(
        found, "vq", "model"
    )
