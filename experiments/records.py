"""Records: a finished run is one JSON file, written whole or not at all."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout

from experiments.item import Config, Record
from vqpu.base._precision import has_native_bfloat16
from vqpu.errors import InputError
from vqpu.persistence._atomic import replacing

_PARTS = {"config": dict, "environment": dict, "metrics": dict, "history": list}


def write_record(path: Path, record: Record) -> None:
    """Write a record: a temporary file, flushed to disk, renamed into place."""
    parts: dict[str, Any] = {name: getattr(record, name) for name in _PARTS}
    if record.copied_from is not None:
        parts["copied_from"] = record.copied_from
    write_file(path, (json.dumps(parts, indent=1, allow_nan=False) + "\n").encode())


def write_file(path: Path, content: bytes) -> None:
    """Write a file that appears whole or not at all."""
    with replacing(path) as file:
        file.write(content)


def read_record(path: Path, config: Config) -> Record:
    """Return the record of a run; one that is not finished has no metrics.

    A record of another config is an error: its figures must not pass for this one's.
    """
    if not path.exists():
        return Record(config)
    record, wanted = _read(path), plain(config)
    if record.config == wanted:
        return record
    changed = sorted(
        key
        for key in {*record.config, *wanted}
        if record.config.get(key, ...) != wanted.get(key, ...)
    )
    raise InputError(
        f"{path} holds a finished run of another config (different: {', '.join(changed)}). "
        "Delete that file to run it again, or give another --results-dir."
    )


def plain(config: Config) -> Config:
    """Return a config as it is read back; values that JSON does not have are refused."""
    return dict(json.loads(json.dumps(config, allow_nan=False)))


def find_same_run(path: Path, config: Config) -> Record | None:
    """Return the record of the same run in another item, if there is one.

    Items overlap: a run that differs in nothing but the name of its row gives the same numbers.

    Parameters
    ----------
    path : Path
        Where the run goes, beside the other items' runs: ``RESULTS/ITEM/RUN.json``.
    config : dict
    """
    if "row" not in config:
        return None
    wanted = _without_row(plain(config))
    # The ids of such runs begin with the task and end with the seed.
    alike = f"*/{config['task']}_*_seed{config['seed']}.json"
    for other in sorted(path.parent.parent.glob(alike)):
        with suppress(InputError):  # whoever asks for a broken record is told; others go on
            record = _read(other)
            if other != path and _without_row(record.config) == wanted:
                place = f"{other.parent.name}/{other.stem}"
                return replace(record, config=config, copied_from=place)
    return None


def _without_row(config: Config) -> Config:
    return {key: value for key, value in config.items() if key != "row"}


def _read(path: Path) -> Record:
    try:
        parts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error}). Delete it and run it again.") from error
    is_whole = isinstance(parts, dict) and all(
        isinstance(parts.get(name), kind) for name, kind in _PARTS.items()
    )
    if not is_whole:
        raise InputError(f"{path} is no record of a finished run. Delete it and run it again.")
    origin = parts.get("copied_from")
    return Record(**{name: parts[name] for name in _PARTS}, copied_from=origin)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes out of a run; the system drops the lock with the process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    place = path.with_name(f".{path.name}.lock")
    lock = FileLock(place)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        print(f"{path.stem} is being made by another process: waiting for it.", flush=True)
        lock.acquire()
    try:
        yield
        with suppress(OSError):  # not while it is open, on Windows
            place.unlink()  # a finished run needs none: whoever waited looks first
    finally:
        lock.release()


def environment() -> dict[str, Any]:
    """Return what a figure may depend on besides its seed."""
    return {
        **{name: version(name) for name in ("vqpu", "torch", "scikit-learn", "numpy")},
        "python": platform.python_version(),
        "machine": platform.machine(),
        "threads": torch.get_num_threads(),
        "native_bfloat16": has_native_bfloat16(torch.device("cpu")),  # what precision="auto" takes
    }
