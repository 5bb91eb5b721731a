"""``vqpu review`` from a model to a better one: page, decisions, export, fit and evaluate."""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.command_line import QUICK, run, run_json
from tests.reported_models import HOSTILE, fit_pictures, fit_rows
from vqpu import load
from vqpu.cli import main
from vqpu.errors import InputError
from vqpu.files import PUData
from vqpu.files._decisions import Decision, apply_decisions, read_decisions
from vqpu.review._session import Review, ReviewRequest, open_review

pytest.importorskip("fastapi")
pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Model of 240 rows, of which even ones are positive and 40 labelled."""
    return fit_rows(tmp_path_factory.mktemp("rows"))


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fit_pictures(tmp_path_factory.mktemp("pictures"))


def review_of(model: Path, folder: Path, **options: Any) -> Review:
    data = model.parent / ("data.csv" if (model.parent / "data.csv").exists() else "unlabeled")
    return open_review(ReviewRequest(model, str(data), folder / "d.jsonl", **options))


def decide(review: Review, queue: str, count: int) -> None:
    """Give the true answers: even rows and red pictures are positive."""
    for number, place in enumerate(review.waiting(queue, count, set())):
        name = str(review.items.name(place))
        is_positive = "red" in name if "/" in name else int(name[1:]) % 2 == 0
        review.decide(f"{hash(queue) % 999:03}{number:029x}", place, "yes" if is_positive else "no",
                      queue, "ann")  # fmt: skip


def test_walk__table__review_export_fit_evaluate(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with review_of(table, tmp_path) as review:
        assert len(review.items) == 240
        assert int(review.items.is_labeled.sum()) == 40
        decide(review, "audit", 40)
        decide(review, "likely", 10)
    decisions = tmp_path / "d.jsonl"
    for ending in ("csv", "parquet", "jsonl"):
        out = tmp_path / f"out.{ending}"
        assert "50 decisions" in run(capsys, "review", "export", decisions, "--out", out)
    with open(tmp_path / "out.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["item"] for row in rows] == [one.item for one in read_decisions(decisions)]
    data = table.parent / "data.csv"
    found = run_json(capsys, "evaluate", table, data, "--decisions", decisions)
    assert found["judged_by"] == "random audit"
    assert found["n_decided"] == 40
    assert found["alpha_low"] <= 80 / 200 <= found["alpha_high"]
    columns = ["--label", "known", "--positive", "yes", "--id", "key"]
    fitted = run_json(
        capsys, "fit", data, *columns, "--decisions", decisions, "--out", tmp_path / "m", *QUICK
    )
    assert 0 < fitted["alpha"] < 1
    err = run(capsys, "evaluate", tmp_path / "m", data, "--decisions", decisions, code=1)
    assert "none of a random audit of this model, but 40 of another one" in err


def test_fit__decisions__says_how_many_and_changes_nothing_by_none(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with review_of(table, tmp_path) as review:
        decide(review, "audit", 10)
    (tmp_path / "empty.jsonl").write_text("")
    common = ["fit", table.parent / "data.csv", "--label", "known", "--positive", "yes"]
    common += ["--id", "key", "--encoder", "trees", "--set", "max_steps=20", "--seed", 0]
    said, scores = {}, {}
    for name in ("none", "empty", "d"):
        more = [] if name == "none" else ["--decisions", tmp_path / f"{name}.jsonl"]
        assert main([str(part) for part in [*common, "--out", tmp_path / name, *more]]) == 0
        said[name] = capsys.readouterr().err
        scores[name] = load(tmp_path / name).holdout_log_odds_[1]
    np.testing.assert_array_equal(scores["empty"], scores["none"])
    assert not np.array_equal(scores["d"], scores["none"])
    assert "decisions" not in said["none"]
    assert "nothing changes" in said["empty"]
    answers = [one.answer for one in read_decisions(tmp_path / "d.jsonl")]
    n_yes, n_no = answers.count("yes"), answers.count("no")
    assert f"{n_yes} unlabelled samples are positive and {n_no} negative." in said["d"]


def test_review__table__cells_reasons_and_neighbours(table: Path, tmp_path: Path) -> None:
    with review_of(table, tmp_path) as review:
        place = review.waiting("likely", 1, set())[0]
        cells = dict(review.viewer.cells(place) or [])
        assert cells["<b>kind</b>"] == HOSTILE
        nearest = review.viewer.details(place).nearest
        assert len(nearest) == 4
        assert all(dict(one.cells)["<b>kind</b>"] == HOSTILE for one in nearest)


def test_review__pictures__decoded_anew_and_by_place_alone(pictures: Path, tmp_path: Path) -> None:
    with review_of(pictures, tmp_path) as review:
        place = review.waiting("likely", 1, set())[0]
        content = review.viewer.picture(place)
        assert content is not None
        assert content.startswith(b"\xff\xd8")
        nearest = review.viewer.details(place).nearest
        assert nearest
        assert all("reds" in one.name for one in nearest)
        assert review.viewer.neighbour_picture(nearest[0].sample) is not None
        assert review.viewer.neighbour_picture(10**9) is None


def test_scores__of_predict__same_queues_as_scoring_now(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = table.parent / "data.csv"
    for ending in ("csv", "parquet"):
        scores = tmp_path / f"s.{ending}"
        run(capsys, "predict", table, data, "--out", scores, "--keep", "known")
        with review_of(table, tmp_path, scores=scores) as read, review_of(table, tmp_path) as now:
            for queue, order in now.queues.orders.items():
                assert np.array_equal(order, read.queues.orders[queue])
            assert read.items.name(3) == now.items.name(3)


def test_scores__of_something_else__refused(table: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no column 'id'"):
        review_of(table, tmp_path, scores=table.parent / "data.csv")


def told(item: Any, answer: str) -> Decision:
    return Decision("0" * 32, "t", "r", "m", item, answer, "likely", None, 0.5)


def test_apply__by_hand() -> None:
    data = PUData(np.zeros((5, 1)), np.array([1, 0, 0, 0, 1], np.int8), ["a", "b", "c", "d", "e"])
    answers = [told("a", "yes"), told("b", "yes"), told("c", "no"), told("d", "unsure"),
               told("e", "no")]  # fmt: skip
    found = apply_decisions(data, answers, are_paths=False)
    assert found.y.tolist() == [1, 1, 0, 0, 0]
    assert found.confirmed_positives.tolist() == [False, True, False, False, False]
    assert found.known_negatives.tolist() == [False, False, True, False, True]
    assert data.y.tolist() == [1, 0, 0, 0, 1]


def test_apply__unknown_or_double_name__refused() -> None:
    data = PUData(np.zeros((3, 1)), np.array([1, 0, 0], np.int8), ["a", "b", "b"])
    with pytest.raises(InputError, match="1 of 2 decisions name no sample"):
        apply_decisions(data, [told("a", "yes"), told("x", "no")], are_paths=False)
    with pytest.raises(InputError, match="'b' names 2 samples"):
        apply_decisions(data, [told("b", "no")], are_paths=False)


def test_review__extra_missing__one_sentence(
    table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "fastapi" else find_spec(name)
    )
    err = run(capsys, "review", table, table.parent / "data.csv", code=1)
    assert err == "vqpu: vqpu review needs fastapi: pip install 'vqpu[review]'.\n"


def test_review__refusals(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = table.parent / "data.csv"
    inside = table / "d.jsonl"
    assert "own directory" in run(capsys, "review", table, data, "--decisions", inside, code=2)
    wrong = tmp_path / "d.csv"
    assert ".jsonl" in run(capsys, "review", table, data, "--decisions", wrong, code=2)
    lost = tmp_path / "no.jsonl"
    out = tmp_path / "o.csv"
    assert "cannot be read" in run(capsys, "review", "export", lost, "--out", out, code=1)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_review__served__answers_on_loopback_until_ctrl_c(table: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "vqpu", "review", str(table), str(table.parent / "data.csv"),
               "--decisions", str(tmp_path / "d.jsonl"), "--no-browser"]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            lines = [child.stdout.readline() for _ in range(2)]
            found = re.search(r"http://127\.0\.0\.1:\d+/\S{32}/", lines[1])
            assert found, lines
            with urllib.request.urlopen(f"{found[0]}api/progress", timeout=60) as answer:
                assert json.load(answer)["n_items"] == 240
            child.send_signal(signal.SIGINT)
            assert child.wait(60) in (0, 130, -signal.SIGINT)
        finally:
            child.kill()
