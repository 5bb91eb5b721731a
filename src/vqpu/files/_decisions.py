"""What reviewers decided, in a file of JSON lines, and what it says of training data.

A line says

- ``id``: 32 hexadecimal digits, chosen by the page, so that a request sent twice is written once;
- ``time``: UTC, ISO 8601; ``reviewer``; ``model``: SHA-256 of the model's manifest;
- either ``item`` (name of the sample), ``answer`` ("yes", "no" or "unsure"), ``queue``, ``weight``
  (how many samples it stands for in a random audit, null in other queues) and ``probability``
  (what the model said),
- or ``undo``: the id of the entry that is taken back.

Nothing is ever changed or removed. Of an item's entries that are not taken back the last counts.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.errors import InputError
from vqpu.files import PUData

ANSWERS = ("yes", "no", "unsure")
_LONGEST_TEXT = 4096
_MOST_BYTES = 1 << 30


class Decision(NamedTuple):
    """What somebody said of one sample.

    Attributes
    ----------
    id, time, reviewer, model : str
        See the module's description.
    item : str or int
        Name of the sample: a path, an id or the number of a row.
    answer : {"yes", "no", "unsure"}
    queue : str
    weight : float or None
    probability : float
    """

    id: str
    time: str
    reviewer: str
    model: str
    item: Any
    answer: str
    queue: str
    weight: float | None
    probability: float


class Undo(NamedTuple):
    """An entry that takes another one back."""

    id: str
    time: str
    reviewer: str
    model: str
    undo: str


Entry = Decision | Undo


class ReadEntries(NamedTuple):
    """What a part of a file holds.

    Attributes
    ----------
    entries : list of Decision or Undo
    n_torn : int
        Lines that were cut off by a crash, before anybody was told that they are there.
    stop : int
        Where the last whole line ends.
    """

    entries: list[Entry]
    n_torn: int
    stop: int


def read_decisions(path: str | os.PathLike[str]) -> list[Decision]:
    """Return the decisions that count, one an item, in the order in which they were made.

    Parameters
    ----------
    path : path
        A file that ``vqpu review`` wrote.
    """
    return list(effective(read_entries(Path(path)).entries).values())


def effective(entries: Iterable[Entry]) -> dict[Any, Decision]:
    """Return the decision that counts for every item, by its name.

    Parameters
    ----------
    entries : iterable of Decision or Undo
    """
    entries = list(entries)
    taken_back = {entry.undo for entry in entries if isinstance(entry, Undo)}
    found: dict[Any, Decision] = {}
    for entry in entries:
        if isinstance(entry, Decision) and entry.id not in taken_back:
            found.pop(entry.item, None)  # the order is that of the decisions that count
            found[entry.item] = entry
    return found


def read_entries(path: Path, start: int = 0) -> ReadEntries:
    """Read the lines of a file from a byte on; a line that was cut off is counted, no more.

    Parameters
    ----------
    path : Path
    start : int
    """
    try:
        with open(path, "rb") as file:
            file.seek(start)
            data = file.read(_MOST_BYTES)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    lines = data.split(b"\n")
    whole, rest = lines[:-1], lines[-1]
    entries, n_torn = [], 0
    for number, line in enumerate(whole, 1):
        if not line.strip():
            continue
        entry = parse_entry(line)
        if entry is None:
            n_torn += 1
            if not _was_cut_off(line):
                raise InputError(
                    f"{path}: line {number} is no decision: {line[:80]!r}. Give a file that "
                    "vqpu review wrote."
                )
            continue
        entries.append(entry)
    return ReadEntries(entries, n_torn + bool(rest), start + len(data) - len(rest))


def _was_cut_off(line: bytes) -> bool:
    """Return whether a line is the beginning of an entry."""
    try:
        json.loads(line)
    except RecursionError:
        return False
    except ValueError:
        return line.startswith(b'{"id"'[: len(line)])
    return False


def parse_entry(line: bytes) -> Entry | None:
    """Return what a line says, None if it says no decision.

    Parameters
    ----------
    line : bytes
    """
    try:
        found = json.loads(line)
        if not isinstance(found, dict):
            return None
        kind = Undo if "undo" in found else Decision
        entry: Entry = kind(**found)
    except (ValueError, TypeError, RecursionError):
        return None
    return entry if _is_sound(entry) else None


def _is_sound(entry: Entry) -> bool:
    texts = entry[:4]
    if not all(isinstance(text, str) and len(text) <= _LONGEST_TEXT for text in texts):
        return False
    if isinstance(entry, Undo):
        return isinstance(entry.undo, str)
    is_name = isinstance(entry.item, (str, int)) and not isinstance(entry.item, bool)
    return (
        is_name
        and entry.answer in ANSWERS
        and isinstance(entry.queue, str)
        and (entry.weight is None or _is_number(entry.weight))
        and _is_number(entry.probability)
    )


def _is_number(value: Any) -> bool:
    is_plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_plain and math.isfinite(value) and value >= 0


class DecidedData(NamedTuple):
    """Training data with what a review told.

    Attributes
    ----------
    y : ndarray of int8, shape (n,)
        1 for labelled positives, those that were confirmed included.
    known_negatives, confirmed_positives : ndarray of bool, shape (n,)
        As ``fit`` takes them.
    """

    y: NDArray[np.int8]
    known_negatives: NDArray[np.bool_]
    confirmed_positives: NDArray[np.bool_]

    def masks(self) -> dict[str, NDArray[np.bool_]]:
        """Return what ``fit`` takes; nothing if nothing was decided, for a fit as without it."""
        masks = {
            "known_negatives": self.known_negatives,
            "confirmed_positives": self.confirmed_positives,
        }
        return masks if any(mask.any() for mask in masks.values()) else {}

    def describe(self) -> str:
        """Say what the decisions change."""
        n_yes, n_no = int(self.confirmed_positives.sum()), int(self.known_negatives.sum())
        if not n_yes + n_no:
            return "The decisions hold no yes to an unlabelled sample and no no: nothing changes."
        return f"By the decisions {n_yes} unlabelled samples are positive and {n_no} negative."


def apply_decisions(data: PUData, decisions: list[Decision], *, are_paths: bool) -> DecidedData:
    """Return what decisions say of training data; each must name one of its samples.

    Parameters
    ----------
    data : PUData
    decisions : list of Decision
        Those that count.
    are_paths : bool
        Whether names are paths, which are compared as absolute ones.
    """

    def key(name: Any) -> str:
        return os.path.abspath(str(name)) if are_paths else str(name)

    told = {key(decision.item): decision for decision in decisions}
    named = [(place, key(name)) for place, name in enumerate(data.names)]
    places = [(place, name) for place, name in named if name in told]
    _check_named(Counter(name for _, name in places), told)
    y = np.array(data.y)
    is_negative, is_confirmed = np.zeros((2, len(y)), dtype=bool)
    for place, name in places:
        answer = told[name].answer
        if answer == "yes" and not data.y[place]:
            is_confirmed[place] = True
        is_negative[place] = answer == "no"
    y[is_confirmed] = 1
    y[is_negative] = 0  # a labelled positive may have been found to be none
    return DecidedData(y, is_negative, is_confirmed)


def _check_named(found: Counter[str], told: dict[str, Decision]) -> None:
    unknown = [name for name in told if name not in found]
    if unknown:
        raise InputError(
            f"{len(unknown)} of {len(told)} decisions name no sample of these data, such as "
            f"{unknown[0]!r:.200}. Fit the data that were reviewed, with the same --id, and name "
            "files as they were named then."
        )
    double = [name for name, count in found.items() if count > 1]
    if double:
        raise InputError(
            f"{double[0]!r:.200} names {found[double[0]]} samples, and a decision must name one. "
            "Give --id with a column that tells rows apart, in review and fit."
        )
