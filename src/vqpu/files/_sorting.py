"""Predictions sorted by score in bounded memory: sorted parts on disk, merged."""

from __future__ import annotations

import heapq
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from vqpu.files._scoring import Predictions

Row = tuple[Any, Any, float, float]

_ROWS_IN_MEMORY = 1 << 14
_BLOCK = 1 << 14


def sorted_by_score(
    answers: Iterable[Predictions], folder: Path, rows_in_memory: int = _ROWS_IN_MEMORY
) -> Iterator[Predictions]:
    """Give all answers again, the largest score first; of equal ones, the earlier first.

    Parameters
    ----------
    answers : iterable of Predictions
    folder : Path
        Where the sorted parts lie meanwhile, in a file without a name.
    rows_in_memory : int
        Largest number of rows held at a time.
    """
    with tempfile.TemporaryFile(dir=folder) as file:
        parts = []
        for rows in _batches(_rows(answers), rows_in_memory):
            start = file.tell()
            for row in sorted(rows, key=_descending):
                file.write(json.dumps(row).encode() + b"\n")
            parts.append((start, file.tell()))
        file.flush()
        # Stable, as sorted is. One file for all parts: files may not be open by the thousand.
        merged = heapq.merge(*(_part(file, *part) for part in parts), key=_descending)
        for rows in _batches(merged, rows_in_memory):
            names, labels, scores, probabilities = zip(*rows, strict=True)
            yield Predictions(names, np.array(labels), np.array(scores), np.array(probabilities))


def _descending(row: Row) -> float:
    return -row[2]


def _rows(answers: Iterable[Predictions]) -> Iterator[Row]:
    for part in answers:
        yield from part.rows()


def _batches(rows: Iterator[Row], size: int) -> Iterator[list[Row]]:
    while batch := list(islice(rows, size)):
        yield batch


def _part(file: IO[bytes], start: int, stop: int) -> Iterator[Row]:
    """Give the rows between two places of the file, reading a block at a time."""
    rest = b""
    while start < stop:
        block = os.pread(file.fileno(), min(_BLOCK, stop - start), start)
        start += len(block)
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            yield tuple(json.loads(line))
