"""Fits in several processes: the same bits on every rank, every time, and after a death."""

from __future__ import annotations

import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from tests.command_line import QUICK, run, write_table
from tests.support import fast_classifier
from vqpu import VQKMeansClassifier
from vqpu.base._split import BalancedBatches
from vqpu.distributed import fit
from vqpu.distributed._launching import launch
from vqpu.errors import EngineError, InputError, InputTypeError, ParameterError
from vqpu.estimators._validation import check_training_data
from vqpu.training import Ranks, joined_ranks
from vqpu.training._joining import agreed_name
from vqpu.training._ranks import RankBatches
from vqpu.vq._settings import resolve_settings, settings_for_ranks

distributed: Any = torch.distributed  # which hides its stores from mypy
SCRIPT = ["-m", "tests.distributed.fit_in_ranks"]


def launched(folder: Path, what: str, **options: Any) -> list[dict[str, Any]]:
    launch([*SCRIPT, str(folder), what], 2, **options)
    return [json.loads((folder / f"{what}-{rank}.json").read_text()) for rank in range(2)]


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return launched(tmp_path_factory.mktemp("ranks"), "compare")


def test_ranks__same_seed__same_bits_on_every_rank_and_every_time(
    compared: list[dict[str, Any]],
) -> None:
    first, second = compared
    assert len({*first["pictures"], *second["pictures"]}) == 1
    assert first["together"] == second["together"]
    assert first["drawn"] == second["drawn"], "a seed that was drawn is that of the first rank"


def test_ranks__gradients_averaged__the_model_of_one_process_but_for_rounding(
    compared: list[dict[str, Any]],
) -> None:
    for found in compared:
        assert 0 < found["difference"] < 1e-3 * found["scale"]


def test_ranks__members_of_trees__the_same_bits_as_in_one_process(
    compared: list[dict[str, Any]],
) -> None:
    for found in compared:
        assert found["trees"] == found["trees_alone"]


def test_ranks__gather_and_agree(compared: list[dict[str, Any]]) -> None:
    for found in compared:
        assert found["parts"] == [1.5 * place for place in range(7)]
        assert found["agreed"] == {"of": 0}
        assert found["array"] == [0.1, 0.2]


def test_ranks__one_killed__the_same_model_as_undisturbed(
    compared: list[dict[str, Any]],
) -> None:
    for found in compared:
        assert found["after_death"]["restarted"]
        assert found["after_death"]["pictures"] == found["pictures"][0]


@pytest.mark.torture
@pytest.mark.scale
@pytest.mark.parametrize("seed", range(20))
def test_ranks__killed_at_20_random_moments__20_times_the_same_model(
    compared: list[dict[str, Any]], tmp_path: Path, seed: int
) -> None:
    found = launched(tmp_path, f"killed-{seed}")
    assert [one["restarted"] for one in found] == [True, True]
    assert {one["pictures"] for one in found} == {compared[0]["pictures"][0]}


def test_start_after_a_death__no_word_of_the_dead_is_heard() -> None:
    store, names = distributed.HashStore(), []
    for _ in range(3):  # the first of every later start finds what those before it said
        with ThreadPoolExecutor(3) as pool:
            found = [pool.submit(agreed_name, store, rank, 3, seconds=60) for rank in (2, 0, 1)]
        names.append({name.result() for name in found})
    assert [len(name) for name in names] == [1, 1, 1]
    assert len(set.union(*names)) == 3


def test_start_after_a_death__one_does_not_come__one_sentence() -> None:
    store = distributed.HashStore()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda rank: agreed_name(store, rank, 2, seconds=60), range(2)))
    with pytest.raises(EngineError, match=r"Of 2 processes those of rank \[0\] did not come"):
        agreed_name(store, 1, 2, seconds=0.2)


def test_process_group_of_another__joined_and_left_as_it_is(monkeypatch: Any) -> None:
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    try:
        with joined_ranks() as ranks:
            assert ranks == Ranks(0, 1)
        assert distributed.is_initialized()
        monkeypatch.setattr(distributed, "get_backend_config", lambda: "cuda:nccl")
        with pytest.raises(EngineError, match="backend 'cpu:gloo,cuda:nccl'"), joined_ranks():
            pass
    finally:
        distributed.destroy_process_group()


