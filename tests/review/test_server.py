"""The server: who may ask, what is refused, what reaches the disk, and nothing else does."""

from __future__ import annotations

import json
import random
import string
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient

from tests.review.reviews import HOST, ORIGIN, TOKEN, XSS, decision, make_client, make_review
from vqpu.files._decisions import read_decisions
from vqpu.review._guard import MOST_BODY_BYTES
from vqpu.review._items import Items

HERE = f"/{TOKEN}"


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    return make_client(make_review(tmp_path))


def post(client: TestClient, body: Any, path: str = "/api/decisions", **headers: str) -> Any:
    return client.post(f"{HERE}{path}", json=body, headers=ORIGIN | headers)


def test_page__hostile_names__escaped_and_strict_policy(client: TestClient) -> None:
    answer = client.get(f"{HERE}/")
    assert answer.status_code == 200
    assert "<script>document" not in answer.text
    assert "&lt;script&gt;document" in answer.text
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "http://" not in answer.text
    assert "https://" not in answer.text


def test_static__script_and_style__no_foreign_host_and_no_markup_by_string(
    client: TestClient,
) -> None:
    script = client.get(f"{HERE}/static/review.js").text
    for banned in (
        "innerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "http://",
        "//cdn",
    ):
        assert banned not in script
    assert client.get(f"{HERE}/static/review.css").headers["content-type"].startswith("text/css")


def test_queue__items__names_and_cells_are_data(client: TestClient) -> None:
    answer = client.get(f"{HERE}/api/queue/likely", params={"count": 3})
    assert answer.headers["content-type"] == "application/json"
    items = answer.json()["items"]
    assert len(items) == 3
    assert items[0]["name"].startswith(XSS)
    assert items[0]["probability"] >= items[1]["probability"]
    assert items[0]["cells"][0] == ["<b>column</b>", XSS]


def test_decision__saved__in_the_file_with_weight_model_and_reviewer(tmp_path: Path) -> None:
    review = make_review(tmp_path)
    client = make_client(review)
    place = client.get(f"{HERE}/api/queue/audit").json()["items"][0]["place"]
    answer = post(client, decision(place, 1, queue="audit", reviewer="bob", answer="no"))
    assert answer.status_code == 201
    assert answer.json()["n_decided"] == 1
    (found,) = read_decisions(tmp_path / "decisions.jsonl")
    assert (found.reviewer, found.answer, found.model) == ("bob", "no", "0" * 64)
    assert found.weight == review.queues.weight_of("audit", place)
    assert found.weight is not None
    assert found.item == review.items.name(place)


def test_decided__not_asked_again_and_back_after_undo(client: TestClient) -> None:
    first = client.get(f"{HERE}/api/queue/likely").json()["items"][0]["place"]
    post(client, decision(first, 1))
    places = [i["place"] for i in client.get(f"{HERE}/api/queue/likely").json()["items"]]
    assert first not in places
    undone = post(client, {"id": "f" * 32, "reviewer": "ann"}, "/api/undo")
    assert undone.status_code == 201
    assert undone.json()["item"]["place"] == first
    places = [i["place"] for i in client.get(f"{HERE}/api/queue/likely").json()["items"]]
    assert places[0] == first
    again = post(client, {"id": "e" * 32, "reviewer": "ann"}, "/api/undo")
    assert again.status_code == 404


def test_two_tabs__same_item__the_last_answer_counts(tmp_path: Path) -> None:
    review = make_review(tmp_path)
    one, other = make_client(review), make_client(review)
    place = one.get(f"{HERE}/api/queue/likely").json()["items"][0]["place"]
    assert post(one, decision(place, 1)).status_code == 201
    assert post(other, decision(place, 2, answer="no", reviewer="bob")).status_code == 201
    (found,) = read_decisions(tmp_path / "decisions.jsonl")
    assert found.answer == "no"


def test_threshold__audit_begun__intervals(client: TestClient) -> None:
    plain = client.get(f"{HERE}/api/threshold").json()
    assert plain["audit"] is None
    assert plain["n_above"] + plain["n_below"] == 90
    for number, item in enumerate(client.get(f"{HERE}/api/queue/audit").json()["items"]):
        post(client, decision(item["place"], number, queue="audit"))
    told = client.get(f"{HERE}/api/threshold").json()["audit"]
    assert told["n_decided"] == 8
    assert told["alpha"]["low"] < told["alpha"]["estimate"] == 1.0


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", f"{HOST}.evil.example", ""])
def test_host__not_ours__refused(client: TestClient, host: str) -> None:
    assert client.get(f"{HERE}/", headers={"host": host}).status_code == 400


