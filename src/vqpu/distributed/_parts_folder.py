"""A folder of scored parts: each whole or not there, all of them listed by a manifest at the end.

Names that begin with an underscore or a point are no data, for readers of tables too, so that the
folder is one table in parts.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from vqpu.errors import InputError, OutputError, UsageError
from vqpu.persistence._targets import writing

MANIFEST = "_manifest.json"
_JOB, _LOCK = "_job.json", ".lock"
FORMAT, FORMAT_VERSION = "vqpu-parts", 1
Record = dict[str, Any]


def part_path(folder: Path, index: int, ending: str) -> Path:
    """Return where a part lies."""
    return folder / f"part-{index:06d}{ending}"


def _record_path(folder: Path, index: int) -> Path:
    return folder / f"_part-{index:06d}.json"


def write_json(path: Path, plain: Any) -> None:
    """Write a JSON file whole or not at all."""
    with writing(path) as file:
        file.write(json.dumps(plain, indent=1, allow_nan=False).encode() + b"\n")


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_record(folder: Path, index: int, ending: str | None, counts: Mapping[str, Any]) -> Record:
    """Say that a part is written: only with its record does it count.

    Parameters
    ----------
    folder : Path
    index : int
    ending : str or None
        Of the part's file, which is there; None: the part has no rows and no file.
    counts : mapping
        What else is known of it, ready for JSON.
    """
    file: Record = {"file": None, "bytes": 0, "sha256": None}
    if ending is not None:
        path = part_path(folder, index, ending)
        file = {"file": path.name, "bytes": path.stat().st_size, "sha256": digest_of(path)}
    record = {**file, **counts}
    write_json(_record_path(folder, index), record)
    return record


def read_record(folder: Path, index: int, *, by_digest: bool = True) -> Record | None:
    """Return the record of a part that is there and unchanged; None if it is to be made.

    Parameters
    ----------
    folder : Path
    index : int
    by_digest : bool
        Whether the whole part is read for that, rather than its size looked at.
    """
    try:
        record: Record = json.loads(_record_path(folder, index).read_bytes())
        if not all(_is_count(record[name]) for name in ("rows", "bytes")):
            return None
        if record["file"] is None:  # a part without rows
            return record if record["rows"] == 0 else None
        path = folder / record["file"]
        if path != part_path(folder, index, path.suffix):  # another part's, or elsewhere
            return None
        is_whole = path.stat().st_size == record["bytes"]
        if is_whole and by_digest:
            is_whole = digest_of(path) == record["sha256"]
    except (OSError, ValueError, KeyError, TypeError):  # not there, or not all of it
        return None
    return record if is_whole else None


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


@contextmanager
def opened_folder(folder: Path, identity: Mapping[str, str], *, is_ours: bool) -> Iterator[None]:
    """Hold the folder of one job; another job, or another user of it, is refused.

    Parameters
    ----------
    folder : Path
        Made if it is not there; otherwise empty or the folder of this very job.
    identity : mapping of str
        What says which job it is, in words of the message.
    is_ours : bool
        Whether the folder has a name by which nothing else can be in it.
    """
    lock = FileLock(folder / _LOCK, timeout=0)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise OutputError(f"{folder} is being written by another job: wait for its end.") from None
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {error.strerror or error}.") from error
    try:
        if not is_ours:
            _check_job(folder, identity)
        if not (folder / _JOB).exists():
            write_json(folder / _JOB, dict(identity))
        yield
    finally:
        lock.release()


def _check_job(folder: Path, identity: Mapping[str, str]) -> None:
    if not (folder / _JOB).exists():
        others = [entry.name for entry in folder.iterdir() if entry.name != _LOCK]
        if others:
            raise UsageError(
                f"{folder} is there and holds no parts of a job ({sorted(others)[0]!r}). Choose "
                "another --out, or remove it first."
            )
        return
    try:
        known = json.loads((folder / _JOB).read_bytes())
    except ValueError as error:
        raise InputError(f"{folder / _JOB} is no JSON: {error}. Remove {folder}.") from error
    differing = [name for name, value in identity.items() if known.get(name) != value]
    if differing:
        raise UsageError(
            f"{folder} holds parts of another job: it differs in {' and '.join(differing)}. Choose "
            "another --out, or remove it first."
        )


def finish(folder: Path, records: Sequence[Record], facts: Mapping[str, Any]) -> None:
    """List all parts in a manifest, by which the folder is whole.

    Parameters
    ----------
    folder : Path
    records : sequence of dict
        Of all parts, in order; those without rows have no file and are not listed.
    facts : mapping
        What else is known of the job, ready for JSON.
    """
    keys = ("file", "rows", "bytes", "sha256")
    parts = [{key: record[key] for key in keys} for record in records if record["rows"]]
    head = {"format": FORMAT, "format_version": FORMAT_VERSION, **facts}
    write_json(folder / MANIFEST, {**head, "parts": parts})


def check_parts(folder: str | Path) -> dict[str, Any]:
    """Return the manifest of a folder of parts; raise unless all of them are there, unchanged.

    Parameters
    ----------
    folder : path
    """
    folder = Path(folder)
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        is_ours = manifest["format"] == FORMAT and manifest["format_version"] == FORMAT_VERSION
    except FileNotFoundError as error:
        raise InputError(
            f"{folder} has no {MANIFEST}: it is no result, or its job is not finished. The same "
            "command goes on with what is missing."
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder / MANIFEST} is no manifest of parts: {error}.") from error
    if not is_ours:
        raise InputError(f"{folder / MANIFEST} is not of format {FORMAT} {FORMAT_VERSION}.")
    for part in manifest["parts"]:
        path = folder / Path(part["file"]).name
        if not path.exists() or digest_of(path) != part["sha256"]:
            raise InputError(f"{path} is missing or was changed since it was written.")
    found: dict[str, Any] = manifest
    return found


def remove(folder: Path) -> None:
    """Remove a folder whose parts were gathered."""
    shutil.rmtree(folder, ignore_errors=True)
