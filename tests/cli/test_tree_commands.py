"""Trees on the command line: fit, predict, explain, report and export of a table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import vqpu
from tests.command_line import fit_table, read_csv, run, run_json, write_table
from vqpu.persistence._bundle import read_bundle

pytestmark = pytest.mark.filterwarnings("ignore::vqpu.VqpuWarning")


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trees")
    write_table(folder / "data.csv")
    assert fit_table(folder, folder / "model", "--encoder", "trees", "--set=n_members=3") == 0
    return folder


def test_predict__trees(fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "predict", fitted / "model", fitted / "data.csv", "--out", tmp_path / "out.csv")
    rows = read_csv(tmp_path / "out.csv")
    truth = [int(row["truth"]) for row in read_csv(fitted / "data.csv")]
    called = [row["label"] == "yes" for row in rows]
    assert np.mean(np.array(called) == np.array(truth)) > 0.9


def test_explain__most_likely_positives_with_their_columns(
    fitted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["explain", fitted / "model", fitted / "data.csv", "--top", 5]
    found = run_json(capsys, *arguments)
    labeled = [row["key"] for row in read_csv(fitted / "data.csv") if row["known"] == "yes"]
    assert (found["n_seen"], found["n_labeled"]) == (240 - len(labeled), len(labeled))
    assert len(found["samples"]) == 5
    assert not {str(sample["name"]) for sample in found["samples"]} & set(labeled)
    assert found["samples"][0]["for"][0]["column"] == "x1"
    assert max(found["importance"], key=lambda name: found["importance"][name]) == "x1"
    text = run(capsys, *arguments)
    assert len(text.splitlines()) == 6
    name = found["samples"][0]["name"]
    assert f"{name}: x1 = " in text
    ranked = run_json(capsys, "rank", *arguments[1:])
    assert [one["name"] for one in ranked["best"]] == [one["name"] for one in found["samples"]]
    assert run_json(capsys, *arguments, "--include-labeled")["n_seen"] == 240


def test_explain__network__one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_table(tmp_path / "data.csv")
    assert fit_table(tmp_path, tmp_path / "model", "--encoder", "mlp") == 0
    capsys.readouterr()
    said = run(capsys, "explain", tmp_path / "model", tmp_path / "data.csv", code=1)
    assert "fit it with --encoder trees" in said


def test_report__names_the_columns_that_matter(fitted: Path, tmp_path: Path) -> None:
    from vqpu.report import make_report

    page = make_report(fitted / "model")
    assert "Which columns matter" in page
    assert "x1" in page.partition("Which columns matter")[2]


def test_inspect_and_export__trees(
    fitted: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("onnx")
    found = run_json(capsys, "inspect", fitted / "model")
    assert found["parameters"]["encoder"] == "trees"
    done = run_json(capsys, "export", fitted / "model", "--onnx", tmp_path / "model.onnx")
    assert done["codes_apart"] == 0
    assert read_bundle(fitted / "model", "vqpu-model").manifest["modules"] == ["network_"]
    assert vqpu.load(fitted / "model").n_members_ == 3
