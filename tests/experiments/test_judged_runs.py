"""Problems, judged runs and variants: what the paper's grids are made of."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import vqpu.vq._network as networks
from experiments.errors import FailedRunsError
from experiments.item import Record, RunResult, study
from experiments.judged import TestJudge, run_judged
from experiments.methods import make_method
from experiments.problems import make_problem
from experiments.reduced import run_reduced
from experiments.variants import pooled_encoder, varied_codebook
from experiments.workers import Engine, run_jobs
from vqpu.errors import InputError
from vqpu.rivals import NaivePUClassifier
from vqpu.training import CheckResult

SHORT: dict[str, Any] = {
    "encoder": "network", "max_steps": 12, "check_every": 4, "batch_size": 32, "n_members": 1,
}  # fmt: skip
ONCE = {**SHORT, "n_rounds": 1}


def test_problem__single_set__same_sizes_and_less_positive_u() -> None:
    drawn = {
        scenario: make_problem(
            "wide-noise", n_positive=200, n_unlabeled=400, alpha=0.5, seed=0, scenario=scenario
        )
        for scenario in ("case-control", "single-set")
    }
    for problem in drawn.values():
        assert (problem.y == 1).sum() == 200
        assert (problem.y == 0).sum() == 400
    assert drawn["case-control"].alpha == 0.5
    # 600 samples, 300 positive, 200 of them labelled: 100 of 400 remain.
    assert drawn["single-set"].alpha == 0.25
    assert drawn["single-set"].truth[drawn["single-set"].y == 0].mean() == 0.25


@pytest.mark.parametrize("alpha", [0.1, 0.75])
def test_problem__thinned_test_set__has_the_share(alpha: float) -> None:
    problem = make_problem(
        "wide-noise", n_positive=50, n_unlabeled=100, alpha=alpha, seed=0, thin_test=True
    )
    whole = make_problem("wide-noise", n_positive=50, n_unlabeled=100, alpha=alpha, seed=0)
    assert problem.y_test.mean() == pytest.approx(alpha, abs=1e-3)
    rare = 1 if alpha < 0.5 else 0
    expected = (whole.y_test != rare).sum() * min(alpha, 1 - alpha) / max(alpha, 1 - alpha)
    assert (problem.y_test == rare).sum() == pytest.approx(expected, abs=1)
    assert (problem.y_test == rare).sum() < (whole.y_test == rare).sum()
    assert (problem.y_test != rare).sum() == pytest.approx((whole.y_test != rare).sum(), abs=1)


@pytest.mark.filterwarnings("ignore::vqpu.VqpuWarning")
def test_judged__vq__training_is_that_of_a_plain_fit_and_rows_are_whole() -> None:
    problem = make_problem("breast-cancer", n_positive=60, n_unlabeled=120, alpha=0.5, seed=0)
    run = run_judged("vq", problem, seed=3, parameters=ONCE, n_judged=50)
    model = make_method("vq", {"random_state": 3, **ONCE}).fit(problem.X, problem.y)
    accuracy = float((model.predict(problem.X_test) == problem.y_test).mean())
    assert run.metrics["test_accuracy"] == pytest.approx(accuracy, abs=1e-5)
    assert run.metrics["n_judged"] == 50
    assert [row["step"] for row in run.history] == [4, 8, 12]
    assert all(row["top_distance"] for row in run.history)
    last = {"accuracy", "nearest_center", "center_distance", "holdout_loss", "epoch", "seconds"}
    assert last <= set(run.history[-1])
    assert run.metrics["n_epochs"] == run.history[-1]["epoch"]


def test_judged__sample_is_the_whole_test_set__chosen_check_agrees() -> None:
    problem = make_problem("breast-cancer", n_positive=60, n_unlabeled=120, alpha=0.5, seed=0)
    run = run_judged("tedn", problem, seed=0, parameters=SHORT, n_judged=10_000)
    chosen = [row for row in run.history if row["stage"] == 0][run.metrics["best_check"]]
    assert chosen["accuracy"] == run.metrics["test_accuracy"]
    assert [row["stage"] for row in run.history] == [1, 0, 0, 0]
    epochs = [row["epoch"] for row in run.history]
    assert epochs == sorted(epochs)  # the warm-up's epochs count
    seconds = [row["seconds"] for row in run.history]
    assert seconds == sorted(seconds)


def test_judged__collapsed_codes__an_outcome() -> None:
    problem = make_problem("breast-cancer", n_positive=60, n_unlabeled=120, alpha=0.5, seed=0)
    # Two codes, one of them out of reach.
    far = {"codebook_size": 2, "codebook_update": "none", "anchor_mean": 1e4}
    parameters = {**SHORT, **far, "decision": "nearest-center"}
    run = run_judged("vq", problem, seed=0, parameters=parameters, n_judged=50)
    assert "same codes" in run.metrics["failed"]
    assert "test_accuracy" not in run.metrics
    assert run.history


def test_judged__estimator__with_every_parameter() -> None:
    problem = make_problem("breast-cancer", n_positive=60, n_unlabeled=120, alpha=0.5, seed=0)
    told = run_judged("naive", problem, seed=4, parameters=SHORT, n_judged=5).metrics["estimator"]
    assert told.pop("class") == "NaivePUClassifier"
    model = NaivePUClassifier(random_state=4, augment="none", **SHORT)
    assert told == json.loads(json.dumps(model.get_params()))


def test_judged__unknown_method__refused() -> None:
    problem = make_problem("breast-cancer", n_positive=60, n_unlabeled=120, alpha=0.5, seed=0)
    with pytest.raises(InputError, match="Unknown method 'magic'"):
        run_judged("magic", problem, seed=0, parameters={}, n_judged=5)


def test_codebook_seed__draws_the_codebook_alone() -> None:
    def start(codebook_seed: int | None) -> dict[str, torch.Tensor]:
        still = {"random_state": 0, "learning_rate": 1e-12, "codebook_update": "none"}
        X = np.random.default_rng(0).normal(size=(60, 4))
        with varied_codebook(codebook_seed):
            model = make_method("vq", {**still, **SHORT}).fit(X, np.repeat([1, 0], 30))
        return dict(model.network_.state_dict())

    plain, same, other = start(None), start(None), start(5)
    name = "codebook.vectors"
    assert torch.equal(plain[name], same[name])
    assert not torch.equal(plain[name], other[name])
    weights = [key for key in plain if key.startswith("encoder") and key.endswith("0.weight")]
    assert weights
    assert all(torch.allclose(plain[key], other[key], atol=1e-6) for key in weights)


def test_anchor_gap__moves_the_positive_target_towards_the_other() -> None:
    def drawn(anchor_gap: float | None) -> Any:
        start: dict[str, Any] = {"anchor_mean": None, "moving_anchors": False, "encoding": "codes"}
        with varied_codebook(anchor_gap=anchor_gap):
            generator = torch.Generator().manual_seed(0)
            return networks.draw_codebook(8, 4, **start, generator=generator)

    whole, near = drawn(None), drawn(0.1)
    assert torch.equal(whole.unlabeled_anchor, near.unlabeled_anchor)
    expected = whole.unlabeled_anchor + 0.1 * (whole.positive_anchor - whole.unlabeled_anchor)
    assert torch.allclose(near.positive_anchor, expected, atol=1e-5)
    assert torch.equal(near.vectors.detach()[-1], near.positive_anchor)
    assert torch.equal(whole.vectors[1:-1], near.vectors[1:-1])


def test_pooled_encoder__k_is_what_was_asked_for() -> None:
    encoder: Any = pooled_encoder(4)((1, 12, 12), 5)
    x = torch.randn(3, 1, 12, 12)
    vectors = encoder.eval()(x)
    assert vectors.shape == (3, 4, 5)
    # 6 x 6 places are averaged in quarters.
    grid = encoder.encoder(x).reshape(3, 6, 6, 5)
    assert torch.allclose(vectors[:, 1], grid[:, :3, 3:].mean(dim=(1, 2)), atol=1e-5)
    with pytest.raises(InputError, match="must be a square"):
        pooled_encoder(3)


def test_reduced__separated_classes__both_find_them() -> None:
    problem = make_problem("wide-noise", n_positive=100, n_unlabeled=200, alpha=0.5, seed=0)
    shift = 40 * problem.truth[:, None]
    shifted = problem._replace(
        X=problem.X + shift, X_test=problem.X_test + 40 * problem.y_test[:, None]
    )
    for method, parameters in (("pca-kmeans", {}), ("pca-naive", {"max_steps": 60})):
        found = run_reduced(method, shifted, seed=0, n_components=5, parameters=parameters)
        assert found["test_accuracy"] > 0.95
    with pytest.raises(InputError, match="pca-kmeans has no parameters"):
        run_reduced("pca-kmeans", problem, seed=0, n_components=5, parameters={"lr": 1})
    with pytest.raises(InputError, match="Unknown method"):
        run_reduced("pca", problem, seed=0, n_components=5, parameters={})


def double(value: int) -> int:
    if value < 0:
        raise InputError(f"{value} is below 0.")
    return 2 * value


@pytest.mark.parametrize("workers", [1, 2])
def test_jobs__one_fails__told_at_once_and_raised_after_the_others(
    workers: int, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = {"b": (-1,), "a": (1,), "c": (3,)}
    coming = run_jobs(double, jobs, Engine(workers))
    assert dict([next(coming), next(coming)]) == {"a": 2, "c": 6}
    told = capsys.readouterr().err
    if workers == 1:  # of two workers the one that fails may be the slower
        assert told == "b failed: -1 is below 0.\n"
    with pytest.raises(FailedRunsError, match=r"1 of 3 runs failed.*first .*b: -1 is below 0"):
        next(coming)
    assert told + capsys.readouterr().err == "b failed: -1 is below 0.\n"


def _fail_at_two(number: int) -> int:
    if number == 2:
        raise ZeroDivisionError("by hand")
    return number


def test_run_jobs__foreign_error__the_others_run(capfd: pytest.CaptureFixture[str]) -> None:
    coming = run_jobs(_fail_at_two, {"one": (1,), "two": (2,), "three": (3,)}, Engine())
    assert [next(coming), next(coming)] == [("one", 1), ("three", 3)]
    with pytest.raises(FailedRunsError, match=r"1 of 3 runs failed.*two: ZeroDivisionError: by"):
        next(coming)
    assert "Traceback" in capfd.readouterr().err


_LONG_JOBS = """
import os, signal, sys, time
from pathlib import Path
from experiments.workers import Engine, run_jobs

