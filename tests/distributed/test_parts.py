"""Scoring in parts, without Ray: the same answers, whole results, jobs that go on."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from filelock import FileLock
from pyarrow import csv, parquet

from tests.command_line import read_csv, run, run_json
from tests.distributed.scored import (
    N_ROWS,
    ThisProcess,
    assert_same_answers,
    make_image_model,
    use_this_process,
)
from vqpu.distributed import Scorer, check_parts
from vqpu.distributed import _worker as worker
from vqpu.distributed._part_files import read_part, write_part
from vqpu.distributed._ray import _check_address, _check_joined
from vqpu.distributed._ray_scoring import RayEngine
from vqpu.errors import BrokenImageWarning, EngineError, InputError, OutputError, UsageError
from vqpu.files._engine import Reading
from vqpu.files._input_format import INPUT_FILE
from vqpu.files._input_parts import cut_input
from vqpu.files._models import open_model
from vqpu.files._prediction import predict_file
from vqpu.files._scoring import Predictions

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    make_image_model(folder)
    return folder


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> ThisProcess:
    monkeypatch.setattr("vqpu.files._input_parts.ROWS_PER_PART", 90)
    monkeypatch.setattr("vqpu.files._input_parts.FILES_PER_PART", 6)
    return use_this_process(monkeypatch)


RAY = ["--engine", "ray"]


@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv", "files"])
@pytest.mark.parametrize("more", [[], ["--sort", "--keep", "colour"], ["--keep", "x1"]])
def test_predict__in_parts__the_same_bytes(
    made: Path, cluster: ThisProcess, tmp_path: Path, capsys: Capture, name: str, more: list[str]
) -> None:
    here, there = tmp_path / "here.csv", tmp_path / "there.csv"
    run(capsys, "predict", made / "model", made / name, "--out", here, *more)
    run(capsys, "predict", made / "model", made / name, "--out", there, *more, *RAY)
    assert there.read_bytes() == here.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here.csv", "there.csv"]
    assert "score_part" in cluster.calls


@pytest.fixture
def stored(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the files, to be read by their addresses."""
    folder = tmp_path_factory.mktemp("store")
    shutil.copy(made / "rows.parquet", folder)
    shutil.copytree(made / "files", folder / "files")
    return folder


@pytest.mark.parametrize("name", ["rows.parquet", "files", "files/*.csv"])
def test_predict__from_a_store__the_same_bytes(
    made: Path, stored: Path, cluster: ThisProcess, tmp_path: Path, capsys: Capture, name: str
) -> None:
    here, there = tmp_path / "here.csv", tmp_path / "there.csv"
    common = ["predict", made / "model"]
    said = run_json(capsys, *common, made / name, "--out", here)
    address = f"{stored.as_uri()}/{name}"
    for more in ([], RAY):
        assert_same_answers(run_json(capsys, *common, address, "--out", there, *more), said)
        assert there.read_bytes() == here.read_bytes()
    written = RayEngine().write_parts(made / "model", address, Reading(), tmp_path / "out")
    assert check_parts(tmp_path / "out")["rows"] == written.n_rows == N_ROWS
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here.csv", "out", "there.csv"]


def test_rank_and_evaluate__from_a_store__the_same(
    made: Path,
    stored: Path,
    cluster: ThisProcess,
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: Any,
) -> None:
    monkeypatch.chdir(tmp_path)
    labels = ["--label", "truth", "--positive", 1]
    for command, more in (("rank", ["--top", 7]), ("evaluate", labels)):
        said = run_json(capsys, command, made / "model", made / "rows.parquet", *more)
        found = run_json(
            capsys, command, made / "model", f"{stored.as_uri()}/rows.parquet", *more, *RAY
        )
        assert_same_answers(found, said)


