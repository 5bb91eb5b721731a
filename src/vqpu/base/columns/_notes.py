"""What was met in cells that were not as expected: counted by column, told in sentences."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from vqpu.base.columns._arrow import first_few
from vqpu.errors import ColumnWarning, InputError

if TYPE_CHECKING:
    from vqpu.base.columns._plan import Column, ColumnPlan

_WORDS = {
    "number": "are no numbers and count as missing",
    "boolean": "are neither true nor false and count as missing",
    "date": "are no dates and count as missing",
    "swapped": "are dates only with day and month the other way round and count as missing",
    "infinite": "are infinite and count as missing",
    "unseen": "were not seen often enough in training and count as 'other'",
    "length": "are lists of another length and count as missing",
    "thousands": "have three digits behind every mark and are read as decimals (take the mark out "
    "if it separates thousands)",
    "id": "name a row that another names too, so that these rows may be there twice",
    "label": "are the positive value but for capitals or spaces and count as unlabelled",
}
_MOST_EXAMPLES = 3
_LONGEST = 40
_LOST = ("number", "boolean", "date", "length")
# So many cells of which not one can be read are no slips, and more texts than these no marks for
# what is not known, such as '?'.
_FEWEST_LOST, _MOST_MARKS = 10, 3


class Notes:
    """Counts of odd cells by column and kind, with a few examples.

    Examples
    --------
    >>> notes = Notes()
    >>> notes.add("size", "number", 2, ["?"])
    >>> notes.sentences()
    ["Cells of 'size' that are no numbers and count as missing: 2, such as '?'."]
    """

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], int] = {}
        self._examples: dict[tuple[str, str], list[str]] = {}
        self._read: set[str] = set()
        self._as_trained: dict[str, int] = {}  # dates that make no sense the other way round
        self.n_cells = 0

    def warn(self, stacklevel: int, *, plan: ColumnPlan | None = None) -> None:
        """Issue one warning with all sentences, if there are any.

        Parameters
        ----------
        stacklevel : int
            Of the caller of this method.
        plan : ColumnPlan or None
            Of a fit: the columns that it leaves out are told too.
        """
        told = self.sentences(of_training=plan is not None)
        if plan is not None and plan.left_out:
            left_out = [f"{name!r} ({reason})" for name, reason in plan.left_out[:10]]
            more = len(plan.left_out) - 10
            n_columns = len(plan.left_out) + len(plan.columns)
            told.insert(
                0,
                f"Left out: {len(plan.left_out)} of {n_columns} columns: {'; '.join(left_out)}"
                f"{f'; and {more} more' if more > 0 else ''}.",
            )
        if told:
            warnings.warn(" ".join(told), ColumnWarning, stacklevel=stacklevel + 1)

    def add(self, column: str, kind: str, count: int, examples: list[Any]) -> None:
        """Count cells of one kind of a column."""
        if not count:
            return
        key = column, kind
        self.n_cells += count
        self._counts[key] = self._counts.get(key, 0) + count
        known = self._examples.setdefault(key, [])
        for example in map(str, examples):
            if len(known) <= _MOST_MARKS and example[:_LONGEST] not in known:
                known.append(example[:_LONGEST])

    def add_lost(
        self, column: Column, count: int, examples: list[Any], *, is_any_read: bool
    ) -> None:
        """Count cells whose value cannot be read as what the column was in training.

        Parameters
        ----------
        column : Column
        count : int
        examples : list
        is_any_read : bool
            Whether other cells of the column can.
        """
        if is_any_read:
            self._read.add(column.name)
        self.add(column.name, "length" if column.kind == "vector" else column.kind, count, examples)

    def add_swapped(self, column: str, count: int, n_as_trained: int, examples: list[Any]) -> None:
        """Count dates that make sense only with day and month the other way round.

        Parameters
        ----------
        column : str
        count : int
        n_as_trained : int
            Dates that make sense only as they were written in training.
        examples : list
        """
        self._as_trained[column] = self._as_trained.get(column, 0) + n_as_trained
        self.add(column, "swapped", count, examples)

    def check_readable(self, plan: ColumnPlan) -> None:
        """Raise if columns of a whole input are written in another way than in training.

        Parameters
        ----------
        plan : ColumnPlan
        """
        columns = {column.name: column for column in plan.columns}
        problems = self._swapped(columns) + [
            f"{name!r} was a {columns[name].describe()}{columns[name].form()}, but none of its "
            f"{count} cells can be read{self._such(name, kind)}"
            for (name, kind), count in self._counts.items()
            if kind in _LOST
            and name not in self._read
            and count >= _FEWEST_LOST
            and _are_values(kind, self._examples[name, kind])
        ]
        if problems:
            raise InputError(
                f"Columns are not as in training: {'; '.join(problems)}. Write them as then, or "
                "leave the cells empty, so that they count as missing."
            )

    def _swapped(self, columns: dict[str, Column]) -> list[str]:
        """Say which dates are written the other way round: those that can be read are wrong."""
        return [
            f"{name!r} was a {columns[name].describe()}{columns[name].form()}, but {count} of its "
            f"cells are dates only with day and month the other way round{self._such(name, kind)}, "
            "so that no other can be trusted"
            for (name, kind), count in self._counts.items()
            if kind == "swapped" and count >= max(_FEWEST_LOST, self._as_trained.get(name, 0))
        ]

    def _such(self, name: str, kind: str) -> str:
        examples = self._examples[name, kind][:_MOST_EXAMPLES]
        return f", such as {first_few(examples)}" if examples and kind != "infinite" else ""

    def to_plain(self) -> dict[str, Any]:
        """Return what was counted, ready for JSON and for :meth:`add_plain`."""
        counts = [[*key, count, self._examples[key]] for key, count in self._counts.items()]
        return {"counts": counts, "read": sorted(self._read), "as_trained": {**self._as_trained}}

    def add_plain(self, plain: dict[str, Any]) -> None:
        """Count what notes of another part counted.

        Parameters
        ----------
        plain : dict
            Of :meth:`to_plain`.
        """
        self._read.update(plain["read"])
        for column, count in plain.get("as_trained", {}).items():
            self._as_trained[column] = self._as_trained.get(column, 0) + count
        for column, kind, count, examples in plain["counts"]:
            self.add(column, kind, count, examples)

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """Counts by kind and column, ready for JSON."""
        found: dict[str, dict[str, int]] = {}
        for (column, kind), count in self._counts.items():
            found.setdefault(kind, {})[column] = count
        return found

    def sentences(self, *, of_training: bool = False) -> list[str]:
        """Return a sentence for every column and kind.

        Parameters
        ----------
        of_training : bool
            Whether rare values, which are pooled by design, are passed over.
        """
        told = []
        for (column, kind), count in self._counts.items():
            if of_training and kind == "unseen":
                continue
            such = self._such(column, kind)
            told.append(f"Cells of {column!r} that {_WORDS[kind]}: {count}{such}.")
        return told


def _are_values(kind: str, texts: list[str]) -> bool:
    """Whether unreadable texts are values written in another way, not marks such as '?'."""
    if kind == "length":
        return True
    if kind == "boolean":  # two words of another language, say
        return len(texts) > 1
    return len(texts) > _MOST_MARKS or any(char.isdigit() for text in texts for char in text)
