"""Records: small JSON files, written whole or not at all."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from vqpu._atomic import replacing

Record = dict[str, Any]


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
    missing = {path: job for path, job in jobs.items() if not path.exists()}
    with ProcessPoolExecutor(workers) as pool:
        running = {pool.submit(_run, function, job): path for path, job in missing.items()}
        for number, done in enumerate(as_completed(running), 1):
            write_json(running[done], done.result())
            print(f"{number}/{len(missing)} {running[done].name}", flush=True)


def _run(function: Callable[..., Record], job: tuple[Any, ...]) -> Record:
    return {**function(*job), "environment": environment()}  # the worker's, not the parent's
