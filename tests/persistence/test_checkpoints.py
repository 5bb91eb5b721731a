"""Checkpoints: a fit that is broken off goes on from there and ends with the same model."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from torch import nn

from tests.fit_and_die import (
    NETWORK_METHODS,
    acting_at,
    digest_of,
    fit_digest,
    method_digest,
    places_of_writes,
    small_data,
    small_method,
    small_model,
)
from tests.persistence.test_model_file_safety import reseal
from tests.support import linear_encoder
from vqpu import VQKMeansClassifier
from vqpu.errors import CheckpointError, InterruptedWarning, ParameterError, VqpuWarning
from vqpu.persistence._tensors import WEIGHTS

pytestmark = pytest.mark.filterwarnings("ignore::vqpu.errors.NoHiddenPositivesWarning")


class BrokenOffError(Exception):
    pass


def break_off_at(step: int) -> Callable[[Any], None]:
    def callback(check: Any) -> None:
        if check.row["step"] == step:
            raise BrokenOffError

    return callback


def break_off(
    model: VQKMeansClassifier, X: NDArray[Any], y: NDArray[Any], folder: Path, step: int
) -> None:
    with pytest.raises(BrokenOffError):
        model.fit(X, y, checkpoint_dir=folder, callback=break_off_at(step))


@pytest.fixture(scope="module")
def uninterrupted() -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit_digest(None)


def striped_images() -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 60, (60, 10, 12))
    X[:30, ::2] += 120
    return X.astype(np.uint8), np.repeat([1, 0], [15, 45])


@pytest.mark.parametrize(
    ("data", "parameters"),
    [
        (small_data, {}),
        (
            small_data,
            {"encoder": "network", "n_members": 2, "n_rounds": 1, "decision": "nearest-center"},
        ),
        (small_data, {"codebook_update": "adam", "anchors": "moving", "weight_average": 0}),
        (small_data, {"encoding": "distribution", "schedule": "constant"}),
        (striped_images, {"encoder": "auto", "optimizer": "adam"}),
    ],
    ids=["small", "members", "adam", "distribution", "images"],
)
def test_broken_off_fit__goes_on__to_the_same_model(
    data: Any, parameters: dict[str, Any], tmp_path: Path
) -> None:
    X, y = data()
    expected = small_model(**parameters).fit(X, y)
    break_off(small_model(**parameters), X, y, tmp_path, 20)
    steps: list[int] = []
    resumed = small_model(**parameters).fit(
        X, y, checkpoint_dir=tmp_path, callback=lambda check: steps.append(check.row["step"])
    )
    assert steps == [20, 25, 30]
    assert digest_of(resumed, X) == digest_of(expected, X)
    seconds = resumed.history_.column("seconds")
    assert seconds == sorted(seconds)


def test_finished_fit__started_again__trains_no_more(tmp_path: Path, uninterrupted: str) -> None:
    X, y = small_data()
    assert fit_digest(tmp_path) == uninterrupted
    model = small_model().fit(X, y, checkpoint_dir=tmp_path, callback=break_off_at(30))
    assert digest_of(model, X) == uninterrupted
    assert sorted(os.listdir(tmp_path)) == ["lock", "step-000000025", "step-000000030"]


def test_finished_by_patience__started_again__stays_finished(tmp_path: Path) -> None:
    X, y = small_data()
    parameters = {"patience": 1, "max_steps": 100, "stopping_signal": "holdout-auc"}  # soon at 1
    first = small_model(**parameters).fit(X, y, checkpoint_dir=tmp_path)
    again = small_model(**parameters).fit(X, y, checkpoint_dir=tmp_path)
    assert first.stop_reason_ == again.stop_reason_ == "patience"
    assert digest_of(first, X) == digest_of(again, X)


@pytest.mark.filterwarnings("ignore::vqpu.errors.VqpuWarning")  # whatever seed is drawn
def test_no_random_state__goes_on_with_the_drawn_seed(tmp_path: Path) -> None:
    X, y = small_data()
    break_off(small_model(random_state=None), X, y, tmp_path, 20)
    shutil.copytree(tmp_path, tmp_path / "second")
    first = small_model(random_state=None).fit(X, y, checkpoint_dir=tmp_path)
    second = small_model(random_state=None).fit(X, y, checkpoint_dir=tmp_path / "second")
    assert digest_of(first, X) == digest_of(second, X)


class _Maker:
    """An encoder's maker that is an object, of a stated depth."""

    def __init__(self, activation: type[nn.Module]) -> None:
        self.activation = activation

    def __call__(self, shape: tuple[int, ...], dim: int) -> nn.Module:
        return nn.Sequential(linear_encoder(shape, dim), self.activation())


