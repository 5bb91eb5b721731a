"""A new user's walk with features of pretrained networks: pictures and texts, files to report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.command_line import read_csv, run, run_json
from tests.features_tools import (
    pictures,
    texts,
    write_image_network,
    write_json_lines,
    write_pictures,
    write_text_network,
)
from vqpu.review._session import Review, ReviewRequest, open_review

pytest.importorskip("onnxruntime")
QUICK = ["--set=max_steps=150", "--set=n_rounds=1", "--seed=0", "--quiet"]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    """80 known positives; 60 hidden ones and 100 others, of which the first 60 are positives."""
    write_pictures(tmp_path / "wanted", pictures(80, is_positive=True, seed=0))
    write_pictures(tmp_path / "rest", pictures(60, is_positive=True, seed=1))
    write_pictures(tmp_path / "rest", pictures(100, is_positive=False, seed=2), start=60)
    write_image_network(tmp_path / "tiny.onnx")
    return tmp_path


def review_of(model: Path, data: Path) -> Review:
    return open_review(ReviewRequest(model, str(data), model.parent / "d.jsonl"))


def is_hidden_positive(name: str) -> bool:
    return int(Path(name).stem) < 60


def test_pictures__from_folders_to_report(
    folders: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, network = folders / "model", folders / "tiny.onnx"
    tried = run(
        capsys, "features", "try", network, folders / "rest", "--sheet", folders / "near.png"
    )
    assert len(tried.splitlines()) == 8 * 8
    assert (folders / "near.png").read_bytes().startswith(b"\x89PNG")
    said = run(
        capsys, "fit", "--positives", folders / "wanted", "--unlabeled", folders / "rest",
        "--features", network, "--out", model, *QUICK,
    )  # fmt: skip
    assert "alpha is estimated" in said
    run(capsys, "predict", model, folders / "rest", "--out", folders / "found.csv")
    rows = read_csv(folders / "found.csv")
    right = [(row["label"] == "1") == is_hidden_positive(row["path"]) for row in rows]
    assert np.mean(right) > 0.9
    ranked = run_json(
        capsys, "rank", model, folders / "rest", "--top", "9", "--sheet", folders / "top.png"
    )
    assert all(is_hidden_positive(one["name"]) for one in ranked["best"])
    found = run_json(capsys, "inspect", model)
    assert found["input"]["features"]["name"] == "tiny.onnx"
    assert "by 12 features of tiny.onnx" in found["input"]["takes"]
    with review_of(model, folders / "rest") as review:
        place = review.waiting("likely", 1, set())[0]
        assert is_hidden_positive(review.items.name(place))
        assert (review.viewer.picture(place) or b"").startswith(b"\xff\xd8")
        nearest = review.viewer.details(place).nearest
        assert nearest
        assert all("wanted" in one.name and one.has_picture for one in nearest)
    run(capsys, "report", model, "--out", folders / "page.html")
    page = (folders / "page.html").read_text()
    assert "data:image/jpeg" in page
    assert "tiny.onnx" in page
    listed = run(capsys, "features", "list")
    assert "240 vectors of 12" in listed


def test_texts_of_a_column__from_json_lines_to_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known, hidden = (texts(n, is_positive=True, seed=n) for n in (70, 50))
    others = texts(90, is_positive=False, seed=3)
    rows: list[dict[str, Any]] = [
        {"key": f"k{i}", "body": t, "known": "yes"} for i, t in enumerate(known)
    ]
    rows += [{"key": f"h{i}", "body": t, "known": None} for i, t in enumerate(hidden)]
    rows += [{"key": f"n{i}", "body": t, "known": None} for i, t in enumerate(others)]
    write_json_lines(tmp_path / "mails.jsonl", rows)
    network, model = write_text_network(tmp_path / "net" / "words.onnx"), tmp_path / "model"
    tried = run(
        capsys, "features", "try", network, tmp_path / "mails.jsonl", "--text", "body",
        "--questions", "2",
    )  # fmt: skip
    assert len(tried.splitlines()) == 2 * 8
    run(
        capsys, "fit", tmp_path / "mails.jsonl", "--text", "body", "--label", "known",
        "--positive", "yes", "--id", "key", "--features", network, "--out", model,
        "--encoder", "trees", *QUICK,
    )  # fmt: skip
    best = run_json(capsys, "rank", model, tmp_path / "mails.jsonl", "--top", "40")
    assert best["n_labeled"] == len(known)
    assert sum(one["name"].startswith("h") for one in best["best"]) >= 38
    explained = run_json(capsys, "explain", model, tmp_path / "mails.jsonl", "--top", "3")
    assert explained["samples"][0]["for"][0]["column"].startswith("feature ")
    with review_of(model, tmp_path / "mails.jsonl") as review:
        place = review.waiting("likely", 1, set())[0]
        assert review.viewer.cells(place) == [("body", hidden[int(review.items.name(place)[1:])])]
        details = review.viewer.details(place)
        assert (details.reasons_for, details.reasons_against) == ([], [])  # numbers of features
        assert [cells[0][0] for _, _, cells, _ in details.nearest] == ["body"] * 4
    scores = run_json(
        capsys, "evaluate", model, tmp_path / "mails.jsonl", "--scenario", "case-control"
    )
    assert scores["n_samples"] == len(rows)
    run(capsys, "report", model, "--out", tmp_path / "page.html")
    assert hidden[0].split()[0] in (tmp_path / "page.html").read_text()


def test_texts_of_a_folder__a_file_without_text_has_a_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder, is_positive, n in (("wanted", True, 60), ("rest", True, 40), ("rest", False, 60)):
        (tmp_path / folder).mkdir(exist_ok=True)
        for number, text in enumerate(texts(n, is_positive=is_positive, seed=n)):
            (tmp_path / folder / f"{int(is_positive)}_{number:03}.txt").write_text(text)
    network, model = write_text_network(tmp_path / "net" / "words.onnx"), tmp_path / "model"
    run(
        capsys, "fit", "--positives", tmp_path / "wanted", "--unlabeled", tmp_path / "rest",
        "--features", network, "--out", model, *QUICK,
    )  # fmt: skip
    (tmp_path / "rest" / "2_empty.txt").write_text(" \n")
    (tmp_path / "rest" / "3_latin.txt").write_bytes(b"\xff\xfe rain")
    run(capsys, "predict", model, tmp_path / "rest", "--out", tmp_path / "found.csv", "--sort")
    rows = read_csv(tmp_path / "found.csv")
    assert sum("1_" in row["path"] for row in rows[:40]) >= 38
    assert [row["reason"] for row in rows[-2:]] == [
        "it has no text", "it is no text in UTF-8 (byte 0)",
    ]  # fmt: skip
    with review_of(model, tmp_path / "rest") as review:
        place = review.waiting("likely", 1, set())[0]
        path = Path(review.items.name(place))
        assert path.name.startswith("1_")
        assert review.viewer.cells(place) == [("text", path.read_text())]
        (unread,) = review.items.places_of([str(tmp_path / "rest" / "3_latin.txt")]).values()
        assert review.viewer.cells(unread) is None
        assert review.viewer.details(unread) == ([], [], [])
        assert unread not in review.waiting("likely", 10**6, set())


@pytest.mark.filterwarnings("default::vqpu.errors.BrokenImageWarning")
def test_one_folder_with_labels__fitted_evaluated_and_compared(
    folders: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (folders / "wanted").iterdir():
        path.rename(folders / "rest" / f"9{path.name}")
    names = sorted(path.name for path in (folders / "rest").iterdir())
    is_cat = {name: name.startswith("9") or int(name[:4]) < 60 for name in names}
    lines = [f"{name},{'cat' if is_cat[name] else 'dog'},{name[0]}" for name in names]
    (folders / "labels.csv").write_text("\n".join(["file,truth,known", *lines]) + "\n")
    model, network = folders / "model", folders / "tiny.onnx"
    source = [folders / "rest", "--labels", folders / "labels.csv"]
    known = ["--label", "known", "--positive", "9", "--features", network]
    run(capsys, "fit", *source, *known, "--out", model, *QUICK)
    (folders / "rest" / "0000.png").write_bytes(b"torn")
    judged = ["evaluate", model, *source, "--label", "truth", "--positive", "cat"]
    assert "--skip-broken" in run(capsys, *judged, code=1)
    scores = run_json(capsys, *judged, "--skip-broken")
    assert (scores["n_samples"], scores["n_broken"]) == (239, 1)
    assert scores["accuracy"] > 0.9
    ranked = run_json(capsys, "rank", model, *source, "--top", "5")
    assert (ranked["n_labeled"], ranked["n_broken"]) == (80, 1)
    compared = run_json(
        capsys, "compare", *source, *known, "--skip-broken", "--methods", "naive,vq", "--quiet",
        "--set", "max_steps=40", "--alpha", "0.4", "--fit-best", folders / "best",
    )  # fmt: skip
    assert compared["rows"][0]["auc"] > 0.9
    parameters = run_json(capsys, "inspect", folders / "best")["parameters"]
    assert (parameters["encoder"], parameters["max_steps"]) == ("linear", 40)


def test_prediction__another_extractor__is_refused(
    folders: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = folders / "model"
    run(
        capsys, "fit", "--positives", folders / "wanted", "--unlabeled", folders / "rest",
        "--features", folders / "tiny.onnx", "--out", model, *QUICK,
    )  # fmt: skip
    predict = ["predict", model, folders / "rest", "--out", folders / "found.csv"]
    other = write_image_network(folders / "other.onnx", seed=1)
    said = run(capsys, *predict, "--features", other, code=1)
    assert "another extractor than the tiny.onnx" in said
    assert "differ in digest" in said
    assert not (folders / "found.csv").exists()
    (folders / "tiny.toml").write_text((folders / "tiny.toml").read_text().replace("0.25", "0.5"))
    assert "differ in image" in run(capsys, *predict, code=1)
    (folders / "tiny.onnx").unlink()
    assert "no longer at" in run(capsys, *predict, code=1)
    moved = write_image_network(folders / "moved" / "renamed.onnx")
    run(capsys, *predict, "--features", moved)
    assert len(read_csv(folders / "found.csv")) == 160


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--image-size", "32"], "No meaning for two folders with --features: --image-size"),
        (["--features", "none.onnx"], "none.onnx does not exist"),
        (["--features", "words/words.onnx"], "takes texts, but"),
    ],
)
def test_fit__options_that_do_not_fit__one_sentence(
    folders: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    reason: str,
) -> None:
    monkeypatch.chdir(folders)
    write_text_network(folders / "words" / "words.onnx")
    arguments = ["fit", "--positives", "wanted", "--unlabeled", "rest", "--out", "model", *QUICK]
    given = [] if "--features" in options else ["--features", "tiny.onnx"]
    code = 1 if "none.onnx" in options else 2
    said = run(capsys, *arguments, *given, *options, code=code)
    assert reason in said
    assert not (folders / "model").exists()
