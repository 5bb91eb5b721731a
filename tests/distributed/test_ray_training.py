"""Fits under Ray Train: the very model of ``--processes``. Skipped where Ray is not installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.distributed.fit_in_ranks import fit_once
from vqpu.distributed._launching import launch
from vqpu.distributed._ray import opened_cluster

pytestmark = [pytest.mark.scale, pytest.mark.filterwarnings("ignore")]


def train_loop(config: dict[str, Any]) -> None:
    """What Ray Train calls in each of its workers, whose process group is there already."""
    fit_once(Path(config["folder"]))


@pytest.mark.torture  # half a minute: make test-scale runs it, .ci/run does not
def test_ray_train__two_workers__the_same_bits_as_two_processes(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    from ray.train import RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    here, there = tmp_path / "processes", tmp_path / "workers"
    here.mkdir()
    there.mkdir()
    launch(["-m", "tests.distributed.fit_in_ranks", str(here), "once"], 2)
    with opened_cluster(workers=2):
        TorchTrainer(
            train_loop,
            train_loop_config={"folder": str(there)},
            torch_config=TorchConfig(backend="gloo"),
            scaling_config=ScalingConfig(num_workers=2),
            run_config=RunConfig(storage_path=str(tmp_path / "storage")),
        ).fit()
    found = [
        json.loads((folder / f"once-{rank}.json").read_text())
        for folder in (here, there)
        for rank in range(2)
    ]
    assert [one["size"] for one in found] == [2] * 4
    assert len({one["pictures"] for one in found}) == 1
