"""The checker of the built site finds dead links and what a page would load from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.check_site import faults_of, main


def write(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(f"<html><body>{body}</body></html>", "utf-8")


def test_faults__whole_site__none(tmp_path: Path) -> None:
    write(tmp_path, "index.html", '<a href="deep/page.html#here">x</a><a href="https://a.b">y</a>')
    write(tmp_path, "deep/page.html", '<h1 id="here">x</h1><a href="../index.html">back</a>')
    assert faults_of(tmp_path) == []


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="gone.html">x</a>', "links to gone.html, which is not there"),
        ('<a href="#nowhere">x</a>', "links to #nowhere, which is not there"),
        ('<script src="https://cdn.x/y.js"></script>', "loads https://cdn.x/y.js from elsewhere"),
        ('<link rel="stylesheet" href="//cdn.x/y.css">', "loads //cdn.x/y.css from elsewhere"),
        ('<img src="gone.png">', "loads gone.png, which is not there"),
    ],
)
def test_faults__one_fault__said(tmp_path: Path, body: str, fault: str) -> None:
    write(tmp_path, "index.html", body)
    (said,) = faults_of(tmp_path)
    assert fault in said


def test_faults__font_of_a_foreign_host_in_a_style__said(tmp_path: Path) -> None:
    (tmp_path / "site.css").write_text("@font-face { src: url('https://fonts.x/y.woff2'); }")
    assert faults_of(tmp_path) == ["site.css loads https://fonts.x/y.woff2."]


def test_main__no_page__is_a_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(str(tmp_path)) == 1
    assert "holds no page" in capsys.readouterr().out
