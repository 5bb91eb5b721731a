"""What the user says of columns, in place of the guess."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from vqpu.base._parameters import check_choice
from vqpu.base.columns._arrow import first_few
from vqpu.errors import InputError, did_you_mean

MISSING = ("keep", "refuse")


class Wishes(NamedTuple):
    """Which columns are used, and as what.

    Attributes
    ----------
    columns : sequence of str or None
        Only these; None means all.
    drop : collection of str
        All but these.
    number, category, text : collection of str
        Columns that are taken as such, whatever they look like.
    missing : {"keep", "refuse"}
        Whether a missing value is a value like any other, or an error.
    """

    columns: Sequence[str] | None = None
    drop: Collection[str] = ()
    number: Collection[str] = ()
    category: Collection[str] = ()
    text: Collection[str] = ()
    missing: str = "keep"

    def check(self, names: Sequence[str], left_out: Collection[str] = ()) -> None:
        """Raise unless all columns are there and each is wished to be one thing.

        Parameters
        ----------
        names : sequence of str
            The table's columns.
        left_out : collection of str
            Columns with a role of their own, such as that of labels.
        """
        check_choice("missing", self.missing, MISSING)
        for role in ("columns", "drop", "number", "category", "text"):
            given = getattr(self, role)
            if isinstance(given, str):
                raise InputError(
                    f"{role} must be a list of columns. Got the text {given!r}: use [{given!r}]."
                )
            check_columns(names, sorted(given or ()))
        kinds = [*self.number, *self.category, *self.text]
        twice = sorted({name for name in kinds if kinds.count(name) > 1})
        unused = sorted(set(kinds) & {*self.drop, *left_out})
        if twice or unused:
            raise InputError(
                f"Columns are wished to be two things: {first_few(twice or unused)}. Give each to "
                "one of --number, --category, --text and --drop, and none that holds labels or ids."
            )

    def features(self, names: Sequence[str], left_out: Collection[str]) -> list[str]:
        """Return the columns to learn from, in the table's order."""
        chosen = None if self.columns is None else set(self.columns)
        return [
            name
            for name in names
            if name not in left_out and name not in self.drop and (chosen is None or name in chosen)
        ]

    def kind_of(self, name: str) -> str | None:
        """Return what a column shall be, None if that is left to the guess."""
        for kind in ("number", "category", "text"):
            if name in getattr(self, kind):
                return kind
        return None


def check_columns(names: Sequence[str], wanted: Sequence[str], read: Sequence[str] = ()) -> None:
    """Raise if a wanted column is not there, naming those that are.

    Parameters
    ----------
    names : sequence of str
        Of the table.
    wanted : sequence of str
    read : sequence of str
        Those of the wanted ones that a model reads: where one of them is missing, no other of them
        is what was meant.
    """
    known = set(names)
    missing = [name for name in wanted if name not in known]
    if missing:
        others = set(read) if missing[0] in read else set()
        similar = did_you_mean(missing[0], [name for name in names if name not in others])
        raise InputError(
            f"The table lacks the column{'s' * (len(missing) > 1)} {first_few(missing)}."
            f"{similar} It has {first_few(names, 10) or 'no columns'}."
        )
