"""Downloads that end in the right file or in none.

Bytes go to a hidden partial file beside the target. A download that was cut leaves it there, and
the next one goes on from its end; this is safe because the whole file must match its digests
before it gets its name. Every other failure removes it.
"""

from __future__ import annotations

import fcntl
import http.client
import os
import shutil
import time
from collections.abc import Callable
from io import FileIO
from pathlib import Path

from vqpu.datasets._catalogue import Remote
from vqpu.datasets._digests import digest_fault
from vqpu.datasets._http import Patience, get
from vqpu.errors import DownloadError
from vqpu.persistence._atomic import put_in_place

_CHUNK = 1 << 18

Report = Callable[[int, int], None]


def download(
    remote: Remote,
    data_dir: Path,
    *,
    report: Report | None = None,
    patience: Patience | None = None,
) -> Path:
    """Fetch a file to its place in the data directory, or find it there.

    Parameters
    ----------
    remote : Remote
    data_dir : Path
    report : callable or None
        Is told the bytes that are there and the bytes of the whole, now and then.
    patience : Patience or None

    Returns
    -------
    path : Path
        A file whose length and digests are right.
    """
    target = data_dir / remote.place
    if target.exists():
        _check_present(target, remote)
        return target
    partial = target.with_name(f".{target.name}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _open_partial(partial) as file:
            try:
                _fill_from_any(file, remote, target, report or _ignore, patience or Patience())
                put_in_place(file, partial, target)
            finally:
                if not target.exists() and os.fstat(file.fileno()).st_size == 0:
                    partial.unlink(missing_ok=True)
    except OSError as error:
        if isinstance(error, DownloadError):
            raise
        raise DownloadError(f"{target} cannot be written: {error.strerror or error}.") from error
    return target


def _check_present(target: Path, remote: Remote) -> None:
    try:
        with target.open("rb") as file:
            fault = digest_fault(file, remote.digests)
    except OSError as error:
        raise DownloadError(
            f"{target} is there, but cannot be read: {error.strerror}. Move it "
            "away and fetch again."
        ) from error
    if fault:
        raise DownloadError(f"{target} is there, but {fault}. Move it away and fetch again.")


def _open_partial(partial: Path) -> FileIO:
    # A link in the partial file's place must not lead the bytes elsewhere.
    handle = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(handle)
        raise DownloadError(f"{partial} is being written by another fetch. Wait for it.") from error
    return os.fdopen(handle, "r+b", buffering=0)


def _fill_from_any(
    file: FileIO, remote: Remote, target: Path, report: Report, patience: Patience
) -> None:
    """Fill the file from the first address that has the right bytes."""
    for number, address in enumerate(remote.addresses, start=1):
        try:
            _fill(file, remote, address, target, report, patience)
            fault = digest_fault(file, remote.digests)
            if fault:
                file.truncate(0)
                raise DownloadError(
                    f"{address} does not hold the official file: {fault}. Nothing was kept."
                )
            return
        except DownloadError:
            if number == len(remote.addresses):
                raise


def _fill(
    file: FileIO, remote: Remote, address: str, target: Path, report: Report, patience: Patience
) -> None:
    """Add to the file what it lacks; afterwards it has the right length."""
    done = file.seek(0, os.SEEK_END)
    if done == remote.n_bytes and not digest_fault(file, remote.digests):
        return
    if done >= remote.n_bytes:
        done = _start_again(file)
    file.seek(done)
    _check_room(target.parent, remote.n_bytes - done)
    headers = {"Accept-Encoding": "identity", "User-Agent": "vqpu"}
    if done:
        headers["Range"] = f"bytes={done}-"
    with get(address, headers, patience) as response:
        if response.status == 200 and done:
            done = _start_again(file)  # the server does not know ranges
        fault = _answer_fault(response, done, remote.n_bytes)
        if fault:
            if response.status in (200, 206, 416):  # then our part may be what is wrong
                _start_again(file)
            raise DownloadError(f"{address} {fault}.")
        _copy(response, file, done, remote.n_bytes, address, report, patience)


def _answer_fault(response: http.client.HTTPResponse, done: int, n_bytes: int) -> str | None:
    """Say what is wrong with an answer's headers, or return None."""
    wanted = 206 if done else 200
    if response.status != wanted:
        return f"answers {response.status} {response.reason}"
    if response.getheader("Content-Encoding", "identity") != "identity":
        return "answers in an encoding that was not asked for"
    length = response.getheader("Content-Length")
    if length is not None and length != str(n_bytes - done):
        return f"announces {length} bytes, expected {n_bytes - done}"
    promised = response.getheader("Content-Range")
    if done and promised != f"bytes {done}-{n_bytes - 1}/{n_bytes}":
        return f"announces the range {promised!r}, expected from byte {done} of {n_bytes}"
    return None


def _copy(
    response: http.client.HTTPResponse,
    file: FileIO,
    done: int,
    n_bytes: int,
    address: str,
    report: Report,
    patience: Patience,
) -> None:
    window_start, window_bytes = time.monotonic(), 0
    report(done, n_bytes)
    while chunk := response.read1(min(_CHUNK, n_bytes - done + 1)):
        done += len(chunk)
        if done > n_bytes:
            _start_again(file)
            raise DownloadError(f"{address} sends more than {n_bytes} bytes. Nothing was kept.")
        _write(file, chunk)
        window_bytes += len(chunk)
        report(done, n_bytes)
        now = time.monotonic()
        if now - window_start > patience.window:
            if window_bytes < patience.least_bytes:
                raise DownloadError(
                    f"{address} sent {window_bytes} bytes in {now - window_start:.0f} seconds, too "
                    "slow to wait for. Fetch again to go on from there."
                )
            window_start, window_bytes = now, 0
    if done < n_bytes:
        raise DownloadError(
            f"{address} ended after {done} of {n_bytes} bytes. Fetch again to go on from there."
        )


def _write(file: FileIO, chunk: bytes) -> None:
    try:
        while chunk:
            chunk = chunk[file.write(chunk) :]
    except OSError as error:
        raise DownloadError(
            f"The download cannot be written: {error.strerror}. Make room and fetch again to go on."
        ) from error


def _start_again(file: FileIO) -> int:
    file.seek(0)
    file.truncate(0)
    return 0


def _check_room(folder: Path, n_bytes: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < n_bytes:
        raise DownloadError(f"{folder} has room for {free} bytes, but {n_bytes} are needed.")


def _ignore(_done: int, _total: int) -> None:
    pass
