"""The report as a page: whole, alone, escaped, the same again; tests/browser looks at it."""

from __future__ import annotations

import base64
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import vqpu
from tests.command_line import run, run_json
from tests.reported_models import HOSTILE, LONG, kept_sample
from tests.support import fast_classifier
from vqpu.errors import InputTypeError, ModelFileError, OutputError, ParameterError, UsageError
from vqpu.persistence._model import read_extra
from vqpu.report import make_report, write_report
from vqpu.report._reported_model import read_reported_model
from vqpu.report._summary import facts, training_note
from vqpu.report._training_sample import (
    JSON_FILE,
    MOST_LABELED,
    MOST_UNLABELED,
    TENSOR_FILE,
    _choose,
    _thumbnail,
)

VOID = {"meta", "link", "img", "br"}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


class Outline(HTMLParser):
    """Collects tags and addresses, and sees that tags are closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.alts: list[str | None] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append(tag)
        self.addresses += [found[name] or "" for name in ("src", "href") if name in found]
        assert not any(name.startswith("on") for name in found)
        if tag == "img":
            self.alts.append(found.get("alt"))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("kind", ["pictures", "rows", "from_python"])
def test_page__self_contained_escaped_and_well_formed(
    kind: str, request: pytest.FixtureRequest
) -> None:
    page = make_report(request.getfixturevalue(kind))
    outline = Outline(page)
    assert outline.open == []
    assert "script" not in outline.tags
    assert all(address.startswith(("data:", "#")) for address in outline.addresses)
    assert not re.search(r"""(src|href)\s*=\s*["']?\s*(https?:)?//|url\(|@import""", page)
    assert outline.alts
    assert all(outline.alts), "every picture has a text"
    assert HOSTILE not in page
    assert "<b>kind" not in page


@pytest.mark.parametrize("kind", ["pictures", "rows", "from_python"])
def test_page__says_what_the_model_says(kind: str, request: pytest.FixtureRequest) -> None:
    path = request.getfixturevalue(kind)
    model, page = vqpu.load(path), make_report(path)
    best = model.history_[model.best_check_]
    text = " ".join(page.split())
    assert (
        f"Check {model.best_check_ + 1} of {len(model.history_)}, after step {best['step']}" in text
    )
    assert f"<dd>{model.alpha_:.3f} <small>" in text
    assert f"{model.theoretical_alpha_:.3f}; too large" in text
    assert f"<dd>{100 * model.positive_share_:.1f} %</dd>" in text
    for part in ("findings", "stopping", "scores", "alpha", "fitted"):
        assert f'<section id="{part}">' in page
    for sentence in (f.sentence for f in vqpu.diagnose(model)):
        assert sentence.replace("'", "&#39;") in text
    assert "<td>max_steps</td><td>60</td><td>none</td>" in page


def test_page__pictures__three_galleries(pictures: Path) -> None:
    page, sample = make_report(pictures), kept_sample(pictures)
    assert page.count("data:image/jpeg;base64,") == sum(map(len, sample.galleries.values())) > 48
    assert page.count("data:image/svg+xml;base64,") == 4
    for entry in sample.galleries["negative"]:
        assert entry["image"] in page
    assert "&lt;script&gt;" in page
    assert "80 kept of 80 unlabelled samples" in " ".join(page.split())


def test_page__rows__telling_columns_first_and_the_rest_folded(rows: Path) -> None:
    page = make_report(rows)
    assert page.count("<summary>All 12 columns</summary>") == 3
    head = page[page.index('<section id="galleries">') :].split("</thead>")[0]
    assert head.count("<th ") == 2 + 8
    assert LONG in page
    assert "&lt;b&gt;kind&lt;/b&gt;" in head


def test_page__no_sample__says_what_is_missing(from_python: Path) -> None:
    page = make_report(from_python)
    assert "Not on this page:" in page
    assert "saved from Python" in " ".join(page.split())
    for part in ("map", "codes", "galleries"):
        assert f'<section id="{part}">' not in page


def test_page__continuous_encodings__no_codes_to_show(tmp_path: Path) -> None:
    from vqpu.files import PUData
    from vqpu.report._training_sample import make_training_sample

    rng = np.random.default_rng(0)
    X, y = vqpu.stack_pu(rng.normal(2, 1, (60, 5)), rng.normal(-1, 2, (120, 5)))
    model = fast_classifier(encoding="constant").fit(X, y)
    data = PUData(X, y.astype(np.int8), [str(number) for number in range(180)])
    model.save(tmp_path / "model", extras=make_training_sample(model, data))
    page = make_report(tmp_path / "model")
    assert "continuous" in page
    assert '<section id="map">' not in page
    assert '<section id="galleries">' in page


def test_training_note__members_and_holdout__says_what_was_trained_on() -> None:
    assert training_note(1, 0, 420) == "They were trained on."
    assert "held out from one of the 5 encoders" in training_note(5, 420, 420)


def test_page__same_model__same_page(pictures: Path) -> None:
    np.random.seed(1)  # noqa: NPY002
    first = make_report(pictures)
    state = np.random.get_state()[1].tolist()  # type: ignore[index] # noqa: NPY002
    assert make_report(pictures) == first
    assert np.random.get_state()[1].tolist() == state  # type: ignore[index] # noqa: NPY002


def test_facts__sizes_and_versions(pictures: Path) -> None:
    found = dict(facts(read_reported_model(pictures)))
    assert found["Labelled positives"] == "40"
    assert found["Unlabelled samples"] == "80"
    assert found["Takes"] == "a folder of images (read as 16 x 16 RGB)"
    assert f"vqpu {vqpu.__version__}" in found["Versions"]
    assert found["Classes"] == "0 (negative), 1 (positive)", "two folders have no words for them"


