"""The file of decisions: on disk before it is told, torn lines, undo, two writers, kill -9."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from vqpu.errors import InputError, OutputError
from vqpu.files._decisions import read_decisions, read_entries
from vqpu.review._log import DecisionLog

WRITER = """
import sys
from pathlib import Path
from vqpu.review._log import DecisionLog
log = DecisionLog(Path(sys.argv[1]), "m")
print("ready", flush=True)
for number in range(int(sys.argv[2]), int(sys.argv[3])):
    log.add(id=f"{number:032x}", reviewer="r", item=number, answer="yes", queue="likely",
            weight=None, probability=0.5)
    print(number, flush=True)
"""


def add(log: DecisionLog, number: int, item: Any, answer: str = "yes", who: str = "ann") -> None:
    log.add(
        id=f"{number:032x}", reviewer=who, item=item, answer=answer, queue="audit", weight=0.5,
        probability=0.25,
    )  # fmt: skip


def test_log__opened_again__every_decision_is_there(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    log = DecisionLog(path, "digest")
    add(log, 1, "a")
    add(log, 2, "b", "no")
    found = read_decisions(path)
    assert [(one.item, one.answer, one.model) for one in found] == [
        ("a", "yes", "digest"),
        ("b", "no", "digest"),
    ]
    assert found[0].time.endswith("+00:00")
    assert found[0].weight == 0.5
    assert DecisionLog(path, "digest").counting().keys() == {"a", "b"}


def test_log__sent_twice__written_once(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "d.jsonl", "m")
    add(log, 1, "a")
    add(log, 1, "a")
    assert len(read_entries(tmp_path / "d.jsonl").entries) == 1


def test_undo__without_limit__earlier_decision_counts_again(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "d.jsonl", "m")
    for number in range(30):
        add(log, number, number % 3, "yes" if number < 3 else "no")
    taken = [log.undo_last(f"{100 + n:032x}", "ann") for n in range(27)]
    assert [one.id for one in taken if one] == [f"{n:032x}" for n in range(29, 2, -1)]
    assert {one.answer for one in log.counting().values()} == {"yes"}
    for n in range(3):
        assert log.undo_last(f"{200 + n:032x}", "ann") is not None
    assert log.undo_last(f"{300:032x}", "ann") is None
    assert log.counting() == {}
    assert len(read_entries(tmp_path / "d.jsonl").entries) == 60, "nothing is ever removed"


def test_undo__sent_twice__takes_one_back(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "d.jsonl", "m")
    add(log, 1, "a")
    add(log, 2, "b")
    assert log.undo_last("f" * 32, "ann") == log.undo_last("f" * 32, "ann")
    assert log.counting().keys() == {"a"}


def test_undo__of_another_reviewer__untouched(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "d.jsonl", "m")
    add(log, 1, "a", who="ann")
    add(log, 2, "b", who="bob")
    taken = log.undo_last("f" * 32, "ann")
    assert taken is not None
    assert taken.item == "a"
    assert log.counting().keys() == {"b"}


def test_two_logs_on_one_file__see_each_other(tmp_path: Path) -> None:
    one, other = (DecisionLog(tmp_path / "d.jsonl", "m") for _ in range(2))
    add(one, 1, "a")
    add(other, 2, "b")
    add(one, 3, "a", "no")
    assert {name: d.answer for name, d in other.counting().items()} == {"a": "no", "b": "yes"}


@pytest.mark.parametrize("kept", [1, 5, 40])
def test_torn_last_line__skipped_counted_and_written_behind(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "d.jsonl"
    add(DecisionLog(path, "m"), 1, "a")
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:kept])
    assert [one.item for one in read_decisions(path)] == ["a"]
    log = DecisionLog(path, "m")
    add(log, 2, "b")
    assert [one.item for one in read_decisions(path)] == ["a", "b"]
    assert log.counting().keys() == {"a", "b"}
    assert read_entries(path).n_torn == 1


@pytest.mark.parametrize(
    "line",
    ['{"id": 1}', "nonsense", '{"id": "a", "undo": 3}', "[1, 2]", '{"a": ' * 5000],
)
def test_file_of_something_else__refused_by_its_line(tmp_path: Path, line: str) -> None:
    (tmp_path / "d.jsonl").write_text(line + "\n")
    with pytest.raises(InputError, match="line 1 is no decision"):
        read_decisions(tmp_path / "d.jsonl")


def test_weight__not_finite__no_decision(tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    add(DecisionLog(path, "m"), 1, "a")
    path.write_text(path.read_text().replace("0.25", "NaN"))
    with pytest.raises(InputError, match="no decision"):
        read_decisions(path)


def test_log__folder_missing_or_disk_full__said(tmp_path: Path, monkeypatch: Any) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        DecisionLog(tmp_path / "no" / "d.jsonl", "m")
    log = DecisionLog(tmp_path / "d.jsonl", "m")

    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OutputError, match=r"not saved: .*No space left"):
        add(log, 1, "a")
    monkeypatch.undo()
    assert log.counting() == {}


def test_add__flushed_to_the_disk_before_it_returns(tmp_path: Path, monkeypatch: Any) -> None:
    log = DecisionLog(tmp_path / "d.jsonl", "m")
    calls: list[str] = []

    def noting(name: str, call: Any) -> Any:
        def noted(*arguments: Any) -> Any:
            calls.append(name)
            return call(*arguments)

        return noted

    monkeypatch.setattr(os, "write", noting("write", os.write))
    monkeypatch.setattr(os, "fsync", noting("fsync", os.fsync))
    add(log, 1, "a")
    assert calls == ["write", "fsync"]


def kill_writers(path: Path, n_decisions: int, n_kills: int) -> list[int]:
    """Write decisions in a process that is killed so often; return those it acknowledged."""
    rng, start = random.Random(0), 0
    told: list[int] = []
    most = max(2, n_decisions // (n_kills + 1))
    for kill in range(n_kills + 1):
        command = [sys.executable, "-c", WRITER, str(path), str(start), str(n_decisions)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == "ready\n"
            if kill < n_kills:
                told += [int(child.stdout.readline()) for _ in range(rng.randrange(1, most))]
                time.sleep(rng.random() * 0.003)
                child.send_signal(signal.SIGKILL)
            told += [int(line) for line in child.stdout.read().split()]
        start = max(told) + 1
    return told


@pytest.mark.parametrize(
    ("n_decisions", "n_kills"), [(40, 2), pytest.param(500, 20, marks=pytest.mark.torture)]
)
def test_kill__at_random_moments__no_acknowledged_decision_is_lost(
    tmp_path: Path, n_decisions: int, n_kills: int
) -> None:
    path = tmp_path / "d.jsonl"
    told = kill_writers(path, n_decisions, n_kills)
    assert {one.item for one in read_decisions(path)} >= set(told)
    assert max(told) == n_decisions - 1
    for line in path.read_bytes().split(b"\n")[:-1]:
        assert not line or json.loads(line)["model"] == "m"
