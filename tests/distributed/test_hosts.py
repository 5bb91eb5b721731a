"""Scoring and training over a network that fails: two namespaces, run by make test-scale."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyarrow import parquet

from tests.distributed.hosts import Host, start_ray, two_hosts
from tests.distributed.scored import N_ROWS, make_table_model
from vqpu.distributed import check_parts
from vqpu.distributed._launching import launch

pytestmark = [pytest.mark.scale, pytest.mark.torture, pytest.mark.filterwarnings("ignore")]

SCORE = """
import sys, time
from vqpu.distributed import score, _worker
score({rows!r}, {model!r}, out={out!r}, samples=20, address={address!r})
"""


def wait_for(happens: Callable[[], bool], seconds: float = 180) -> None:
    end = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.1)


def n_nodes(head: Host) -> int:
    program = (
        "import ray; ray.init(address='auto', log_to_driver=False, logging_level='ERROR'); "
        "print('nodes', sum(node['Alive'] for node in ray.nodes()))"
    )
    said = head.start("-c", program).communicate(timeout=180)[0]
    return int(said.split("nodes ")[-1].split()[0]) if "nodes " in said else 0


@pytest.mark.parametrize("accident", ["killed", "cut off"])
def test_scoring__a_host_lost__the_same_rows(tmp_path: Path, accident: str) -> None:
    pytest.importorskip("ray")
    make_table_model(tmp_path)
    model, rows = str(tmp_path / "model"), str(tmp_path / "rows.parquet")
    here = tmp_path / "here.parquet"
    predict = [sys.executable, "-m", "vqpu", "predict", model, rows, "--out", str(here)]
    subprocess.run(predict, check=True)
    out = tmp_path / "out"
    with two_hosts() as (first, second):
        start_ray(first, first)
        wait_for(lambda: n_nodes(first) == 1)
        start_ray(second, first)
        wait_for(lambda: n_nodes(first) == 2)
        address = f"{first.address}:6379"
        job = first.start("-c", SCORE.format(rows=rows, model=model, out=str(out), address=address))
        wait_for(lambda: job.poll() is not None or len(list(out.glob("_part-*"))) >= 3)
        assert job.poll() is None, job.communicate()[0]
        if accident == "killed":
            second.kill()
        else:
            second.set_link("down")
        said = job.communicate(timeout=400)[0]
        assert job.returncode == 0, said
    assert check_parts(out)["rows"] == N_ROWS
    assert parquet.read_table(out).equals(parquet.read_table(here))


def start_fit(host: Host, head: Host, folder: Path, what: str) -> subprocess.Popen[str]:
    rendezvous = ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"{head.address}:29400"]
    rendezvous += ["--rdzv-conf", f"is_host={int(host == head)}"]
    places = ["--nnodes", 2, "--nproc-per-node", 1, "--local-addr", host.address]
    program = ["-m", "tests.distributed.fit_in_ranks", folder, what]
    return host.start(
        "-m", "torch.distributed.run", *places, *rendezvous, "--rdzv-id", "fit",
        "--max-restarts", 5, *program,
        GLOO_SOCKET_IFNAME=host.cable, OMP_NUM_THREADS="1",
    )  # fmt: skip


@pytest.mark.parametrize("accident", ["killed", "cut off for a while"])
def test_fit__on_two_hosts__the_model_of_one(tmp_path: Path, accident: str) -> None:
    what = "killed-6" if accident == "killed" else "spared-6"
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    launch(["-m", "tests.distributed.fit_in_ranks", str(folders[0]), "spared-0"], 2)
    with two_hosts() as (first, second):
        fits = [start_fit(host, first, folders[1], what) for host in (first, second)]
        if what == "spared-6":
            checkpoints = folders[1] / "checkpoints-6"
            wait_for(lambda: checkpoints.is_dir() and any(checkpoints.glob("step-*")))
            second.set_link("down")
            time.sleep(5)
            second.set_link("up")
        for fit in fits:
            said = fit.communicate(timeout=400)[0]
            assert fit.returncode == 0, said
    expected = json.loads((folders[0] / "spared-0-0.json").read_text())["pictures"]
    found = [json.loads((folders[1] / f"{what}-{rank}.json").read_text()) for rank in range(2)]
    assert [one["pictures"] for one in found] == [expected] * 2
    assert any(one["restarted"] for one in found) == (accident == "killed")
