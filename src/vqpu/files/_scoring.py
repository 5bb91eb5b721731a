"""A model's answers to a stream of samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vqpu.estimators._classifier import positive_probability
from vqpu.files import Broken, Chunk

COLUMNS = ("label", "score", "probability")


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

    def rows(self) -> Iterator[tuple[Any, Any, float, float]]:
        """Give one tuple of plain values a sample."""
        columns = (self.labels, self.scores, self.probabilities)
        return zip(self.names, *(part.tolist() for part in columns), strict=True)


def answer(model: Model, chunk: Chunk) -> Predictions:
    """Return what the model says of a chunk, which may be empty.

    One pass of the network: labels and probabilities follow from the scores, as in ``predict`` and
    ``predict_proba``.
    """
    scores = model.decision_function(chunk.X) if len(chunk.X) else np.empty(0)
    labels = model.classes_[(scores > 0).astype(np.intp)]
    probabilities = positive_probability(scores)
    return Predictions(chunk.names, labels, scores, probabilities, chunk.y, chunk.broken)


def answers_to(model: Model, chunks: Iterable[Chunk]) -> Iterator[Predictions]:
    """Give the answers to a stream, chunk by chunk, in its order."""
    for chunk in chunks:
        yield answer(model, chunk)
