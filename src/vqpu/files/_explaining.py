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
from vqpu.files import Chunk, Notes
from vqpu.files._input_format import InputFormat
from vqpu.files._input_streams import open_input
from vqpu.files._models import open_model
from vqpu.files._scoring import predict_chunk

MOST_COLUMNS = 3


class Reason(NamedTuple):
    """A column, its value in a sample, and what it adds to s(x)."""

    column: str
    value: float | str | None  # a number, the word of a category, None where it is missing
    contribution: float

    @property
    def text(self) -> str:
        """What a person reads."""
        value = "missing" if self.value is None else self.value
        shown = value if isinstance(value, str) else f"{value:.6g}"
        return f"{self.column} = {shown} ({self.contribution:+.3f})"


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
    notes : Notes
        Cells that are not as in training, counted.
    """

    samples: list[ExplainedSample]
    importance: list[tuple[str, float]]
    n_seen: int
    n_broken: int
    notes: Notes


def explain_file(
    model_path: str | Path,
    input_path: str | Path,
    *,
    top: int,
    id_column: str | None = None,
    missing: str = "keep",
    features: str | Path | None = None,
) -> Explained:
    """Return the most likely positives of an input with the reasons for each.

    Parameters
    ----------
    model_path, input_path : path
    top : int
    id_column : str or None
    missing : {"keep", "refuse"}
    features : path or None
        Of a model on features: where the extractor lies now; None: where it lay.
    """
    check_integer("top", top, 1)
    model, input_format, _ = open_model(model_path)
    importance = _importance(model, input_format)  # refuses other models before anything is read
    notes = Notes()
    chunks = open_input(
        input_format,
        input_path,
        id_column=id_column,
        missing=missing,
        notes=notes,
        features=features,
    )
    counts = {"n_seen": 0, "n_broken": 0}
    best = heapq.nlargest(top, _scored(model, chunks, counts))
    if not best:
        raise InputError(f"{input_path} has no sample that can be explained.")
    rows = np.stack([row for *_, row in best])
    explanation = model.explain(rows)
    added = explanation.contributions
    names = column_names(input_format, rows.shape[1])
    words = _words(input_format)

    def reasons(place: int, sign: int) -> list[Reason]:
        chosen = explanation.strongest(place, MOST_COLUMNS, sign=sign)
        return [
            Reason(names[i], _value(rows[place, i], words.get(i)), float(added[place, i]))
            for i in chosen
        ]

    samples = [
        ExplainedSample(name, probability, reasons(place, 1), reasons(place, -1))
        for place, (_, _, name, probability, _) in enumerate(best)
    ]
    return Explained(samples, importance, **counts, notes=notes)


def column_names(input_format: InputFormat, n_columns: int) -> list[str]:
    """Return what to call the columns of X.

    Parameters
    ----------
    input_format : InputFormat
    n_columns : int
    """
    if input_format.plan is not None:
        return input_format.plan.feature_names
    kind = "column" if input_format.features is None else "feature"
    return [f"{kind} {index}" for index in range(n_columns)]


def _words(input_format: InputFormat) -> dict[int, tuple[str, ...]]:
    """Return the values of categories by the column of the encoded matrix that has their code."""
    columns = () if input_format.plan is None else input_format.plan.columns
    places = np.cumsum([0, *(column.n_features for column in columns)])
    return {
        int(place): column.values
        for place, column in zip(places, columns, strict=False)
        if column.kind == "category"
    }


def _value(number: float, words: tuple[str, ...] | None) -> float | str | None:
    if np.isnan(number):
        return None
    if words is None:
        return float(number)
    return words[int(number)] if number < len(words) else "other"


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
        counts["n_broken"] += part.n_broken
        values = iter(chunk.X)  # without those of files that could not be read
        for place, (name, _, score, probability, reason, *_) in enumerate(part.rows()):
            row = None if place in chunk.broken_places else next(values)
            if row is None or reason is not None:
                continue
            counts["n_seen"] += 1
            yield score, -counts["n_seen"], name, probability, np.array(row)
