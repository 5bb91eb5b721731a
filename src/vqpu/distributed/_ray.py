"""Ray: a cluster, and functions called on it. The only module that imports Ray."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from ipaddress import ip_address
from typing import Any, NamedTuple

from vqpu.errors import EngineError, MissingDependencyError, UsageError

_SECONDS_TO_ANSWER = 5.0
_OBJECT_STORE_BYTES = 80 << 20  # results are counts; the smallest store that Ray takes is 75 MB
# A task whose worker dies is made again; one that kills every worker must end.
RETRIES = 8


def require_ray() -> None:
    """Raise unless Ray is installed; nothing of it is imported."""
    if find_spec("ray") is None:
        raise MissingDependencyError("The engine ray needs Ray: pip install 'vqpu[ray]'.")


class Cluster(NamedTuple):
    """Where tasks run.

    Attributes
    ----------
    at_once : int
        Tasks that run at the same time.
    """

    at_once: int

    def results(
        self,
        function: Callable[..., Any],
        tasks: Sequence[tuple[Any, ...]],
        *,
        n_cpus: float = 1,
        n_gpus: float = 0,
    ) -> Iterator[tuple[int, Any]]:
        """Call a function once for every task; give places and results as they come.

        A task whose worker or machine dies is called again, up to 8 times; one that raises ends
        all. At most ``at_once`` are handed out, so a stop leaves nothing queued.

        Parameters
        ----------
        function : callable
            Of a module that workers can import.
        tasks : sequence of tuple
            Its arguments.
        n_cpus, n_gpus : float
            Of one task.
        """
        import ray

        remote = ray.remote(num_cpus=n_cpus, num_gpus=n_gpus, max_retries=RETRIES)(function)
        waiting: dict[Any, int] = {}
        try:
            for place, arguments in enumerate(tasks):
                while len(waiting) >= self.at_once:
                    yield _next_done(waiting)
                waiting[remote.remote(*arguments)] = place
            while waiting:
                yield _next_done(waiting)
        finally:
            for reference in waiting:
                ray.cancel(reference, force=True)


def _next_done(waiting: dict[Any, int]) -> tuple[int, Any]:
    import ray

    (done,), _ = ray.wait(list(waiting), num_returns=1)
    place = waiting.pop(done)
    try:
        return place, ray.get(done)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, ImportError):
            raise EngineError(
                f"A worker cannot import what it is to run: {error.cause}. Install the same vqpu "
                "on all machines."
            ) from error
        raise
    except ray.exceptions.RayError as error:
        first = str(error).strip().split("\n")[0]
        raise EngineError(
            f"Task {place} died on {RETRIES + 1} workers, or the cluster with it: {first} See "
            "whether workers have memory enough for a part."
        ) from error


@contextmanager
def opened_cluster(address: str | None = None, workers: int | None = None) -> Iterator[Cluster]:
    """Give a Ray cluster: that at an address, that of the process, or one of this machine.

    Parameters
    ----------
    address : str or None
        ``host:port`` of a running cluster, which must be the one that the process has joined
        already, if any, or "auto" for the one of this machine. None: the one that the process has
        joined already, or a new one on this machine that ends with the block.
    workers : int or None
        Tasks at the same time; None: as many as the cluster has CPUs.
    """
    require_ray()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # before Ray is imported
    if address is not None:
        _check_address(address)
    import ray

    if address is not None and ray.is_initialized():
        _check_joined(address)
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    is_ours = not ray.is_initialized()
    if is_ours and address is None:
        ray.init(
            address="local",
            num_cpus=workers,
            include_dashboard=False,
            object_store_memory=_OBJECT_STORE_BYTES,
            **quiet,
        )
    elif is_ours:
        try:
            ray.init(address=address, **quiet)
        except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
            first = str(error).strip().split("\n")[0]
            raise EngineError(
                f"The Ray cluster at {address} cannot be joined: {first} See that RAY_AUTH_TOKEN "
                "is that of the cluster, and Ray's version the same."
            ) from error
    try:
        cpus = int(ray.cluster_resources().get("CPU", 1))
        yield Cluster(max(1, workers or cpus))
    finally:
        if is_ours:
            ray.shutdown()


def _check_joined(address: str) -> None:
    """Refuse another cluster than the one that the process has joined already."""
    import ray

    joined: str = ray.get_runtime_context().gcs_address
    if address != "auto" and _ends(address).isdisjoint(_ends(joined)):
        raise UsageError(
            f"This process has joined the Ray cluster at {joined} already, not the one at "
            f"{address}: call ray.shutdown() first, or give no address."
        )


def _ends(address: str) -> set[tuple[str, int]]:
    """Return the numbers and ports that an address stands for; Ray knows this machine by one."""
    import ray

    host, _, port = address.rpartition(":")
    hosts = {str(found[4][0]) for found in socket.getaddrinfo(host.strip("[]"), int(port))}
    if any(ip_address(one.partition("%")[0]).is_loopback for one in hosts):
        hosts.add(ray.util.get_node_ip_address())
    return {(one, int(port)) for one in hosts}


def _check_address(address: str) -> None:
    """Refuse what nothing answers at: Ray itself would try for a minute."""
    if address == "auto":
        return
    host, colon, port = address.rpartition(":")
    if not (colon and host and port.isdigit() and "/" not in host):
        raise UsageError(
            f"The address of a Ray cluster is host:port, such as 10.0.0.1:6379, or auto. Got "
            f"{address!r} instead."
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), _SECONDS_TO_ANSWER).close()
    except (OSError, OverflowError) as error:
        raise EngineError(
            f"Nothing answers at {address} ({error}): start a cluster there by ray start --head, "
            "or give another address."
        ) from error
