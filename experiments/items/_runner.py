"""The runner: an item's missing runs, then its table and figure from the records."""

from __future__ import annotations

import csv
import io
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from experiments import count_threads, run_jobs
from experiments.items._items import (
    ITEMS,
    Config,
    Record,
    RenderedItem,
    check_config,
    load_item,
    runs_of,
)
from experiments.items._records import digest, find_twin, is_finished, make_run, read_run
from experiments.items._settings import read_expected, read_settings
from vqpu.errors import InputError, OutputError
from vqpu.persistence._atomic import replacing

# Records of the cpu profile are published; those of the others must not be taken for them.
RESULTS = {
    "smoke": Path("runs/reproduce-smoke"),
    "cpu": Path("results/reproduce"),
    "paper": Path("results/reproduce-paper"),
}
# Tables of other seeds must not replace those of the settings' seeds.
OTHER_SEEDS = {
    "smoke": RESULTS["smoke"],
    "cpu": Path("runs/reproduce-cpu"),
    "paper": Path("runs/reproduce-paper"),
}
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


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
        None takes that of the profile, or another one if there are seeds.
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
        if self.results_dir is not None:
            return self.results_dir
        return (RESULTS if self.seeds is None else OTHER_SEEDS)[self.profile]

    def run_folder(self, run_id: str) -> Path:
        """Where a run goes."""
        return self.folder / runs_of(self.name) / run_id


def split_request(request: Request) -> list[Request]:
    """Return a request an item: the one that is named, or all that have runs of the wanted ids.

    Settings, ids, the paper's numbers and the place of the results are looked at, for every item
    before the first is run.
    """
    if request.name != "all":
        wanted = [request]
    else:
        every = [request._replace(name=name) for name in ITEMS]
        wanted = [one for one in every if any(request.only in key for key in _configs(one))]
        if not wanted:
            raise InputError(f"No run of any item has {request.only!r} in its id.")
    for one in wanted:
        _chosen(one)
        read_expected(one.name, one.paper_dir)
    _check_folder(request.folder)
    return wanted


def check_item(request: Request) -> None:
    """Refuse an item if one of its missing runs cannot be made: unknown names, absent data."""
    for run_id, config in _chosen(request).items():
        folder = request.run_folder(run_id)
        if not is_finished(folder, config) and find_twin(folder, config) is None:
            check_config(runs_of(request.name), config, request.data_dir)


def run_item(request: Request) -> None:
    """Make the runs of an item that are not there yet."""
    check_item(request)
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
    }
    print(
        f"{request.name}, profile {request.profile}, in {request.folder}: {len(chosen)} runs, "
        f"{len(chosen) - len(jobs)} are there."
    )
    with _progress(request.name, len(jobs)) as report:
        for run_id, seconds in run_jobs(make_run, jobs, request.workers):
            report(run_id, seconds)


def read_item(request: Request) -> dict[str, Record]:
    """Return the records of the runs asked for; one that is not finished has no metrics."""
    return {
        run_id: read_run(request.run_folder(run_id), config)
        for run_id, config in _chosen(request).items()
    }


def show_item(request: Request) -> RenderedItem:
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


def csv_text(shown: RenderedItem) -> str:
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
    configs = load_item(request.name).expand(settings)
    for run_id, config in configs.items():
        if not _RUN_ID.fullmatch(run_id):
            raise InputError(
                f"{run_id!r} of {request.name} cannot be the name of a folder: use letters, "
                "digits, '.', '_' and '-' in its settings."
            )
        try:
            digest(config)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"A setting of {run_id} of {request.name} is not a plain value: {error}."
            ) from error
    return configs


def _check_folder(folder: Path) -> None:
    """Refuse a folder that cannot be written to; one that is not there is made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise OutputError(
            f"Results cannot be written to {folder}: {error.strerror}. Give another --results-dir."
        ) from error


def _chosen(request: Request) -> dict[str, Config]:
    configs = _configs(request)
    chosen = {run_id: config for run_id, config in configs.items() if request.only in run_id}
    if not chosen:
        raise InputError(
            f"No run of {request.name} has {request.only!r} in its id. Ids look like "
            f"{next(iter(configs), 'nothing')!r}."
        )
    return chosen


def _picture(shown: RenderedItem) -> bytes:
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
