"""What an item of the paper is: settings, runs, and a table or figure made from their records.

An item is a module with

``Settings``
    A subclass of :class:`ItemSettings`: one profile's table of ``paper/ITEM.toml``.
``expand(settings) -> dict of run id to config``
    The runs. A config is plain JSON and holds all that a run depends on, its seed included; where
    code changes what a record means, a ``revision`` in the configs makes old records refused. A
    run id is the name of its folder: letters, digits, ``.``, ``_``, ``-``.
``run(config, data_dir) -> RunResult``
    One run; called in a worker process.
``show(records, expected) -> RenderedItem``
    The table and the figure, from records alone; a run that is not there yet is a `Record` whose
    ``metrics`` is None, and is shown as "missing". ``expected`` is the item's table of
    ``paper/expected.toml``.

and, where there is need,

``check(config, data_dir) -> None``
    Refuses a config that cannot be run, for reasons that its settings do not show: unknown names,
    absent data. It is called for every missing run before the first is made.
``RUNS_OF = "ITEM"``
    The item whose settings and records it reads, having no runs of its own; its ``expand`` then
    picks among those runs.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator

from vqpu.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PROFILES = ("smoke", "cpu", "paper")

# In the order in which "all" runs them.
ITEMS: dict[str, str] = {
    "table2": "experiments.items._table2",
    "table1": "experiments.items._table1",
    "figure4": "experiments.items._figure4",
    "table3": "experiments.items._table3",
    "alpha-sweep": "experiments.items._alpha_sweep",
    "scenarios": "experiments.items._scenarios",
    "imbalance": "experiments.items._imbalance",
    "sensitivity": "experiments.items._sensitivity",
    "figure1": "experiments.items._figure1",
    "figure2": "experiments.items._figure2",
    "theorem": "experiments.items._theorem_runs",
    "peers": "experiments.items._peers_runs",
}

Config = dict[str, Any]
Row = dict[str, Any]


class ItemSettings(BaseModel):
    """One profile's table of an item's TOML file; an unknown key is refused.

    Attributes
    ----------
    seeds : tuple of int
        Every run is repeated with each of them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    seeds: tuple[Annotated[int, Field(ge=0)], ...] = Field((0,), min_length=1)

    @field_validator("seeds")
    @classmethod
    def _differ(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        if len({*seeds}) < len(seeds):
            raise ValueError("seeds must differ")
        return seeds

    def with_seeds(self, seeds: tuple[int, ...]) -> Self:
        """Return the same settings with other seeds."""
        return self.model_copy(update={"seeds": seeds})


class RunResult(NamedTuple):
    """What a run gives.

    Attributes
    ----------
    metrics : dict
        Plain numbers, strings and booleans, small.
    history : list of dict
        A row a check, rounded; empty where there is nothing to tell.
    """

    metrics: dict[str, Any]
    history: list[Row]


class Record(NamedTuple):
    """A run as it was read back.

    Attributes
    ----------
    config : dict
    metrics : dict or None
        None: the run is missing.
    history : list of dict
    environment : dict
    """

    config: Config
    metrics: dict[str, Any] | None = None
    history: list[Row] = []  # noqa: RUF012 - never changed
    environment: dict[str, Any] = {}  # noqa: RUF012


class RenderedItem(NamedTuple):
    """A table and a figure.

    Attributes
    ----------
    markdown : str
        What is printed and written to ITEM.md.
    rows : list of dict
        What is written to ITEM.csv; all with the same keys.
    draw : callable
        Draws on an empty figure, which is saved as ITEM.png.
    """

    markdown: str
    rows: list[Row]
    draw: Callable[[Figure], None]


class Item(Protocol):
    """The module of an item; see the top of this file."""

    Settings: type[ItemSettings]

    def expand(self, settings: Any) -> dict[str, Config]:
        """Return the runs."""

    def run(self, config: Config, data_dir: Path | None) -> RunResult:
        """Make one run."""

    def show(self, records: Mapping[str, Record], expected: Mapping[str, Any]) -> RenderedItem:
        """Make the table and the figure."""


def load_item(name: str) -> Item:
    """Return the module of an item."""
    if name not in ITEMS:
        raise InputError(f"Unknown item {name!r}. Valid items are {[*ITEMS, 'all']}.")
    module: Any = importlib.import_module(ITEMS[name])
    return module  # type: ignore[no-any-return]


def check_config(name: str, config: Config, data_dir: Path | None) -> None:
    """Refuse a config of an item that cannot be run."""
    check = getattr(load_item(name), "check", None)
    if check is not None:
        check(config, data_dir)


def runs_of(name: str) -> str:
    """Return the item whose settings and runs an item reads, most often its own."""
    return str(getattr(load_item(name), "RUNS_OF", name))
