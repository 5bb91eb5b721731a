"""The review page in Debian's Chromium: by keyboard, on a phone, on paper, with hostile names."""

from __future__ import annotations

import socket
import statistics
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.reported_models import fit_pictures, fit_rows
from vqpu.files._decisions import read_decisions
from vqpu.review._session import ReviewRequest, open_review

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: make test-browser")
uvicorn = pytest.importorskip("uvicorn")
pytestmark = pytest.mark.browser
VIEWS: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": {"width": 1280, "height": 900}},
    "phone": {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True},
}
TOKEN = "t" * 32


@pytest.fixture(scope="module", params=["images", "table"])
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str, Path]]:
    """Kind, address and decisions of a review that is being served."""
    from vqpu.review._server import make_app

    folder = tmp_path_factory.mktemp(request.param)
    model = (fit_pictures if request.param == "images" else fit_rows)(folder)
    data = folder / ("unlabeled" if request.param == "images" else "data.csv")
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    host = f"127.0.0.1:{listening.getsockname()[1]}"
    asked = ReviewRequest(model, str(data), folder / "d.jsonl")
    with listening, open_review(asked) as review:
        app = make_app(review, token=TOKEN, hosts={host}, reviewer="ann")
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        while not server.started:
            time.sleep(0.05)
        yield request.param, f"http://{host}/{TOKEN}/", folder / "d.jsonl"
        server.should_exit = True
        thread.join()


def open_page(browser: Any, address: str, complaints: list[str], **view: Any) -> Any:
    page = browser.new_page(**view)
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "request",
        lambda asked: None if asked.url.startswith(address) else complaints.append(asked.url),
    )
    page.goto(address)
    page.wait_for_selector("#item[data-place]")
    return page


def wait_saved(page: Any, count: int) -> None:
    page.wait_for_selector(f"#status[data-saved='{count}']")


@pytest.mark.parametrize("view", VIEWS)
def test_page__opened__whole_inert_and_alone(
    view: str, served: tuple[str, str, Path], browser: Any, screenshots: Path
) -> None:
    kind, address, _ = served
    complaints: list[str] = []
    page = open_page(browser, address, complaints, **VIEWS[view])
    page.wait_for_selector("#beside h2")
    page.wait_for_load_state("networkidle")
    page.screenshot(path=screenshots / f"review-{kind}-{view}.png", full_page=True)
    assert complaints == []
    assert page.title() == "Review: model", "no name of a file was run as a script"
    widths = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert widths[0] <= widths[1], "nothing sticks out to the side"
    assert "hidden positives among them" in page.inner_text("#sides")
    if view == "desktop":
        page.emulate_media(media="print")
        assert not page.is_visible("#answers")
        assert page.is_visible("#item")
    page.close()


def test_keys__yes_no_unsure_back__on_disk_and_back_on_screen(
    served: tuple[str, str, Path], browser: Any
) -> None:
    _, address, decisions = served
    complaints: list[str] = []
    page = open_page(browser, address, complaints)
    before = len(read_decisions(decisions))
    places = []
    for key in ("y", "n", "u"):
        places.append(page.get_attribute("#item", "data-place"))
        page.keyboard.press(key)
        wait_saved(page, before + len(places))
    assert [one.answer for one in read_decisions(decisions)][-3:] == ["yes", "no", "unsure"]
    assert len(set(places)) == 3
    for left, place in zip((2, 1, 0), reversed(places), strict=True):
        page.keyboard.press("b")
        wait_saved(page, before + left)
        page.wait_for_selector(f"#item[data-place='{place}']")
    assert len(read_decisions(decisions)) == before
    page.keyboard.press("3")
    page.wait_for_selector(".queue[data-queue=audit][aria-pressed=true]")
    page.wait_for_selector("#item[data-place]")
    page.keyboard.press("y")
    wait_saved(page, before + 1)
    page.locator("#audit", has_text="90%").wait_for()
    page.reload()
    wait_saved(page, before + 1)
    page.close()


def test_next_item__after_a_key__at_once(served: tuple[str, str, Path], browser: Any) -> None:
    _, address, _ = served
    page = open_page(browser, address, [])
    page.wait_for_load_state("networkidle")
    seconds = page.evaluate(
        """async () => {
            const taken = [];
            const frame = () => new Promise(requestAnimationFrame);
            for (let i = 0; i < 5; i++) {
                const item = document.getElementById('item');
                const before = item.dataset.place;
                const start = performance.now();
                document.dispatchEvent(new KeyboardEvent('keydown', { key: 'y' }));
                while (item.dataset.place === before) await frame();
                await item.querySelector('img')?.decode();
                await frame();
                await frame();  // it begins when the one before, with the item, has been drawn
                taken.push(performance.now() - start);
                await new Promise((done) => setTimeout(done, 300));
            }
            return taken;
        }"""
    )
    print(f"milliseconds from key to next item: {seconds}")
    assert statistics.median(seconds) < 200, "under 50 on a quiet machine"
    page.close()


def test_grid__mark_what_is_wrong__the_rest_is_positive(
    served: tuple[str, str, Path], browser: Any, screenshots: Path
) -> None:
    kind, address, decisions = served
    if kind != "images":
        pytest.skip("rows have no grid")
    page = open_page(browser, address, [])
    before = len(read_decisions(decisions))
    page.keyboard.press("g")
    page.wait_for_selector("#grid button img")
    page.wait_for_load_state("networkidle")
    count = page.locator("#grid button").count()
    assert count == 24
    page.locator("#grid button").nth(2).click()
    page.screenshot(path=screenshots / "review-grid.png", full_page=True)
    page.keyboard.press("Enter")
    wait_saved(page, before + count)
    answers = [one.answer for one in read_decisions(decisions)][-count:]
    assert answers.count("no") == 1
    assert answers[2] == "no"
    page.close()
