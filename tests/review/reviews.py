"""What tests of the review share: samples with names that try to break a page, and a client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from fastapi.testclient import TestClient

from vqpu.review._items import Items
from vqpu.review._log import DecisionLog
from vqpu.review._samples import Details, SampleViewer
from vqpu.review._server import make_app
from vqpu.review._session import Review

TOKEN = "t" * 32
HOST = "127.0.0.1:8765"
ORIGIN = {"origin": f"http://{HOST}"}
MODEL = "0" * 64
XSS = "<script>document.title='owned'</script><img src=x onerror=alert(1)>\"'&"

NO_PICTURES: dict[int, bytes] = {}


class PlainViewer(SampleViewer):
    """Shows rows of two cells, without a model."""

    def __init__(self) -> None:
        pass

    def close(self) -> None:
        pass

    @property
    def shows_pictures(self) -> bool:
        return False

    def cells(self, place: int) -> list[tuple[str, str]] | None:
        return [("<b>column</b>", XSS), ("place", str(place))]

    def picture(self, place: int) -> bytes | None:
        return NO_PICTURES.get(place)

    def neighbour_picture(self, sample: int) -> bytes | None:
        return NO_PICTURES.get(sample)

    def details(self, place: int) -> Details:
        return Details([f"{XSS} {place}"], [], [])


def make_items(n: int = 100, n_labeled: int = 10, seed: int = 0) -> Items:
    scores = np.random.default_rng(seed).normal(0, 3, n)
    names = pa.array([f"{XSS}{place}" for place in range(n)])
    return Items(names, scores, np.arange(n) < n_labeled)


def make_review(folder: Path, items: Items | None = None) -> Review:
    log = DecisionLog(folder / "decisions.jsonl", MODEL)
    return Review(items or make_items(), PlainViewer(), log, f"model {XSS}")


def make_client(review: Review, **options: Any) -> TestClient:
    app = make_app(review, token=TOKEN, hosts={HOST}, reviewer="ann")
    return TestClient(app, base_url=f"http://{HOST}", **options)


def decision(place: int, number: int, **changed: Any) -> dict[str, Any]:
    plain = {
        "id": f"{number:032x}", "place": place, "answer": "yes", "queue": "likely",
        "reviewer": "ann",
    }  # fmt: skip
    return plain | changed
