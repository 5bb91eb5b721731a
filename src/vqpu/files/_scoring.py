"""A model's predictions for a stream of samples, in its order or by score."""

from __future__ import annotations

import heapq
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vqpu.errors import UnusableSampleError
from vqpu.files import Chunk, KeptColumn
from vqpu.priors._posterior import positive_probability

COLUMNS = ("label", "score", "probability", "reason")
_ROWS_IN_MEMORY = 1 << 14
_BLOCK = 1 << 14

Row = tuple[Any, ...]


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
        Words for negatives and positives; of no meaning where there is a reason.
    scores, probabilities : ndarray of float64, shape (n,)
        Log odds and probability of being positive; NaN where there is a reason.
    y : ndarray of int8, shape (n,), or None
        1 where the input's label column has the positive value, if one was asked for.
    reasons : dict of str
        Why samples cannot be judged, by their place.
    kept : mapping of KeptColumn
        Columns of the input; the one under "" has the ids.
    n_left_out : int
        Files that could not be used and have no place here.
    """

    names: Sequence[Any]
    labels: NDArray[Any]
    scores: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    y: NDArray[np.int8] | None = None
    reasons: Mapping[int, str] = field(default_factory=dict)
    kept: Mapping[str, KeptColumn] = field(default_factory=dict)
    n_left_out: int = 0

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def n_broken(self) -> int:
        """Samples that cannot be judged."""
        return len(self.reasons) + self.n_left_out

    @property
    def are_numbered(self) -> bool:
        """Whether names are whole numbers rather than text."""
        return isinstance(self.names, range) or (
            len(self.names) > 0 and isinstance(self.names[0], int)
        )

    def kept_columns(self) -> dict[str, KeptColumn]:
        """Return the columns that were kept, without the ids."""
        return {name: column for name, column in self.kept.items() if name}

    def rows(self) -> Iterator[Row]:
        """Give one tuple of plain values a sample: name, label, score, probability, reason, kept.

        Label, score and probability are None where there is a reason.
        """
        parts = [part.tolist() for part in (self.labels, self.scores, self.probabilities)]
        for place in self.reasons:
            for part in parts:
                part[place] = None
        reasons = [self.reasons.get(place) for place in range(len(self))]
        kept = [column.values for column in self.kept_columns().values()]
        return zip(self.names, *parts, reasons, *kept, strict=True)


class Watch(Protocol):
    """Sees samples and their scores as they pass by."""

    def add(self, X: Any, scores: NDArray[np.float64], /) -> None:
        """Look at some; a score is NaN where a sample could not be judged."""


def predict_chunk(
    model: Model,
    chunk: Chunk,
    words: Sequence[Any] | None = None,
    watch: Watch | None = None,
    *,
    y_is_truth: bool = False,
) -> Predictions:
    """Return what the model says of a chunk, which may be empty.

    One pass of the network: labels and probabilities follow from the scores, as in ``predict`` and
    ``predict_proba``. A sample that cannot be judged has a reason instead.

    Parameters
    ----------
    model : classifier
    chunk : Chunk
    words : sequence of two or None
        What negatives and positives are called; None takes the model's classes.
    watch : Watch or None
        Sees what is not labelled positive, or everything where ``y_is_truth``.
    y_is_truth : bool
        Whether ``y`` is the truth rather than who is labelled.
    """
    reasons: dict[int, str] = {}
    scores = np.empty(0)
    if len(chunk.X):
        scores, reasons = _scores(model, chunk.X, 0)
        if watch is not None:
            watch.add(*((chunk.X, scores) if y_is_truth else _unlabeled(chunk, scores)))
    names = chunk.names
    if chunk.broken_places:
        scores, names, reasons = _with_broken(chunk, scores, reasons)
    classes = model.classes_ if words is None else np.array(words)
    labels = classes[(scores > 0).astype(np.intp)]
    return Predictions(
        names,
        labels,
        scores,
        positive_probability(scores),
        chunk.y,
        reasons,
        chunk.kept,
        len(chunk.broken) - len(chunk.broken_places),
    )


def _unlabeled(
    chunk: Chunk, scores: NDArray[np.float64]
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return samples and scores without those that are labelled positive."""
    if chunk.y is None:
        return chunk.X, scores
    is_unlabeled = np.delete(chunk.y, chunk.broken_places) != 1
    return chunk.X[is_unlabeled], scores[is_unlabeled]


