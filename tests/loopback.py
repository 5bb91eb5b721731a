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
DIGEST = hashlib.sha256(BODY).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """Responses by path; each misbehaves in its own way."""

    server: Server

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        name, _, rest = self.path.strip("/").partition("/")
        with suppress(OSError):  # the client hangs up, as it should
            getattr(self, f"send_{name}")(rest)

    def do_CONNECT(self) -> None:
        self.server.requests.append(self.path)
        self.start(403, Content_Length=0)

    def start(self, status: int = 200, **headers: object) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()

    def send_good(self, _: str) -> None:
        self.start(Content_Length=len(BODY))
        self.wfile.write(BODY)

    def send_cut(self, _: str) -> None:
        self.start(Content_Length=len(BODY))
        self.wfile.write(BODY[:100_000])

    def send_whole(self, _: str) -> None:
        """Says no length."""
        self.start()
        self.wfile.write(BODY)

    def send_other(self, _: str) -> None:
        self.start(Content_Length=len(BODY))
        self.wfile.write(BODY[:-1] + b"x")

    def send_more(self, _: str) -> None:
        self.start()
        for _chunk in range(200):
            self.wfile.write(BODY)

    def send_huge(self, _: str) -> None:
        self.start(Content_Length=10_000_000_000)
        self.wfile.write(BODY)

    def send_packed(self, _: str) -> None:
        self.start(Content_Length=len(BODY), Content_Encoding="gzip")

    def send_status(self, code: str) -> None:
        self.start(int(code), Content_Length=0)

    def send_drip(self, _: str) -> None:
        self.start(Content_Length=len(BODY))
        for start in range(0, len(BODY), 1 << 14):
            self.wfile.write(BODY[start : start + (1 << 14)])
            if self.server.closing.wait(0.1):
                return

    def send_drip_header(self, _: str) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
        while not self.server.closing.wait(0.02):
            self.wfile.write(b"x")

    def send_silent(self, _: str) -> None:
        self.server.closing.wait(30)

    def send_nonsense(self, _: str) -> None:
        self.wfile.write(b"SSH-2.0-OpenSSH\r\n\r\n")

    def send_redirect(self, target: str) -> None:
        self.start(302, Location=target)

    def send_endless_redirect(self, _: str) -> None:
        self.start(302, Location="/good")
        while not self.server.closing.is_set():
            self.wfile.write(BODY)

    def send_steps(self, left: str) -> None:
        self.start(307, Location="/good" if left == "1" else f"/steps/{int(left) - 1}")


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[str] = []
        self.closing = threading.Event()

    def address(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{path}"

    def remote(self, *paths: str) -> Remote:
        return Remote("toy/file", tuple(map(self.address, paths)), len(BODY), DIGEST)


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
