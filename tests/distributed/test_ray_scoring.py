"""Scoring on a real Ray cluster of this machine; skipped where Ray is not installed."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet
from pyarrow.fs import FileSystem

from tests.command_line import run, run_json
from tests.distributed.scored import N_ROWS, assert_same_answers
from vqpu.distributed import Scorer, check_parts, score
from vqpu.distributed._ray import opened_cluster
from vqpu.distributed._ray_scoring import RayEngine
from vqpu.errors import EngineError, InputError
from vqpu.files._engine import Reading

pytestmark = [pytest.mark.scale, pytest.mark.filterwarnings("ignore")]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    pytest.importorskip("ray")
    with opened_cluster(workers=2) as opened:
        yield opened


def test_commands__on_ray__the_same(
    made: Path, cluster: Any, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("vqpu.files._input_parts.ROWS_PER_PART", 80)
    common = ["predict", made / "model", made / "rows.parquet", "--out"]
    run(capsys, *common, "here.csv")
    run(capsys, *common, "there.csv", "--engine", "ray")
    assert Path("there.csv").read_bytes() == Path("here.csv").read_bytes()
    rank = ["rank", made / "model", made / "files", "--top", 5]
    assert_same_answers(run_json(capsys, *rank, "--engine", "ray"), run_json(capsys, *rank))


@pytest.mark.parametrize("name", ["rows.parquet", "files", "files/*.csv"])
def test_addresses_of_files__on_ray__as_paths(
    made: Path, cluster: Any, tmp_path: Path, name: str
) -> None:
    score(made / "rows.parquet", made / "model", out=tmp_path / "expected", samples=100)
    score(f"{made.as_uri()}/{name}", made / "model", out=tmp_path / "out", samples=100)
    expected = parquet.read_table(tmp_path / "expected")
    assert parquet.read_table(tmp_path / "out").equals(expected)


@pytest.fixture(scope="module", autouse=True)  # workers have the environment of the cluster's start
def keys() -> Iterator[None]:
    """Who asks, for the stand-in of S3."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "key")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        yield


@pytest.fixture
def bucket(made: Path) -> Iterator[str]:
    """The rows in a stand-in of S3 on this machine, by an address that says where it is.

    moto is in no extra, as its botocore takes an older python-dateutil than is pinned:
    ``pip install --target FOLDER 'moto[server]'`` and FOLDER at the end of PYTHONPATH.
    """
    moto = pytest.importorskip("moto.server")
    server = moto.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    options = "?scheme=http&region=us-east-1&endpoint_override={}:{}"
    options = options.format(*server.get_host_and_port())
    store, _ = FileSystem.from_uri(f"s3://tables{options}&allow_bucket_creation=true")
    store.create_dir("tables")
    for name in ("rows.parquet", "files/0.csv", "files/1.csv", "files/2.csv"):
        with store.open_output_stream(f"tables/{name}") as file:
            file.write((made / name).read_bytes())
    yield f"s3://tables/{{}}{options}"
    server.stop()


@pytest.mark.parametrize("name", ["rows.parquet", "files/", "files/*.csv"])
def test_s3__on_ray__as_files(
    made: Path, bucket: str, cluster: Any, tmp_path: Path, name: str
) -> None:
    score(made / "rows.parquet", made / "model", out=tmp_path / "expected", samples=100)
    expected = parquet.read_table(tmp_path / "expected")
    out = tmp_path / "out"
    score(bucket.format(name), made / "model", out=out, samples=100)
    assert check_parts(out)["rows"] == N_ROWS
    assert parquet.read_table(out).equals(expected)


def test_s3__nothing_there__one_sentence(
    made: Path, bucket: str, cluster: Any, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"none.parquet\S* does not exist"):
        score(bucket.format("none.parquet"), made / "model", out=tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_ray_data__as_files(made: Path, cluster: Any, tmp_path: Path) -> None:
    data = pytest.importorskip("ray.data")
    score(made / "rows.parquet", made / "model", out=tmp_path / "out", samples=100)
    expected = parquet.read_table(tmp_path / "out")
    data.DataContext.get_current().enable_progress_bars = False
    found = score(data.read_parquet(str(made / "rows.parquet")), made / "model").to_pandas()
    columns = ["score", "probability", "label"]
    by_name = found.set_index("id").loc[expected.column("id").to_pylist()]
    for name in columns:
        assert by_name[name].tolist() == expected.column(name).to_pylist()
    assert isinstance(Scorer(made / "model").model, str)


def kill_workers(stop: threading.Event, kills: list[int], most: int, seed: int) -> None:
    """Send SIGKILL to workers at random moments while they score."""
    import psutil

    rng = random.Random(seed)
    while not stop.wait(rng.uniform(0.01, 0.1)):
        workers = [
            process.pid
            for process in psutil.process_iter(["cmdline"])
            if "ray::score_part" in " ".join(process.info["cmdline"] or [])
        ]
        if workers and len(kills) < most:
            kills.append(rng.choice(workers))
            os.kill(kills[-1], signal.SIGKILL)


def score_and_kill(made: Path, out: Path, most: int, seed: int) -> int:
    stop, kills = threading.Event(), []  # type: tuple[threading.Event, list[int]]
    killer = threading.Thread(target=kill_workers, args=(stop, kills, most, seed))
    killer.start()
    try:
        RayEngine(samples=20).write_parts(made / "model", made / "rows.parquet", Reading(), out)
    finally:
        stop.set()
        killer.join()
    return len(kills)


@pytest.mark.parametrize(
    "n_kills", [2, pytest.param(20, marks=[pytest.mark.torture, pytest.mark.slow])]
)
def test_workers_killed__no_row_twice_and_none_missing(
    made: Path, cluster: Any, tmp_path: Path, n_kills: int
) -> None:
    pytest.importorskip("psutil")
    RayEngine().write_parts(made / "model", made / "rows.parquet", Reading(), tmp_path / "whole")
    expected = parquet.read_table(tmp_path / "whole")
    seen, trial = 0, 0
    while seen < n_kills:
        out = tmp_path / f"killed-{trial}"
        seen += score_and_kill(made, out, min(3, n_kills - seen), trial)  # a part has 8 tries
        assert check_parts(out)["rows"] == N_ROWS
        assert parquet.read_table(out).equals(expected)
        trial += 1
        assert trial < 20 * n_kills, "workers are too quick to be killed"


def _dies(_: int) -> None:
    time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.torture
def test_task_that_kills_every_worker__ends_in_one_sentence(cluster: Any) -> None:
    with pytest.raises(EngineError, match="died on 9 workers"):
        list(cluster.results(_dies, [(0,)]))
