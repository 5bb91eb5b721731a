"""``vqpu fit``: settings from a file, progress, Ctrl-C, resuming, and every kind of input."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import vqpu
from tests.command_line import QUICK, fit_table, run
from vqpu.cli import main
from vqpu.cli._fit import _print_fitted
from vqpu.errors import ParameterError
from vqpu.files._fitting import patient_interrupts
from vqpu.files._settings import fit_settings

pa = pytest.importorskip("pyarrow")
from pyarrow import parquet  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_cache")


def test_fit__config_file__same_model_as_options(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "fit.toml").write_text(
        f'data = "{table}/data.csv"\nlabel = "known"\npositive = "yes"\nid_column = "key"\n'
        f'drop = ["truth"]\nout = "{tmp_path}/elsewhere"\nmax_steps = 60\n'
        "variant__check_every = 20\n"
        "n_members = 1\nn_rounds = 1\ncodebook_size = 32\nvector_dim = 8\nn_vectors = 4\n"
        'random_state = 0\nencoder = "network"\n'
    )
    run(capsys, "fit", "--config", tmp_path / "fit.toml", "--out", tmp_path / "model", "--quiet")
    assert not (tmp_path / "elsewhere").exists(), "the option goes first"
    X = np.random.default_rng(0).normal(size=(5, 4))
    first, second = vqpu.load(table / "model"), vqpu.load(tmp_path / "model")
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))


def test_fit__progress__distance_share_and_codes(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [table / "data.csv", "--label", "known", "--positive", "yes", "--drop", "truth"]
    arguments += ["--drop", "key", "--out", tmp_path / "model", *QUICK[:-1]]
    assert main(["fit", *map(str, arguments)]) == 0
    captured = capsys.readouterr()
    lines = [line for line in captured.err.splitlines() if "step" in line]
    assert len(lines) == 3
    for words in ("step 40 of at most 60", "center distance", "positive share", "codes in use"):
        assert words in lines[1]
    assert "alpha is estimated as" in captured.out
    assert "replaced" not in captured.out


def test_fit__again_with_resume__says_where_it_goes_on_and_what_it_replaces(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [table / "data.csv", "--label", "known", "--positive", "yes", "--drop", "truth"]
    arguments += ["--drop", "key", "--out", tmp_path / "model", "--resume", *QUICK[:-1]]
    line = ["fit", *map(str, arguments)]
    assert main(line) == 0
    assert "step 20 of at most 60" in capsys.readouterr().err
    assert main(line) == 0
    captured = capsys.readouterr()
    (line_of_the_end,) = [text for text in captured.err.splitlines() if " of at most " in text]
    assert "step 60 of at most 60" in line_of_the_end
    assert "The model that was there before is replaced." in captured.out


def interrupt_at(step: int, patch: pytest.MonkeyPatch) -> None:
    """Let Ctrl-C be pressed in the middle of a step."""
    from vqpu.training import _loop

    honest = _loop.take_step

    def interrupted(objective: Any, optimizer: Any, at: int, *more: Any) -> dict[str, float]:
        if at == step:
            raise KeyboardInterrupt
        return honest(objective, optimizer, at, *more)

    patch.setattr(_loop, "take_step", interrupted)


@pytest.mark.filterwarnings("default::vqpu.errors.VqpuWarning")
def test_fit__ctrl_c__keeps_the_best_and_says_so__resume_ends_as_if_never_interrupted(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        interrupt_at(45, patch)
        assert fit_table(table, tmp_path / "model", "--checkpoint-dir", tmp_path / "kept") == 0
    captured = capsys.readouterr()
    assert "vqpu: warning: Training was interrupted" in captured.err
    assert captured.err.count("\n") == 1
    assert vqpu.load(tmp_path / "model").stop_reason_ == "interrupted"
    assert fit_table(table, tmp_path / "model", "--checkpoint-dir", tmp_path / "kept") == 2
    assert "Pass --resume" in capsys.readouterr().err
    again = ("--checkpoint-dir", tmp_path / "kept", "--resume")
    assert fit_table(table, tmp_path / "model", *again) == 0
    resumed, whole = vqpu.load(tmp_path / "model"), vqpu.load(table / "model")
    assert resumed.n_steps_ == whole.n_steps_ == 60
    X = np.random.default_rng(0).normal(size=(5, 4))
    np.testing.assert_array_equal(resumed.decision_function(X), whole.decision_function(X))


def test_fit__ctrl_c_before_the_first_check__nothing_written(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        interrupt_at(3, patch)
        assert fit_table(table, tmp_path / "model") == 130  # as shells count Ctrl-C
    assert "stopped by Ctrl-C" in capsys.readouterr().err
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("kind", ["two arrays", "one npz", "two tables"])
def test_fit__other_inputs__predict_takes_the_same_kind(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    P = rng.normal(3, 1, (40, 3))
    U = np.vstack([rng.normal(3, 1, (20, 3)), rng.normal(-3, 1, (60, 3))])
    if kind == "one npz":
        np.savez(tmp_path / "d.npz", X=np.vstack([P, U]), y=np.repeat([1, 0], [40, 80]))
        np.savez(tmp_path / "u.npz", X=U)
        inputs: list[object] = [tmp_path / "d.npz"]
        unlabeled = tmp_path / "u.npz"
    else:
        ending = "npy" if kind == "two arrays" else "parquet"
        for name, rows in (("p", P), ("u", U)):
            if ending == "npy":
                np.save(tmp_path / f"{name}.npy", rows)
            else:
                columns = {f"c{index}": rows[:, index] for index in range(3)}
                parquet.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
        unlabeled = tmp_path / f"u.{ending}"
        inputs = ["--positives", tmp_path / f"p.{ending}", "--unlabeled", unlabeled]
    run(capsys, "fit", *inputs, "--out", tmp_path / "model", *QUICK)
    run(capsys, "predict", tmp_path / "model", unlabeled, "--out", tmp_path / "a.parquet")
    table = parquet.read_table(tmp_path / "a.parquet").to_pydict()
    assert table["id"] == list(range(80))
    assert np.mean(np.array(table["label"]) == np.repeat([1, 0], [20, 60])) > 0.9


def test_fit__npz_that_marks_most_samples__refused_until_it_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(3, 1, (60, 3)), rng.normal(-3, 1, (40, 3))])
    np.savez(tmp_path / "d.npz", X=X, y=np.repeat([1, 0], [60, 40]))
    np.savez(tmp_path / "other.npz", X=X, y=np.repeat([1, 2], [40, 60]))
    fit = ["fit", tmp_path / "d.npz", "--out", tmp_path / "model", *QUICK]
    refused = run(capsys, *fit, code=1)
    assert "marks 60 of 100 samples with 1" in refused
    assert "--positive 1" in refused
    assert "1 marks the positives of y" in run(capsys, *fit, "--positive", "0", code=2)
    assert not (tmp_path / "model").exists()
    run(capsys, *fit, "--positive", "1")
    fit[1] = tmp_path / "other.npz"
    assert "must hold 1 for positives" in run(capsys, *fit, "--overwrite", code=1)


def test_patient_interrupts__the_second_is_told_the_third_obeyed(
    ctrl_c: Callable[[], None], capfd: pytest.CaptureFixture[str]
) -> None:
    with patient_interrupts():
        with pytest.raises(KeyboardInterrupt):
            ctrl_c()
        ctrl_c()  # somebody is impatient: the model is being saved
        assert "once more to give up" in capfd.readouterr().err
        with pytest.raises(KeyboardInterrupt):
            ctrl_c()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_patient_interrupts__training_has_ended__one_press_does_not_lose_the_model(
    ctrl_c: Callable[[], None],
) -> None:
    with patient_interrupts() as has_ended:
        has_ended()
        ctrl_c()
        with pytest.raises(KeyboardInterrupt):
            ctrl_c()


def test_patient_interrupts__where_ctrl_c_is_ignored__stays_so() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with patient_interrupts():
            signal.raise_signal(signal.SIGINT)
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_config__names_of_options__as_good_as_those_of_settings(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('id = "key"\nseed = 3\nskip_broken = true\n')
    (tmp_path / "b.toml").write_text('id_column = "key"\nrandom_state = 3\non_broken = "skip"\n')
    settings = [fit_settings(tmp_path / name, {}) for name in ("a.toml", "b.toml")]
    assert settings[0].model_dump() == settings[1].model_dump()
    assert (settings[0].id_column, settings[0].on_broken) == ("key", "skip")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('id = "a"\nid_column = "b"', "id and id_column mean the same"),
        ("seed = 1\nrandom_state = 2", "seed and random_state mean the same"),
        ('skip_broken = "no"', "skip_broken must be true or false"),
    ],
)
def test_config__two_names_for_one_thing_or_no_truth_value__refused(
    text: str, words: str, tmp_path: Path
) -> None:
    (tmp_path / "a.toml").write_text(text)
    with pytest.raises(ParameterError, match=words):
        fit_settings(tmp_path / "a.toml", {})


@pytest.mark.parametrize(("n_positive", "level"), [(300, "doubt"), (300, "ok"), (30, "doubt")])
def test_print_fitted__more_positives_than_unlabelled_and_a_doubt__asks_whether_swapped(
    n_positive: int, level: str, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    finding = SimpleNamespace(level=level)
    monkeypatch.setattr("vqpu.report._diagnosis.worst_finding", lambda _: finding)
    model = SimpleNamespace(
        evidence_=SimpleNamespace(n_positive=n_positive, n_unlabeled=60),
        max_seconds=None, positive_share_=0.5, alpha=None, alpha_=0.5, alpha_interval_=(0.4, 0.6),
    )  # fmt: skip
    _print_fitted(model, "model", replaces=False, as_json=False)
    is_asked = (n_positive, level) == (300, "doubt")
    assert ("not swapped" in capsys.readouterr().out) == is_asked
