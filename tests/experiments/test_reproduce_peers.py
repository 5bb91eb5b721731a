"""Peers: the environment, the data that go over, and what is made of an answer."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.item import Record
from experiments.items import peer_process as child
from experiments.items import peers
from experiments.items.peer_libraries import PeerResult, ask_peer, peers_python, standardized
from vqpu.errors import DownloadError, InputError

X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
Y = np.array([1, 0, 0])
X_TEST = np.array([[7.0, 8.0], [-1.0, 0.0]])


def ask(python: Path, timeout: float = 60) -> PeerResult:
    settings: dict[str, Any] = {"seed": 0, "timeout": timeout, "python": python, "threads": 3}
    return ask_peer("pulearn", "bagging", X, Y, X_TEST, **settings)


def fake_python(folder: Path, body: str) -> Path:
    """An interpreter that is given -I, the script, library, method, seed, samples and answer."""
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o700)
    return path


def test_ask__an_answer__read_and_no_truth_went_over(tmp_path: Path) -> None:
    answer = json.dumps({"seconds": 1.5, "prior": 0.25, "called": "01"})
    copy = f'cp "$6" {tmp_path}/seen.npz; echo $OMP_NUM_THREADS > {tmp_path}/threads'
    python = fake_python(tmp_path, f"{copy}\necho '{answer}' > \"$7\"")
    found = ask(python)
    assert (tmp_path / "threads").read_text() == "3\n"
    assert found.called is not None
    assert found.called.tolist() == [False, True]
    assert (found.seconds, found.prior, found.failure) == (1.5, 0.25, "")
    with np.load(tmp_path / "seen.npz", allow_pickle=False) as seen:
        assert set(seen.files) == {"X", "y", "X_test"}
        np.testing.assert_array_equal(seen["y"], Y)


@pytest.mark.parametrize(
    ("body", "failure"),
    [
        pytest.param(
            "echo first >&2; echo 'ValueError: no' >&2; exit 1", "ValueError: no", id="ends"
        ),
        pytest.param("exit 0", "it ended without a word", id="silent"),
        pytest.param(
            """echo '{"seconds": 1, "prior": null, "called": "1"}' > "$7" """,
            "1 predictions for 2 samples",
            id="too-few",
        ),
    ],
)
def test_ask__no_answer__says_why(tmp_path: Path, body: str, failure: str) -> None:
    assert ask(fake_python(tmp_path, body)) == PeerResult(None, None, None, failure)


def test_ask__too_slow__given_up(tmp_path: Path) -> None:
    found = ask(fake_python(tmp_path, "exec sleep 60"), timeout=0.1)
    assert found.failure == "no answer within 0.1 seconds"


@pytest.mark.skipif(find_spec("pulearn") is not None, reason="pulearn is installed here")
def test_ask__library_not_there__the_fault_of_the_environment_and_no_answer() -> None:
    message = r"pulearn cannot be imported in .*No module named 'pulearn'. Delete that folder"
    with pytest.raises(InputError, match=message):
        ask(Path(sys.executable))


def test_child__a_method__answers_for_the_test_samples(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Above:
        def predict(self, X: Any) -> Any:
            return np.where(X[:, 0] > 0, 1, -1)  # some peers answer 1 and -1

    monkeypatch.setitem(child.METHODS, ("numpy", "above"), lambda *_: (Above(), 0.5))
    np.savez(tmp_path / "samples.npz", X=X, y=Y, X_test=X_TEST)
    child.main("numpy", "above", 0, str(tmp_path / "samples.npz"), str(tmp_path / "answer.json"))
    found = json.loads((tmp_path / "answer.json").read_text())
    assert found["called"] == "10"
    assert found["prior"] == 0.5


def test_child__pickled_array__refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "samples.npz", X=np.array([{}], dtype=object), y=Y, X_test=X_TEST)
    with pytest.raises(ValueError, match="allow_pickle"):
        child.main("numpy", "none", 0, str(tmp_path / "samples.npz"), str(tmp_path / "answer"))


@pytest.fixture
def pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A temporary folder of its own, and a pip that only writes down what it is asked for."""
    asked: list[Any] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(venv, "create", lambda folder, **_: (folder / "bin").mkdir())
    monkeypatch.setattr(subprocess, "run", run)
    return asked


def test_environment__made_once__with_our_versions_and_theirs(
    tmp_path: Path, pip: list[Any]
) -> None:
    python = peers_python()
    assert python == peers_python()
    assert python.parent.parent.parent == tmp_path
    assert len(pip) == 1
    assert pip[0][-2:] == ["pulearn==0.2.0", "pu-toolbox[torch]==1.11.0"]
    pinned = (python.parent.parent / "constraints.txt").read_text()
    assert f"numpy=={np.__version__}\n" in pinned
    assert "+" not in pinned
    assert len(list(tmp_path.iterdir())) == 1


def test_environment__pip_fails__one_sentence_and_nothing_left(
    tmp_path: Path, pip: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = subprocess.CompletedProcess([], 1, "", "noise\nERROR: no such host\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(DownloadError, match="ERROR: no such host"):
        peers_python()
    assert not list(tmp_path.iterdir())


def test_environment__planted_link__not_used(tmp_path: Path, pip: list[Any]) -> None:
    folder = peers_python().parent.parent
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="belongs to somebody else"):
        peers_python()


def test_standardized__images_with_a_constant_pixel__hand_computed() -> None:
    images = np.array([[[0, 5]], [[4, 5]]], dtype=np.uint8)
    train, test = standardized(images, np.array([[[6, 7]]], dtype=np.uint8))
    assert train.tolist() == [[-1, 0], [1, 0]]
    assert test.tolist() == [[2, 2]]


def test_show__answers_failures_and_missing__all_told() -> None:
    item = peers.ITEM

    def record(method: str, seed: int, metrics: dict[str, Any] | None) -> Record:
        sizes = {"n_positive": 8, "n_unlabeled": 20, "version": None}
        return Record({"task": "digits", "method": method, "seed": seed, **sizes}, metrics)

    def metrics(accuracy: float | None, failure: str = "") -> dict[str, Any]:
        seconds = None if accuracy is None else 2.0
        return {
            "accuracy": accuracy,
            "balanced_accuracy": accuracy,
            "seconds": seconds,
            "prior": None,
            "failure": failure,
        }

    records = {
        "a0": record("pulearn bagging", 0, metrics(0.8)),
        "a1": record("pulearn bagging", 1, metrics(0.9)),
        "b": record("pulearn nnpu", 0, metrics(None, "no | answer")),
        "c": record("vqpu vq-k-means", 0, None),
    }
    shown = item.show(records, {})
    by_method = {row["method"]: row for row in shown.rows}
    assert by_method["pulearn bagging"]["balanced accuracy"] == "85.0 ± 5.0"
    assert by_method["pulearn bagging"]["runs"] == "2 of 2"
    assert by_method["pulearn nnpu"]["accuracy"] == "-"
    assert by_method["pulearn nnpu"]["failures"] == "no / answer"
    assert by_method["vqpu vq-k-means"]["accuracy"] == "missing"
    assert "| digits | 8 | 20 | pulearn bagging |" in shown.markdown
