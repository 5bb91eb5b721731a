"""A server on this machine that misbehaves in many ways, for tests of downloads."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np

from vqpu.datasets._catalogue import Remote

BODY = np.random.default_rng(0).bytes(300_000)
DIGESTS = (f"sha256:{hashlib.sha256(BODY).hexdigest()}", f"md5:{hashlib.md5(BODY).hexdigest()}")


class Handler(BaseHTTPRequestHandler):
    """Predictions by path; each misbehaves in its own way."""

    server: Server

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.server.requests.append((self.path, self.headers.get("Range")))
        name, _, rest = self.path.strip("/").partition("/")
        with suppress(OSError):  # the client hangs up, as it should
            getattr(self, f"answer_{name}")(rest)

    def do_CONNECT(self) -> None:
        self.server.requests.append((self.path, None))
        self.start(403, Content_Length=0)

    def start(self, status: int = 200, **headers: object) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()

    def answer_good(self, _: str) -> None:
        wanted = self.headers.get("Range")
        if wanted is None:
            self.start(Content_Length=len(BODY))
            self.wfile.write(BODY)
            return
        first = int(wanted.removeprefix("bytes=").removesuffix("-"))
        span = f"bytes {first}-{len(BODY) - 1}/{len(BODY)}"
        self.start(206, Content_Length=len(BODY) - first, Content_Range=span)
        self.wfile.write(BODY[first:])

    def answer_cut(self, _: str) -> None:
        """Breaks off after 100,000 bytes the first time."""
        if self.headers.get("Range"):
            self.answer_good("")
        else:
            self.start(Content_Length=len(BODY))
            self.wfile.write(BODY[:100_000])

    def answer_always_cut(self, _: str) -> None:
        self.start(Content_Length=len(BODY))
        self.wfile.write(BODY[:100_000])

    def answer_whole(self, _: str) -> None:
        """Knows no ranges and no lengths."""
        self.start()
        self.wfile.write(BODY)

    def answer_other(self, _: str) -> None:
        self.start(Content_Length=len(BODY))
        self.wfile.write(BODY[:-1] + b"x")

    def answer_more(self, _: str) -> None:
        self.start()
        for _chunk in range(200):
            self.wfile.write(BODY)

    def answer_huge(self, _: str) -> None:
        self.start(Content_Length=10_000_000_000)
        self.wfile.write(BODY)

    def answer_packed(self, _: str) -> None:
        self.start(Content_Length=len(BODY), Content_Encoding="gzip")

    def answer_wrong_range(self, _: str) -> None:
        self.start(206, Content_Range=f"bytes 0-{len(BODY) - 1}/{len(BODY)}")
        self.wfile.write(BODY)

    def answer_status(self, code: str) -> None:
        self.start(int(code), Content_Length=0)

    def answer_drip(self, _: str) -> None:
        self.start(Content_Length=len(BODY))
        for value in BODY:
            self.wfile.write(bytes([value]))
            if self.server.closing.wait(0.02):
                return

    def answer_drip_header(self, _: str) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
        while not self.server.closing.wait(0.02):
            self.wfile.write(b"x")

    def answer_silent(self, _: str) -> None:
        self.server.closing.wait(30)

    def answer_nonsense(self, _: str) -> None:
        self.wfile.write(b"SSH-2.0-OpenSSH\r\n\r\n")

    def answer_redirect(self, target: str) -> None:
        self.start(302, Location=target)

    def answer_endless_redirect(self, _: str) -> None:
        self.start(302, Location="/good")
        while not self.server.closing.is_set():
            self.wfile.write(BODY)

    def answer_steps(self, left: str) -> None:
        self.start(307, Location="/good" if left == "1" else f"/steps/{int(left) - 1}")


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[str, str | None]] = []
        self.closing = threading.Event()

    def address(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{path}"

    def remote(self, *paths: str, digests: tuple[str, ...] = DIGESTS) -> Remote:
        return Remote("toy/file", tuple(map(self.address, paths)), len(BODY), digests)


@contextmanager
def serving() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield running
        running.closing.set()
        running.shutdown()
        thread.join()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())
