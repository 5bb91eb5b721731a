"""History: one row a check, one named column a number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Row = dict[str, Any]


class History:
    """What was seen at every check, in order.

    Attributes
    ----------
    rows : list of dict
        Plain numbers and booleans, ready for JSON or ``pandas.DataFrame(history.rows)``.
    """

    def __init__(self, rows: list[Row] | None = None) -> None:
        self.rows: list[Row] = [] if rows is None else rows

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __getitem__(self, index: int) -> Row:
        return self.rows[index]

    def __repr__(self) -> str:
        columns = list(self.rows[0]) if self.rows else []
        return f"History({len(self.rows)} checks, columns {columns})"

    def append(self, row: Row) -> None:
        """Add the row of one check."""
        self.rows.append(row)

    def column(self, name: str) -> list[Any]:
        """Return one column as a list."""
        return [row[name] for row in self.rows]

    def rounds(self) -> list[int]:
        """Return the round of every check, from 1; methods without rounds have one."""
        return [int(row.get("round", 1)) for row in self.rows]

    def mark_largest(self, name: str, count: int, mark: str) -> None:
        """Set ``mark`` to True in the ``count`` rows with the largest ``name``, else to False.

        Only rows of the last round are marked: those before are of other networks.
        """
        rounds = self.rounds()
        last = [index for index, number in enumerate(rounds) if number == rounds[-1]]
        ranked = sorted(last, key=lambda index: -self.rows[index][name])
        chosen = set(ranked[:count])
        for index, row in enumerate(self.rows):
            row[mark] = index in chosen
