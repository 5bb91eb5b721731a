"""The report as a reader sees it: Debian's Chromium on a desk, on a phone and on paper.

``make test-browser`` installs what is needed. Screenshots go to the folder that
``VQPU_SCREENSHOTS`` names, or to a temporary one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import vqpu
from tests.reported_models import fit_pictures, fit_rows
from vqpu.cli import main

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: make test-browser")
pytestmark = pytest.mark.browser

VIEWS: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": {"width": 1280, "height": 900}},
    "phone": {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True},
    "print": {"viewport": {"width": 794, "height": 1123}},
}
KINDS = ["images", "table"]
pytest.importorskip("pyarrow", reason="tables need pyarrow")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A model of pictures and one of rows, each with its page beside it."""
    folder = tmp_path_factory.mktemp("reports")
    found = {"images": fit_pictures(folder / "images"), "table": fit_rows(folder / "table")}
    for model in found.values():
        assert main(["report", str(model), "--out", str(model.parent / "page.html")]) == 0
    return found


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("kind", KINDS)
def test_page__opened__whole_and_alone(
    kind: str, view: str, models: dict[str, Path], browser: Any, screenshots: Path
) -> None:
    address = (models[kind].parent / "page.html").as_uri()
    complaints: list[str] = []
    requests: list[str] = []
    page = browser.new_page(**VIEWS[view])
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    if view == "print":
        page.emulate_media(media="print")
    page.goto(address)
    page.wait_for_load_state("networkidle")
    page.screenshot(path=screenshots / f"{kind}-{view}.png", full_page=True)
    if view == "print":
        page.pdf(path=screenshots / f"{kind}.pdf", format="A4")
        assert (screenshots / f"{kind}.pdf").read_bytes()[:5] == b"%PDF-"
    assert complaints == []
    assert [url for url in requests if not url.startswith("data:")] == [address]
    assert page.title() == "model: did it work?", "no name of a file was run as a script"
    widths = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert widths[0] <= widths[1], "nothing sticks out to the side"
    sizes = page.evaluate("[...document.images].map(image => image.naturalWidth)")
    assert len(sizes) >= 4
    assert all(size > 0 for size in sizes)
    _compare_text(page.inner_text("body"), vqpu.load(models[kind]))
    page.close()


def _compare_text(text: str, model: Any) -> None:
    assert f"Check {model.best_check_ + 1} of {len(model.history_)}" in text
    assert f"Estimated alpha\t{model.alpha_:.3f}" in text
