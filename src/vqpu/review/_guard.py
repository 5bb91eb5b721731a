"""What stands before the server: who may ask, how much, and what a browser may do with the answer.

Every address begins with a random token, so that another user of the machine, or a page of the web
that asks this port, finds nothing. ``Host`` must be ours, which a name that was pointed at this
machine (DNS rebinding) is not; a request that changes something must come from our own page.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_BODY_BYTES = 1 << 16
_HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
]


class Guard:
    """Refuses what is not from our own page, and adds headers to what is.

    Parameters
    ----------
    app : ASGI application
    token : str
        First part of every path.
    hosts : set of str
        What ``Host`` may be, port included.
    """

    def __init__(self, app: App, token: str, hosts: set[str]) -> None:
        self._app, self._token, self._hosts = app, token.encode(), hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = message.get("headers", [])
                named = {name.lower() for name, _ in own}
                message["headers"] = [*own, *(pair for pair in _HEADERS if pair[0] not in named)]
            await send(message)

        refused = self._refusal(scope)
        if refused is not None:
            await _answer(send_with_headers, *refused)
            return
        body = await _whole_body(receive)
        if body is None:
            await _answer(send_with_headers, 413, "The request is too large.")
            return
        messages = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def receive_whole() -> Message:
            return next(messages, {"type": "http.disconnect"})

        await self._app(scope, receive_whole, send_with_headers)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        host = headers.get(b"host", [])
        if len(host) != 1 or host[0].decode("latin-1").lower() not in self._hosts:
            return 400, "This server does not answer to that name."
        origins = {f"http://{own}".encode() for own in self._hosts}
        origin = headers.get(b"origin", [])
        if any(value.lower() not in origins for value in origin):
            return 403, "Requests of other pages are refused."
        if scope["method"] not in ("GET", "HEAD") and not origin:
            return 403, "A request that changes something must come from the page itself."
        first = scope["path"].split("/")[1].encode("utf-8", "replace")
        if not secrets.compare_digest(first, self._token):
            return 404, "Open the address that vqpu review printed."
        length = headers.get(b"content-length", [b"0"])[0]
        if not length.isdigit() or len(length) > 9 or int(length) > MOST_BODY_BYTES:
            return 413, "The request is too large."
        return None


async def _whole_body(receive: Receive) -> bytes | None:
    """Return the body of a request, None if it is larger than allowed."""
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return body
        body += bytes(message.get("body", b""))
        if len(body) > MOST_BODY_BYTES:
            return None
        if not message.get("more_body", False):
            return body


async def _answer(send: Send, status: int, text: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})
