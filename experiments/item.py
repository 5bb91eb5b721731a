"""What an item is: runs, and a summary that is made from their records.

The paper's tables and figures are items, and so are the studies; ``registry.py`` lists them. An
item of the paper has settings, a table in ``paper/ITEM.toml`` for every profile; a study has its
settings in its own module.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Config = dict[str, Any]
Row = dict[str, Any]
Seeds = tuple[int, ...]


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
    def _differ(cls, seeds: Seeds) -> Seeds:
        if len({*seeds}) < len(seeds):
            raise ValueError("seeds must differ")
        return seeds

    def with_seeds(self, seeds: Seeds) -> Self:
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


@dataclass(frozen=True)
class Record:
    """A run as it was read back.

    Attributes
    ----------
    config : dict
        All that was asked for.
    metrics : dict or None
        None: the run is missing.
    history : list of dict
    environment : dict
    copied_from : str or None
        Item and id of the run that had the same config and was taken over.
    """

    config: Config
    metrics: dict[str, Any] | None = None
    history: list[Row] = field(default_factory=list)
    environment: dict[str, Any] = field(default_factory=dict)
    copied_from: str | None = None

    @property
    def values(self) -> dict[str, Any]:
        """What was asked for and what came of it, by name."""
        return {**self.config, **(self.metrics or {})}


@dataclass(frozen=True)
class Summary:
    """What an item shows.

    Attributes
    ----------
    markdown : str
        What is printed and written to summary.md.
    rows : list of dict
        What is written to summary.csv, if any; all with the same keys.
    draw : callable or None
        Draws on an empty figure, which is saved as summary.png.
    """

    markdown: str
    rows: list[Row] = field(default_factory=list)
    draw: Callable[[Figure], None] | None = None


def finished(records: Mapping[str, Record]) -> list[Record]:
    """Return the runs that are there."""
    return [record for record in records.values() if record.metrics is not None]


def accept(config: Config, data_dir: Path | None) -> None:
    """Refuse nothing."""


@dataclass
class Item:
    """A table, a figure or a study.

    Attributes
    ----------
    expand : callable (settings) -> dict of run id to config
        The runs. A config is plain JSON and holds all that a run depends on, its seed included;
        where code changes what a record means, a ``revision`` in the configs makes old records
        refused. A run id is the name of its file: letters, digits, ``.``, ``_``, ``-``. A study
        is given the seeds that were asked for, None for its own.
    run : callable (config, data_dir) -> RunResult
        One run; called in a worker process.
    show : callable (records, expected) -> Summary
        From records alone; a run that is not there yet is a `Record` whose ``metrics`` is None, and
        is shown as "missing". ``expected`` is the item's table of ``paper/expected.toml``.
    settings : type or None
        Of the TOML file; None for a study.
    check : callable (config, data_dir) -> None
        Refuses a config that cannot be run, for reasons that its settings do not show: unknown
        names, absent data. It is called for every missing run before the first is made.
    runs_of : str or None
        The item whose settings and records it reads, having no runs of its own; its ``expand``
        then picks among those runs.
    threads : int or None
        Of every run; None shares out those that there are among the workers.
    """

    expand: Callable[[Any], dict[str, Config]]
    run: Callable[[Config, Path | None], RunResult]
    show: Callable[[Mapping[str, Record], Mapping[str, Any]], Summary]
    settings: type[ItemSettings] | None = None
    check: Callable[[Config, Path | None], None] = accept
    runs_of: str | None = None
    threads: int | None = None


def study(
    expand: Callable[[Seeds | None], dict[str, Config]],
    run: Callable[[Config, Path | None], RunResult],
    summary: Callable[[list[Record]], str],
    *,
    check: Callable[[Config, Path | None], None] = accept,
    threads: int | None = 1,
) -> Item:
    """Return a study: an item without a TOML file that shows one text of the runs that are there.

    Parameters
    ----------
    expand, run, check, threads
        As in :class:`Item`.
    summary : callable (records) -> str
        Given in the order of their ids.
    """

    def show(records: Mapping[str, Record], _: Mapping[str, Any]) -> Summary:
        there = finished({run_id: records[run_id] for run_id in sorted(records)})
        n_missing = len(records) - len(there)
        note = f"\n{n_missing} of {len(records)} runs are missing.\n" if n_missing else ""
        return Summary((summary(there) if there else "") + note)

    return Item(expand, run, show, check=check, threads=threads)
