"""``vqpu review``: the review is opened, then served until Ctrl-C."""

from __future__ import annotations

import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from vqpu.errors import MissingDependencyError, UsageError
from vqpu.review._session import Review, ReviewRequest, open_review

_LOOPBACK = {"127.0.0.1", "localhost", "::1"}


class Place(NamedTuple):
    """Where the page is served.

    Attributes
    ----------
    host : str
        127.0.0.1 unless somebody asked for another.
    port : int
        0 takes a free one.
    opens_browser : bool
    """

    host: str = "127.0.0.1"
    port: int = 0
    opens_browser: bool = True


def serve_review(
    request: ReviewRequest, place: Place, reviewer: str, report: Callable[[str], None]
) -> None:
    """Open a review and serve its page until Ctrl-C.

    Parameters
    ----------
    request : ReviewRequest
    place : Place
    reviewer : str
        Who decides, until the page is told otherwise.
    report : callable
        Shows a line to the user.
    """
    check_installed()
    import uvicorn

    from vqpu.review._server import make_app, new_token

    listening = _listen(place)
    token = new_token()
    shown = f"[{place.host}]" if ":" in place.host else place.host
    port = listening.getsockname()[1]
    names = {*_LOOPBACK, "[::1]"} if place.host in _LOOPBACK else {shown}
    with listening, open_review(request) as review:
        _introduce(review, request, place, report)
        hosts = {f"{name}:{port}" for name in names}
        app = make_app(review, token=token, hosts=hosts, reviewer=reviewer)
        address = f"http://{shown}:{port}/{token}/"
        report(f"{address}  (Ctrl-C ends)")
        if place.opens_browser:
            threading.Timer(0.5, webbrowser.open, [address]).start()
        # The token must not stand in a log of addresses.
        config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off")
        with suppress(KeyboardInterrupt):  # the way to end it
            uvicorn.Server(config).run(sockets=[listening])
        report(f"Ended. Every decision is in {request.decisions}.")


def _introduce(
    review: Review, request: ReviewRequest, place: Place, report: Callable[[str], None]
) -> None:
    report(
        f"{len(review.items):,} samples, {review.n_decided:,} decided; decisions go to "
        f"{request.decisions}."
    )
    if review.n_foreign:
        report(f"{review.n_foreign} decisions in it are on other samples and stay as they are.")
    if place.host not in _LOOPBACK:
        report(
            f"Others on the network can open this page if they know its address: {place.host} is "
            "not this machine alone, and nothing is encrypted."
        )


def check_installed() -> None:
    """Raise unless the packages of the extra are there."""
    from importlib.util import find_spec

    lacking = [name for name in ("fastapi", "uvicorn", "pyarrow") if find_spec(name) is None]
    if lacking:
        raise MissingDependencyError(
            f"vqpu review needs {' and '.join(lacking)}: pip install 'vqpu[review]'."
        )


def _listen(place: Place) -> socket.socket:
    """Return a socket before anything is read: a port that is taken costs nothing."""
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((place.host, place.port))
        listening.listen()  # who opens the address at once waits until it is answered
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or error
        raise UsageError(
            f"{place.host} port {place.port} cannot be listened on: {reason}. Choose another "
            "--host or --port."
        ) from error
    return listening
