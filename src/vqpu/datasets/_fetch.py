"""Fetching official files by pooch: over https, up to their known size, by their SHA-256.

A download ends in the right file or in none. What pooch leaves open is closed here: where a
redirect may lead, and how much and how slowly a server may send.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import shutil
import socket
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from vqpu.datasets._catalogue import Remote, find_dataset
from vqpu.datasets._places import data_directory, digest_fault
from vqpu.errors import DownloadError, InputError

_MOST_REDIRECTS = 5
_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
_CHUNK = 1 << 16

Report = Callable[[int, int], None]


class Patience(NamedTuple):
    """How long a server may keep us waiting.

    Attributes
    ----------
    silence : float
        Seconds for connecting, and between two pieces of a file.
    window : float
        Seconds in which at least ``least_bytes`` must arrive.
    least_bytes : int
    """

    silence: float = 30.0
    window: float = 60.0
    least_bytes: int = 1 << 16


def fetch_dataset(
    name: str,
    data_dir: str | Path | None = None,
    *,
    report: Callable[[str, int, int], None] | None = None,
) -> Iterator[Path]:
    """Fetch a data set's files from their official addresses; what is there stays.

    Parameters
    ----------
    name : str
    data_dir : path or None
        As in :func:`load_task`.
    report : callable or None
        Is told, now and then, a file's place, the bytes that are there and those of the whole.

    Yields
    ------
    path : Path
        One file after the other, each with the official digest.
    """
    dataset, folder = find_dataset(name), data_directory(data_dir)
    if not dataset.remotes:
        raise InputError(f"{name} cannot be fetched: {dataset.by_hand}.")
    for remote in dataset.remotes:
        place = remote.place

        def tell(done: int, total: int, place: str = place) -> None:
            if report is not None:
                report(place, done, total)

        yield download(remote, folder, report=tell)


def download(
    remote: Remote,
    data_dir: Path,
    *,
    report: Report = lambda _done, _total: None,
    patience: Patience | None = None,
) -> Path:
    """Fetch a file to its place in the data directory, or find it there.

    Parameters
    ----------
    remote : Remote
    data_dir : Path
    report : callable
        Is told the bytes that are there and the bytes of the whole, now and then.
    patience : Patience or None

    Returns
    -------
    path : Path
        A file whose digest is right.
    """
    target = data_dir / remote.place
    if target.exists():
        _check_present(target, remote)
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        _check_space(target.parent, remote.n_bytes)
    except OSError as error:
        if isinstance(error, DownloadError):
            raise
        raise DownloadError(f"{target} cannot be written: {error.strerror or error}.") from error
    for number, address in enumerate(remote.addresses, start=1):
        try:
            _retrieve(address, target, remote, report, patience or Patience())
        except DownloadError:
            if number == len(remote.addresses):
                raise
        else:
            break
    return target


def _check_present(target: Path, remote: Remote) -> None:
    try:
        with target.open("rb") as file:
            fault = digest_fault(file, remote.sha256)
    except OSError as error:
        raise DownloadError(
            f"{target} is there, but cannot be read: {error.strerror}. Move it away and fetch "
            "again."
        ) from error
    if fault:
        raise DownloadError(f"{target} is there, but {fault}. Move it away and fetch again.")


def _check_space(folder: Path, n_bytes: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < n_bytes:
        raise DownloadError(f"{folder} has {free} bytes free, but {n_bytes} are needed.")


def _retrieve(
    address: str, target: Path, remote: Remote, report: Report, patience: Patience
) -> None:
    """Let pooch fetch one address; whatever goes wrong becomes one :class:`DownloadError`."""
    import pooch
    import requests

    def write_to(url: str, place: str, _pooch: object) -> None:
        os.remove(place)  # pooch's own is for the user alone; this one has the umask's mode
        with open(place, "xb") as file:
            _get(url, _Bounded(file, url, remote.n_bytes, report, patience), patience)

    try:
        with _quiet(pooch.get_logger()):
            pooch.retrieve(
                address,
                known_hash=f"sha256:{remote.sha256}",
                fname=target.name,
                path=target.parent,
                downloader=write_to,
            )
    except DownloadError:
        raise
    except requests.HTTPError as error:
        status = getattr(error.response, "status_code", "an error")
        raise DownloadError(f"{address} answers {status}.") from error
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise DownloadError(
            f"{address} cannot be fetched: {reason}. Nothing was kept; fetch again."
        ) from error


def _get(address: str, file: _Bounded, patience: Patience) -> None:
    """Write what an address holds, after at most five redirects.

    Redirects are followed here, since requests would go from https to http, and would first read
    a redirect's own body, however long.
    """
    import pooch

    is_local = _is_local(address)
    for _ in range(_MOST_REDIRECTS + 1):
        check_address(address, local=is_local)
        if not is_local and not _has_proxy(address):  # a proxy is the user's own choice
            check_host(address)
        with ExitStack() as opened:  # pooch closes no connection that ends in an error
            fetch = pooch.HTTPDownloader(
                chunk_size=_CHUNK,
                timeout=patience.silence,
                headers={"Accept-Encoding": "identity", "User-Agent": "vqpu"},
                hooks={"response": partial(_look_at, opened, answered := threading.Event())},
                allow_redirects=False,
                **({"proxies": {"http": None}} if is_local else {}),
            )
            try:
                _within(partial(fetch, address, file, None), answered, address, patience)
            except _RedirectError as error:
                address = urllib.parse.urljoin(address, error.location)
            else:
                return
    raise DownloadError(f"{address} is reached by more than {_MOST_REDIRECTS} redirects.")


def _within(
    fetch: Callable[[], object], answered: threading.Event, address: str, patience: Patience
) -> None:
    """Fetch, but give up where the headers have not all come in time.

    The timeout of requests starts anew with every byte: the test of headers that drip
    (tests/datasets/test_download.py, "drip_header") shows it, hence a clock of our own. The thread
    that is given up on ends with the process, and what it would write to is closed.
    """
    raised: list[BaseException] = []
    seconds = patience.silence + patience.window

    def work() -> None:
        try:
            fetch()
        except BaseException as error:  # raised again where somebody waits
            raised.append(error)
        finally:
            answered.set()

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    if not answered.wait(seconds):
        raise DownloadError(f"{address} did not answer within {seconds:g} seconds.")
    worker.join()
    if raised:
        raise raised[0]


class _RedirectError(Exception):
    """A server that says where else to ask."""

    def __init__(self, location: str) -> None:
        super().__init__(location)
        self.location = location


def _look_at(opened: ExitStack, answered: threading.Event, response: Any, **_: object) -> None:
    answered.set()
    opened.callback(response.close)
    if response.is_redirect:
        raise _RedirectError(response.headers["Location"])


def check_address(address: str, *, local: bool) -> None:
    """Refuse an address that is not https, or http on this machine if ``local``."""
    parts = urllib.parse.urlsplit(address)
    allowed = _is_local(address) if local else parts.scheme == "https"
    if not allowed or not parts.hostname or parts.username is not None:
        raise DownloadError(
            f"{address} is refused: only https addresses are fetched, and no redirect may lead "
            "away from https."
        )


def check_host(address: str) -> None:
    """Refuse an address whose host is not on the public net.

    Parameters
    ----------
    address : str
        Looked up by name; a server may be asked through nothing else.
    """
    parts = urllib.parse.urlsplit(address)
    found = socket.getaddrinfo(parts.hostname, parts.port or 443, type=socket.SOCK_STREAM)
    for *_, peer in found:
        check_peer(str(peer[0]), address)


def check_peer(peer: str, address: str) -> None:
    """Refuse a server whose IP address is not public.

    Parameters
    ----------
    peer : str
        Its IP address.
    address : str
        For the message.
    """
    ip: Any = ipaddress.ip_address(peer.split("%")[0])
    ip = getattr(ip, "ipv4_mapped", None) or ip
    if not ip.is_global:
        raise DownloadError(f"{address} is refused: {ip} is not a public address.")


def _has_proxy(address: str) -> bool:
    from requests.utils import get_environ_proxies

    return bool(get_environ_proxies(address))


def _is_local(address: str) -> bool:
    parts = urllib.parse.urlsplit(address)
    return parts.scheme == "http" and parts.hostname in _LOOPBACK_NAMES


class _Bounded:
    """A file for pooch to write to, that takes no more than it should, and not too slowly."""

    def __init__(
        self, file: BinaryIO, address: str, n_bytes: int, report: Report, patience: Patience
    ) -> None:
        self._file, self._address, self._n_bytes = file, address, n_bytes
        self._report, self._patience = report, patience
        self._done = self._window_bytes = 0
        self._window_start = time.monotonic()
        self.flush = file.flush
        report(0, n_bytes)

    def write(self, chunk: bytes) -> None:
        self._done += len(chunk)
        self._window_bytes += len(chunk)
        if self._done > self._n_bytes:
            raise DownloadError(
                f"{self._address} sends more than {self._n_bytes} bytes. Nothing was kept."
            )
        self._file.write(chunk)
        self._report(self._done, self._n_bytes)
        self._check_pace()

    def _check_pace(self) -> None:
        now = time.monotonic()
        if now - self._window_start <= self._patience.window:
            return
        if self._window_bytes < self._patience.least_bytes:
            raise DownloadError(
                f"{self._address} sent {self._window_bytes} bytes in "
                f"{now - self._window_start:.0f} seconds, too slow to wait for. Nothing was kept."
            )
        self._window_start, self._window_bytes = now, 0


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    """Keep a logger's remarks, which pooch prints, out of the user's sight."""
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
