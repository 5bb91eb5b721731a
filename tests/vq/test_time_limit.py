"""max_seconds: steps are planned before the fit, which can be repeated by their number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import vqpu
from tests.support import fast_classifier
from vqpu.errors import ParameterError, UsageError
from vqpu.files._settings import parse_duration

Blobs = tuple[NDArray[np.float64], NDArray[np.int64]]
pytestmark = pytest.mark.filterwarnings("ignore::vqpu.VqpuWarning")


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at the clock finds half a second more."""
    now = iter(np.arange(0.0, 1e6, 0.5))
    monkeypatch.setattr("vqpu.vq._time_limit.time.perf_counter", lambda: float(next(now)))


@pytest.mark.parametrize(("encoder", "seconds"), [("mlp", 20.0), ("trees", 8.0)])
def test_max_seconds__steps_that_fit_into_it_and_the_same_fit_by_their_number(
    blobs: Blobs, encoder: str, seconds: float
) -> None:
    own: dict[str, Any] = {"encoder": encoder, "max_steps": 200, "patience": 99, "n_rounds": 2}
    limited = fast_classifier(**own, max_seconds=seconds).fit(*blobs)
    assert 20 <= limited.max_steps_ < 200
    assert limited.n_steps_ <= 2 * limited.max_steps_
    longer = fast_classifier(**own, max_seconds=2 * seconds).fit(*blobs)
    assert longer.max_steps_ > limited.max_steps_
    again = fast_classifier(**own | {"max_steps": limited.max_steps_}).fit(*blobs)
    X = blobs[0]
    np.testing.assert_array_equal(again.decision_function(X), limited.decision_function(X))


SMALL: dict[str, Any] = {"encoder": "mlp", "max_steps": 400, "patience": 99}


def limited_fit(blobs: Blobs, seconds: float, **parameters: Any) -> vqpu.VQKMeansClassifier:
    own = SMALL | {"n_members": None, "n_rounds": None} | parameters
    return fast_classifier(**own, max_seconds=seconds).fit(*blobs)


def plan_of(model: vqpu.VQKMeansClassifier) -> tuple[int, int, int]:
    return model.max_steps_, model.n_members_, model.n_rounds_


# A member's step takes 0.025 s, a look at the clock 0.5 s, 0.9 of the time is planned; 5 members
# in 3 rounds are the default.
@pytest.mark.parametrize(
    ("seconds", "plan"),
    [
        (30.0, (70, 5, 3)),  # .9 * 29.5 / 3 / .125
        (12.0, (44, 3, 3)),  # 5 members would have 27 steps
        (4.0, (54, 1, 2)),  # one member in 3 rounds 36
        (2.0, (36, 1, 1)),
        (1.5, (20, 1, 1)),  # never fewer steps
    ],
)
def test_little_time__members_are_cut_before_rounds_and_rounds_before_steps(
    blobs: Blobs, monkeypatch: pytest.MonkeyPatch, seconds: float, plan: tuple[int, int, int]
) -> None:
    monkeypatch.setattr("vqpu.vq._time_limit._ENOUGH_STEPS", 40)
    monkeypatch.setattr(
        "vqpu.vq._time_limit._seconds_per_step", lambda _, settings: 0.025 * settings.spec.n_members
    )
    assert plan_of(limited_fit(blobs, seconds)) == plan


def test_little_time__what_was_asked_for_is_kept(blobs: Blobs) -> None:
    model = limited_fit(blobs, 5.0, n_members=3, n_rounds=2)
    assert plan_of(model) == (20, 3, 2)
    model = limited_fit(blobs, 5.0, rounds="leave-out", n_rounds=2)
    assert model.n_members_ == 5


def test_little_time__the_same_fit_by_its_three_numbers(blobs: Blobs) -> None:
    limited = limited_fit(blobs, 10.0)
    assert limited.n_members_ < 5
    n_steps, n_members, n_rounds = plan_of(limited)
    own = SMALL | {"max_steps": n_steps, "n_members": n_members, "n_rounds": n_rounds}
    again = fast_classifier(**own).fit(*blobs)
    X = blobs[0]
    np.testing.assert_array_equal(again.decision_function(X), limited.decision_function(X))


def test_max_seconds__never_more_than_max_steps(blobs: Blobs, tmp_path: Path) -> None:
    model = fast_classifier(max_steps=40, max_seconds=1e6).fit(*blobs)
    assert (model.max_steps_, model.stop_reason_) == (40, "max_steps")
    model.save(tmp_path / "model")
    assert vqpu.load(tmp_path / "model").max_steps_ == 40


def test_resumed__keeps_the_plan_of_the_first_start(
    blobs: Blobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class StoppedError(Exception):
        pass

    own: dict[str, Any] = {"max_steps": 300, "patience": 99, "max_seconds": 30.0}
    own |= {"n_members": None, "n_rounds": None}
    model = fast_classifier(**own, check_every=5)
    seen = []

    def stop_at_second(check: Any) -> None:
        seen.append(check.row["step"])
        if len(seen) == 2:
            raise StoppedError

    with pytest.raises(StoppedError):
        model.fit(*blobs, checkpoint_dir=tmp_path, callback=stop_at_second)
    monkeypatch.setattr(
        "vqpu.vq._time_limit.time.perf_counter", iter(np.arange(0, 1e6, 2.5)).__next__
    )
    resumed = model.fit(*blobs, checkpoint_dir=tmp_path)
    n_steps, n_members, n_rounds = plan_of(resumed)
    assert (n_members, n_rounds) == (1, 1)
    plan = {"max_steps": n_steps, "n_members": n_members, "n_rounds": n_rounds}
    whole = fast_classifier(**own | plan | {"max_seconds": None}, check_every=5).fit(*blobs)
    X = blobs[0]
    np.testing.assert_array_equal(resumed.decision_function(X), whole.decision_function(X))
    assert resumed.history_[0]["step"] == seen[0]


@pytest.mark.parametrize("wrong", [0, -1.0, "2m", np.nan])
def test_max_seconds__what_is_no_time__is_refused(blobs: Blobs, wrong: Any) -> None:
    with pytest.raises(ParameterError, match="max_seconds"):
        fast_classifier(max_seconds=wrong).fit(*blobs)


def test_duration__seconds_minutes_hours() -> None:
    given = ["90", "90s", "2m", "1.5h", " .5m "]
    assert [parse_duration(text) for text in given] == [90, 90, 120, 5400, 30]
    for text in ("", "m", "-2m", "2 m", "2d", "0s", "1e3"):
        with pytest.raises(UsageError, match="such as 2m"):
            parse_duration(text)
