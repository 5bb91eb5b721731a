"""Deciding what each column is: kinds, columns that say nothing, and all problems at once."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np

from vqpu.base.columns import _arrow as arrow
from vqpu.base.columns._dates import ISO
from vqpu.base.columns._learning import SAVED_INDEX, Facts
from vqpu.base.columns._plan import CLOCK_PATTERN, COMMA_PATTERN, MOST_WIDE, Column
from vqpu.base.columns._textfacts import TextFacts
from vqpu.base.columns._wishes import Wishes
from vqpu.errors import InputError, RowNumberWarning

_ENOUGH_ROWS = 20  # fewer may rise, or all differ, by chance
_MOSTLY = 0.9
_HALF = 0.5
_MOST_MARKS = 3  # different marks, such as '?', in a column of numbers
_WORDS_OF_TEXT, _LETTERS_OF_TEXT = 4, 40
_DISTINCT_OF_TEXT = 0.2
MOST_VALUES = 10_000
MOST_TEXTS = 50
_FEW_ROWS = 100  # below, a value may occur once


@dataclass
class Draft:
    """Columns that are decided on; free text still lacks its directions.

    Attributes
    ----------
    columns : list of Column
    left_out : list of (str, str)
    problems : list of str
    """

    columns: list[Column] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def decide(facts: Facts, wishes: Wishes) -> Draft:
    """Decide on every column; raise with all problems if there are any.

    Parameters
    ----------
    facts : Facts
    wishes : Wishes
    """
    draft = Draft()
    for name in facts.names:
        problem = _problem(facts, name, wishes)
        if problem is not None:
            draft.problems.append(f"{name!r} {problem}")
            continue
        found = _column(facts, name, wishes)
        if isinstance(found, str):
            draft.left_out.append((name, found))
        else:
            draft.columns.append(found)
    n_texts = sum(column.kind == "text" for column in draft.columns)
    if n_texts > MOST_TEXTS:
        draft.problems.append(
            f"{n_texts} columns look like free text, where {MOST_TEXTS} can be used: take some as "
            "--category or --drop them"
        )
    _refuse(draft, facts)
    _warn_of_ids(facts, draft, wishes)
    return draft


def _refuse(draft: Draft, facts: Facts) -> None:
    if draft.problems:
        more = len(draft.problems) - 10
        told = "; ".join(draft.problems[:10]) + (f"; and {more} more" if more > 0 else "")
        raise InputError(
            f"{len(draft.problems)} of {len(facts.names)} columns among {facts.n_rows} rows cannot "
            f"be used: {told}. (In Python the options are drop=[...], number=[...] and so on.)"
        )
    if not draft.columns:
        reasons = arrow.first_few([f"{name}: {reason}" for name, reason in draft.left_out])
        told = f" Those that are there say nothing: {reasons}." if reasons else ""
        raise InputError(f"The table has no column left to learn from.{told}")


def _problem(facts: Facts, name: str, wishes: Wishes) -> str | None:
    place = facts.place(name)
    if SAVED_INDEX.fullmatch(name):
        return (
            "looks like the index of a data frame, which says where a row stood, not what it is "
            "(leave it out with --drop, name rows by it with --id, or rename it if it is data)"
        )
    if name in facts.unusable:
        return f"is of type {facts.unusable[name]} (convert it, or leave it out with --drop)"
    lengths = facts.lengths.get(name, {})
    if len(lengths) > 1:
        most = max(lengths, key=lambda length: (lengths[length], length))
        return (
            f"holds lists of different lengths, {lengths[most]} of length {most} and "
            f"{sum(lengths.values()) - lengths[most]} of others (make them alike, or --drop it)"
        )
    if lengths and not 1 <= next(iter(lengths)) <= MOST_WIDE:
        return f"holds lists of length {next(iter(lengths))} (leave it out with --drop)"
    if facts.is_beyond[place] and wishes.kind_of(name) is None:
        return (
            "holds integers that no float64 can hold exactly, as ids do (name rows by it with "
            "--id, leave it out with --drop, or take it as it is with --number)"
        )
    texts = facts.texts.get(name)
    if wishes.kind_of(name) == "number" and texts is not None:
        n_read = _n_numbers(facts, name, texts)
        if texts.n and not n_read:
            return (
                f"holds no number, but text such as {next(iter(texts.counts), '')[:40]!r} (take it "
                "as it is without --number, or save it as plain numbers such as 1616.58)"
            )
    if wishes.missing == "refuse":
        return _gaps(facts, name, wishes)
    return None


def _gaps(facts: Facts, name: str, wishes: Wishes) -> str | None:
    place = facts.place(name)
    n_missing, n_infinite = int(facts.n_missing[place]), int(facts.n_infinite[place])
    texts = facts.texts.get(name)
    found = None if texts is None else _column(facts, name, wishes)
    n_odd = 0
    if texts is not None and isinstance(found, Column):
        read = {
            "number": texts.n_clock if found.pattern == CLOCK_PATTERN else _n_in_text(texts),
            "date": texts.n_dates.get(found.pattern, texts.n),
        }
        n_odd = texts.n - read.get(found.kind, texts.n)
    counts = {"missing": n_missing, "infinite": n_infinite, "unreadable": n_odd}
    told = " and ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    if not told:
        return None
    return f"has {told} values (fill them, or take them as they are with --missing keep)"


def _column(facts: Facts, name: str, wishes: Wishes) -> Column | str:
    """Return what a column is, or why it is left out."""
    place = facts.place(name)
    if facts.n_missing[place] == facts.n_rows:
        return "it has no value at all"
    wish = wishes.kind_of(name)
    texts = facts.texts.get(name)
    if wish == "number":
        return _number(name, texts)
    if texts is None and wish is None:
        return _typed(facts, name)
    if wish == "text":
        return Column(name, "text")
    assert texts is not None, "wished categories are read as text"
    if wish == "category" or arrow.is_dictionary(facts.types[name]):  # categories of a data frame
        return _category(facts, name, texts, is_wished=True)
    return _guessed(facts, name, texts)


def _typed(facts: Facts, name: str) -> Column | str:
    place = facts.place(name)
    is_constant = facts.low[place] == facts.high[place] and not facts.n_missing[place]
    if is_constant and not facts.n_infinite[place] and name not in facts.lengths:
        return "it is constant"
    if name in facts.lengths:
        (length,) = facts.lengths[name]
        return Column(name, "vector", width=length)
    if name in facts.n_dates:
        return Column(name, "date", pattern=ISO, has_time=facts.has_time[name])
    if name in facts.n_booleans and not facts.n_numbers[place]:
        return Column(name, "boolean")
    pattern = CLOCK_PATTERN if arrow.is_span(facts.types[name]) else ""
    return Column(name, "number", pattern=pattern)


def _guessed(facts: Facts, name: str, texts: TextFacts) -> Column | str:
    place = facts.place(name)
    n = texts.n + int(facts.n_numbers[place])
    n += facts.n_booleans.get(name, 0) + facts.n_dates.get(name, 0)
    if _is_mostly(_n_numbers(facts, name, texts), n, texts):
        return _number(name, texts)
    if _is_mostly(texts.n_clock, n, texts):
        return Column(name, "number", pattern=CLOCK_PATTERN)
    pattern = texts.date_pattern
    if texts.n_dates[pattern] + facts.n_dates.get(name, 0) >= _MOSTLY * n:
        has_time = texts.has_time or facts.has_time.get(name, False)
        if len(texts.counts) == 1 and texts.n == facts.n_rows:
            return "it is constant"
        return Column(name, "date", pattern=pattern, has_time=has_time)
    if texts.n_booleans + facts.n_booleans.get(name, 0) == n and len(texts.counts) > 1:
        return Column(name, "boolean")
    is_long = (
        texts.n_words >= _WORDS_OF_TEXT * texts.n or texts.n_letters >= _LETTERS_OF_TEXT * texts.n
    )
    if is_long and texts.n_distinct >= _DISTINCT_OF_TEXT * texts.n and texts.n_distinct > 2:
        return Column(name, "text")
    return _category(facts, name, texts, is_wished=False)


def _n_in_text(texts: TextFacts) -> int:
    """Return how many texts are numbers, with a decimal comma too."""
    return texts.n_numbers + (texts.n_commas if texts.has_commas else texts.n_sure_commas)


def _n_numbers(facts: Facts, name: str, texts: TextFacts) -> int:
    return _n_in_text(texts) + int(facts.n_numbers[facts.place(name)])


def _number(name: str, texts: TextFacts | None) -> Column:
    has_commas = texts is not None and texts.has_commas
    return Column(name, "number", pattern=COMMA_PATTERN if has_commas else "")


def _is_mostly(n_fitting: int, n: int, texts: TextFacts) -> bool:
    if n_fitting >= _MOSTLY * n:
        return True
    if n_fitting < _HALF * n or texts.n_forgotten:
        return False
    return len(list(texts.other_than_numbers())) <= _MOST_MARKS


def _category(facts: Facts, name: str, texts: TextFacts, *, is_wished: bool) -> Column | str:
    n_missing = facts.n_missing[facts.place(name)]
    fewest = 1 if facts.n_rows < _FEW_ROWS else int(np.clip(facts.n_rows // 2000, 2, 5))
    if len(texts.counts) == 1 and not (texts.n_forgotten or texts.n_long or n_missing):
        return "it is constant"
    frequent = [word for word, count in texts.counts.items() if count >= fewest]
    frequent.sort(key=lambda word: (-texts.counts[word], word))
    n_distinct = texts.n_distinct
    is_id = n_distinct >= _MOSTLY * texts.n and texts.n >= _ENOUGH_ROWS and not is_wished
    if is_id or not frequent:
        return (
            f"it has {n_distinct} different values in {texts.n} cells, as names and ids do (name "
            "rows by it with --id, or use its letters with --text)"
        )
    return Column(name, "category", tuple(frequent[:MOST_VALUES]))


def _warn_of_ids(facts: Facts, draft: Draft, wishes: Wishes) -> None:
    """Warn of numbers that say where a row stands or what it is called, not what it is."""
    if facts.n_rows < _ENOUGH_ROWS:
        return
    used = {column.name for column in draft.columns if column.kind == "number"}
    asked = sorted(used - set(wishes.number))
    counting = [name for name in asked if facts.rises[facts.place(name)]]
    are_ids = facts.are_ids
    given_out = [n for n in asked if are_ids[facts.place(n)] and n not in counting]
    told = []
    if counting:
        told.append(
            f"Whole numbers rise from row to row in {arrow.first_few(counting)}, as row numbers "
            "and ids do: they say where a row stands, not what it is."
        )
    if given_out:
        told.append(
            f"No value repeats in {arrow.first_few(given_out)}, where numbers that were measured "
            "would: they look like ids."
        )
    if told:
        warnings.warn(
            f"{' '.join(told)} Name rows by such a column with --id, leave it out with --drop, or "
            "say that it is data with --number (in Python id_column=, drop=[...], number=[...]).",
            RowNumberWarning,
            stacklevel=6,
        )
