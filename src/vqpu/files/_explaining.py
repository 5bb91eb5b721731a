"""``explain``: the most likely hidden positives, and the columns that speak for each."""

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
from vqpu.files._input_streams import known_label, open_input
from vqpu.files._models import open_model
from vqpu.files._ranking import nothing_left
from vqpu.files._scoring import predict_chunk
from vqpu.files._text_reasons import TextColumn, WordEffect, text_columns
from vqpu.files.readers._tables import texts_of_rows
from vqpu.vq._explanation import Explanation

MOST_COLUMNS = 3
_MOST_WORDS = 3
_LONGEST_SHOWN = 60


class Reason(NamedTuple):
    """A column, its value in a sample, and what it adds to s(x).

    Attributes
    ----------
    column : str
    value : float, str or None
        A number, the word of a category, a text; None where it is missing.
    contribution : float
    words : list of WordEffect
        Of a text: those that speak most as it does.
    """

    column: str
    value: float | str | None
    contribution: float
    words: list[WordEffect]

    @property
    def text(self) -> str:
        """What a person reads."""
        value = "missing" if self.value is None else self.value
        shown = value if isinstance(value, str) else f"{value:.6g}"
        if len(shown) > _LONGEST_SHOWN:
            shown = f"{shown[:_LONGEST_SHOWN]}..."
        words = "".join(f", {one.word} {one.contribution:+.3f}" for one in self.words)
        return f"{self.column} = {' '.join(shown.split())} ({self.contribution:+.3f}{words})"


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
    n_seen, n_labeled, n_broken : int
        Samples that competed, those that did not as they are labelled positive already, and those
        that could not be scored.
    notes : Notes
        Cells that are not as in training, counted.
    """

    samples: list[ExplainedSample]
    importance: list[tuple[str, float]]
    n_seen: int
    n_labeled: int
    n_broken: int
    notes: Notes


def explain_file(
    model_path: str | Path,
    input_path: str | Path,
    *,
    top: int,
    include_labeled: bool = False,
    id_column: str | None = None,
    missing: str = "keep",
    features: str | Path | None = None,
) -> Explained:
    """Return the most likely hidden positives of an input with the reasons for each.

    Parameters
    ----------
    model_path, input_path : path
    top : int
    include_labeled : bool
        Whether rows compete that the table says are positive, by the label column of training.
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
        label=None if include_labeled else known_label(input_format, input_path),
        positive=input_format.positive,
        missing=missing,
        notes=notes,
        features=features,
    )
    counts = {"n_seen": 0, "n_labeled": 0, "n_broken": 0}
    best = heapq.nlargest(top, _scored(model, chunks, counts))
    if not best:
        why = nothing_left(counts["n_labeled"], counts["n_broken"])
        raise InputError(f"Nothing is left to explain: {why}")
    reasons = _Reasons(model, input_format, input_path, best)
    samples = [
        ExplainedSample(name, probability, reasons.of(place, 1), reasons.of(place, -1))
        for place, (_, _, name, probability, _) in enumerate(best)
    ]
    return Explained(samples, importance, **counts, notes=notes)


class ColumnGroups(NamedTuple):
    """The columns of the encoded matrix as people know them: all directions of a text are one.

    Attributes
    ----------
    names : list of str
    starts : ndarray of int64
        Where each begins in the encoded matrix.
    """

    names: list[str]
    starts: NDArray[np.int64]

    def summed(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what belongs together added up, over the last axis: Shapley values and shares are.

        Parameters
        ----------
        values : ndarray of shape (..., n_columns)
        """
        return np.asarray(np.add.reduceat(values, self.starts, axis=-1))

    def explanation(self, model: Any, rows: NDArray[Any]) -> Explanation:
        """Return what each adds to s(x) of some samples.

        Parameters
        ----------
        model : VQKMeansClassifier
            With trees.
        rows : ndarray of shape (n, n_columns)
        """
        found = model.explain(rows)
        return Explanation(self.summed(found.contributions), found.base)


def column_groups(input_format: InputFormat, n_columns: int) -> ColumnGroups:
    """Return what to call the columns of X.

    Parameters
    ----------
    input_format : InputFormat
    n_columns : int
    """
    if input_format.plan is None:
        kind = "column" if input_format.features is None else "feature"
        names = [f"{kind} {index}" for index in range(n_columns)]
        return ColumnGroups(names, np.arange(n_columns))
    names, widths = [], [0]
    for column in input_format.plan.columns:
        own = [column.name] if column.kind == "text" else column.feature_names
        names += own
        widths += [column.n_features // len(own)] * len(own)
    return ColumnGroups(names, np.cumsum(widths)[:-1])


class _Reasons:
    """What speaks for and against each of the best samples."""

    def __init__(
        self, model: Any, input_format: InputFormat, path: str | Path, best: list[Entry]
    ) -> None:
        self._model, self._rows = model, np.stack([row for *_, row in best])
        self._groups = column_groups(input_format, self._rows.shape[1])
        self._explanation = self._groups.explanation(model, self._rows)
        self._words = _words(input_format)
        self._texts = text_columns(input_format.plan)
        numbers = [-place for _, place, *_ in best]
        self._read = texts_of_rows(path, list(self._texts), numbers) if self._texts else {}

    def of(self, sample: int, sign: int) -> list[Reason]:
        chosen = self._explanation.strongest(sample, MOST_COLUMNS, sign=sign)
        return [self._reason(sample, group, sign) for group in chosen]

    def _reason(self, sample: int, group: int, sign: int) -> Reason:
        name = self._groups.names[group]
        added = float(self._explanation.contributions[sample, group])
        if name in self._texts:
            text = self._read[name][sample]
            return Reason(name, text, added, self._effects(sample, self._texts[name], text, sign))
        place = int(self._groups.starts[group])
        value = _value(self._rows[sample, place], self._words.get(place))
        return Reason(name, value, added, [])

    def _effects(
        self, sample: int, column: TextColumn, text: str | None, sign: int
    ) -> list[WordEffect]:
        """Return the words that speak as the whole text does."""
        effects = column.effects(self._model, self._rows[sample], text or "")
        return [one for one in effects[::sign] if sign * one.contribution > 0][:_MOST_WORDS]


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
    groups = column_groups(input_format, len(model.feature_importances_))
    names, shares = groups.names, groups.summed(model.feature_importances_)
    order = np.argsort(-shares, kind="stable")
    return [(names[index], float(shares[index])) for index in order]


Entry = tuple[float, int, Any, float, NDArray[Any]]


def _scored(model: Any, chunks: Iterable[Chunk], counts: dict[str, int]) -> Iterator[Entry]:
    """Give score, row (negative: the earlier first), name, probability, values of every sample."""
    start = 0
    for chunk in chunks:
        part = predict_chunk(model, chunk)
        counts["n_broken"] += part.n_left_out
        values = iter(chunk.X)  # without those of files that could not be read
        for place, (name, _, score, probability, reason, *_) in enumerate(part.rows()):
            row = None if place in chunk.broken_places else next(values)
            if chunk.y is not None and chunk.y[place]:
                counts["n_labeled"] += 1
            elif row is None or reason is not None:
                counts["n_broken"] += 1
            else:
                counts["n_seen"] += 1
                yield score, -(start + place), name, probability, np.array(row)
        start += len(part)
