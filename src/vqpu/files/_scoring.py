"""A model's predictions for a stream of samples, in its order or by score."""

from __future__ import annotations

import heapq
import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vqpu.files import Broken, Chunk
from vqpu.priors._posterior import positive_probability

COLUMNS = ("label", "score", "probability")
_ROWS_IN_MEMORY = 1 << 14
_BLOCK = 1 << 14

Row = tuple[Any, Any, float, float]


class Model(Protocol):
    """A fitted classifier."""

    classes_: NDArray[Any]

    def decision_function(self, X: ArrayLike, /) -> NDArray[np.float64]:
        """Return a score per sample; above 0 is positive."""


@dataclass(frozen=True)
class Predictions:
    """What a model says of n samples.

    Attributes
    ----------
    names : sequence of length n
        Paths, ids or row numbers.
    labels : ndarray of shape (n,)
        Members of the model's ``classes_``.
    scores, probabilities : ndarray of float64, shape (n,)
        Log odds and probability of being positive.
    y : ndarray of int8, shape (n,), or None
        1 where the input's label column has the positive value, if one was asked for.
    broken : tuple of Broken
        Files or rows that were left out here.
    """

    names: Sequence[Any]
    labels: NDArray[Any]
    scores: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    y: NDArray[np.int8] | None = None
    broken: tuple[Broken, ...] = ()

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def are_numbered(self) -> bool:
        """Whether names are whole numbers rather than text."""
        return isinstance(self.names, range) or (
            len(self.names) > 0 and isinstance(self.names[0], int)
        )

    def rows(self) -> Iterator[Row]:
        """Give one tuple of plain values a sample."""
        columns = (self.labels, self.scores, self.probabilities)
        return zip(self.names, *(part.tolist() for part in columns), strict=True)


def predict_chunk(model: Model, chunk: Chunk) -> Predictions:
    """Return what the model says of a chunk, which may be empty.

    One pass of the network: labels and probabilities follow from the scores, as in ``predict`` and
    ``predict_proba``.
    """
    scores = model.decision_function(chunk.X) if len(chunk.X) else np.empty(0)
    labels = model.classes_[(scores > 0).astype(np.intp)]
    probabilities = positive_probability(scores)
    return Predictions(chunk.names, labels, scores, probabilities, chunk.y, chunk.broken)


def predictions_of(model: Model, chunks: Iterable[Chunk]) -> Iterator[Predictions]:
    """Give the predictions for a stream, chunk by chunk, in its order."""
    for chunk in chunks:
        yield predict_chunk(model, chunk)


def sorted_by_score(
    predictions: Iterable[Predictions], folder: Path, rows_in_memory: int = _ROWS_IN_MEMORY
) -> Iterator[Predictions]:
    """Give all predictions again, the largest score first; of equal ones, the earlier first.

    Parameters
    ----------
    predictions : iterable of Predictions
    folder : Path
        Where the sorted runs lie meanwhile, in a file without a name.
    rows_in_memory : int
        Largest number of rows held at a time.
    """
    with tempfile.TemporaryFile(dir=folder) as file:
        runs = []
        for rows in _batches(_rows(predictions), rows_in_memory):
            start = file.tell()
            for row in sorted(rows, key=_descending):
                file.write(json.dumps(row).encode() + b"\n")
            runs.append((start, file.tell()))
        # Stable, as sorted is. One file for all runs: files may not be open by the thousand.
        merged = heapq.merge(*(_run(file, *run) for run in runs), key=_descending)
        for rows in _batches(merged, rows_in_memory):
            names, labels, scores, probabilities = zip(*rows, strict=True)
            yield Predictions(names, np.array(labels), np.array(scores), np.array(probabilities))


def _descending(row: Row) -> float:
    return -row[2]


def _rows(predictions: Iterable[Predictions]) -> Iterator[Row]:
    for part in predictions:
        yield from part.rows()


def _batches(rows: Iterator[Row], size: int) -> Iterator[list[Row]]:
    while batch := list(islice(rows, size)):
        yield batch


def _run(file: IO[bytes], start: int, stop: int) -> Iterator[Row]:
    """Give the rows between two places of the file, reading a block of lines at a time."""
    while start < stop:
        file.seek(start)
        lines = file.readlines(min(_BLOCK, stop - start - 1))  # until there are more bytes
        start = file.tell()
        for line in lines:
            yield tuple(json.loads(line))
