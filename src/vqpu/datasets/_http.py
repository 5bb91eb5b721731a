"""One HTTP answer, reached safely: https only, few redirects, no private address, no stalling.

Plain http is spoken with this very machine alone (loopback), and from there never leaves it.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import threading
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import NamedTuple

from vqpu.errors import DownloadError

_MOST_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


class Patience(NamedTuple):
    """How long a server may keep us waiting.

    Attributes
    ----------
    answer : float
        Seconds for connecting, and again for all headers of an answer.
    window : float
        Seconds in which at least ``least_bytes`` must arrive.
    least_bytes : int
    """

    answer: float = 30.0
    window: float = 60.0
    least_bytes: int = 1 << 16


@contextmanager
def get(
    address: str, headers: dict[str, str], patience: Patience
) -> Iterator[http.client.HTTPResponse]:
    """Give the answer to a GET request, after at most five redirects.

    Whatever goes wrong on the way, in the block too, becomes one :class:`DownloadError`.
    """
    local = _is_local(address)
    try:
        for _ in range(_MOST_REDIRECTS + 1):
            check_address(address, local=local)
            connection = _connect(address, local, patience)
            with closing(connection), _ask(connection, address, headers, patience) as response:
                if response.status not in _REDIRECTS:
                    yield response
                    return
                # The body of a redirect is not read: it may have no end.
                address = urllib.parse.urljoin(address, response.getheader("Location", ""))
    except (OSError, http.client.HTTPException, ValueError) as error:
        if isinstance(error, DownloadError):
            raise
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DownloadError(f"{address} cannot be fetched: {reason}.") from error
    raise DownloadError(f"{address} is reached by more than {_MOST_REDIRECTS} redirects.")


def check_address(address: str, *, local: bool) -> None:
    """Refuse an address that is not https, or http on this machine if ``local``."""
    parts = urllib.parse.urlsplit(address)
    allowed = _is_local(address) if local else parts.scheme == "https"
    if not allowed or not parts.hostname or parts.username is not None:
        raise DownloadError(
            f"{address} is refused: only https addresses are fetched, and no redirect may lead "
            "away from https."
        )


def check_peer(peer: str, address: str, *, local: bool) -> None:
    """Refuse a server whose IP address is not public, or not this machine's if ``local``."""
    ip = ipaddress.ip_address(peer.split("%")[0])
    ip = getattr(ip, "ipv4_mapped", None) or ip
    if not (ip.is_loopback if local else ip.is_global):
        raise DownloadError(f"{address} is refused: {ip} is not a public address.")


def _is_local(address: str) -> bool:
    parts = urllib.parse.urlsplit(address)
    return parts.scheme == "http" and parts.hostname in _LOOPBACK_NAMES


def _connect(address: str, local: bool, patience: Patience) -> http.client.HTTPConnection:
    parts = urllib.parse.urlsplit(address)
    host = parts.hostname or ""
    proxy = None if local else _proxy_for(host)
    connection: http.client.HTTPConnection
    if local:
        connection = http.client.HTTPConnection(host, parts.port, timeout=patience.answer)
    else:
        connection = http.client.HTTPSConnection(
            *(proxy or (host, parts.port)),
            timeout=patience.answer,
            context=ssl.create_default_context(),
        )
    if proxy:
        connection.set_tunnel(host, parts.port)
    connection.connect()
    if not proxy:  # the proxy is the user's own choice, and it does the resolving
        check_peer(connection.sock.getpeername()[0], address, local=local)
    return connection


def _proxy_for(host: str) -> tuple[str, int | None] | None:
    named = urllib.request.getproxies().get("https")
    if not named or urllib.request.proxy_bypass(host):
        return None
    parts = urllib.parse.urlsplit(named if "://" in named else f"http://{named}")
    return (parts.hostname, parts.port) if parts.hostname else None


def _ask(
    connection: http.client.HTTPConnection,
    address: str,
    headers: dict[str, str],
    patience: Patience,
) -> http.client.HTTPResponse:
    """Send the request and wait for the headers, but not longer than patience lasts.

    The socket's own timeout starts anew with every byte, so a clock of our own hangs up.
    """
    parts = urllib.parse.urlsplit(address)
    target = urllib.parse.urlunsplit(("", "", parts.path or "/", parts.query, ""))
    too_late = threading.Event()
    clock = threading.Timer(patience.answer, _hang_up, [connection.sock, too_late])
    clock.daemon = True
    clock.start()
    response = None
    try:
        connection.request("GET", target, headers=headers)
        response = connection.getresponse()
    except (OSError, http.client.HTTPException):
        if not too_late.is_set():
            raise
    finally:
        clock.cancel()
    if response is None or too_late.is_set():  # headers that break off look like headers that end
        if response is not None:
            response.close()
        raise DownloadError(f"{address} did not answer within {patience.answer:g} seconds.")
    return response


def _hang_up(connected: socket.socket, too_late: threading.Event) -> None:
    too_late.set()
    with suppress(OSError):  # the other side may have been first
        socket.socket.shutdown(connected, socket.SHUT_RDWR)
