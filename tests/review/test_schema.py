"""Requests made from the server's own schema, right and wrong ones: never an error of ours."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable

from tests.review.reviews import HOST, ORIGIN, TOKEN, make_client, make_review
from vqpu.files._decisions import read_decisions
from vqpu.review._server import make_app
from vqpu.review._session import Review

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")

PER_OPERATION = 100  # twice eleven operations: 2,200 requests


def schema_of(review: Review) -> dict[str, Any]:
    guard = make_app(review, token=TOKEN, hosts={HOST}, reviewer="ann")
    inner: FastAPI = guard._app  # type: ignore[attr-defined]
    return inner.openapi()


@pytest.mark.torture
@pytest.mark.parametrize("mode", ["POSITIVE", "NEGATIVE"])
def test_requests_by_schema__no_server_error(tmp_path: Path, mode: str) -> None:
    review = make_review(tmp_path)
    operations = schemathesis.openapi.from_dict(schema_of(review)).get_all_operations()
    client = make_client(review, raise_server_exceptions=False)
    sent, codes = 0, set()

    def send(case: Any) -> None:
        nonlocal sent
        request = case.as_transport_kwargs(base_url=f"http://{HOST}", headers=ORIGIN)
        request = {key: value for key, value in request.items() if value is not None}
        request.pop("cookies", None)
        if isinstance(request.get("data"), (bytes, str)):
            request["content"] = request.pop("data")
        answer = client.request(**request)
        assert answer.status_code < 500, (request, answer.text)
        sent += 1
        codes.add(answer.status_code)

    quietly = settings(
        max_examples=PER_OPERATION,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    for operation in operations:
        cases = operation.ok().as_strategy(schemathesis.GenerationMode[mode])
        with contextlib.suppress(Unsatisfiable):  # nothing of it can be wrong
            quietly(given(case=cases)(send))()
    assert sent >= 500
    assert codes >= ({200, 404} if mode == "POSITIVE" else {400, 422})
    decisions = read_decisions(tmp_path / "decisions.jsonl")
    assert all(one.answer in ("yes", "no", "unsure") for one in decisions)
