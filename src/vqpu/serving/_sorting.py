"""Answers sorted by score in bounded memory: sorted parts on disk, merged."""

from __future__ import annotations

import heapq
import json
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from vqpu.serving._scoring import Answers

Row = tuple[Any, Any, float, float]

_ROWS_IN_MEMORY = 1 << 16


def sorted_by_score(
    answers: Iterable[Answers], folder: Path, rows_in_memory: int = _ROWS_IN_MEMORY
) -> Iterator[Answers]:
    """Give all answers again, the largest score first; of equal ones, the earlier first.

    Parameters
    ----------
    answers : iterable of Answers
    folder : Path
        Where the sorted parts lie meanwhile, in files without a name.
    rows_in_memory : int
        Largest number of rows held at a time.
    """
    with ExitStack() as open_files:
        parts = []
        for rows in _batches(_rows(answers), rows_in_memory):
            file = open_files.enter_context(tempfile.TemporaryFile(dir=folder))
            _write_part(file, sorted(rows, key=_descending))
            parts.append(_read_part(file))
        merged = heapq.merge(*parts, key=_descending)  # stable, as sorted is
        for rows in _batches(merged, rows_in_memory):
            names, labels, scores, probabilities = zip(*rows, strict=True)
            yield Answers(names, np.array(labels), np.array(scores), np.array(probabilities))


def _descending(row: Row) -> float:
    return -row[2]


def _rows(answers: Iterable[Answers]) -> Iterator[Row]:
    for part in answers:
        yield from part.rows()


def _batches(rows: Iterator[Row], size: int) -> Iterator[list[Row]]:
    while batch := list(islice(rows, size)):
        yield batch


def _write_part(file: IO[bytes], rows: Iterable[Row]) -> None:
    for row in rows:
        file.write(json.dumps(row).encode() + b"\n")
    file.seek(0)


def _read_part(file: IO[bytes]) -> Iterator[Row]:
    for line in file:
        yield tuple(json.loads(line))
