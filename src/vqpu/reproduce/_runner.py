"""The runner: an item's missing runs, then its table and figure from the records."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from vqpu._atomic import replacing
from vqpu.errors import InputError
from vqpu.experiments import count_threads, run_jobs
from vqpu.reproduce._items import ITEMS, Config, Record, Shown, load_item, runs_of
from vqpu.reproduce._records import is_finished, make_run, read_run, take_twin
from vqpu.reproduce._settings import read_expected, read_settings

# Records of the cpu profile are published; those of the others must not be taken for them.
RESULTS = {
    "smoke": Path("runs/reproduce-smoke"),
    "cpu": Path("results/reproduce"),
    "paper": Path("results/reproduce-paper"),
}


class Request(NamedTuple):
    """What is asked for.

    Attributes
    ----------
    name : str
        A key of ``ITEMS``.
    profile : {"smoke", "cpu", "paper"}
    paper_dir : Path
        Where the TOML files are.
    results_dir : Path or None
        None takes that of the profile.
    data_dir : Path or None
        Where the data sets are.
    seeds : tuple of int or None
        None takes those of the settings.
    only : str
        Run only what has this text in its id.
    workers : int
        Processes at a time.
    """

    name: str
    profile: str = "cpu"
    paper_dir: Path = Path("paper")
    results_dir: Path | None = None
    data_dir: Path | None = None
    seeds: tuple[int, ...] | None = None
    only: str = ""
    workers: int = 1

    @property
    def folder(self) -> Path:
        """Where the tables go, and the runs in a folder of each item."""
        return RESULTS[self.profile] if self.results_dir is None else self.results_dir

    def run_folder(self, run_id: str) -> Path:
        """Where a run goes."""
        return self.folder / runs_of(self.name) / run_id


def requested_items(name: str) -> list[str]:
    """Return the items that a name stands for: itself, or all."""
    if name == "all":
        return list(ITEMS)
    load_item(name)
    return [name]


def run_item(request: Request) -> None:
    """Make the runs of an item that are not there yet."""
    chosen = _chosen(request)
    threads = max(1, count_threads() // request.workers)
    jobs = {
        run_id: (
            runs_of(request.name),
            config,
            request.run_folder(run_id),
            request.data_dir,
            threads,
        )
        for run_id, config in chosen.items()
        if not is_finished(request.run_folder(run_id), config)
        and not take_twin(request.run_folder(run_id), config, request.folder)
    }
    n_there = len(chosen) - len(jobs)
    print(f"{request.name}, profile {request.profile}: {len(chosen)} runs, {n_there} are there.")
    with _progress(request.name, len(jobs)) as report:
        for run_id, seconds in run_jobs(make_run, jobs, request.workers):
            report(run_id, seconds)


def read_item(request: Request) -> dict[str, Record]:
    """Return the records of the runs asked for; one that is not finished has no metrics."""
    return {
        run_id: read_run(request.run_folder(run_id), config)
        for run_id, config in _chosen(request).items()
    }


def show_item(request: Request) -> Shown:
    """Make the table and the figure of an item from its records, and write them; never train."""
    records = read_item(request._replace(only=""))  # what was not asked for now is shown too
    expected = read_expected(request.name, request.paper_dir)
    shown = load_item(request.name).show(records, expected)
    n_missing = sum(record.metrics is None for record in records.values())
    missing = f", {n_missing} of them missing" if n_missing else ""
    heading = f"# {request.name}\n\nProfile {request.profile}, {len(records)} runs{missing}.\n\n"
    shown = shown._replace(markdown=f"{heading}{shown.markdown.strip()}\n")
    _write(request.folder / f"{request.name}.md", shown.markdown.encode())
    _write(request.folder / f"{request.name}.csv", csv_text(shown).encode())
    _write(request.folder / f"{request.name}.png", _picture(shown))
    return shown


def csv_text(shown: Shown) -> str:
    """Return the rows as CSV, with the keys of the first as its head."""
    text = io.StringIO()
    if shown.rows:
        writer = csv.DictWriter(text, list(shown.rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(shown.rows)
    return text.getvalue()


def _configs(request: Request) -> dict[str, Config]:
    settings = read_settings(request.name, request.profile, request.paper_dir)
    if request.seeds is not None:
        settings = settings.with_seeds(request.seeds)
    return load_item(request.name).expand(settings)


def _chosen(request: Request) -> dict[str, Config]:
    configs = _configs(request)
    chosen = {run_id: config for run_id, config in configs.items() if request.only in run_id}
    if not chosen:
        raise InputError(
            f"No run of {request.name} has {request.only!r} in its id. Ids look like "
            f"{next(iter(configs), 'nothing')!r}."
        )
    return chosen


def _picture(shown: Shown) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    shown.draw(figure)
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=120, metadata={"Software": None})
    return picture.getvalue()


def _write(path: Path, content: bytes) -> None:
    with replacing(path) as file:
        file.write(content)


@contextmanager
def _progress(title: str, total: int) -> Iterator[Callable[[str, float | None], None]]:
    """Give what tells of a finished run: a bar on a terminal, lines elsewhere."""
    n_done = 0

    def line(run_id: str, seconds: float | None) -> str:
        took = "" if seconds is None else f", {seconds:.0f} s"
        return f"{n_done}/{total} {run_id}{took}"

    if not sys.stdout.isatty():

        def print_line(run_id: str, seconds: float | None) -> None:
            nonlocal n_done
            n_done += 1
            print(line(run_id, seconds), flush=True)

        yield print_line
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn()) as progress:
        bar = progress.add_task(title, total=total)

        def advance(run_id: str, seconds: float | None) -> None:
            nonlocal n_done
            n_done += 1
            progress.console.print(line(run_id, seconds), highlight=False)
            progress.advance(bar)

        yield advance
