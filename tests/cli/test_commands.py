"""The commands as a new user would walk through them, on generated pictures and a generated CSV."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import vqpu
from tests.command_line import QUICK, read_csv, run, run_json
from tests.reported_models import kept_sample
from tests.support import fast_classifier
from vqpu.cli import main
from vqpu.persistence import _bundle
from vqpu.persistence._model import read_extra
from vqpu.persistence._targets import MADE_HERE, check_target

pa = pytest.importorskip("pyarrow")
from pyarrow import parquet  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_cache")


def draw_pictures(folder: Path, n: int, is_positive: bool, rng: np.random.Generator) -> None:
    """Positives are reddish, the others bluish."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(n):
        pixels = rng.integers(0, 120, (24, 24, 3), dtype=np.uint8)
        pixels[..., 0 if is_positive else 2] += 120
        Image.fromarray(pixels).save(folder / f"{'red' if is_positive else 'blue'}{number:03}.png")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two folders and the model that the command line makes of them."""
    folder, rng = tmp_path_factory.mktemp("pictures"), np.random.default_rng(0)
    draw_pictures(folder / "reds", 40, True, rng)
    draw_pictures(folder / "unlabeled", 25, True, rng)
    draw_pictures(folder / "unlabeled", 55, False, rng)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        arguments = ["--positives", folder / "reds", "--unlabeled", folder / "unlabeled"]
        arguments += [
            "--image-size",
            16,
            "--out",
            folder / "model",
            *QUICK,
            "--set=precision=float32",
        ]
        assert main(["fit", *map(str, arguments)]) == 0
    return folder


def test_fit__pictures__model_knows_its_input(pictures: Path) -> None:
    contract = json.loads(read_extra(pictures / "model", "input.json"))
    assert contract["kind"] == "images"
    assert contract["sample_shape"] == [16, 16, 3]
    assert contract["image_mode"] == "RGB"
    assert vqpu.load(pictures / "model").input_shape_ == (3, 16, 16)


def test_fit__table__model_knows_columns_and_categories(table: Path) -> None:
    contract = json.loads(read_extra(table / "model", "input.json"))
    columns = {column.name: column for column in vqpu.load(table / "model").columns_.columns}
    assert list(columns) == ["x1", "x2", "colour", "flag"]
    assert sorted(columns["colour"].values) == ["blue", "pink", "red"]
    assert (contract["label"], contract["positive"]) == ("known", "yes")


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_predict__pictures__one_row_a_file_as_the_model_says(
    ending: str, pictures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / f"predictions.{ending}"
    done = run_json(capsys, "predict", pictures / "model", pictures / "unlabeled", "--out", out)
    assert done["n_rows"] == 80
    if ending == "csv":
        rows: list[dict[str, Any]] = list(read_csv(out))
    elif ending == "parquet":
        rows = parquet.read_table(out).to_pylist()
    else:
        rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert list(rows[0]) == ["path", "label", "score", "probability", "reason"]
    assert [row["path"] for row in rows] == sorted(
        str(p) for p in (pictures / "unlabeled").iterdir()
    )
    from vqpu.files import iter_images

    X = next(iter(iter_images(pictures / "unlabeled", size=16, mode="RGB"))).X
    model = vqpu.load(pictures / "model")
    np.testing.assert_array_equal([float(r["score"]) for r in rows], model.decision_function(X))
    np.testing.assert_array_equal([int(r["label"]) for r in rows], model.predict(X))
    np.testing.assert_array_equal(
        [float(r["probability"]) for r in rows], model.predict_proba(X)[:, 1]
    )


def test_predict__shards__together_the_whole(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ("predict", table / "model", table / "data.csv", "--out")
    run(capsys, *command, tmp_path / "whole.csv")
    whole = read_csv(tmp_path / "whole.csv")
    assert [row["id"] for row in whole] == [f"r{number}" for number in range(240)]
    for number in (1, 2, 3):
        run(capsys, *command, tmp_path / f"{number}.csv", "--shard", f"{number}/3")
        assert read_csv(tmp_path / f"{number}.csv") == whole[number - 1 :: 3]


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_predict__shards_of_rows_without_ids__keep_their_numbers(
    ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    X = np.random.default_rng(0).normal(size=(100, 3)) + 6 * (np.arange(100) % 2)[:, None]
    fast_classifier().fit(X, np.arange(100) % 4 == 1).save(tmp_path / "model")
    np.save(tmp_path / "X.npy", X)
    out = tmp_path / f"out.{ending}"
    run(capsys, "predict", tmp_path / "model", tmp_path / "X.npy", "--out", out, "--shard", "2/8")
    if ending == "parquet":
        numbers = parquet.read_table(out).column("id").to_pylist()
    elif ending == "csv":
        numbers = [int(row["id"]) for row in read_csv(out)]
    else:
        numbers = [json.loads(line)["id"] for line in out.read_text().splitlines()]
    assert numbers == list(range(1, 100, 8))


def test_predict__sorted__largest_score_first(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ("predict", table / "model", table / "data.csv", "--out")
    run(capsys, *command, tmp_path / "plain.csv")
    run(capsys, *command, tmp_path / "sorted.csv", "--sort")
    plain = read_csv(tmp_path / "plain.csv")
    expected = sorted(plain, key=lambda row: -float(row["score"]))
    assert read_csv(tmp_path / "sorted.csv") == expected != plain


def test_rank__pictures__hidden_reds_and_a_sheet(
    pictures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ("rank", pictures / "model", pictures / "unlabeled", "--top", 20)
    files = ("--out", tmp_path / "top.csv", "--sheet", tmp_path / "sheet.png")
    found = run_json(capsys, *command, *files)
    assert found["n_seen"] == 80
    assert len(found["best"]) == 20
    assert all("red" in Path(row["name"]).name for row in found["best"])
    scores = [row["score"] for row in found["best"]]
    assert scores == sorted(scores, reverse=True)
    assert [row["path"] for row in read_csv(tmp_path / "top.csv")] == [
        row["name"] for row in found["best"]
    ]
    with Image.open(tmp_path / "sheet.png") as sheet:
        tile = np.asarray(sheet.convert("RGB"))[10:100, 10:100].reshape(-1, 3).mean(axis=0)
    assert tile[0] > tile[2] + 50, "the first picture of the sheet is a red one"
    check_target(tmp_path / "sheet.png", (".png",), marks=MADE_HERE)  # the next may replace it
    (tmp_path / "mine.png").write_bytes((pictures / "unlabeled" / "red000.png").read_bytes())
    assert "may be data of yours" in run(capsys, *command, "--sheet", tmp_path / "mine.png", code=2)


def test_rank__table_with_its_labels__known_positives_left_out(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {row["key"]: row for row in read_csv(table / "data.csv")}
    found = run_json(capsys, "rank", table / "model", table / "data.csv", "--top", 500)
    n_known = sum(row["known"] == "yes" for row in rows.values())
    assert (found["n_seen"], found["n_labeled"]) == (240 - n_known, n_known)
    assert not any(rows[best["name"]]["known"] for best in found["best"])
    everything = run_json(
        capsys, "rank", table / "model", table / "data.csv", "--top", 500, "--include-labeled"
    )
    assert everything["n_seen"] == 240
    kept = run_json(
        capsys, "rank", table / "model", table / "data.csv", "--top=3", "--keep=x1", "--keep=x1"
    )
    assert [best["kept"] for best in kept["best"]] == [
        {"x1": rows[best["name"]]["x1"]} for best in found["best"][:3]
    ], "as the file has it, asked for once or twice"
    text = run(capsys, "rank", table / "model", table / "data.csv", "--top", 3)
    head, first, *others = text.splitlines()
    assert head.split() == ["place", "prob.", "score", "name"]
    assert found["best"][0]["name"] in first
    assert len(others) == 2
    line = ("rank", table / "model", table / "data.csv", "--top", 3, "--keep", "x1")
    head, first, *_ = run(capsys, *line).splitlines()
    assert head.split()[-1] == "x1"
    assert first.split()[-1] == kept["best"][0]["kept"]["x1"]


def test_evaluate__truth__agrees_with_counting(
    table: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run(capsys, "predict", table / "model", table / "data.csv", "--out", tmp_path / "a.csv")
    words = {"yes": "1", "not yes": "0"}
    labels = [words[row["label"]] for row in read_csv(tmp_path / "a.csv")]
    truth = [row["truth"] for row in read_csv(table / "data.csv")]
    command = ("evaluate", table / "model", table / "data.csv", "--label")
    found = run_json(capsys, *command, "truth", "--positive", "1")
    assert found["judged_by"] == "truth"
    assert found["accuracy"] == np.mean([a == b for a, b in zip(labels, truth, strict=True)])
    assert found["accuracy"] > 0.9
    estimated = run_json(
        capsys, *command, "known", "--scenario", "single-set", "--alpha", "0.4", "--positive", "yes"
    )
    known = [row["known"] == "yes" for row in read_csv(table / "data.csv")]
    called = [label == "1" for label, is_known in zip(labels, known, strict=True) if is_known]
    assert estimated["recall"] == np.mean(called)
    assert abs(estimated["precision"] - 1) < 0.35
    own = run_json(capsys, *command, "known", "--scenario", "case-control", "--positive", "yes")
    assert own["alpha"] == vqpu.load(table / "model").alpha_
    assert "accuracy" in run(capsys, *command, "truth", "--positive", "1")


def test_evaluate__pictures_by_a_file_of_labels(
    pictures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = sorted(path.name for path in (pictures / "unlabeled").iterdir())
    lines = "\n".join(f"{name},{name[:3]}" for name in names)
    (tmp_path / "labels.csv").write_text(f"picture,kind\n{lines}\n")
    found = run_json(
        capsys, "evaluate", pictures / "model", pictures / "unlabeled", "--labels",
        tmp_path / "labels.csv", "--file-column", "picture", "--label", "kind", "--positive", "red",
    )  # fmt: skip
    assert found["n_positive"] == 25
    assert found["accuracy"] > 0.9


def test_fit__one_folder_and_a_file_of_labels(
    pictures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = sorted(path.name for path in (pictures / "unlabeled").iterdir())
    known = [name for name in names if name.startswith("red")][:15]
    lines = "\n".join(f"./{name},{'wanted' if name in known else ''}" for name in names)
    (tmp_path / "labels.csv").write_text(f"file,mark\n{lines}\n")
    done = run_json(
        capsys, "fit", pictures / "unlabeled", "--labels", tmp_path / "labels.csv",
        "--label", "mark", "--positive", "wanted", "--image-size", 16, "--image-mode", "L",
        "--out", tmp_path / "model", *QUICK, "--set=batch_size=128",
    )  # fmt: skip
    assert done["stop_reason"] == "max_steps"
    sample = kept_sample(tmp_path / "model")
    assert (sample.n_positive, sample.n_unlabeled) == (15, 65)
    assert vqpu.load(tmp_path / "model").input_shape_ == (1, 16, 16)
    ranking = ("rank", tmp_path / "model", pictures / "unlabeled", "--top", 99)
    assert run_json(capsys, *ranking)["n_labeled"] == 0
    hidden = run_json(capsys, *ranking, "--labels", tmp_path / "labels.csv")
    assert (hidden["n_seen"], hidden["n_labeled"]) == (65, 15)
    assert not {Path(row["name"]).name for row in hidden["best"]} & {*known}
    replacing = ("--labels", tmp_path / "labels.csv", "--out", tmp_path / "labels.csv")
    assert "is the input" in run(capsys, *ranking, *replacing, code=2)
    judging = ("evaluate", tmp_path / "model", pictures / "unlabeled", "--labels")
    refusal = run(capsys, *judging, tmp_path / "labels.csv", code=1)
    assert "labels.csv has 65 samples without a label" in refusal


def test_rank__sheet_among_the_pictures__refused(
    pictures: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ranking = ("rank", pictures / "model", pictures / "unlabeled", "--top", 3, "--sheet")
    before = (pictures / "unlabeled" / "red000.png").read_bytes()
    for name in ("red000.png", "sheet.png"):
        assert "one more picture" in run(capsys, *ranking, pictures / "unlabeled" / name, code=2)
    assert (pictures / "unlabeled" / "red000.png").read_bytes() == before


def test_predict__broken_picture__in_its_place_with_a_reason(
    pictures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draw_pictures(tmp_path / "some", 3, True, np.random.default_rng(1))
    (tmp_path / "some" / "red001b.png").write_bytes(b"\x89PNG nothing more")
    command = ("predict", pictures / "model", tmp_path / "some", "--out", tmp_path / "a.csv")
    assert "4 samples" in run(capsys, *command)
    rows = read_csv(tmp_path / "a.csv")
    assert [Path(row["path"]).name for row in rows] == [
        "red000.png", "red001.png", "red001b.png", "red002.png",
    ]  # fmt: skip
    assert [bool(row["score"]) for row in rows] == [True, True, False, True]
    assert "identify" in rows[2]["reason"] or "PNG" in rows[2]["reason"]
    done = run_json(capsys, *command)
    assert (done["n_rows"], done["n_broken"]) == (4, 1)
    ranked = run_json(capsys, "rank", pictures / "model", tmp_path / "some")
    assert (len(ranked["best"]), ranked["n_broken"]) == (3, 1)


def test_predict__rows_with_gaps_and_a_monstrous_one__all_there_and_ids_stay_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("vqpu.files.readers._tablefiles._MOST_ROWS", 2)
    x = np.random.default_rng(0).normal(size=60) + 6 * (np.arange(60) % 2)
    data = {"x": x, "known": (np.arange(60) % 4 == 1).astype(int)}
    parquet.write_table(pa.table(data), tmp_path / "train.parquet")
    line = ["fit", tmp_path / "train.parquet", "--label", "known", "--positive", "1"]
    run(capsys, *line, "--out", tmp_path / "model", *QUICK)
    parquet.write_table(pa.table({"x": [None, None, 1e300, *x[:2]]}), tmp_path / "new.parquet")
    command = ("predict", tmp_path / "model", tmp_path / "new.parquet", "--out")
    assert "3 cannot be judged" in run(capsys, *command, tmp_path / "a.parquet")
    rows = parquet.read_table(tmp_path / "a.parquet").to_pylist()
    assert [row["id"] for row in rows] == [0, 1, 2, 3, 4]
    assert [row["score"] is None for row in rows] == [True, True, True, False, False]
    assert rows[0]["reason"] == "it contains no value at all"
    assert rows[2]["reason"] == "Sample 0 has no finite encoding"
    assert {row["label"] for row in rows} <= {None, 0, 1}
    run(capsys, *command, tmp_path / "b.parquet", "--sort")
    found = parquet.read_table(tmp_path / "b.parquet")
    assert found.schema.field("id").type == pa.int64()
    assert found.column("id").to_pylist()[-1] == 2


@pytest.mark.filterwarnings("default::vqpu.errors.VqpuWarning")
def test_evaluate__torn_picture__counted(
    pictures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    draw_pictures(tmp_path / "some", 3, True, np.random.default_rng(1))
    draw_pictures(tmp_path / "some", 3, False, np.random.default_rng(2))
    (tmp_path / "some" / "torn.png").write_bytes(b"\x89PNG nothing more")
    names = sorted(path.name for path in (tmp_path / "some").iterdir())
    lines = ["file,is", *(f"{name},{int(name.startswith('red'))}" for name in names)]
    (tmp_path / "truth.csv").write_text("\n".join(lines) + "\n")
    line: tuple[object, ...] = (
        "evaluate",
        pictures / "model",
        tmp_path / "some",
        "--labels",
        tmp_path / "truth.csv",
    )
    line = (*line, "--label", "is", "--positive", "1")
    assert "torn.png" in run(capsys, *line, code=1)
    judged = run_json(capsys, *line, "--skip-broken")
    assert (judged["n_samples"], judged["n_broken"]) == (6, 1)


@pytest.mark.filterwarnings("default::vqpu.errors.ColumnWarning")
def test_table_with_missing_values__every_command_takes_all_rows(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (table / "data.csv").read_text().splitlines()
    first = lines[0].split(",").index("x1")
    for number, value in ((3, ""), (5, "large")):
        cells = lines[number].split(",")
        cells[first] = value
        lines[number] = ",".join(cells)
    path = tmp_path / "some.csv"
    path.write_text("\n".join(lines) + "\n")
    command = ("predict", table / "model", path, "--out", tmp_path / "a.csv")
    done = run_json(capsys, *command)
    assert done == {
        "out": str(tmp_path / "a.csv"), "n_rows": 240, "n_positive": done["n_positive"],
        "n_broken": 0, "notes": {"number": {"x1": 1}}, "drift": done["drift"],
    }  # fmt: skip
    assert [row["id"] for row in read_csv(tmp_path / "a.csv")] == [f"r{i}" for i in range(240)]
    assert run_json(capsys, "rank", table / "model", path)["notes"] == {"number": {"x1": 1}}
    line = ("evaluate", table / "model", path, "--label", "truth", "--positive", "1")
    judged = run_json(capsys, *line)
    assert (judged["n_samples"], judged["n_broken"]) == (240, 0)
    refusal = run(capsys, *command, "--missing", "refuse", code=1)
    assert f"Row 2 (from 0) of {path} has no value in 'x1'" in refusal
    fit = ["fit", path, "--label", "known", "--positive", "yes", "--id", "key", "--drop", "truth"]
    assert main([*map(str, fit), "--out", str(tmp_path / "model"), *QUICK]) == 0
    error = capsys.readouterr().err
    assert "warning: Cells of 'x1' that are no numbers and count as missing: 1, such as" in error
    parts = [
        run_json(capsys, *command[:-1], tmp_path / f"{i}.csv", "--shard", f"{i}/2") for i in (1, 2)
    ]
    assert [part["n_rows"] for part in parts] == [120, 120]


def test_predict__labels_in_the_user_s_words__and_columns_kept(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ("predict", table / "model", table / "data.csv", "--keep", "truth", "--keep", "known")
    run(capsys, *line, "--out", tmp_path / "a.csv")
    rows, given = read_csv(tmp_path / "a.csv"), read_csv(table / "data.csv")
    assert {row["label"] for row in rows} == {"yes", "not yes"}
    assert [row["truth"] for row in rows] == [row["truth"] for row in given]
    assert [row["known"] for row in rows] == [row["known"] for row in given]
    assert all((row["label"] == "yes") == (float(row["score"]) > 0) for row in rows)


def test_inspect__both_forms(
    table: Path, pictures: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = run_json(capsys, "inspect", table / "model")
    assert found["estimator"] == "VQKMeansClassifier"
    assert found["classes"] == ["not yes", "yes"], "as predictions have it"
    assert found["parameters"]["max_steps"] == 60
    assert found["input"]["takes"] == "a table with 4 feature columns"
    assert {finding["name"] for finding in found["findings"]} >= {"quality", "recall", "alpha"}
    text = run(capsys, "inspect", pictures / "model")
    assert "a folder of images (read as 16 x 16 RGB)" in text
    assert "called positive" in text


@pytest.mark.parametrize(
    "line",
    [
        "inspect {model}",
        "report {model} --out {new}/page.html",
        "predict {model} {data} --out {new}/a.csv",
        "rank {model} {data}",
        "evaluate {model} {data} --label truth --positive 1",
    ],
)
def test_command__manifest_is_read_and_verified_once(
    line: str,
    table: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    reads, check_seal = [], _bundle._check_seal

    def counted(path: Path, raw: bytes) -> None:
        reads.append(path)
        check_seal(path, raw)

    monkeypatch.setattr(_bundle, "_check_seal", counted)
    run(capsys, *line.format(model=table / "model", data=table / "data.csv", new=tmp_path).split())
    assert reads == [table / "model" / "manifest.json"]


def test_training_sample__pictures__thumbnails_and_numbers_agree(pictures: Path) -> None:
    import base64
    import io

    sample = kept_sample(pictures / "model")
    assert (sample.n_positive, sample.n_unlabeled) == (40, 80)
    assert sample.is_labeled.tolist() == [False] * 80 + [True] * 40
    assert sample.codes is not None
    assert sample.codes.dtype == np.int16
    assert set(sample.galleries) == {"positive", "negative", "doubtful"}
    first = sample.galleries["positive"][0]
    assert sample.scores[first["sample"]] == sample.scores[~sample.is_labeled].max()
    assert "red" in sample.names[first["sample"]]
    with Image.open(io.BytesIO(base64.b64decode(first["image"]))) as picture:
        assert picture.format == "JPEG"
        assert max(picture.size) <= 64
        red, _, blue = np.asarray(picture).reshape(-1, 3).mean(axis=0)
    assert red > blue + 50
    doubtful = [abs(sample.scores[entry["sample"]]) for entry in sample.galleries["doubtful"]]
    assert doubtful == sorted(doubtful)


def test_training_sample__table__rows_by_column(table: Path) -> None:
    sample = kept_sample(table / "model")
    rows = {row["key"]: row for row in read_csv(table / "data.csv")}
    for entry in sample.galleries["negative"]:
        row = rows[sample.names[entry["sample"]]]
        assert entry["row"]["colour"] == row["colour"]
        assert entry["row"]["x1"] == float(row["x1"])
        assert entry["row"]["flag"] is (row["flag"] == "True")
        assert entry["image"] is None


def test_export__pictures__onnxruntime_gives_the_scores_of_predict(
    pictures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("onnx", "onnxscript"):
        pytest.importorskip(name)
    onnxruntime = pytest.importorskip("onnxruntime")
    from vqpu.files import iter_images

    done = run_json(capsys, "export", pictures / "model", "--onnx", tmp_path / "m.onnx")
    assert (done["input_dtype"], done["input_shape"]) == ("uint8", [16, 16, 3])
    run(capsys, "predict", pictures / "model", pictures / "unlabeled", "--out", tmp_path / "a.csv")
    X = next(iter(iter_images(pictures / "unlabeled", size=16, mode="RGB"))).X
    (scores,) = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(["score"], {"x": X})
    expected = [float(row["score"]) for row in read_csv(tmp_path / "a.csv")]
    np.testing.assert_allclose(scores, expected, atol=1e-4)


def test_export__table__the_graph_names_its_columns(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("onnxruntime", "onnxscript"):
        pytest.importorskip(name)
    onnx = pytest.importorskip("onnx")
    columns = ["x1", "x2", "colour", "flag"]
    said = run(capsys, "export", table / "model", "--onnx", tmp_path / "m.onnx")
    assert f"in order: {', '.join(columns)};" in said
    found = {e.key: json.loads(e.value) for e in onnx.load(tmp_path / "m.onnx").metadata_props}
    assert found["vqpu.columns"] == columns
    values = vqpu.load(table / "model").columns_.columns[2].values
    assert found["vqpu.categories"] == {"colour": [*values]}  # value number i has code i


def test_inspect__model_saved_in_python__has_findings_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3)) + 6 * (np.arange(120) % 2)[:, None]
    fast_classifier().fit(X, np.arange(120) % 4 == 1).save(tmp_path / "model")
    found = run_json(capsys, "inspect", tmp_path / "model")
    assert {finding["name"] for finding in found["findings"]} >= {"quality", "recall", "alpha"}


def test_evaluate__alpha_that_cannot_be__said(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["evaluate", table / "model", table / "data.csv", "--label", "known"]
    line += ["--positive", "yes", "--scenario", "case-control", "--alpha"]
    assert main([*map(str, line), "0.9"]) == 0
    assert "does not fit these data" in capsys.readouterr().err
    assert main([*map(str, line), "0.3"]) == 0
    assert "does not fit" not in capsys.readouterr().err


def test_predict_rank_evaluate__same_table__no_word_of_drift(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Labelled positives stand in the table too; they are no change of the unlabelled samples.
    model, data = table / "model", table / "data.csv"
    predicted = run_json(capsys, "predict", model, data, "--out", tmp_path / "out.csv")
    assert predicted["drift"]["level"] == "ok"
    assert run_json(capsys, "rank", model, data)["drift"]["level"] == "ok"
    main(["predict", str(model), str(data), "--out", str(tmp_path / "again.csv")])
    assert "note" not in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["float64", "bool_", "null"])
def test_predict__label_column_of_another_type__rows_are_judged(
    kind: str, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pa = pytest.importorskip("pyarrow")
    data = pa.csv.read_csv(table / "data.csv")
    empty = pa.nulls(len(data), getattr(pa, kind)())
    data = data.set_column(data.schema.get_field_index("known"), "known", empty)
    pa.parquet.write_table(data, tmp_path / "new.parquet")
    done = run_json(
        capsys, "predict", table / "model", tmp_path / "new.parquet", "--out", tmp_path / "o.csv"
    )
    assert (done["n_rows"], done["n_broken"]) == (len(data), 0)


def test_predict_rank_evaluate__other_table__one_note_says_what_moved(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [row for row in read_csv(table / "data.csv") if row["known"] != "yes"]
    lines = [",".join(rows[0])]
    lines += [",".join(str(float(v) + 9) if k == "x2" else v for k, v in r.items()) for r in rows]
    (tmp_path / "moved.csv").write_text("\n".join(lines) + "\n")
    commands: list[list[object]] = [
        ["predict", table / "model", tmp_path / "moved.csv", "--out", tmp_path / "out.csv"],
        ["rank", table / "model", tmp_path / "moved.csv"],
        ["evaluate", table / "model", tmp_path / "moved.csv", "--label=truth", "--positive=1"],
    ]
    for command in commands:
        assert main([str(word) for word in command]) == 0
        notes = [line for line in capsys.readouterr().err.splitlines() if "note:" in line]
        assert len(notes) == 1
        assert "not like the unlabelled ones of training" in notes[0]
        assert "'x2' (" in notes[0]


def test_predict__pictures_of_another_camera__brightness_moved(
    pictures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "light").mkdir()
    for path in sorted((pictures / "unlabeled").iterdir()):
        lighter = np.asarray(Image.open(path)).astype(int) + 50
        Image.fromarray(lighter.clip(0, 255).astype(np.uint8)).save(tmp_path / "light" / path.name)

    def drift(folder: Path) -> dict[str, Any]:
        out = tmp_path / f"{folder.name}.csv"
        found = run_json(capsys, "predict", pictures / "model", folder, "--out", out)["drift"]
        return dict(found)

    assert drift(pictures / "unlabeled")["level"] == "ok"
    moved = drift(tmp_path / "light")
    assert moved["level"] == "doubt"
    assert "the brightness of" in moved["sentence"]
