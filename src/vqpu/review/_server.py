"""The server of the review page: a few addresses behind a token, for one machine."""

from __future__ import annotations

import secrets
from importlib.resources import files
from typing import Annotated, Any, Literal

from fastapi import APIRouter, FastAPI, HTTPException, Path, Query
from fastapi.responses import HTMLResponse, JSONResponse, Response
from jinja2 import Environment, StrictUndefined
from pydantic import BaseModel, ConfigDict, Field

from vqpu.errors import OutputError
from vqpu.review._audit import Interval
from vqpu.review._guard import App, Guard
from vqpu.review._queues import QUEUES
from vqpu.review._session import Review

_STATIC = {
    "review.js": "text/javascript",
    "review.css": "text/css",
    "icon.svg": "image/svg+xml",
}
_MOST_AHEAD = 64

QueueName = Literal["likely", "doubtful", "audit", "labeled"]
Place = Annotated[int, Path(ge=0, le=2**53)]
Reviewer = Annotated[str, Field(min_length=1, max_length=80)]
EntryId = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]


class NewDecision(BaseModel):
    """What the page sends when a key is pressed."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: EntryId
    place: Annotated[int, Field(ge=0, le=2**53)]
    answer: Literal["yes", "no", "unsure"]
    queue: QueueName
    reviewer: Reviewer


class NewUndo(BaseModel):
    """What the page sends for "back"."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: EntryId
    reviewer: Reviewer


def make_app(review: Review, *, token: str, hosts: set[str], reviewer: str) -> App:
    """Return the server as an ASGI application.

    Parameters
    ----------
    review : Review
    token : str
        First part of every address.
    hosts : set of str
        Names and ports under which it may be asked.
    reviewer : str
        Who decides, until the page is told otherwise.
    """
    # No page of its own documentation: it would fetch scripts from a foreign host.
    app = FastAPI(title="vqpu review", openapi_url=None, docs_url=None, redoc_url=None)
    for router in (
        _page_routes(review, reviewer),
        _sample_routes(review),
        _picture_routes(review),
        _standing_routes(review),
        _decision_routes(review),
    ):
        app.include_router(router, prefix=f"/{token}")

    @app.exception_handler(OutputError)
    async def not_saved(_: Any, error: Exception) -> JSONResponse:
        return JSONResponse({"detail": str(error)}, status_code=507)

    return Guard(app, token, hosts)


def new_token() -> str:
    """Return a token that nobody guesses."""
    return secrets.token_urlsafe(24)


def _page_routes(review: Review, reviewer: str) -> APIRouter:
    """Return the page and the files that it loads."""
    routes = APIRouter()

    @routes.get("/")
    def page() -> HTMLResponse:
        return HTMLResponse(render_page(review, reviewer))

    @routes.get("/static/{name}")
    def static(name: Annotated[str, Path(max_length=40)]) -> Response:
        if name not in _STATIC:
            raise HTTPException(404, "There is no such file.")
        content = files("vqpu.review").joinpath(name).read_bytes()
        return Response(content, media_type=_STATIC[name])

    return routes


def _sample_routes(review: Review) -> APIRouter:
    """Return what waits in a queue, and what is known of one sample."""
    routes = APIRouter()

    @routes.get("/api/queue/{queue}")
    def queue(
        queue: QueueName,
        count: Annotated[int, Query(ge=1, le=_MOST_AHEAD)] = 8,
        skip: Annotated[str, Query(max_length=4000, pattern=r"^(\d{1,16}(,\d{1,16})*)?$")] = "",
    ) -> dict[str, Any]:
        held = {int(place) for place in skip.split(",") if place}
        places = review.waiting(queue, count, held)
        return {"items": [_item(review, place) for place in places]}

    @routes.get("/api/item/{place}")
    def item(place: Place) -> dict[str, Any]:
        return _item(review, _checked(review, place))

    @routes.get("/api/details/{place}")
    def details(place: Place) -> dict[str, Any]:
        found = review.viewer.details(_checked(review, place))
        return {
            "for": found.reasons_for,
            "against": found.reasons_against,
            "nearest": [neighbour._asdict() for neighbour in found.nearest],
        }

    return routes


