"""What a column of text holds, learned in one pass and bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from vqpu.base.columns import _arrow as arrow
from vqpu.base.columns._dates import ISO, PATTERNS, instants

_MOST_BYTES = 1 << 25  # of the texts that are counted, over all columns
_FEWEST_BYTES = 1 << 12
_MOST_COUNTED = 50_000
_MOST_TRUTHS = 8  # ways to write true and false
_NUMBERLIKE = r"^\s*[-+]?[.,]?\d"


class TextFacts:
    """Counts of a column's texts, and what they look like.

    The most frequent texts are counted exactly as long as all fit; beyond, those met once are
    forgotten (lossy counting), so that a million different ones cost no memory. What they look
    like is found out once a text, by :meth:`settle`; only if some must be forgotten, as they come.

    Parameters
    ----------
    n_columns : int
        Columns of the table, which share the memory.
    """

    def __init__(self, n_columns: int) -> None:
        self._most_bytes = max(_FEWEST_BYTES, _MOST_BYTES // max(1, n_columns))
        self._n_bytes = 0
        self.counts: dict[str, int] = {}
        self.n = self.n_words = self.n_letters = self.n_long = 0
        self.n_numbers = self.n_clock = self.n_booleans = 0
        self.n_commas = self.n_sure_commas = 0
        self.n_dates = dict.fromkeys(PATTERNS, 0)
        self.has_time = False
        self.n_forgotten = 0
        self._is_looked_at = False

    def update(self, name: str, values: Any) -> None:
        """Take in an Arrow array of text."""
        import pyarrow as pa
        import pyarrow.compute as pc

        words, counts = _distinct(arrow.plain_text(name, values))
        if not len(words):
            return
        self.n += int(counts.sum())
        lengths = pc.binary_length(words).to_numpy(zero_copy_only=False)
        self.n_letters += int((lengths * counts).sum())
        is_short = lengths <= arrow.LONGEST_TEXT
        if not is_short.all():
            self.n_long += int(counts[~is_short].sum())
            words, counts = words.filter(pa.array(is_short)), counts[is_short]
        if self._is_looked_at:
            self._look_at(words, counts)
        self._count(words, counts)

    def settle(self) -> None:
        """Find out what the texts look like, if that is still to be done."""
        import pyarrow as pa

        if not self._is_looked_at and self.counts:
            words = pa.array(self.counts, pa.large_string())
            self._look_at(words, np.fromiter(self.counts.values(), np.int64))
        self._is_looked_at = True

    def _look_at(self, words: Any, counts: Any) -> None:
        """Count words, and what reads as a number, a time, a date or a boolean."""
        import pyarrow.compute as pc

        def total(regex: str) -> int:
            fits = pc.match_substring_regex(words, regex)
            return int(counts[fits.to_numpy(zero_copy_only=False)].sum())

        spaces = pc.count_substring(words, " ").to_numpy(zero_copy_only=False)
        self.n_words += int(((spaces + 1) * counts).sum())
        if len(words) <= _MOST_TRUTHS:
            lower = pc.utf8_lower(words)
            for word in ("true", "false"):
                found = pc.equal(lower, word).to_numpy(zero_copy_only=False)
                self.n_booleans += int(counts[found].sum())
        if not total(_NUMBERLIKE):  # spares wide tables of words most of the work
            return
        self.n_numbers += total(arrow.NUMBER)
        self.n_clock += total(arrow.CLOCK)
        self.n_commas += total(arrow.COMMA_NUMBER)
        self.n_sure_commas += total(arrow.SURE_COMMA)
        for pattern, regex in PATTERNS.items():
            if total(regex):
                seconds = instants(words, pattern)
                self.n_dates[pattern] += int(counts[~np.isnan(seconds)].sum())
                self.has_time |= pattern == ISO and bool((np.nan_to_num(seconds) % 86400).any())

    def _count(self, words: Any, counts: Any) -> None:
        known = self.counts
        for word, count in zip(words.to_pylist(), counts.tolist(), strict=True):
            if word in known:
                known[word] += count
            else:
                known[word] = count
                self._n_bytes += len(word) + 100
        if self._n_bytes > self._most_bytes or len(known) > _MOST_COUNTED:
            self._forget()

    def _forget(self) -> None:
        """Keep the texts that were met most often, half of what fits."""
        self.settle()
        most = min(_MOST_COUNTED, len(self.counts)) // 2
        by_count = sorted(self.counts.items(), key=lambda entry: (-entry[1], entry[0]))
        kept, self._n_bytes = {}, 0
        for word, count in by_count[:most]:
            self._n_bytes += len(word) + 100
            if self._n_bytes > self._most_bytes // 2:
                break
            kept[word] = count
        self.n_forgotten += len(self.counts) - len(kept)
        self.counts = kept

    @property
    def has_commas(self) -> bool:
        """Whether numbers have a comma for a point: most commas can be no marks of thousands."""
        return 0 < self.n_commas <= 2 * self.n_sure_commas

    @property
    def n_distinct(self) -> int:
        """How many different texts there are; an estimate once some were forgotten."""
        return len(self.counts) + min(self.n_forgotten, self.n) + self.n_long

    @property
    def date_pattern(self) -> str:
        """The pattern that most texts fit."""
        return max(self.n_dates, key=lambda pattern: self.n_dates[pattern])

    def other_than_numbers(self) -> Iterator[str]:
        """Give texts that are no numbers, of those that were counted."""
        import re

        comma = f"|{arrow.COMMA_NUMBER}" if self.has_commas else ""
        number = re.compile(arrow.NUMBER + comma)
        return (word for word in self.counts if not number.match(word))


def _distinct(values: Any) -> tuple[Any, Any]:
    """Return the different texts and how often each occurs; null is none of them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(values.type):
        indices = values.indices.drop_null().cast(pa.int64()).to_numpy(zero_copy_only=False)
        counts = np.bincount(indices, minlength=len(values.dictionary))
        keep = (counts > 0) & ~values.dictionary.is_null().to_numpy(zero_copy_only=False)
        return values.dictionary.filter(pa.array(keep)), counts[keep]
    found = pc.value_counts(values.drop_null())
    return found.field("values"), found.field("counts").to_numpy(zero_copy_only=False)