@pytest.mark.parametrize("make", [_Maker, lambda layer: partial(_Maker(layer))])
def test_callable_encoder__resumed_if_it_builds_the_same(make: Any, tmp_path: Path) -> None:
    X, y = small_data()
    model = small_model(encoder=make(nn.Tanh))
    break_off(model, X, y, tmp_path, 20)
    with pytest.raises(CheckpointError, match=r"another fit: .*layers of the encoder"):
        small_model(encoder=make(nn.ReLU)).fit(X, y, checkpoint_dir=tmp_path)
    resumed = small_model(encoder=make(nn.Tanh)).fit(X, y, checkpoint_dir=tmp_path)
    whole = small_model(encoder=make(nn.Tanh)).fit(X, y)
    np.testing.assert_array_equal(resumed.decision_function(X), whole.decision_function(X))


OTHERS: dict[str, tuple[Callable[[], Any], str]] = {
    "parameter": (lambda: (small_model(max_steps=40), *small_data()), "max_steps is 40 here"),
    "seed": (lambda: (small_model(random_state=1), *small_data()), "seed is 1 here and 0 there"),
    "samples": (lambda: (small_model(), small_data()[0] + 1, small_data()[1]), "digest of X is"),
    "labels": (lambda: (small_model(), small_data()[0], small_data()[1][::-1]), "digest of y is"),
    "shape": (lambda: (small_model(), *(a[:-1] for a in small_data())), r"shape of X is \[119"),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_checkpoints_of_another_fit__are_refused_and_kept(name: str, tmp_path: Path) -> None:
    X, y = small_data()
    break_off(small_model(), X, y, tmp_path, 20)
    before = sorted(os.listdir(tmp_path))
    make, message = OTHERS[name]
    model, X, y = make()
    with pytest.raises(CheckpointError, match=f"belong to another fit: .*{message}"):
        model.fit(X, y, checkpoint_dir=tmp_path)
    assert sorted(os.listdir(tmp_path)) == before


def test_checkpoints_of_other_sizes__refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = small_data()
    break_off(small_model(batch_size=None), X, y, tmp_path, 20)
    monkeypatch.setattr("vqpu.vq._settings.resolve_batch_size", lambda *_: 64)
    with pytest.raises(CheckpointError, match="batch_size_ is 64 here and 128 there"):
        small_model(batch_size=None).fit(X, y, checkpoint_dir=tmp_path)


def test_damaged_newest__the_one_before_is_used_with_a_warning(
    tmp_path: Path, uninterrupted: str
) -> None:
    X, y = small_data()
    break_off(small_model(), X, y, tmp_path, 20)
    weights = tmp_path / "step-000000015" / WEIGHTS
    weights.write_bytes(weights.read_bytes()[:-1])
    with pytest.warns(VqpuWarning, match="cut off or changed.*goes on from.*before, step 10"):
        model = small_model().fit(X, y, checkpoint_dir=tmp_path)
    assert digest_of(model, X) == uninterrupted


def test_all_damaged__is_one_error(tmp_path: Path) -> None:
    X, y = small_data()
    break_off(small_model(), X, y, tmp_path, 20)
    for folder in tmp_path.glob("step-*"):
        (folder / "manifest.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"No checkpoint in .* can be read: .*start anew"):
        small_model().fit(X, y, checkpoint_dir=tmp_path)


def test_traces_of_a_killed_write__are_removed(tmp_path: Path, uninterrupted: str) -> None:
    (tmp_path / ".step-000000005.abc").mkdir()
    (tmp_path / ".step-000000005.abc" / WEIGHTS).write_bytes(b"half")
    assert fit_digest(tmp_path) == uninterrupted
    assert not list(tmp_path.glob(".*"))


def test_two_fits_in_one_folder__the_second_is_refused(tmp_path: Path) -> None:
    X, y = small_data()
    code = (
        "import sys; from tests.fit_and_die import *; from vqpu.errors import CheckpointError\n"
        "try: small_model().fit(*small_data(), checkpoint_dir=sys.argv[1])\n"
        "except CheckpointError as error: print(error)"
    )
    said: list[str] = []

    def second_process(check: Any) -> None:
        if check.row["step"] == 10:
            done = run_python("-c", code, str(tmp_path))
            said.append(done.stdout)
            with pytest.raises(CheckpointError, match="Another fit is writing"):
                small_model().fit(X, y, checkpoint_dir=tmp_path)

    small_model().fit(X, y, checkpoint_dir=tmp_path, callback=second_process)
    assert "Another fit is writing its checkpoints to" in said[0]


def run_python(*arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([*sys.path, os.getcwd()])
    return subprocess.run(
        [sys.executable, "-W", "ignore", *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parent.parent.parent,
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
    )


def test_folder_that_cannot_be_made__is_refused_before_training(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    called: list[Any] = []
    with pytest.raises(CheckpointError, match=r"Cannot write a checkpoint to .*Not a directory"):
        small_model().fit(
            *small_data(), checkpoint_dir=tmp_path / "file" / "in", callback=called.append
        )
    assert not called
    with pytest.raises(ParameterError, match="checkpoint_dir must be a path or None"):
        small_model().fit(*small_data(), checkpoint_dir=3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "every"),
    [
        pytest.param(errno.ENOSPC, 2, id="full"),
        pytest.param(errno.EROFS, 8, id="read-only"),  # takes the same way
        pytest.param(errno.ENOSPC, 1, id="full, every call", marks=pytest.mark.torture),
    ],
)
def test_failed_write__at_a_call__leaves_the_last_checkpoint(
    code: int, every: int, tmp_path: Path, uninterrupted: str
) -> None:
    def fail() -> None:
        raise OSError(code, os.strerror(code))

    with acting_at(-1, fail) as made:
        fit_digest(tmp_path / "whole")
    for number in places_of_writes(made)[::every]:
        folder = tmp_path / str(number)
        with (
            acting_at(number, fail) as made,
            pytest.raises(CheckpointError, match=f"Cannot write .*{os.strerror(code)}"),
        ):
            fit_digest(folder)
        assert fit_digest(folder) == uninterrupted, made[number]


def test_interrupt__kept_best__is_the_best_check_so_far(
    ctrl_c: Callable[[], None],
) -> None:
    X, y = small_data()

    def interrupt(check: Any) -> None:
        if check.row["step"] == 20:
            ctrl_c()

    with pytest.warns(
        InterruptedWarning, match=r"The model is that of step \d+, the best check up to step 15"
    ):
        model = small_model().fit(X, y, callback=interrupt, on_interrupt="keep-best")
    assert model.stop_reason_ == "interrupted"
    assert model.n_steps_ == 15
    assert model.history_.column("step") == [5, 10, 15]
    whole = small_model().fit(X, y)
    losses = whole.history_.column("holdout_loss")[:3]
    assert model.best_check_ == int(np.argmin(losses))
    assert model.predict(X).shape == y.shape


def test_interrupt__by_default_or_before_the_first_check__is_raised(tmp_path: Path) -> None:
    def interrupt(check: Any) -> None:
        raise KeyboardInterrupt

    for choice in ("raise", "keep-best"):
        with pytest.raises(KeyboardInterrupt):
            small_model().fit(*small_data(), callback=interrupt, on_interrupt=choice)
    with pytest.raises(ParameterError, match="Unknown on_interrupt 'stop'"):
        small_model().fit(*small_data(), on_interrupt="stop")


def test_interrupted_fit__with_checkpoints__can_go_on(tmp_path: Path, uninterrupted: str) -> None:
    X, y = small_data()

    def interrupt(check: Any) -> None:
        if check.row["step"] == 20:
            raise KeyboardInterrupt

    with pytest.warns(InterruptedWarning):
        small_model().fit(
            X, y, callback=interrupt, on_interrupt="keep-best", checkpoint_dir=tmp_path
        )
    assert fit_digest(tmp_path) == uninterrupted


def killed(count: int, *methods: str) -> list[dict[str, Any]]:
    lines = run_python("-m", "tests.fit_and_die", "moments", str(count), *methods).stdout
    return [json.loads(line) for line in lines.splitlines()]


# Of each kind of loop one; the others, which are broken off below, are killed by make torture.
_KINDS = ("vq", "vq-trees", "d-gan", "tedn")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in _KINDS else pytest.mark.torture)
        for name in NETWORK_METHODS
    ],
)
def test_killed_at_random_moments__any_method__ends_with_the_same_model(name: str) -> None:
    (found,) = killed(5 if name == "vq" else 3, name)
    assert found["kills"] >= 3
    assert found["identical"] == found["fits"]


@pytest.mark.parametrize("name", NETWORK_METHODS)
def test_broken_off_in_every_stage__any_method__goes_on_to_the_same_model(
    name: str, tmp_path: Path
) -> None:
    X, y = small_data()
    expected = method_digest(name, None)
    seen: list[tuple[int, int]] = []

    def break_off_once_a_check(check: Any) -> None:
        place = (check.stage, check.row["step"])
        if place not in seen:
            seen.append(place)
            raise BrokenOffError

    n_broken = 0
    while True:
        try:
            model = small_method(name)
            model.fit(X, y, checkpoint_dir=tmp_path, callback=break_off_once_a_check)
            break
        except BrokenOffError:
            n_broken += 1
    assert n_broken == len(seen) >= 6
    assert digest_of(model, X) == expected


@pytest.mark.parametrize("name", NETWORK_METHODS)
def test_ctrl_c_in_the_main_stage__any_method__keeps_the_best_check(name: str) -> None:
    X, y = small_data()

    def interrupt(check: Any) -> None:
        if check.stage == 0 and check.row["step"] == 20:
            raise KeyboardInterrupt

    with pytest.warns(InterruptedWarning, match=r"the best check up to step 15"):
        model = small_method(name).fit(X, y, callback=interrupt, on_interrupt="keep-best")
    assert (model.stop_reason_, model.n_steps_) == ("interrupted", 15)
    rows = small_method(name).fit(X, y).history_.rows[:3]
    times = ("seconds", "top_distance")
    assert [without(row, times) for row in model.history_] == [without(r, times) for r in rows]


def without(row: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def test_killed_at_every_call_of_a_checkpoint__ends_with_the_same_model() -> None:
    found = json.loads(run_python("-m", "tests.fit_and_die", "steps").stdout)
    assert found["kills"] == found["identical"] > 15


@pytest.mark.torture
def test_killed_at_100_random_moments__ends_with_the_same_model() -> None:
    (found,) = killed(100, "vq")
    assert found["kills"] == 100
    assert found["identical"] == found["fits"]
    assert found["resumed"] > 0


def test_checkpoints__without_a_folder__write_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    small_model().fit(*small_data())
    assert not list(tmp_path.iterdir())


HOSTILE: dict[str, Callable[[dict[str, Any]], None]] = {
    "no identity": lambda header: header.pop("identity"),
    "identity of another kind": lambda header: header.update(identity=[1]),
    "another step": lambda header: header.update(step=10**9),
    "no such check": lambda header: header.update(best_check=99),
    "rows of another kind": lambda header: header.update(history=[1, 2, 3]),
    "no history": lambda header: header.pop("history"),
}


@pytest.mark.parametrize("random_state", [0, None])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_checkpoint__one_clear_error(
    name: str, random_state: int | None, tmp_path: Path
) -> None:
    X, y = small_data()
    break_off(small_model(random_state=random_state), X, y, tmp_path, 10)
    (place,) = tmp_path.glob("step-*")
    reseal(place, HOSTILE[name])
    with pytest.raises(CheckpointError):
        small_model(random_state=random_state).fit(X, y, checkpoint_dir=tmp_path)


def test_variant__named_or_spelled_out__the_same_fit(tmp_path: Path, uninterrupted: str) -> None:
    X, y = small_data()
    break_off(small_model(), X, y, tmp_path, 20)
    spelled = small_model()
    spelled.set_params(**spelled.get_params())
    assert digest_of(spelled.fit(X, y, checkpoint_dir=tmp_path), X) == uninterrupted
    named = VQKMeansClassifier()
    assert named.set_params(**named.get_params()).variant == "default"