def test_origin__foreign_or_missing__nothing_is_written(tmp_path: Path) -> None:
    client = make_client(make_review(tmp_path))
    body = decision(50, 1)
    for headers in ({"origin": "http://evil.example"}, {"origin": "null"}, {}):
        assert client.post(f"{HERE}/api/decisions", json=body, headers=headers).status_code == 403
    assert client.get(f"{HERE}/", headers={"origin": "http://evil.example"}).status_code == 403
    assert read_decisions(tmp_path / "decisions.jsonl") == []


@pytest.mark.parametrize(
    "path", ["/", "/api/progress", f"/{TOKEN[:-1]}/", "/docs", "/openapi.json"]
)
def test_token__missing_or_wrong__nothing_there(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404
    assert client.get(f"{HERE}/openapi.json").status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "/picture/../../etc/passwd", "/picture/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/picture//etc/passwd",
        "/static/../_server.py", "/static/%2e%2e%2f_server.py", "/static/_server.py",
        "/static/page.html.jinja", "/neighbour/..%2f..", "/picture/1e9", "/picture/-1",
        "/picture/99999999999999999999", "/api/item/100", "/picture/0",
    ],
)  # fmt: skip
def test_path__out_of_the_list__refused(client: TestClient, path: str) -> None:
    answer = client.get(f"{HERE}{path}")
    assert 400 <= answer.status_code < 500
    assert "root:" not in answer.text
    assert "import" not in answer.text


def test_body__too_large__413(client: TestClient) -> None:
    large = b"x" * (MOST_BODY_BYTES + 1)
    path = f"{HERE}/api/decisions"
    assert client.post(path, content=large, headers=ORIGIN).status_code == 413

    def pieces() -> Any:
        for _ in range(70):
            yield b"x" * 1024

    assert client.post(path, content=pieces(), headers=ORIGIN).status_code == 413


@pytest.mark.parametrize(
    "changed",
    [
        {"place": -1}, {"place": 1e300}, {"place": "3"}, {"place": None}, {"answer": "maybe"},
        {"queue": "../x"}, {"reviewer": ""}, {"reviewer": "r" * 81}, {"id": "short"}, {"more": 1},
        {"place": 5},  # a labelled positive, which this queue does not ask about
    ],
)  # fmt: skip
def test_decision__malformed__refused_and_not_written(
    tmp_path: Path, changed: dict[str, Any]
) -> None:
    client = make_client(make_review(tmp_path))
    body = json.dumps(decision(50, 1) | changed)
    answer = client.post(f"{HERE}/api/decisions", content=body, headers=ORIGIN)
    assert answer.status_code == 422
    assert read_decisions(tmp_path / "decisions.jsonl") == []


def random_request(rng: random.Random) -> tuple[str, str, bytes]:
    paths = ["/", "/api/queue/", "/api/item/", "/api/details/", "/picture/", "/neighbour/",
             "/api/threshold?log_odds=", "/api/queue/likely?count=", "/api/queue/audit?skip=",
             "/api/decisions", "/api/undo", "/static/"]  # fmt: skip
    odd = ["", "0", "-1", "NaN", "inf", "1e309", "likely", "%00", "%ff", "..%2f", "9" * 400, "a,b",
           "1,,2", "%F0%9F%98%80", "<script>", "' OR 1=1"]  # fmt: skip
    values: list[Any] = [None, -1, 1e308, "x" * 5000, [], {}, True, "\ud800", 0, "yes", "0" * 32]
    keys = ["id", "place", "answer", "queue", "reviewer", rng.choice(string.ascii_letters)]
    body = {key: rng.choice(values) for key in rng.sample(keys, rng.randrange(len(keys)))}
    content = json.dumps(body).encode()
    if rng.random() < 0.3:
        content = rng.randbytes(rng.randrange(200))
    method = rng.choice(["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"])
    return method, rng.choice(paths) + rng.choice(odd), content


@pytest.mark.parametrize("count", [200, pytest.param(2000, marks=pytest.mark.torture)])
def test_malformed_requests__never_an_error_of_ours(tmp_path: Path, count: int) -> None:
    client = make_client(make_review(tmp_path), raise_server_exceptions=False)
    rng = random.Random(0)
    for _ in range(count):
        method, path, content = random_request(rng)
        answer = client.request(method, f"{HERE}{path}", content=content, headers=ORIGIN)
        assert answer.status_code < 500, (method, path, content, answer.text)


def test_million_items__opened__small(tmp_path: Path) -> None:
    n = 1_000_000
    items = Items(
        pa.array(np.arange(n)), np.random.default_rng(0).normal(size=n), np.zeros(n, dtype=bool)
    )
    before = pa.total_allocated_bytes()
    review = make_review(tmp_path, items)
    assert review.waiting("audit", 8, set())
    held = sum(order.nbytes for order in review.queues.orders.values())
    assert held <= 4 * 4 * n
    assert pa.total_allocated_bytes() - before < 1 << 20