def _scores(model: Model, X: Any, first: int) -> tuple[NDArray[np.float64], dict[int, str]]:
    """Return scores, and the reasons of samples without one; halves find the few among many."""
    try:
        return model.decision_function(X), {}
    except UnusableSampleError as error:
        if len(X) == 1:
            return np.array([np.nan]), {first: _reason(error)}
    half = len(X) // 2
    scores, reasons = _scores(model, X[:half], first)
    others, more = _scores(model, X[half:], first + half)
    return np.concatenate([scores, others]), reasons | more


def _reason(error: UnusableSampleError) -> str:
    """Return the first sentence; the sample is the row it stands in."""
    return (
        str(error).split(". ")[0].replace("X contains", "it contains").replace(" in sample 0", "")
    )


def _with_broken(
    chunk: Chunk, scores: NDArray[np.float64], reasons: dict[int, str]
) -> tuple[NDArray[np.float64], list[Any], dict[int, str]]:
    """Put files that could not be read where they stand among the others."""
    n = len(scores) + len(chunk.broken)
    good = np.setdiff1d(np.arange(n), chunk.broken_places)
    joined = np.full(n, np.nan)
    joined[good] = scores
    names: list[Any] = [None] * n
    for place, name in zip(good.tolist(), chunk.names, strict=True):
        names[place] = name
    moved = {int(good[place]): reason for place, reason in reasons.items()}
    for place, broken in zip(chunk.broken_places, chunk.broken, strict=True):
        names[place], moved[place] = broken.name, broken.reason
    return joined, names, moved


def predictions_of(
    model: Model,
    chunks: Iterable[Chunk],
    words: Sequence[Any] | None = None,
    watch: Watch | None = None,
    *,
    y_is_truth: bool = False,
) -> Iterator[Predictions]:
    """Give the predictions for a stream, chunk by chunk, in its order."""
    for chunk in chunks:
        yield predict_chunk(model, chunk, words, watch, y_is_truth=y_is_truth)


def from_rows(rows: Sequence[Row], like: Predictions | None) -> Predictions:
    """Return predictions made of rows again.

    Parameters
    ----------
    rows : sequence of tuple
        As of :meth:`Predictions.rows`, at least one.
    like : Predictions or None
        Some of those that the rows were of, for the types of columns.
    """
    names, labels, scores, probabilities, reasons, *kept = zip(*rows, strict=True)
    found = {place: reason for place, reason in enumerate(reasons) if reason is not None}
    known = next((label for label in labels if label is not None), "")
    columns = {} if like is None else like.kept_columns()
    carried = {
        name: KeptColumn(list(values), column.type)
        for (name, column), values in zip(columns.items(), kept, strict=True)
    }
    if like is not None and "" in like.kept:
        carried[""] = KeptColumn(list(names), like.kept[""].type)
    return Predictions(
        names,
        np.array([known if label is None else label for label in labels]),
        np.array(scores, dtype=np.float64),
        np.array(probabilities, dtype=np.float64),
        reasons=found,
        kept=carried,
    )


def sorted_by_score(
    predictions: Iterable[Predictions], folder: Path, rows_in_memory: int = _ROWS_IN_MEMORY
) -> Iterator[Predictions]:
    """Give all predictions again, the largest score first; of equal ones, the earlier first.

    Those without a score come last.

    Parameters
    ----------
    predictions : iterable of Predictions
    folder : Path
        Where the sorted runs lie meanwhile, in a file without a name.
    rows_in_memory : int
        Largest number of rows held at a time.
    """
    first: list[Predictions] = []
    with tempfile.TemporaryFile(dir=folder) as file:
        runs = []
        for rows in _batches(_rows(predictions, first), rows_in_memory):
            start = file.tell()
            for row in sorted(rows, key=_descending):
                file.write(json.dumps(row).encode() + b"\n")
            runs.append((start, file.tell()))
        # Stable, as sorted is. One file for all runs: files may not be open by the thousand.
        merged = heapq.merge(*(_run(file, *run) for run in runs), key=_descending)
        for rows in _batches(merged, rows_in_memory):
            yield from_rows(rows, first[0] if first else None)


def _descending(row: Row) -> float:
    return np.inf if row[2] is None else -row[2]


def _rows(predictions: Iterable[Predictions], first: list[Predictions]) -> Iterator[Row]:
    for part in predictions:
        if not first:
            first.append(part)
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