def test_facts__table__what_predictions_say(rows: Path) -> None:
    assert dict(facts(read_reported_model(rows)))["Classes"] == "not yes (negative), yes (positive)"


def test_report__another_estimator__refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, y = vqpu.stack_pu(rng.normal(3, 1, (50, 2)), rng.normal(0, 3, (100, 2)))
    model = vqpu.rivals.NaivePUClassifier(max_steps=10, n_members=1, random_state=0).fit(X, y)
    model.save(tmp_path / "model")
    with pytest.raises(InputTypeError, match=r"holds a NaivePUClassifier\. A report needs a VQKM"):
        make_report(tmp_path / "model")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("names",), [], "0 names for columns of"),
        (("findings",), [{"level": "ok"}], "a finding lacks a part"),
        (("galleries",), {}, "positive"),
        (("galleries", "doubtful", 0, "sample"), 10**6, "shows sample 1000000 of 120"),
        (("galleries", "doubtful", 0, "image"), '"><script>', "does not hold together"),
        (("galleries", "doubtful", 0, "image"), "aGVsbG8=", "an image is no JPEG"),
        (("galleries", "doubtful", 0, "image"), None, "neither an image nor a row"),
    ],
)
def test_report__sample_that_does_not_hold_together__refused(
    path: tuple[Any, ...], value: Any, message: str, pictures: Path, tmp_path: Path
) -> None:
    plain = json.loads(read_extra(pictures, JSON_FILE))
    place = plain
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    tensors = read_extra(pictures, TENSOR_FILE)
    extras = {JSON_FILE: json.dumps(plain).encode(), TENSOR_FILE: tensors}
    vqpu.load(pictures).save(tmp_path / "model", extras=extras)
    with pytest.raises(ModelFileError, match=message):
        read_reported_model(tmp_path / "model")


def test_make_report__bad_seed__refused(from_python: Path) -> None:
    with pytest.raises(ParameterError, match="random_state"):
        make_report(from_python, random_state=-1)


def test_write_report__bad_targets__refused_before_any_work(
    from_python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(*_: object, **__: object) -> str:
        raise AssertionError("the model was read")

    monkeypatch.setattr("vqpu.report._page.make_report", work)
    with pytest.raises(UsageError, match=r"must end in \.html"):
        write_report(from_python, tmp_path / "page.pdf")
    with pytest.raises(OutputError, match="in an existing folder"):
        write_report(from_python, tmp_path / "nowhere" / "page.html")
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(OutputError, match="give a file"):
        write_report(from_python, tmp_path / "folder.html")
    with pytest.raises(UsageError, match="the model's own directory"):
        write_report(from_python, from_python / "page.html")
    assert make_report(from_python), "the model can still be read"


def test_report_command__writes_the_page(
    from_python: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "page.html"
    out.write_text('<meta name="generator" content="vqpu">')  # an older one
    assert "open it in a browser" in run(capsys, "report", from_python, "--out", out)
    assert out.read_text("utf-8") == make_report(from_python)
    assert run_json(capsys, "report", from_python, "--out", out) == {"out": str(out)}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html"]


def test_write_report__name_that_is_no_text__shown_with_a_question_mark(
    pictures: Path, tmp_path: Path
) -> None:
    plain = json.loads(read_extra(pictures, JSON_FILE))
    plain["names"] = ["caf\udce9.png"] * len(plain["names"])  # a Latin-1 name on a UTF-8 system
    extras = {
        JSON_FILE: json.dumps(plain).encode(),
        TENSOR_FILE: read_extra(pictures, TENSOR_FILE),
    }
    vqpu.load(pictures).save(tmp_path / "model", extras=extras)
    write_report(tmp_path / "model", tmp_path / "page.html")
    assert "caf?.png" in (tmp_path / "page.html").read_text("utf-8")


@pytest.mark.parametrize(("out", "code"), [("page.txt", 2), ("nowhere/page.html", 1)])
def test_report_command__refusals__one_line(
    out: str, code: int, from_python: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    error = run(capsys, "report", from_python, "--out", tmp_path / out, code=code)
    assert error.count("\n") == 1
    missing = run(capsys, "report", tmp_path / "none", "--out", tmp_path / "a.html", code=1)
    assert "none" in missing


def test_training_sample__many_samples__a_fixed_number_of_each_kind() -> None:
    y = np.repeat([0, 1], [MOST_UNLABELED + 700, MOST_LABELED + 80]).astype(np.int8)
    rows = _choose(y)
    kinds = y[rows]
    assert (kinds == 0).sum() == MOST_UNLABELED
    assert (kinds == 1).sum() == MOST_LABELED
    assert len(np.unique(rows)) == len(rows)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("first", [True, False])
def test_training_sample__thumbnail_of_floats__bright_where_the_picture_is(
    channels: int, first: bool
) -> None:
    pixels = np.full((16, 16, channels), -2.0)
    pixels[:8] = 5.0  # the upper half; floats have no fixed range
    content = base64.b64decode(_thumbnail(pixels.transpose(2, 0, 1) if first else pixels))
    with Image.open(io.BytesIO(content)) as picture:
        shades = np.asarray(picture.convert("L")).astype(int)
    assert shades.shape == (16, 16)
    assert shades[:6].min() > 230
    assert shades[10:].max() < 25