def test_batches_of_ranks__all_of_the_batch_and_nothing_twice() -> None:
    whole = BalancedBatches(np.arange(50), np.arange(50, 180), 32, 0)
    parts = [RankBatches(whole, Ranks(rank, 4)) for rank in range(4)]
    for step in range(5):
        drawn = [part[step] for part in parts]
        for kind in (0, 1):
            assert [len(batch[kind]) for batch in drawn] == [4] * 4
            together = np.sort(np.concatenate([batch[kind] for batch in drawn]))
            np.testing.assert_array_equal(together, np.sort(whole[step][kind]))
    assert parts[0].steps_per_epoch == whole.steps_per_epoch


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"batch_size": 30}, "batch_size must be a multiple of 4 for 2 processes"),
        ({"max_seconds": 60.0}, "max_seconds measures the speed of one process"),
        ({"encoder": "trees", "n_members": 1}, "1 members of trees cannot be shared out to 2"),
    ],
)
def test_ranks__what_they_cannot_do__refused(parameters: dict[str, Any], message: str) -> None:
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.repeat([1, 0], 30)
    with pytest.raises(ParameterError, match=message):
        fast_classifier(**parameters).fit(X, y, ranks=Ranks(0, 2))
    with pytest.raises(ParameterError, match="too few to be shared out to 4"):
        fast_classifier().fit(X, y, ranks=Ranks(0, 4))


@pytest.mark.parametrize(
    ("batch_size", "n_ranks", "expected"), [(48, 16, 256), (48, 3, 48), (128, 3, 132), (32, 8, 128)]
)
def test_batches_left_to_the_library__shared_out_to_any_number_of_ranks(
    batch_size: int, n_ranks: int, expected: int
) -> None:
    X, y = np.zeros((20, 2)), np.repeat([1, 0], 10)
    source, _ = check_training_data(VQKMeansClassifier(), X, y)
    own = resolve_settings(VQKMeansClassifier(encoder="mlp", batch_size=batch_size), source)
    assert settings_for_ranks(own, None, Ranks(0, n_ranks)).batch_size == expected
    assert settings_for_ranks(own, batch_size, Ranks(0, n_ranks)) is own
    assert expected % (2 * n_ranks) == 0


def test_command__processes_that_refuse__one_sentence_and_no_restart(
    tmp_path: Path, capfd: Any
) -> None:
    write_table(tmp_path / "data.csv", 60)
    arguments = ["fit", tmp_path / "data.csv", "--label", "known", "--positive", "yes"]
    arguments += ["--id", "key"]
    out = ["--out", tmp_path / "model", "--set", "batch_size=30", "--processes", 2]
    found = run(capfd, *arguments, *out, *QUICK, "--max-restarts", 1, code=1)
    assert found == (
        "vqpu: batch_size must be a multiple of 4 for 2 processes, which take equal parts of both "
        "halves. Got 30 instead.\n"
    )
    assert not (tmp_path / "model").exists()
    assert "--out MODEL" in run(capfd, *arguments, "--processes", 2, code=2)


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.torture)])
@pytest.mark.filterwarnings("ignore")
def test_fit_from_python__in_processes(processes: int) -> None:
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.repeat([1, 0], 30)
    X[:40] += 3
    model = fast_classifier(max_steps=20)
    found = fit(model, X, y, processes=processes)
    assert not hasattr(model, "network_")
    if processes == 1:
        scores = fast_classifier(max_steps=20).fit(X, y).decision_function(X)
        np.testing.assert_array_equal(found.decision_function(X), scores)
    assert found.predict(X).sum() > 0


def test_fit_from_python__what_cannot_travel__refused() -> None:
    X, y = np.zeros((60, 3)), np.repeat([1, 0], 30)
    with pytest.raises(ParameterError, match="plain values"):
        fit(fast_classifier(encoder=lambda *_: None), X, y, processes=2)
    with pytest.raises(InputError, match="must be numbers"):
        fit(fast_classifier(), X.astype(str), y, processes=2)
    with pytest.raises(ParameterError, match="Got LogisticRegression instead"):
        fit(LogisticRegression(), X, y, processes=2)
    with pytest.raises(InputTypeError, match="only arrays"):
        fit(fast_classifier(), pytest.importorskip("pandas").DataFrame(X), y, processes=2)


def test_launch__handlers_and_environment__as_before() -> None:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    before = [signal.getsignal(number) for number in numbers], dict(os.environ)
    launch(["-c", "pass"], 1)
    assert ([signal.getsignal(number) for number in numbers], dict(os.environ)) == before


def test_launch__interrupted__as_python_says() -> None:
    stop = "import os, signal, time; os.kill(os.getppid(), signal.SIGINT); time.sleep(60)"
    with pytest.raises(KeyboardInterrupt):
        launch(["-c", stop], 1)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_launch__a_process_that_always_dies__one_sentence(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(EngineError, match="One of 2 processes failed, the last time after 1 "):
        launch(["-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"], 2, 1)
