"""Two hosts that are network namespaces of this machine, joined by a pair of virtual cables."""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

# Ray lets nobody in without the token of its cluster; that of the tests' own lives with them.
TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
ROOT = Path(__file__).resolve().parent.parent.parent
# A dead host is noticed in seconds, not in a minute.
QUICK_TO_NOTICE = {
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "2000",
    "RAY_health_check_failure_threshold": "3",
    "RAY_grpc_client_keepalive_time_ms": "5000",
    "RAY_grpc_client_keepalive_timeout_ms": "5000",
}


class Host(NamedTuple):
    """One of the two."""

    name: str
    cable: str
    address: str

    def start(self, *arguments: object, **environment: str) -> subprocess.Popen[str]:
        """Start a program of this Python there, in a process group of its own."""
        paths = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
        quiet = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DISABLE_IMPORT_WARNING": "1"}
        return subprocess.Popen(
            ["ip", "netns", "exec", self.name, sys.executable, *map(str, arguments)],
            env={
                **os.environ,
                "PYTHONPATH": paths,
                **quiet,
                **TOKEN,
                **QUICK_TO_NOTICE,
                **environment,
            },
            cwd=ROOT,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def processes(self) -> list[int]:
        """Return all that runs there."""
        found = subprocess.run(
            ["ip", "netns", "pids", self.name], capture_output=True, text=True, check=True
        )
        return [int(pid) for pid in found.stdout.split()]

    def kill(self) -> None:
        """End all that runs there at once, as a power cut does."""
        while pids := self.processes():
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue

    def set_link(self, state: str) -> None:
        """Pull the cable out ("down") or put it back ("up")."""
        _ip("-n", self.name, "link", "set", self.cable, state)


def _ip(*arguments: str, check: bool = True) -> None:
    subprocess.run(["ip", *arguments], check=check, capture_output=True)


@contextmanager
def two_hosts() -> Iterator[tuple[Host, Host]]:
    """Give two hosts that see each other and nothing else; the test is skipped without root."""
    if os.geteuid() != 0 or subprocess.run(["ip", "netns"], capture_output=True).returncode:
        pytest.skip("needs root and ip netns")
    tag = os.getpid() % 100_000
    hosts = [Host(f"vqpu-{tag}-{n}", f"vq{tag}-{n}", f"10.77.0.{n}") for n in (1, 2)]
    try:
        for host in hosts:
            _ip("netns", "add", host.name)
        first, second = hosts
        peer = ("peer", "name", second.cable, "netns", second.name)
        _ip("link", "add", first.cable, "netns", first.name, "type", "veth", *peer)
        for host in hosts:
            _ip("-n", host.name, "addr", "add", f"{host.address}/24", "dev", host.cable)
            _ip("-n", host.name, "link", "set", "lo", "up")
            host.set_link("up")
        yield first, second
    finally:
        for host in hosts:
            if any(name == host.name for name in _namespaces()):
                host.kill()
            _ip("netns", "del", host.name, check=False)


def _namespaces() -> list[str]:
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
    return [line.split()[0] for line in listed.stdout.splitlines() if line]


def start_ray(host: Host, head: Host, n_cpus: int = 1) -> Any:
    """Start a node of Ray on a host; the head first."""
    own = ["--node-ip-address", host.address, "--num-cpus", n_cpus, "--block"]
    more = ["--disable-usage-stats", "--object-store-memory", 80 << 20]
    if host == head:
        role = ["--head", "--port", 6379, "--include-dashboard", "false"]
    else:
        role = ["--address", f"{head.address}:6379"]
    return host.start("-m", "ray.scripts.scripts", "start", *role, *own, *more)
