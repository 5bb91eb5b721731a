"""Jobs in worker processes that end with their command; one that fails does not stop the others."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context, parent_process
from typing import Any, NamedTuple, TypeVar

from experiments.errors import FailedRunsError
from vqpu.errors import EngineError, VqpuError

Key = TypeVar("Key", bound=Hashable)


class Engine(NamedTuple):
    """Where jobs run.

    Attributes
    ----------
    workers : int or None
        Jobs at a time; None: one, or on Ray as many as the cluster has CPUs.
    is_ray : bool
        Whether that is a Ray cluster, where a job whose worker dies is run again.
    address : str or None
        Of the cluster; None: one on this machine.
    """

    workers: int | None = None
    is_ray: bool = False
    address: str | None = None


def run_jobs(
    function: Callable[..., Any], jobs: Mapping[Key, tuple[Any, ...]], engine: Engine
) -> Iterator[tuple[Key, Any]]:
    """Run jobs and give each one's key and result as it comes.

    One worker means this process. A job that fails is told at once and does not keep the others
    from running; at the end all errors are raised as one. Of errors that are not ours a traceback
    is printed as well.

    Parameters
    ----------
    function : callable
        Must be importable by worker processes.
    jobs : mapping of key to arguments
    engine : Engine
    """
    failed: dict[Key, VqpuError] = {}
    for key, result in _results(function, jobs, engine):
        if isinstance(result, VqpuError):
            failed[key] = result
            print(f"{key} failed: {result}", file=sys.stderr, flush=True)
        else:
            yield key, result
    if failed:
        key, error = next(iter(failed.items()))
        raise FailedRunsError(
            f"{len(failed)} of {len(jobs)} runs failed, and the others are recorded; the first "
            f"that failed is {key}: {error}"
        )


def _results(
    function: Callable[..., Any], jobs: Mapping[Key, tuple[Any, ...]], engine: Engine
) -> Iterator[tuple[Key, Any]]:
    if engine.is_ray:
        yield from _on_ray(function, jobs, engine)
        return
    workers = engine.workers or 1
    if workers == 1:
        for key, job in jobs.items():
            yield key, _run(function, job)
        return
    pool = ProcessPoolExecutor(
        workers, mp_context=get_context("spawn"), initializer=_end_with_the_parent
    )
    try:
        running = {pool.submit(_run, function, job): key for key, job in jobs.items()}
        for done in as_completed(running):
            yield running[done], done.result()
    except BrokenProcessPool as error:
        raise FailedRunsError(
            "A worker process died, most likely for want of memory; what had finished is recorded. "
            "Use fewer workers and run again."
        ) from error
    except KeyboardInterrupt:  # what a run has not recorded yet is made again
        for worker in active_children():
            worker.terminate()
        raise
    finally:  # an error must not wait for what has not begun
        pool.shutdown(cancel_futures=True)


def _on_ray(
    function: Callable[..., Any], jobs: Mapping[Key, tuple[Any, ...]], engine: Engine
) -> Iterator[tuple[Key, Any]]:
    from vqpu.distributed._ray import opened_cluster

    if not jobs:
        return
    keys, here = list(jobs), os.getcwd()
    try:
        with opened_cluster(engine.address, engine.workers) as cluster:
            tasks = [(here, function, job) for job in jobs.values()]
            for place, result in cluster.results(_run_in, tasks):
                yield keys[place], result
    except EngineError as error:
        raise FailedRunsError(f"{error} What had finished is recorded.") from error


def _run_in(folder: str, function: Callable[..., Any], job: tuple[Any, ...]) -> Any:
    os.chdir(folder)  # which paths are relative to
    return _run(function, job)


def _end_with_the_parent() -> None:
    """Let a worker end at once by Ctrl-C and with its parent, however that ends.

    Otherwise an interrupted worker takes the next job, and one whose parent was killed trains on.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as it is in the background
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_wait_for_the_parent, daemon=True).start()


def _wait_for_the_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run(function: Callable[..., Any], job: tuple[Any, ...]) -> Any:
    try:
        return function(*job)
    except VqpuError as error:
        return error
    except Exception as error:  # hours of other runs must not be lost to it
        traceback.print_exc()
        return FailedRunsError(f"{type(error).__name__}: {error}")
