"""From record batches to a plan: look at all rows, decide, learn the directions of free text."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from vqpu.base.columns import _arrow as arrow
from vqpu.base.columns._deciding import decide
from vqpu.base.columns._learning import Facts
from vqpu.base.columns._plan import Column, ColumnPlan
from vqpu.base.columns._text import LONGEST_READ, SAMPLE, fit_components
from vqpu.base.columns._wishes import Wishes
from vqpu.errors import InputError

_MOST_SAMPLED = 1 << 25  # bytes of all sampled texts


class BatchSource(Protocol):
    """A table that can be gone through more than once.

    Attributes
    ----------
    name : str
        For messages.
    schema : pyarrow.Schema
    """

    name: str
    schema: Any

    def batches(self, names: Sequence[str]) -> Iterator[Any]:
        """Give record batches of some columns, in order."""


def fit_plan(
    tables: Sequence[BatchSource], wishes: Wishes, left_out: Collection[str] = ()
) -> ColumnPlan:
    """Return how the columns of one table, or of several alike, become numbers.

    Parameters
    ----------
    tables : sequence of BatchSource
    wishes : Wishes
    left_out : collection of str
        Columns that are no features: labels and ids.
    """
    first = tables[0]
    wishes.check(first.schema.names, left_out)
    names = wishes.features(first.schema.names, left_out)
    if not names:
        raise InputError("The table has no column left to learn from.")
    for table in tables[1:]:
        _check_same(names, wishes.features(table.schema.names, left_out), table.name)
    facts = Facts(first.schema, names)
    for table in tables:
        before = facts.n_rows
        facts.begin_table()
        for batch in table.batches(names):
            facts.update(_as_wished(batch, wishes))
        if facts.n_rows == before:
            raise InputError(f"{table.name} has no rows.")
    facts.settle()
    draft = decide(facts, wishes)
    columns = [*draft.columns]
    texts = [column.name for column in columns if column.kind == "text"]
    if texts:
        samples = _sample_texts(tables, texts, facts.n_rows)
        columns = [_with_directions(c, samples[c.name]) if c.kind == "text" else c for c in columns]
    plan = ColumnPlan(tuple(columns), tuple(draft.left_out))
    plan.check()
    return plan


def _check_same(names: list[str], others: list[str], where: str) -> None:
    differing = sorted(set(others) ^ set(names))
    if differing:
        raise InputError(
            f"{where} differs from the first table in having or lacking "
            f"{arrow.first_few(differing)}. Both must have the same columns."
        )


def _as_wished(batch: Any, wishes: Wishes) -> Any:
    """Return a batch whose wished categories and texts are text, whatever their type was."""
    for name in (*wishes.category, *wishes.text):
        place = batch.schema.get_field_index(name)
        if place >= 0 and not arrow.is_text(batch.schema.field(place).type):
            if arrow.is_list(batch.schema.field(place).type):
                raise InputError(f"Column {name!r} holds lists: it is no category and no text.")
            batch = batch.set_column(place, name, arrow.as_text(name, batch.column(place)))
    return batch


def _sample_texts(
    tables: Sequence[BatchSource], names: Sequence[str], n_rows: int
) -> dict[str, list[str]]:
    """Return some texts of every column, from rows all over the tables."""
    rng = np.random.default_rng(0)
    chosen = np.sort(rng.choice(n_rows, min(n_rows, SAMPLE), replace=False))
    most = max(1000, _MOST_SAMPLED // (len(names) * len(chosen)))
    samples: dict[str, list[str]] = {name: [] for name in names}
    start = 0
    for table in tables:
        for batch in table.batches(names):
            stop = start + batch.num_rows
            rows = chosen[(chosen >= start) & (chosen < stop)] - start
            for name in names if len(rows) else ():
                samples[name] += _some(name, batch.column(name), rows, min(most, LONGEST_READ))
            start = stop
    return samples


def _some(name: str, values: Any, rows: Any, most: int) -> list[str]:
    import pyarrow as pa

    texts = arrow.as_text(name, values).take(pa.array(rows))
    return [str(text)[:most] for text in texts.to_pylist() if text is not None]


def _with_directions(column: Column, texts: list[str]) -> Column:
    return column._replace(components=fit_components(texts if len(texts) > 1 else [*texts, ""]))
