"""``explain``: the most likely positives of an input, and the columns that speak for each."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.base._parameters import check_integer
from vqpu.errors import InputError
from vqpu.files import Chunk
from vqpu.files._input_format import InputFormat
from vqpu.files._input_streams import open_input
from vqpu.files._models import open_model
from vqpu.files._scoring import predict_chunk

MOST_COLUMNS = 3


class Reason(NamedTuple):
    """A column, its value in a sample, and what it adds to s(x)."""

    column: str
    value: float
    contribution: float


class ExplainedSample(NamedTuple):
    """A sample with the columns that speak most for and against it.

    Attributes
    ----------
    name : object
        Its id or the number of its row.
    probability : float
    reasons_for, reasons_against : list of Reason
        The strongest first.
    """

    name: Any
    probability: float
    reasons_for: list[Reason]
    reasons_against: list[Reason]


class Explained(NamedTuple):
    """The best samples of an input, and what matters overall.

    Attributes
    ----------
    samples : list of ExplainedSample
        The largest score first; of equal ones, the earlier first.
    importance : list of (str, float)
        Columns and their shares in the gain of all splits, the largest first.
    n_seen, n_broken : int
        Samples that were scored, and those that could not be.
    """

    samples: list[ExplainedSample]
    importance: list[tuple[str, float]]
    n_seen: int
    n_broken: int


def explain_file(
    model_path: str | Path,
    input_path: str | Path,
    *,
    top: int,
    id_column: str | None = None,
    on_broken: str = "raise",
) -> Explained:
    """Return the most likely positives of an input with the reasons for each.

    Parameters
    ----------
    model_path, input_path : path
    top : int
    id_column : str or None
    on_broken : {"raise", "skip"}
    """
    check_integer("top", top, 1)
    model, input_format, _ = open_model(model_path)
    importance = _importance(model, input_format)  # refuses other models before anything is read
    chunks = open_input(input_format, input_path, id_column=id_column, on_broken=on_broken)
    counts = {"n_seen": 0, "n_broken": 0}
    best = heapq.nlargest(top, _scored(model, chunks, counts))
    if not best:
        raise InputError(f"{input_path} has no sample that can be explained.")
    rows = np.stack([row for *_, row in best])
    explanation = model.explain(rows)
    names = column_names(input_format, rows.shape[1])

    def reasons(place: int, sign: int) -> list[Reason]:
        chosen = explanation.strongest(place, MOST_COLUMNS, sign=sign)
        return [
            Reason(names[i], float(rows[place, i]), float(explanation.contributions[place, i]))
            for i in chosen
        ]

    samples = [
        ExplainedSample(name, probability, reasons(place, 1), reasons(place, -1))
        for place, (_, _, name, probability, _) in enumerate(best)
    ]
    return Explained(samples, importance, **counts)


def column_names(input_format: InputFormat, n_columns: int) -> list[str]:
    """Return what to call the columns of X.

    Parameters
    ----------
    input_format : InputFormat
    n_columns : int
    """
    if input_format.schema is not None:
        return list(input_format.schema.feature_names)
    return [f"column {index}" for index in range(n_columns)]


def _importance(model: Any, input_format: InputFormat) -> list[tuple[str, float]]:
    if not hasattr(model, "feature_importances_"):
        model_name = type(model).__name__
        raise InputError(
            f"Only trees can say what each column adds. This model is a {model_name} with a "
            "network: fit it with --encoder trees."
        )
    shares = model.feature_importances_
    names = column_names(input_format, len(shares))
    order = np.argsort(-shares, kind="stable")
    return [(names[index], float(shares[index])) for index in order]


Entry = tuple[float, int, Any, float, NDArray[Any]]


def _scored(model: Any, chunks: Iterable[Chunk], counts: dict[str, int]) -> Iterator[Entry]:
    """Give score, place, name, probability and values of every sample."""
    for chunk in chunks:
        part = predict_chunk(model, chunk)
        counts["n_broken"] += len(part.broken)
        for (name, _, score, probability), row in zip(part.rows(), chunk.X, strict=True):
            counts["n_seen"] += 1
            yield score, -counts["n_seen"], name, probability, np.array(row)
