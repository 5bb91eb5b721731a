"""Records: small JSON files, written whole or not at all."""

from __future__ import annotations

import json
import os
import platform
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from typing import Any, TypeVar

from vqpu.errors import FailedRunsError, VqpuError
from vqpu.persistence._atomic import replacing

Record = dict[str, Any]
Key = TypeVar("Key", bound=Hashable)


def write_json(path: Path, record: Any) -> None:
    """Write ``record`` to ``path``: a temporary file, flushed to disk, renamed into place."""
    text = json.dumps(record, indent=1, allow_nan=False) + "\n"
    with replacing(path) as file:
        file.write(text.encode())


def read_records(folder: Path) -> list[Record]:
    """Return every record of a folder, in the order of their names."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]


def write_summary(folder: Path, summary: Callable[[list[Record]], str]) -> None:
    """Make the summary of a folder's records, write it beside them and print it."""
    text = summary(read_records(folder))
    with replacing(folder / "summary.md") as file:
        file.write(text.encode())
    print(text)


def environment() -> Record:
    """Return what a figure may depend on besides its seed."""
    import numpy
    import sklearn
    import torch

    import vqpu

    return {
        "vqpu": vqpu.__version__,
        "torch": torch.__version__,
        "scikit-learn": sklearn.__version__,
        "numpy": numpy.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "threads": torch.get_num_threads(),
    }


def run_missing(
    function: Callable[..., Record], jobs: Mapping[Path, tuple[Any, ...]], workers: int
) -> None:
    """Run the jobs whose records are not there yet and write each record as it comes.

    Parameters
    ----------
    function : callable
        Makes a record from a job's arguments; must be importable by worker processes.
    jobs : mapping of Path to tuple
        Where each record goes, and the arguments that make it.
    workers : int
        Processes at a time.
    """
    missing = {path: (function, job) for path, job in jobs.items() if not path.exists()}
    done = run_jobs(_run_in_environment, missing, workers)
    for number, (path, record) in enumerate(done, 1):
        write_json(path, record)
        print(f"{number}/{len(missing)} {path.name}", flush=True)


def run_jobs(
    function: Callable[..., Any], jobs: Mapping[Key, tuple[Any, ...]], workers: int
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
    workers : int
        Processes at a time.
    """
    failed: dict[Key, VqpuError] = {}
    for key, result in _results(function, jobs, workers):
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
    function: Callable[..., Any], jobs: Mapping[Key, tuple[Any, ...]], workers: int
) -> Iterator[tuple[Key, Any]]:
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


def _run_in_environment(function: Callable[..., Record], job: tuple[Any, ...]) -> Record:
    return {**function(*job), "environment": environment()}  # the worker's, not the parent's