def test_store__changed_meanwhile_or_not_for_that__refused(
    made: Path, stored: Path, cluster: ThisProcess, tmp_path: Path, capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    address = f"{stored.as_uri()}/rows.parquet"
    common = ["predict", made / "model", address, *RAY, "--out"]
    for out in ("s3://bucket/out", "s3://bucket/out.csv"):
        assert "s3:// is no place for a result" in run(capsys, *common, out, code=2)
    inside = ["predict", made / "model", (made / "files").as_uri(), *RAY, "--out"]
    assert "lies in" in run(capsys, *inside, made / "files" / "out", code=2)
    scored = worker._scored

    def change_after(*arguments: Any) -> Any:
        found = scored(*arguments)
        (stored / "rows.parquet").touch()  # of the same size
        return found

    monkeypatch.setattr(worker, "_scored", change_after)
    said = run(capsys, *common, tmp_path / "out.csv", code=1)
    assert said == (f"vqpu: {address} was changed while it was scored: score it again.\n")
    assert not list(tmp_path.iterdir())


def test_rows_without_ids__numbered_through_all_files(
    made: Path, cluster: ThisProcess, tmp_path: Path, capsys: Capture
) -> None:
    shutil.copytree(made / "files", tmp_path / "files")
    empty = parquet.read_table(made / "rows.parquet").slice(0, 0)
    parquet.write_table(empty, tmp_path / "files" / "1-without-rows.parquet")
    model = open_model(made / "model")
    numbered = replace(model.input_format, id_column=None).to_json()
    model.estimator.save(tmp_path / "model", extras={INPUT_FILE: numbered})
    common = ["predict", tmp_path / "model", tmp_path / "files", "--out"]
    run(capsys, *common, tmp_path / "here.csv")
    run(capsys, *common, tmp_path / "there.csv", *RAY)
    assert (tmp_path / "there.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()
    assert [row["id"] for row in read_csv(tmp_path / "there.csv")] == [*map(str, range(N_ROWS))]
    assert "count_part" in cluster.calls


def test_ids_left_out__numbered_through_all_files(
    made: Path, cluster: ThisProcess, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    RayEngine().write_parts(made / "model", made / "files", Reading(id_column=""), out)
    assert parquet.read_table(out).column("id").to_pylist() == [*range(N_ROWS)]


def test_part_without_rows__no_file(made: Path, cluster: ThisProcess, tmp_path: Path) -> None:
    shutil.copytree(made / "files", tmp_path / "files")
    empty = parquet.read_table(made / "rows.parquet").slice(0, 0)
    parquet.write_table(empty, tmp_path / "files" / "0-without-rows.parquet")
    out, reading = tmp_path / "out", Reading(keep=["x1"])
    for _ in range(2):  # the second time nothing is to be made
        cluster.calls.clear()
        written = RayEngine().write_parts(made / "model", tmp_path / "files", reading, out)
        assert written.n_rows == check_parts(out)["rows"] == N_ROWS
    assert not cluster.calls
    assert [path.name for path in sorted(out.glob("part-*"))] == [
        part["file"] for part in check_parts(out)["parts"]
    ]
    assert parquet.read_table(out).num_rows == N_ROWS


@pytest.mark.parametrize("is_torn", [False, True])
def test_input_changed_meanwhile__refused__and_nothing_hidden_stays(
    made: Path, cluster: ThisProcess, tmp_path: Path, capsys: Capture,
    monkeypatch: pytest.MonkeyPatch, is_torn: bool,
) -> None:  # fmt: skip
    rows, out = tmp_path / "rows.parquet", tmp_path / "out"
    shutil.copy(made / "rows.parquet", rows)
    scored = worker._scored

    def change_after(*arguments: Any) -> Any:
        found = scored(*arguments)
        rows.write_bytes(b"torn") if is_torn else rows.touch()
        return found

    monkeypatch.setattr(worker, "_scored", change_after)
    common = ["predict", made / "model", rows, *RAY, "--out"]
    said = run(capsys, *common, out, code=1)
    assert said == (
        f"vqpu: {rows} was changed while it was scored: score it again, into a new --out, and "
        f"remove {out}.\n"
    )
    with pytest.raises(InputError, match="not finished"):
        check_parts(out)
    shutil.copy(made / "rows.parquet", rows)
    said = run(capsys, *common, tmp_path / "out.csv", code=1)
    assert said == f"vqpu: {rows} was changed while it was scored: score it again.\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "rows.parquet"]


@pytest.mark.parametrize("words", [["no", "yes"], [0, 1]])
def test_part_file__nothing_judged__labels_of_the_same_kind(
    tmp_path: Path, words: list[Any]
) -> None:
    nan = np.full(2, np.nan)
    given = Predictions(["a", "b"], np.array(words), nan, nan, reasons={0: "torn", 1: "torn"})
    write_part(tmp_path / "part", [given])
    (found,) = read_part(tmp_path / "part", [])
    assert found.labels.dtype.kind == given.labels.dtype.kind
    assert [*found.rows()] == [*given.rows()]


def test_part_file__names_that_are_no_unicode__refused(tmp_path: Path) -> None:
    given = Predictions(["a\udcff.png"], np.array([1]), np.zeros(1), np.zeros(1))
    with pytest.raises(InputError, match="is not Unicode"):
        write_part(tmp_path / "part", [given])
    assert not list(tmp_path.iterdir())


def test_worker__rows_of_other_types__one_sentence(tmp_path: Path) -> None:
    one = Predictions(["a"], np.array([1]), np.zeros(1), np.zeros(1))
    other = Predictions(["b"], np.array(["yes"]), np.zeros(1), np.zeros(1))
    for ending in (".arrow", ".parquet"):
        with pytest.raises(InputError, match="predictions cannot be written"):
            worker._write(tmp_path / f"part{ending}", "path", [one, other], [])
    assert not list(tmp_path.iterdir())


def test_notes__of_all_parts(
    made: Path, cluster: ThisProcess, tmp_path: Path, capsys: Capture
) -> None:
    shutil.copytree(made / "files", tmp_path / "files")
    for name in ("0.csv", "2.csv"):
        path = tmp_path / "files" / name
        path.write_text(path.read_text().replace('"pink"', '"mauve"').replace("pink", "mauve"))
    common = ["predict", made / "model", tmp_path / "files", "--out"]
    here = run_json(capsys, *common, tmp_path / "a.csv")
    there = run_json(capsys, *common, tmp_path / "b.csv", *RAY)
    assert here["notes"]["unseen"]["colour"] > 0
    assert there["notes"] == here["notes"]


def test_column_written_otherwise__in_parts__refused_and_nothing_left(
    made: Path, cluster: ThisProcess, tmp_path: Path, capsys: Capture
) -> None:
    rows = parquet.read_table(made / "rows.parquet")
    texts = pa.array([f"{number} kg" for number in range(len(rows))])
    others = rows.set_column(rows.schema.get_field_index("x1"), "x1", texts)
    parquet.write_table(others, tmp_path / "others.parquet")
    command = ["predict", made / "model", tmp_path / "others.parquet", "--out", tmp_path / "p.csv"]
    for engine in ([], RAY):
        assert "but none of its 300 cells can be read" in run(capsys, *command, *engine, code=1)
    assert [path.name for path in tmp_path.iterdir()] == ["others.parquet"]


def test_rank_and_evaluate__in_parts__the_same(
    made: Path, cluster: ThisProcess, tmp_path: Path, capsys: Capture, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    rank = ["rank", made / "model", made / "rows.parquet", "--top", 7]
    assert_same_answers(run_json(capsys, *rank, *RAY), run_json(capsys, *rank))
    labels = ["--label", "truth", "--positive", 1]
    evaluate = ["evaluate", made / "model", made / "files", *labels]
    assert_same_answers(run_json(capsys, *evaluate, *RAY), run_json(capsys, *evaluate))
    assert not list(tmp_path.iterdir())


def moved_rows(made: Path, path: Path) -> None:
    """Write rows that are not like those of training, some of them labelled."""
    table = parquet.read_table(made / "rows.parquet")
    place = table.schema.get_field_index("x1")
    x1 = np.where(np.arange(N_ROWS) % 3 == 0, np.nan, table.column("x1").to_numpy() + 2)
    parquet.write_table(table.set_column(place, "x1", [x1]), path, row_group_size=17)


@pytest.mark.parametrize("samples", [1, 50, 120, 1000])
def test_drift__in_parts__as_at_once_to_the_last_bit(
    made: Path, cluster: ThisProcess, tmp_path: Path, capsys: Capture, samples: int
) -> None:
    moved_rows(made, tmp_path / "moved.parquet")
    common = ["predict", made / "model", tmp_path / "moved.parquet", "--out"]
    here = run_json(capsys, *common, tmp_path / "here.csv")["drift"]
    assert here["level"] == "doubt"
    assert "'x1'" in here["sentence"]
    engine = RayEngine(samples=samples)
    given = (made / "model", tmp_path / "moved.parquet", Reading(), tmp_path / "out")
    for _ in range(2):  # the second time from the records alone
        cluster.calls.clear()
        found = engine.write_parts(*given).drift
        assert found is not None
        assert dict(found._asdict()) == here
        assert check_parts(tmp_path / "out")["drift"] == here
    assert not cluster.calls
    found = predict_file(*given[:2], tmp_path / "there.csv", engine=engine).drift
    assert found is not None
    assert dict(found._asdict()) == here


def test_drift__of_rank_and_evaluate__labelled_ones_left_out_as_at_once(
    made: Path, pictures: Path, cluster: ThisProcess, tmp_path: Path, capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    moved_rows(made, tmp_path / "moved.parquet")
    labels = ["--labels", pictures / "labels.csv", "--label", "kind", "--positive", "light"]
    scenario = ["--scenario", "single-set"]
    commands: list[list[object]] = [
        ["rank", made / "model", "moved.parquet", "--top", 3],
        ["evaluate", made / "model", "moved.parquet", *scenario],
        ["evaluate", made / "model", "moved.parquet", "--label", "truth", "--positive", 1],
        ["evaluate", pictures / "model", pictures / "pictures", *labels, "--skip-broken"],
        [
            "evaluate",
            pictures / "model",
            pictures / "pictures",
            *labels,
            "--skip-broken",
            *scenario,
        ],
    ]
    with warnings.catch_warnings(action="ignore", category=BrokenImageWarning):
        said = [run_json(capsys, *command) for command in commands]
    for command, here in zip(commands, said, strict=True):
        assert_same_answers(run_json(capsys, *command, *RAY), here)
    assert len({json.dumps(here["drift"]) for here in said[1:]}) == 4, "labels make a difference"


@pytest.mark.filterwarnings("ignore::vqpu.errors.BrokenImageWarning")
def test_pictures__in_parts__the_same(
    pictures: Path, cluster: ThisProcess, tmp_path: Path, capsys: Capture, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    predict = ["predict", pictures / "model", pictures / "pictures", "--out"]
    here = run_json(capsys, *predict, "here.jsonl")
    there = run_json(capsys, *predict, "there.jsonl", *RAY)
    assert_same_answers(there, here)
    assert Path("there.jsonl").read_bytes() == Path("here.jsonl").read_bytes()
    assert here["n_broken"] == 1
    labels = ["--labels", pictures / "labels.csv", "--label", "kind", "--positive", "light"]
    evaluate = ["evaluate", pictures / "model", pictures / "pictures", *labels]
    skipping = run_json(capsys, *evaluate, "--skip-broken")
    assert_same_answers(run_json(capsys, *evaluate, "--skip-broken", *RAY), skipping)
    assert "07.png cannot be used" in run(capsys, *evaluate, *RAY, code=1)


def test_folder__parts_with_a_manifest(
    made: Path, cluster: ThisProcess, tmp_path: Path, capsys: Capture
) -> None:
    here, there = tmp_path / "here.parquet", tmp_path / "there"
    common = ["predict", made / "model", made / "rows.parquet", "--keep", "x1", "--out"]
    said = run_json(capsys, *common, here)
    assert_same_answers(run_json(capsys, *common, there, *RAY), said)
    manifest = check_parts(there)
    assert manifest["rows"] == N_ROWS == sum(part["rows"] for part in manifest["parts"])
    assert len(manifest["parts"]) == 4
    assert parquet.read_table(there).equals(parquet.read_table(here))
    assert "rows.parquet" not in json.dumps(manifest), "no path of the user's machine"


def test_stopped_job__goes_on_with_the_missing_parts(
    made: Path, cluster: ThisProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, rows, out = made / "model", made / "rows.parquet", tmp_path / "out"
    engine, n_left = RayEngine(samples=40), [3]
    scored = worker._scored

    def die_after_three(*arguments: Any) -> Any:
        n_left[0] -= 1
        if n_left[0] < 0:
            raise KeyboardInterrupt
        return scored(*arguments)

    monkeypatch.setattr(worker, "_scored", die_after_three)
    with pytest.raises(KeyboardInterrupt):
        engine.write_parts(model, rows, Reading(), out)
    with pytest.raises(InputError, match="its job is not finished"):
        check_parts(out)
    done = sorted(out.glob("part-*"))
    assert len(done) == 3
    done[0].write_bytes(done[0].read_bytes()[:-1])  # a torn part is made again
    monkeypatch.setattr(worker, "_scored", scored)
    cluster.calls.clear()
    assert engine.write_parts(model, rows, Reading(), out).n_rows == N_ROWS
    assert 8 - 2 <= len(cluster.calls) <= 2 * (8 - 2), "two parts were not made again"
    whole = RayEngine().write_parts(model, rows, Reading(), tmp_path / "at once")
    assert whole.n_rows == N_ROWS
    assert parquet.read_table(out).equals(parquet.read_table(tmp_path / "at once"))


def test_folder_of_another_job__refused(
    made: Path, cluster: ThisProcess, tmp_path: Path, capsys: Capture
) -> None:
    common = ["predict", made / "model", made / "rows.parquet", *RAY, "--out"]
    run(capsys, *common, tmp_path / "out")
    found = run(capsys, *common, tmp_path / "out", "--keep", "x1", code=2)
    assert "parts of another job: it differs in options" in found
    check_parts(tmp_path / "out")
    assert "lies in" in run(capsys, *common, made / "model" / "out", code=2)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    assert "holds no parts of a job" in run(capsys, *common, tmp_path / "mine", code=2)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OutputError, match="is a file"):
        RayEngine().write_parts(made / "model", made / "rows.parquet", Reading(), tmp_path / "file")


def test_folder_in_use_or_read_only__refused(
    made: Path, cluster: ThisProcess, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    RayEngine().write_parts(made / "model", made / "rows.parquet", Reading(), out)
    before = check_parts(out)
    with FileLock(out / ".lock"), pytest.raises(OutputError, match="by another job"):
        RayEngine().write_parts(made / "model", made / "rows.parquet", Reading(), out)
    assert check_parts(out) == before
    nowhere = made / "rows.csv" / "out"
    with pytest.raises(OutputError, match="cannot be written"):
        RayEngine().write_parts(made / "model", made / "rows.parquet", Reading(), nowhere)


def test_changed_part__noticed(made: Path, cluster: ThisProcess, tmp_path: Path) -> None:
    out = tmp_path / "out"
    RayEngine().write_parts(made / "model", made / "rows.parquet", Reading(), out)
    part = next(out.glob("part-*"))
    part.write_bytes(b"\x00" + part.read_bytes()[1:])
    with pytest.raises(InputError, match="missing or was changed"):
        check_parts(out)


def test_part_that_cannot_be_decoded__one_sentence_and_no_result(
    made: Path, cluster: ThisProcess, tmp_path: Path, capsys: Capture
) -> None:
    table = parquet.read_table(made / "rows.parquet")
    broken = tmp_path / "rows.parquet"
    parquet.write_table(table, broken, row_group_size=40, compression="zstd")
    content = bytearray(broken.read_bytes())
    start = parquet.ParquetFile(broken).metadata.row_group(5).column(1).data_page_offset
    content[start : start + 60] = bytes(60)
    broken.write_bytes(content)
    out = tmp_path / "out"
    found = run(capsys, "predict", made / "model", broken, "--out", out, *RAY, code=1)
    assert found.startswith("vqpu: Part ")
    assert "rows.parquet cannot be read as parquet" in found
    with pytest.raises(InputError, match="not finished"):
        check_parts(out)


def test_worker__other_versions_another_model_no_model__refused(made: Path, tmp_path: Path) -> None:
    model = open_model(made / "model")
    part = [*cut_input(model.input_format, made / "rows.parquet")[0]]
    reading: dict[str, Any] = {"keep": []}
    job = worker.Job(
        worker.versions(), str(tmp_path), str(made / "model"), "0" * 64,
        str(made / "rows.parquet"), reading, str(tmp_path), ".arrow",
    )  # fmt: skip
    other = job._replace(versions={**job.versions, "vqpu": "9.9"})
    assert "but this command vqpu 9.9" in worker.score_part(other._asdict(), 0, part)["refused"]
    folder = Path.cwd()
    assert "another model" in worker.score_part(job._asdict(), 0, part)["refused"]
    assert Path.cwd() == folder  # which is other jobs' too
    gone = job._replace(model=str(tmp_path / "none"))
    assert "cannot read the model" in worker.score_part(gone._asdict(), 0, part)["refused"]
    away = job._replace(here=str(tmp_path / "none"))
    assert "every machine sees them" in worker.score_part(away._asdict(), 0, part)["refused"]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("address", ["nonsense", "ray://host:1", ":1", "host:", "a/b:1"])
def test_address__nonsense__refused(address: str) -> None:
    with pytest.raises(UsageError, match="host:port"):
        _check_address(address)


def test_address__nothing_there__refused() -> None:
    with pytest.raises(EngineError, match=r"Nothing answers at 127\.0\.0\.1:1 "):
        _check_address("127.0.0.1:1")


def test_address__of_another_cluster_than_joined__refused(monkeypatch: Any) -> None:
    joined = SimpleNamespace(gcs_address="10.0.0.1:6379")
    ray = SimpleNamespace(
        get_runtime_context=lambda: joined,
        util=SimpleNamespace(get_node_ip_address=lambda: "10.0.0.1"),
    )
    monkeypatch.setitem(sys.modules, "ray", ray)
    for address in ("auto", "10.0.0.1:6379", "127.0.0.1:6379"):
        _check_joined(address)
    for address in ("10.0.0.2:6379", "127.0.0.1:6380"):
        with pytest.raises(UsageError, match=r"joined the Ray cluster at 10\.0\.0\.1:6379"):
            _check_joined(address)


def test_options__only_together(made: Path, capsys: Capture, monkeypatch: Any) -> None:
    common = ["predict", made / "model", made / "rows.csv", "--out", made / "x.csv"]
    assert "for --engine ray" in run(capsys, *common, "--workers", 2, code=2)
    assert "must be ray" in run(capsys, *common, "--engine", "spark", code=2)
    use_this_process(monkeypatch)
    assert "leave --shard out" in run(capsys, *common, *RAY, "--shard", "1/2", code=2)
    common[-1] = made / "folder"
    assert "--sort is for one file" in run(capsys, *common, *RAY, "--sort", code=2)


def test_without_ray__one_sentence__and_nothing_of_it_imported(made: Path, tmp_path: Path) -> None:
    program = (
        "import sys\nfrom vqpu.cli import main\n"
        "import vqpu.distributed, vqpu.distributed._ray_scoring\n"
        "assert 'ray' not in sys.modules\n"
        "import vqpu.distributed._ray as ours\nours.find_spec = lambda name: None\n"
        f"sys.exit(main(['predict', {str(made / 'model')!r}, {str(made / 'rows.csv')!r}, '--out', "
        f"{str(tmp_path / 'x.csv')!r}, '--engine', 'ray']))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "vqpu: The engine ray needs Ray: pip install 'vqpu[ray]'.\n"


def test_scorer__arrow_and_pandas__as_predict(made: Path, tmp_path: Path, capsys: Capture) -> None:
    pandas = pytest.importorskip("pandas")
    out = tmp_path / "out.parquet"
    run(capsys, "predict", made / "model", made / "rows.parquet", "--out", out)
    expected, table = parquet.read_table(out), parquet.read_table(made / "rows.parquet")
    scorer = Scorer(made / "model")
    assert scorer(table).equals(expected)
    pieces = [scorer(batch) for batch in table.to_batches(max_chunksize=33)]
    assert [b.schema.names for b in pieces] == [expected.schema.names] * len(pieces)
    scores = np.concatenate([batch.column("score").to_numpy() for batch in pieces])
    np.testing.assert_array_equal(scores, expected.column("score").to_numpy())
    frame = table.to_pandas().set_index(pandas.Index(range(7, 7 + N_ROWS)))
    found = scorer(frame)
    np.testing.assert_array_equal(found["score"], expected.column("score").to_numpy())
    assert list(found.index) == list(frame.index)
    streamed = list(scorer.batches(table.to_batches(max_chunksize=33)))
    assert [batch.to_pydict() for batch in streamed] == [batch.to_pydict() for batch in pieces]
    assert scorer(table.slice(0, 0)).num_rows == 0


def test_scorer__goes_to_other_processes_as_its_path(made: Path) -> None:
    scorer = Scorer(made / "model", id_column="", keep=["x1"])
    assert Path(scorer.model).is_absolute()
    scorer(csv.read_csv(made / "rows.csv"))
    assert set(vars(scorer)) == {"model", "id_column", "keep"}
    assert scorer(csv.read_csv(made / "rows.csv")).schema.names == [
        "label", "score", "probability", "reason", "x1",
    ]  # fmt: skip


def test_scorer__no_rows__columns_and_types_as_with_rows(made: Path) -> None:
    table = parquet.read_table(made / "rows.parquet")
    scorer = Scorer(made / "model", keep=["x1", "colour"])
    assert scorer(table.slice(0, 0)).schema == scorer(table).schema
    frame = table.to_pandas()
    assert list(scorer(frame.iloc[:0]).columns) == list(scorer(frame).columns)


def test_scorer__pictures_and_refusals(pictures: Path, made: Path) -> None:
    import pyarrow as pa

    paths = sorted(map(str, (pictures / "pictures").iterdir()))
    found = Scorer(pictures / "model")(pa.table({"path": paths}))
    assert found.column("path").to_pylist() == paths
    assert sum(reason is not None for reason in found.column("reason").to_pylist()) == 1
    with pytest.raises(InputError, match="no column 'path'"):
        Scorer(pictures / "model")(pa.table({"x": [1]}))
    with pytest.raises(UsageError, match="keep is for models on tables"):
        Scorer(pictures / "model", keep=["x"])(pa.table({"path": paths, "x": paths}))
    with pytest.raises(UsageError, match="A batch must be"):
        Scorer(made / "model")([1, 2])
    with pytest.raises(InputError, match="x1"):
        Scorer(made / "model")(pa.table({"key": ["a"]}))


def test_dask__map_partitions__as_predict(made: Path, tmp_path: Path, capsys: Capture) -> None:
    dask = pytest.importorskip("dask")
    frames = pytest.importorskip("dask.dataframe")
    table = parquet.read_table(made / "rows.parquet").to_pandas()
    scorer = Scorer(made / "model", id_column="")
    with dask.config.set(scheduler="synchronous"):
        meta = scorer(table.iloc[:0])
        found = frames.from_pandas(table, npartitions=3).map_partitions(scorer, meta=meta).compute()
    np.testing.assert_array_equal(found["score"], scorer(table)["score"])


@pytest.mark.parametrize(
    "damage",
    [
        {"file": "/etc/hostname"},
        {"file": "../model/manifest.json"},
        {"file": "part-000001.parquet"},
        {"file": None},
        {"rows": -1},
        {"rows": None},
        {"bytes": "many"},
    ],
)
def test_record__of_something_else__the_part_is_made_again(
    made: Path, cluster: ThisProcess, tmp_path: Path, damage: dict[str, Any]
) -> None:
    engine, out = RayEngine(samples=100), tmp_path / "out"
    engine.write_parts(made / "model", made / "rows.parquet", Reading(), out)
    before, record = check_parts(out), out / "_part-000000.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | damage))
    engine.write_parts(made / "model", made / "rows.parquet", Reading(), out)
    assert check_parts(out) == before


@pytest.mark.parametrize(
    "damage",
    [
        {"cells": [7]},
        {"n": -50},
        {"n": 10**30},
        {"n_called": 0.5},
        {"scores": None},
        {"columns": 3},
    ],
)
def test_counts_of_a_part__damaged__one_sentence(
    made: Path, cluster: ThisProcess, tmp_path: Path, damage: dict[str, Any]
) -> None:
    engine, out = RayEngine(samples=100), tmp_path / "out"
    engine.write_parts(made / "model", made / "rows.parquet", Reading(), out)
    record = out / "_part-000000.json"
    plain = json.loads(record.read_text())
    record.write_text(json.dumps({**plain, "drift": plain["drift"] | damage}))
    with pytest.raises(InputError, match="counts of a part are damaged"):
        engine.write_parts(made / "model", made / "rows.parquet", Reading(), out)
