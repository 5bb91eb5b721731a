"""Records: a run is a folder, and its completion mark is written last."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from experiments import environment, set_threads, write_json
from experiments.items._items import Config, Record, Row, load_item
from vqpu.errors import InputError

_DONE = "done.json"
_PARTS = ("metrics", "history", "environment")


def digest(config: Config) -> str:
    """Return the SHA-256 of a config, the same however its keys are ordered."""
    text = json.dumps(config, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def is_finished(folder: Path, config: Config) -> bool:
    """Return whether a folder holds a finished run of this very config.

    A finished run of another config is an error: its figures must not pass for this one's.
    """
    if not (folder / _DONE).exists():
        return False
    if _read_mark(folder) == digest(config):
        return True
    there, wanted = _read_config(folder), json.loads(json.dumps(config))
    changed = sorted(
        key for key in {*there, *wanted} if there.get(key, ...) != wanted.get(key, ...)
    )
    raise InputError(
        f"{folder} holds a finished run of another config (different: {', '.join(changed)}). "
        "Delete that folder to run it again, or give another --results-dir."
    )


def make_run(
    name: str, config: Config, folder: Path, data_dir: Path | None, threads: int
) -> float | None:
    """Make one run and write its folder, the completion mark last.

    Parameters
    ----------
    name : str
        The item.
    config : dict
    folder : Path
        ``RESULTS/ITEM/RUN``. What an interrupted run left there is overwritten; what another
        process is writing is waited for, and its record is taken, as is that of a twin.
    data_dir : Path or None
    threads : int
        Of torch.

    Returns
    -------
    seconds : float or None
        What the run says it took.
    """
    set_threads(threads)
    with _locked(folder):
        if not is_finished(folder, config):
            twin = find_twin(folder, config)
            write_json(folder / "config.json", config)
            if twin is None:
                outcome = load_item(name).run(config, data_dir)
                parts = (outcome.metrics, outcome.history, environment())
            else:
                parts = (twin.metrics, twin.history, twin.environment)
            for part, content in zip(_PARTS, parts, strict=True):
                write_json(folder / f"{part}.json", content)
            origin = {} if twin is None else {"copied_from": twin.place}
            write_json(folder / _DONE, {"config": digest(config), **origin})
    seconds = _read(folder / "metrics.json").get("seconds")
    return None if seconds is None else float(seconds)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other processes out of a folder; the system drops the lock with the process."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "lock"
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"{folder.name} is being made by another process: waiting for it.", flush=True)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
        path.unlink(missing_ok=True)  # a finished run needs none: whoever waited looks first
    finally:
        os.close(handle)


class EqualRun(NamedTuple):
    """The record of the same run in another item.

    Attributes
    ----------
    place : str
        Its item and id.
    metrics, history, environment
        As in :class:`Record`.
    """

    place: str
    metrics: dict[str, Any]
    history: list[Row]
    environment: dict[str, Any]


def find_twin(folder: Path, config: Config) -> EqualRun | None:
    """Return the record of the same run in another item, if there is one.

    Items overlap: a run that differs in nothing but the name of its row gives the same numbers.

    Parameters
    ----------
    folder : Path
        Where the run goes, beside the other items' runs: ``RESULTS/ITEM/RUN``.
    config : dict
    """
    wanted = _without_row(json.loads(json.dumps(config)))
    if "row" not in config:
        return None
    for done in sorted(folder.parent.parent.glob(f"*/*/{_DONE}")):
        try:
            there = _read_config(done.parent)
            if done.parent == folder or _without_row(there) != wanted:
                continue
            if _read_mark(done.parent) == digest(there):  # else the files do not belong together
                parts = (_read(done.parent / f"{name}.json") for name in _PARTS)
                return EqualRun(f"{done.parent.parent.name}/{done.parent.name}", *parts)
        except InputError:  # whoever asks for that run is told; others need not be stopped by it
            continue
    return None


def _without_row(config: Config) -> Config:
    return {key: value for key, value in config.items() if key != "row"}


def read_run(folder: Path, config: Config) -> Record:
    """Return a run's record; one that is not finished has no metrics."""
    if not is_finished(folder, config):
        return Record(config)
    return Record(config, *(_read(folder / f"{name}.json") for name in _PARTS))


def _read_config(folder: Path) -> Config:
    """Return the config of a run that is there."""
    config = _read(folder / "config.json")
    if not isinstance(config, dict):
        raise InputError(
            f"{folder / 'config.json'} is no config. Delete the folder {folder} and run it again."
        )
    return config


def _read_mark(folder: Path) -> str:
    """Return the digest of the config that a run was finished with."""
    mark = _read(folder / _DONE)
    found = mark.get("config") if isinstance(mark, dict) else None
    if not isinstance(found, str):
        raise InputError(
            f"{folder / _DONE} is not a mark of a finished run. Delete the folder {folder} and run "
            "it again."
        )
    return found


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path} cannot be read ({error}). Delete the folder {path.parent} and run it again."
        ) from error
