"""``vqpu data``: which official data sets are there, fetching them, checking them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vqpu.errors import InputError

if TYPE_CHECKING:
    from rich.progress import TaskID

app = typer.Typer(help="The official data sets: list, fetch, check.", no_args_is_help=True)

_Name = Annotated[str, typer.Argument(help="A data set, as 'vqpu data list' names it.")]
_DataDir = Annotated[
    Path | None,
    typer.Option(help="Where the data lie. Default: $VQPU_DATA_DIR, else the per-user cache."),
]


@app.command("list")
def list_datasets(data_dir: _DataDir = None) -> None:
    """Name the data sets, the size of what is fetched, and which are there."""
    from vqpu.datasets import DATASETS, data_directory, is_present

    print(f"data directory: {data_directory(data_dir)}")
    for name, dataset in DATASETS.items():
        megabytes = sum(remote.n_bytes for remote in dataset.remotes) / 1e6
        size = f"{megabytes:.1f} MB" if dataset.remotes else "-"
        there = "there" if is_present(name, data_dir) else "missing"
        print(f"{name:14} {size:>9}  {there:8} {dataset.licence}")


@app.command()
def fetch(name: _Name, data_dir: _DataDir = None) -> None:
    """Fetch a data set from its official address; every file must match its digest.

    A download that was cut leaves nothing behind: fetch again.
    """
    from vqpu.datasets import fetch_dataset

    with _progress() as report:
        for path in fetch_dataset(name, data_dir, report=report):
            print(f"{path} has the official digest.")


@app.command()
def check(name: _Name, data_dir: _DataDir = None) -> None:
    """Compare a data set's files, digests, shapes and class counts with the official ones."""
    from vqpu.datasets import check_dataset

    n_faults = 0
    for finding in check_dataset(name, data_dir):
        print(f"{'ok    ' if finding.sound else 'FAULT '} {finding.text}")
        n_faults += not finding.sound
    if n_faults:
        raise InputError(f"{name} is not as published: see the lines marked FAULT ({n_faults}).")


@contextmanager
def _progress() -> Iterator[Callable[[str, int, int], None] | None]:
    """Give what draws a bar a file on a terminal; elsewhere nothing is drawn."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as progress:
        bars: dict[str, TaskID] = {}

        def report(place: str, done: int, total: int) -> None:
            if place not in bars:
                bars[place] = progress.add_task(place)
            progress.update(bars[place], completed=done, total=total)

        yield report
