"""Which words of a free text speak for a sample.

What a word adds to s(x) depends on the others: of two that say the same, either can go. It is the
mean of what it adds to no word and to all others here, the two ends of its Shapley value.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.base.columns._plan import Column, ColumnPlan
from vqpu.base.columns._text import text_features

_MOST_WORDS = 100  # of a text that are tried
_WORD = re.compile(r"\w[\w'-]*")


class WordEffect(NamedTuple):
    """A word and what it adds to s(x) of the sample that holds it."""

    word: str
    contribution: float


class TextColumn(NamedTuple):
    """A column of free text and where its directions stand in the encoded matrix."""

    column: Column
    start: int

    def effects(self, model: Any, row: NDArray[np.float64], text: str) -> list[WordEffect]:
        """Return what every word adds, all of its occurrences together, the largest first.

        Parameters
        ----------
        model : VQKMeansClassifier
            With trees.
        row : ndarray of shape (n_features,)
            The sample, encoded.
        text : str
            As far as it was read.
        """
        words = list(dict.fromkeys(word.lower() for word in _WORD.findall(text)))[:_MOST_WORDS]
        if not words:
            return []
        texts = [text, "", *(_without(text, word) for word in words), *words]
        assert self.column.components is not None
        rows = np.tile(row, (len(texts), 1))
        stop = self.start + self.column.n_features
        rows[:, self.start : stop] = text_features(texts, self.column.components)
        placed = model.encode(rows).projection
        without, alone = placed[2:].reshape(2, -1)
        added = (placed[0] - without + alone - placed[1]) / 2
        effects = map(WordEffect, words, added.tolist())
        return sorted(effects, key=lambda effect: -effect.contribution)


def text_columns(plan: ColumnPlan | None) -> dict[str, TextColumn]:
    """Return the columns of free text by their names.

    Parameters
    ----------
    plan : ColumnPlan or None
    """
    columns = () if plan is None else plan.columns
    starts = np.cumsum([0, *(column.n_features for column in columns)])
    return {
        column.name: TextColumn(column, int(start))
        for column, start in zip(columns, starts, strict=False)
        if column.kind == "text"
    }


def _without(text: str, word: str) -> str:
    return _WORD.sub(lambda found: "" if found[0].lower() == word else found[0], text)
