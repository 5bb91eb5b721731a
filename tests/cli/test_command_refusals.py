"""Wrong usage ends with code 2, refused input with code 1, each in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import fast_classifier
from vqpu.cli import main

pa = pytest.importorskip("pyarrow")
from pyarrow import parquet  # noqa: E402


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of a table with columns a, b and colour, one of arrays, and files that fit or not."""
    folder = tmp_path_factory.mktemp("refusals")
    rng = np.random.default_rng(0)
    n = 80
    columns: dict[str, Any] = {
        "a": rng.normal(size=n) + 8 * (np.arange(n) % 2),
        "b": rng.normal(size=n),
        "colour": ["red", "blue"] * (n // 2),
        "y": np.where(np.arange(n) % 4 == 1, "yes", "no"),
    }
    parquet.write_table(pa.table(columns), folder / "fits.parquet")
    parquet.write_table(pa.table(columns | {"a": ["x"] * n}), folder / "text.parquet")
    dates = pa.array(range(n), pa.date32())
    parquet.write_table(pa.table(columns | {"a": dates}), folder / "dates.parquet")
    parquet.write_table(pa.table(columns | {"colour": ["green"] * n}), folder / "new.parquet")
    parquet.write_table(
        pa.table(columns | {"a": [None, *columns["a"][1:]]}), folder / "gap.parquet"
    )
    indexed = columns | {"__index_level_0__": rng.permutation(n)}
    parquet.write_table(pa.table(indexed), folder / "indexed.parquet")
    known = [value if value == "yes" else None for value in columns["y"]]
    parquet.write_table(pa.table(columns | {"y": known}), folder / "unknown.parquet")
    del columns["b"]
    parquet.write_table(pa.table(columns), folder / "lacks.parquet")
    np.save(folder / "narrow.npy", rng.normal(size=(10, 3)))
    np.save(folder / "nan.npy", np.full((10, 4), np.nan))
    X = rng.normal(size=(n, 4)) + 8 * (np.arange(n) % 2)[:, None]
    fast_classifier().fit(X, np.arange(n) % 4 == 1).save(folder / "arrays")
    (folder / "pictures").mkdir()
    (folder / "bad.toml").write_text("max_step = 3\n")
    (folder / "type.toml").write_text('max_steps = "many"\n')
    (folder / "broken.toml").write_text("max_steps = \n")
    arguments = ["fit", f"{folder}/fits.parquet", "--label", "y", "--positive", "yes", "--quiet"]
    arguments += ["--set=max_steps=60", "--set=n_members=1", "--seed=0", "--out", f"{folder}/table"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        assert main(arguments) == 0
    return folder


FIT = "fit {place}/fits.parquet --out {new}/model "
LABELED = FIT + "--label y --positive yes "
PAIR = "fit --positives {place}/fits.parquet --unlabeled {place}/new.parquet --out {new}/model "
ARRAYS = "fit --positives {place}/narrow.npy --unlabeled {place}/nan.npy --out {new}/model "
PREDICT = "predict {place}/table {place}/"
COMPARE = "compare {place}/fits.parquet --label y --positive yes "

WRONG_USAGE = {
    "fit --out {new}/model": "either --positives and --unlabeled, or one DATA",
    "fit --positives {place}/narrow.npy --out {new}/model": "either --positives and --unlabeled",
    FIT: "needs --label COLUMN and --positive VALUE",
    LABELED + "--positives {place}": "not both",
    LABELED + "--set max_steps": "--set needs NAME=VALUE",
    LABELED + "--image-size huge": "image-size",
    "fit {place}/fits.parquet --label y --positive yes": "--out MODEL",
    "fit {place}/pictures --label y --positive yes --out {new}/model": "--labels FILE.csv",
    PREDICT + "fits.parquet": "--out",
    PREDICT + "fits.parquet --out {new}/a.xlsx": "must end in .csv or .parquet or .jsonl",
    PREDICT + "fits.parquet --out {new}/a.csv --shard 3/2": "1 <= i <= n",
    "rank {place}/table {place}/fits.parquet --sheet {new}/a.png": "contact sheet needs images",
    "rank {place}/table {place}/fits.parquet --top 0": "top",
    "evaluate {place}/table {place}/fits.parquet --label y --positive yes --alpha .3": "--scenario",
    "evaluate {place}/arrays {place}/narrow.npy --label y": "leave --label",
    "export {place}/table": "--onnx",
    "inspect": "MODEL",
    LABELED + "--set max_step=3": "Unknown key 'max_step' in --set. Did you mean 'max_steps'?",
    LABELED + "--set max_steps=many": "max_steps = 'many' cannot be used",
    LABELED + "--set max_steps=0": "max_steps must be an integer >= 1",
    LABELED + "--config {place}/bad.toml": "Unknown key 'max_step'",
    LABELED + "--config {place}/type.toml": "max_steps = 'many' cannot be used",
    "evaluate {place}/table {place}/fits.parquet --label y --positive yes --scenario odd": "odd",
    "export {place}/table --onnx {new}/a.txt": "must end in .onnx",
    "compare {place}/fits.parquet --label y --positive yes --methods vq,magic": "magic",
    "compare {place}/fits.parquet --label y --positive yes --set patienc=1": "patienc",
    PREDICT
    + "fits.parquet --out {place}/fits.parquet": "is the input: predictions would replace it",
    "rank {place}/table {place}/fits.parquet --out {place}/fits.parquet": "is the input",
    "fit {place}/pictures --out {new}/model": "give two by --positives and --unlabeled",
    LABELED + "--checkpoint-dir {new}/model/ck": "in the model's own directory",
    LABELED + "--labels a.csv --image-mode L": "no meaning for one table: --image-mode, --labels",
    PAIR + "--label y --positive yes": "no meaning for two tables: --label, --positive",
    ARRAYS + "--id y --skip-broken": "no meaning for two arrays: --id, --skip-broken",
    PREDICT + "fits.parquet --out {place}/table/a.csv": "lies in the model's own directory",
    "rank {place}/table {place}/fits.parquet --out {place}/table/a.csv": "model's own directory",
    "rank {place}/table {place}/fits.parquet --labels a.csv": "on one folder of images",
    "rank {place}/table {place}/fits.parquet --labels a.csv --include-labeled": "--include-labeled",
    "export {place}/table --onnx {place}/table/a.onnx": "lies in the model's own directory",
    PREDICT + "fits.parquet --out {place}/arrays/a.csv": "arrays, which is a model: a further file",
    "report {place}/table --out {place}/arrays/a.html": "arrays, which is a model: a further file",
    "predict {place}/arrays {place}/narrow.npy --id y --out {new}/a.csv": "leave --id out",
    "predict {place}/arrays {place}/narrow.npy --keep y --out {new}/a.csv": "leave --keep out",
    LABELED + "--skip-broken": "no meaning for one table: --skip-broken",
    LABELED + "--missing guess": "unknown missing 'guess'",
    LABELED.replace("{new}/model", "{place}/table"): "a model already. Pass --overwrite",
    "evaluate {place}/table {place}/fits.parquet --labels a.csv": "leave --labels out",
    COMPARE + "--scenario odd": "odd",
    COMPARE + "--methods vq --set gamma=1": "Unknown key 'gamma' in --set",
    COMPARE + "--methods vqq --set max_steps=5": "Unknown method 'vqq'",
    COMPARE + "--methods vq,naive --set max_steps=0": "max_steps must be an integer >= 1",
    COMPARE + "--methods naive,vq --set variant=papr": "vq: unknown variant 'papr'",
    LABELED + "--set variant.decision=posterior": "--set variant__decision=posterior",
}

REFUSED = {
    LABELED + "--config {place}/broken.toml": "cannot be read as TOML",
    LABELED + "--config {place}/none.toml": "none.toml cannot be read: No such file",
    FIT + "--label z --positive yes": "lacks the column 'z'",
    FIT + "--label y --positive maybe": "no row with the positive value 'maybe'",
    "fit --positives {place}/narrow.npy --unlabeled {place}/fits.parquet --out {new}/m": "of kind",
    "fit {place}/none.csv --label y --positive 1 --out {new}/model": "does not exist",
    PREDICT + "lacks.parquet --out {new}/a.csv": "lacks the column 'b'",
    PREDICT + "dates.parquet --out {new}/a.csv": "but was a number in training",
    PREDICT + "text.parquet --missing refuse --out {new}/a.csv": "has no value in 'a' (80 cells",
    PREDICT + "gap.parquet --missing refuse --out {new}/a.csv": "Row 0 (from 0) of",
    LABELED.replace("fits.", "gap.") + "--missing refuse": "'a' has 1 missing values",
    LABELED + "--text a --category a": "columns are wished to be two things: 'a'",
    LABELED + "--number z": "lacks the column 'z'",
    LABELED + "--columns y": "no column left to learn from",
    PREDICT + "fits.parquet --keep z --out {new}/a.csv": "lacks the column 'z'",
    PREDICT + "narrow.npy --out {new}/a.csv": "of kind 'array', but the model takes a table",
    PREDICT + "pictures --out {new}/a.csv": "of kind 'images', but the model takes a table",
    PREDICT + "fits.parquet --out {new}/none/a.csv": "cannot be written",
    "predict {place}/arrays {place}/narrow.npy --out {new}/a.csv": "shape (3,), but the model",
    "predict {place} {place}/nan.npy --out {new}/a.csv": "no manifest.json",
    "predict {place}/fits.parquet {place}/table --out {new}/a.csv": "MODEL comes before INPUT",
    "predict {place}/arrays {place}/fits.parquet --out {new}/a.csv": "vqpu.files.iter_table",
    "fit {place}/fits.parquet --label y --positive yes --out {place}/fits.parquet": "is no model",
    "fit {place}/fits.parquet --label y --positive yes --out {place}/fits.parquet/m": "no folder",
    "evaluate {place}/table {place}/lacks.parquet --label z --positive yes": "say with --label",
    "evaluate {place}/table {place}/fits.parquet --label y --positive ja": "--positive names",
    "inspect {place}/none": "does not exist",
    PAIR.replace("new.", "fits."): "are the same",
    PAIR.replace("new.", "indexed."): "having or lacking '__index_level_0__'",
    LABELED.replace("fits.", "indexed."): "looks like the index of a data frame",
    PREDICT + "fits.parquet --out /proc/a.csv": "cannot be written",
    "rank {place}/table {place}/fits.parquet --out /proc/a.csv": "cannot be written",
    "report {place}/table --out /proc/a.html": "cannot be written",
    PREDICT + "fits.parquet --out {new}/" + 300 * "a" + ".csv": "name too long",
    PREDICT + 300 * "a" + " --out {new}/a.csv": "name too long",
    "inspect {new}/" + 300 * "a": "name too long",
    "evaluate {place}/table {place}/unknown.parquet": "has 60 samples without a label",
}


@pytest.mark.parametrize(
    ("line", "words", "code"),
    [
        *((line, words, 2) for line, words in WRONG_USAGE.items()),
        *((line, words, 1) for line, words in REFUSED.items()),
    ],
)
def test_command__bad__code_and_sentence_and_nothing_written(
    line: str,
    words: str,
    code: int,
    place: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "new").mkdir()
    arguments = [part.format(place=place, new=tmp_path / "new") for part in line.split()]
    assert main(arguments) == code
    error = capsys.readouterr().err
    assert words.lower() in " ".join(error.replace("│", " ").split()).lower()
    if code == 1:
        assert error.startswith("vqpu: ")
        assert error.count("\n") == 1
    assert not list((tmp_path / "new").iterdir())


@pytest.mark.parametrize(
    "line",
    [
        PREDICT + "fits.parquet --out {new}/a.xlsx",
        PREDICT + "fits.parquet --out {place}/table/a.csv",
        PREDICT + "fits.parquet --out /proc/a.csv",
        "rank {place}/table {place}/fits.parquet --out {new}/none/a.csv",
        "export {place}/table --onnx {place}/table/a.onnx",
    ],
)
def test_bad_target__refused_before_the_model_is_read(
    line: str, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(*_: object) -> None:
        raise AssertionError("the model was read")

    for module in ("_prediction", "_ranking", "_models"):
        monkeypatch.setattr(f"vqpu.files.{module}.open_model", work)
    assert main([part.format(place=place, new=tmp_path) for part in line.split()]) in (1, 2)


def test_predict__refused_halfway__old_result_stays(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = "id,label,score,probability,reason\n"
    (tmp_path / "a.csv").write_text(old)
    arguments = ["predict", f"{place}/table", f"{place}/gap.parquet", "--out", f"{tmp_path}/a.csv"]
    assert main([*arguments, "--missing", "refuse"]) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
    assert (tmp_path / "a.csv").read_text() == old


def test_predict__onto_data_of_the_user__refused(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.csv").write_text("customer,income\n1,2\n")
    arguments = ["predict", f"{place}/table", f"{place}/gap.parquet", "--out", f"{tmp_path}/a.csv"]
    assert main(arguments) == 2
    assert "may be data of yours" in capsys.readouterr().err
    assert (tmp_path / "a.csv").read_text() == "customer,income\n1,2\n"


@pytest.mark.parametrize(
    "line",
    [
        "report {place}/table --out {new}/mine.html",
        "export {place}/table --onnx {new}/mine.onnx",
        "demo --out {new}/mine.png",
        "review export {new}/decisions.jsonl --out {new}/mine.csv",
    ],
)
def test_results__onto_a_file_that_is_none__refused_before_any_work(
    line: str, place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "decisions.jsonl").write_text("")
    arguments = [part.format(place=place, new=tmp_path) for part in line.split()]
    target = Path(arguments[-1])
    target.write_text("customer,income\n1,2\n")
    assert main(arguments) == 2
    assert "may be data of yours" in capsys.readouterr().err
    assert target.read_text() == "customer,income\n1,2\n"


def test_report__onto_an_earlier_one__replaced(place: Path, tmp_path: Path) -> None:
    for _ in range(2):
        assert main(["report", f"{place}/table", "--out", f"{tmp_path}/a.html"]) == 0


def test_predict__full_disk__one_sentence(
    place: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    arguments = ["predict", f"{place}/table", f"{place}/fits.parquet"]
    assert main([*arguments, "--out", f"{tmp_path}/a.csv"]) == 1
    error = capsys.readouterr().err
    assert error == f"vqpu: {tmp_path}/a.csv cannot be written: No space left on device.\n"
    assert not list(tmp_path.iterdir())
