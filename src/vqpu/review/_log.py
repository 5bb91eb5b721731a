"""The file of decisions as a server has it open: an entry is on the disk before anybody is told."""

from __future__ import annotations

import json
import os
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock

from vqpu.errors import OutputError
from vqpu.files._decisions import Decision, Entry, Undo, effective, read_entries


class DecisionLog:
    """The file of decisions as a server has it open; several servers may share it.

    Parameters
    ----------
    path : Path
        Made if it is not there; its folder must exist.
    model : str
        SHA-256 of the model's manifest, written into every entry.
    """

    def __init__(self, path: Path, model: str) -> None:
        self._path, self.model = path, model
        self._thread_lock = threading.Lock()
        self._file_lock = FileLock(f"{path}.lock")
        self._entries: dict[str, Entry] = {}
        self._stop = 0
        self._counting: dict[Any, Decision] = {}
        try:
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise OutputError(f"{path} cannot be written: {error.strerror}.") from error
        with self._thread_lock, self._file_lock:
            self._catch_up()

    def close(self) -> None:
        """Close the file."""
        os.close(self._handle)

    def counting(self) -> dict[Any, Decision]:
        """Return the decisions that count, by the name of their item; others' included."""
        with self._thread_lock, self._file_lock:
            self._catch_up()
            return self._counting

    def add(self, **decision: Any) -> Decision:
        """Write a decision and return it once it is on the disk; one of the same id only once.

        Parameters
        ----------
        **decision
            The fields of :class:`Decision` but time and model.
        """
        with self._thread_lock, self._file_lock:
            self._catch_up()
            known = self._entries.get(decision["id"])
            if isinstance(known, Decision):
                return known
            entry = Decision(time=_now(), model=self.model, **decision)
            self._append(entry)
            return entry

    def undo_last(self, entry_id: str, reviewer: str) -> Decision | None:
        """Take a reviewer's last decision back that still stands; return it, None if there is none.

        Parameters
        ----------
        entry_id : str
            Of the new entry; sent twice, it takes one decision back.
        reviewer : str
        """
        with self._thread_lock, self._file_lock:
            self._catch_up()
            known = self._entries.get(entry_id)
            if isinstance(known, Undo):
                earlier = self._entries[known.undo]
                assert isinstance(earlier, Decision)
                return earlier
            taken_back = {e.undo for e in self._entries.values() if isinstance(e, Undo)}
            for entry in reversed(self._entries.values()):
                is_own = isinstance(entry, Decision) and entry.reviewer == reviewer
                if is_own and entry.id not in taken_back:
                    self._append(Undo(entry_id, _now(), reviewer, self.model, entry.id))
                    assert isinstance(entry, Decision)
                    return entry
            return None

    def _catch_up(self) -> None:
        """Read what other processes have written since."""
        if os.fstat(self._handle).st_size == self._stop:
            return
        found = read_entries(self._path, self._stop)
        self._stop = found.stop
        if found.entries:
            self._entries |= {entry.id: entry for entry in found.entries}
            self._counting = effective(self._entries.values())

    def _append(self, entry: Entry) -> None:
        line = json.dumps(entry._asdict(), allow_nan=False).encode() + b"\n"
        # Whoever holds the lock finds a whole file: what is behind its last line was cut off.
        if os.fstat(self._handle).st_size > self._stop:
            line = b"\n" + line
        try:
            written = os.write(self._handle, line)
            if written != len(line):
                raise OSError(f"only {written} of {len(line)} bytes were written")
            os.fsync(self._handle)
        except OSError as error:
            raise OutputError(
                f"The decision is not saved: {self._path} cannot be written: "
                f"{error.strerror or error}."
            ) from error
        self._catch_up()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
