"""Records: a run is a folder, and its completion mark is written last."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vqpu.errors import InputError
from vqpu.experiments import environment, set_threads, write_json
from vqpu.reproduce._items import Config, Record, load_item

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
    there, wanted = _read(folder / "config.json"), json.loads(json.dumps(config))
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
        What an interrupted run left there is overwritten; what another process is writing is
        waited for, and its record is taken.
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
            write_json(folder / "config.json", config)
            outcome = load_item(name).run(config, data_dir)
            write_json(folder / "environment.json", environment())
            write_json(folder / "history.json", outcome.history)
            write_json(folder / "metrics.json", outcome.metrics)
            write_json(folder / _DONE, {"config": digest(config)})
    seconds = _read(folder / "metrics.json").get("seconds")
    return None if seconds is None else float(seconds)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep other processes out of a folder; the system drops the lock with the process."""
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def take_twin(folder: Path, config: Config, results: Path) -> bool:
    """Copy the record of the same run from another item, if there is one.

    Items overlap: a run that differs in nothing but the name of its row gives the same numbers.

    Parameters
    ----------
    folder : Path
        Where the run goes.
    config : dict
    results : Path
        Where the items' folders are.

    Returns
    -------
    bool
        Whether the record is there now.
    """
    wanted = _without_row(json.loads(json.dumps(config)))
    if "row" not in config:
        return False
    for done in sorted(results.glob(f"*/*/{_DONE}")):
        there = _finished_config(done.parent)
        if there is not None and done.parent != folder and _without_row(there) == wanted:
            write_json(folder / "config.json", config)
            for name in _PARTS:
                write_json(folder / f"{name}.json", _read(done.parent / f"{name}.json"))
            origin = done.parent.relative_to(results).as_posix()
            write_json(folder / _DONE, {"config": digest(config), "copied_from": origin})
            return True
    return False


def _finished_config(folder: Path) -> Config | None:
    """Return the config of a finished run, None if its files are broken or do not belong together.

    Whoever asks for that run itself is told of it; others need not be stopped by it.
    """
    try:
        config: Config = _read(folder / "config.json")
        return config if _read_mark(folder) == digest(config) else None
    except InputError:
        return None


def _without_row(config: Config) -> Config:
    return {key: value for key, value in config.items() if key != "row"}


def read_run(folder: Path, config: Config) -> Record:
    """Return a run's record; one that is not finished has no metrics."""
    if not is_finished(folder, config):
        return Record(config)
    return Record(config, *(_read(folder / f"{name}.json") for name in _PARTS))


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