def _picture_routes(review: Review) -> APIRouter:
    """Return the pictures of samples and of their nearest training samples."""
    routes = APIRouter()

    @routes.get("/picture/{place}")
    def picture(place: Place) -> Response:
        return _picture(review.viewer.picture(_checked(review, place)))

    @routes.get("/neighbour/{sample}")
    def neighbour(sample: Place) -> Response:
        return _picture(review.viewer.neighbour_picture(sample))

    return routes


def _standing_routes(review: Review) -> APIRouter:
    """Return how the review stands, and what it says of a threshold."""
    routes = APIRouter()

    @routes.get("/api/progress")
    def progress() -> dict[str, Any]:
        return _progress(review)

    @routes.get("/api/threshold")
    def threshold(
        log_odds: Annotated[float, Query(ge=-700, le=700, allow_inf_nan=False)] = 0.0,
    ) -> dict[str, Any]:
        return {**review.curve.at(log_odds), "audit": _audit(review, log_odds)}

    return routes


def _decision_routes(review: Review) -> APIRouter:
    """Return what takes decisions, and takes them back."""
    routes = APIRouter()

    @routes.post("/api/decisions", status_code=201)
    def decide(new: NewDecision) -> dict[str, Any]:
        place = _checked(review, new.place)
        if not review.is_asked(new.queue, place):
            raise HTTPException(422, "That queue does not ask about that sample.")
        saved = review.decide(new.id, place, new.answer, new.queue, new.reviewer)
        return {"saved": saved.id, **_progress(review)}

    @routes.post("/api/undo", status_code=201)
    def undo(new: NewUndo) -> dict[str, Any]:
        taken_back = review.log.undo_last(new.id, new.reviewer)
        if taken_back is None:
            raise HTTPException(404, "There is nothing left to take back.")
        place = review.place_of(taken_back.item)
        shown = None if place is None else _item(review, place)
        return {"queue": taken_back.queue, "item": shown, **_progress(review)}

    return routes


def render_page(review: Review, reviewer: str) -> str:
    """Return the page; names and values are escaped without exception.

    Parameters
    ----------
    review : Review
    reviewer : str
    """
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    template = files("vqpu.review").joinpath("page.html.jinja").read_text("utf-8")
    scores = review.curve.sorted_scores
    return environment.from_string(template).render(
        model=review.name,
        reviewer=reviewer,
        queues=[(name, title, len(review.queues.orders[name])) for name, title in QUEUES.items()],
        pictures=review.viewer.shows_pictures,
        low=f"{max(-20.0, float(scores[0])) if len(scores) else -1:.2f}",
        high=f"{min(20.0, float(scores[-1])) if len(scores) else 1:.2f}",
    )


def _checked(review: Review, place: int) -> int:
    if place >= len(review.items):
        raise HTTPException(404, "There is no such sample.")
    return place


def _item(review: Review, place: int) -> dict[str, Any]:
    return {
        "place": place,
        "name": str(review.items.name(place)),
        "probability": review.probability_or_none(place),
        "cells": review.viewer.cells(place),
        "is_labeled": bool(review.items.is_labeled[place]),
    }


def _progress(review: Review) -> dict[str, Any]:
    decided, _ = review.decided()
    answers = [decision.answer for decision in decided.values()]
    return {
        "n_decided": len(answers),
        **{answer: answers.count(answer) for answer in ("yes", "no", "unsure")},
        "n_items": len(review.items),
    }


def _audit(review: Review, log_odds: float) -> dict[str, Any] | None:
    estimate = review.audit(log_odds)
    if estimate is None:
        return None
    return {
        name: value._asdict() if isinstance(value, Interval) else value
        for name, value in estimate._asdict().items()
    }


def _picture(content: bytes | None) -> Response:
    if content is None:
        raise HTTPException(404, "There is no picture.")
    # Kept by the browser, so that the next ones are there before they are shown.
    return Response(
        content, media_type="image/jpeg", headers={"cache-control": "private, max-age=3600"}
    )