def _say_and_sleep(place):
    Path(place, str(os.getpid())).touch()
    time.sleep(600)

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
    list(run_jobs(_say_and_sleep, {n: (sys.argv[1],) for n in range(6)}, Engine(2)))
"""


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/status")
    return not (status.exists() and "\nState:\tZ" in status.read_text())


@pytest.mark.parametrize(
    ("send", "signal_sent"),
    [(os.killpg, signal.SIGINT), (os.kill, signal.SIGINT), (os.kill, signal.SIGKILL)],
    ids=["ctrl-c", "interrupt", "kill"],
)
def test_jobs__command_is_ended__so_are_its_workers_and_no_job_begins(
    send: Callable[[int, int], None], signal_sent: signal.Signals, tmp_path: Path
) -> None:
    script, places = tmp_path / "long_jobs.py", tmp_path / "begun"
    script.write_text(_LONG_JOBS)
    places.mkdir()
    root = Path(__file__).resolve().parent.parent.parent
    parent = subprocess.Popen(
        [sys.executable, str(script), str(places)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(root), *sys.path])},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        while len(begun := list(places.iterdir())) < 2:
            assert parent.poll() is None
            time.sleep(0.05)
        send(parent.pid, signal_sent)
        parent.wait(60)
    finally:
        parent.kill()
        parent.wait()
    until = time.monotonic() + 60
    while any(_is_alive(int(worker.name)) for worker in begun) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(_is_alive(int(worker.name)) for worker in begun)
    assert sorted(places.iterdir()) == sorted(begun)


def test_judge__a_stage_that_decides_nothing__passed_over() -> None:
    problem = make_problem("digits-even-odd", n_positive=40, n_unlabeled=80, alpha=0.5, seed=0)
    judge = TestJudge(problem, 10)
    judge(CheckResult({"step": 1, "epoch": 0.1}, 3, torch.nn.Identity(), torch.device("cpu")))
    assert judge.rows == []


def test_study__runs_missing__says_how_many() -> None:
    item = study(lambda _: {}, lambda *_: RunResult({}, []), lambda found: f"{len(found)} runs\n")
    records = {"a": Record({}, {}), "b": Record({}), "c": Record({})}
    assert item.show(records, {}).markdown == "1 runs\n\n2 of 3 runs are missing.\n"
    assert item.show({"a": Record({}, {})}, {}).markdown == "1 runs\n"
