"""The runner: an item's missing runs, then its summary from the records."""

from __future__ import annotations

import csv
import io
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch

from experiments.item import Config, Record, Seeds, Summary
from experiments.records import (
    environment,
    find_same_run,
    locked,
    plain,
    read_record,
    write_file,
    write_record,
)
from experiments.registry import PAPER_ITEMS, load_item, runs_of
from experiments.settings import check_profile, read_expected, read_settings
from experiments.workers import Engine, run_jobs
from vqpu.errors import InputError, OutputError

# Records of the cpu profile are published; those of the others must not be taken for them, and
# summaries of other seeds must not replace those of the settings' seeds.
PUBLISHED = {"cpu": Path("results"), "paper": Path("results/paper")}
_RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Request(NamedTuple):
    """What is asked for.

    Attributes
    ----------
    name : str
        An item.
    profile : {"smoke", "cpu", "paper"}
    paper_dir : Path
        Where the TOML files are.
    results_dir : Path or None
        None takes that of the profile, or one in runs/ if there are seeds.
    data_dir : Path or None
        Where the data sets are.
    seeds : tuple of int or None
        None takes those of the settings.
    only : str
        Run only what has this text in its id.
    engine : Engine
        Where runs are made.
    """

    name: str
    profile: str = "cpu"
    paper_dir: Path = Path("paper")
    results_dir: Path | None = None
    data_dir: Path | None = None
    seeds: Seeds | None = None
    only: str = ""
    engine: Engine = Engine()

    @property
    def folder(self) -> Path:
        """Where everything goes, in a folder of each item."""
        if self.results_dir is not None:
            return self.results_dir
        elsewhere = Path("runs") / self.profile
        return elsewhere if self.seeds is not None else PUBLISHED.get(self.profile, elsewhere)

    def run_path(self, run_id: str) -> Path:
        """Where the record of a run goes."""
        return self.folder / runs_of(self.name) / f"{run_id}.json"

    def summary_path(self, ending: str) -> Path:
        """Where the summary goes: md, csv or png."""
        return self.folder / self.name / f"summary.{ending}"


def split_request(request: Request) -> list[Request]:
    """Return a request an item: the one that is named, or the paper's that have such runs.

    Settings, ids, the paper's numbers and the place of the results are looked at, for every item
    before the first is run.
    """
    if request.name != "all":
        wanted = [request]
    else:
        every = [request._replace(name=name) for name in PAPER_ITEMS]
        wanted = [one for one in every if any(request.only in key for key in _configs(one))]
        if not wanted:
            raise InputError(f"No run of any item has {request.only!r} in its id.")
    for one in wanted:
        _chosen(one)
        _expected(one)
    _check_folder(request.folder)
    return wanted


def check_item(request: Request) -> None:
    """Refuse an item if one of its missing runs cannot be made: unknown names, absent data."""
    check = load_item(runs_of(request.name)).check
    for run_id, config in _missing(request).items():
        if find_same_run(request.run_path(run_id), config) is None:
            check(config, request.data_dir)


def run_item(request: Request) -> None:
    """Make the runs of an item that are not there yet."""
    check_item(request)
    name, missing = runs_of(request.name), _missing(request)
    engine = request.engine
    n_threads = 1 if engine.is_ray else torch.get_num_threads() // (engine.workers or 1)
    threads = load_item(name).threads or max(1, n_threads)
    jobs = {
        run_id: (name, config, request.run_path(run_id), request.data_dir, threads)
        for run_id, config in missing.items()
    }
    n_chosen = len(_chosen(request))
    print(
        f"{request.name}, profile {request.profile}, in {request.folder}: {n_chosen} runs, "
        f"{n_chosen - len(jobs)} are there."
    )
    with _progress(request.name, len(jobs)) as report:
        for run_id, seconds in run_jobs(make_run, jobs, engine):
            report(run_id, seconds)


def make_run(
    name: str, config: Config, path: Path, data_dir: Path | None, threads: int
) -> float | None:
    """Make one run and write its record.

    Parameters
    ----------
    name : str
        The item.
    config : dict
    path : Path
        ``RESULTS/ITEM/RUN.json``. What another process is making is waited for, and its record is
        taken, as is that of the same run in another item.
    data_dir : Path or None
    threads : int
        Of torch.

    Returns
    -------
    seconds : float or None
        What the run says it took.
    """
    torch.set_num_threads(threads)
    with locked(path):
        record = read_record(path, config)
        if record.metrics is None:
            same = find_same_run(path, config)
            if same is None:
                result = load_item(name).run(config, data_dir)
                same = Record(config, result.metrics, result.history, environment())
            record = same
            write_record(path, record)
    return (record.metrics or {}).get("seconds")


def read_item(request: Request) -> dict[str, Record]:
    """Return the records of the runs asked for; one that is not finished has no metrics."""
    return {
        run_id: read_record(request.run_path(run_id), config)
        for run_id, config in _chosen(request).items()
    }


def show_item(request: Request) -> Summary:
    """Make the summary of an item from its records, and write it; never train."""
    records = read_item(request._replace(only=""))  # what was not asked for now is shown too
    shown = load_item(request.name).show(records, _expected(request))
    if request.name in PAPER_ITEMS:
        n_missing = sum(record.metrics is None for record in records.values())
        missing = f", {n_missing} of them missing" if n_missing else ""
        head = f"# {request.name}\n\nProfile {request.profile}, {len(records)} runs{missing}.\n\n"
        shown = replace(shown, markdown=f"{head}{shown.markdown.strip()}\n")
    write_file(request.summary_path("md"), shown.markdown.encode())
    if shown.rows:
        write_file(request.summary_path("csv"), csv_text(shown).encode())
    if shown.draw is not None:
        write_file(request.summary_path("png"), _picture(shown.draw))
    return shown


def csv_text(shown: Summary) -> str:
    """Return the rows as CSV, with the keys of the first as its head."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(shown.rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(shown.rows)
    return text.getvalue()


def _expected(request: Request) -> dict[str, object]:
    is_of_paper = request.name in PAPER_ITEMS
    return read_expected(request.name, request.paper_dir) if is_of_paper else {}


def _configs(request: Request) -> dict[str, Config]:
    configs = _expand(request)
    for run_id, config in configs.items():
        if not _RUN_ID.fullmatch(run_id):
            raise InputError(
                f"{run_id!r} of {request.name} cannot be the name of a file: use letters, "
                "digits, '.', '_' and '-' in its settings."
            )
        try:
            plain(config)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"A setting of {run_id} of {request.name} is not a plain value: {error}."
            ) from error
    return configs


def _expand(request: Request) -> dict[str, Config]:
    item = load_item(request.name)
    check_profile(request.profile)
    if item.settings is None:
        if request.profile != "cpu":
            raise InputError(
                f"{request.name} is a study and has no profile {request.profile!r}. Leave "
                "--profile out."
            )
        return item.expand(request.seeds)
    settings = read_settings(request.name, request.profile, request.paper_dir)
    return item.expand(settings if request.seeds is None else settings.with_seeds(request.seeds))


def _chosen(request: Request) -> dict[str, Config]:
    configs = _configs(request)
    chosen = {run_id: config for run_id, config in configs.items() if request.only in run_id}
    if not chosen:
        raise InputError(
            f"No run of {request.name} has {request.only!r} in its id. Ids look like "
            f"{next(iter(configs), 'nothing')!r}."
        )
    return chosen


def _missing(request: Request) -> dict[str, Config]:
    there = read_item(request)
    return {run_id: record.config for run_id, record in there.items() if record.metrics is None}


def _check_folder(folder: Path) -> None:
    """Refuse a folder that cannot be written to; one that is not there is made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise OutputError(
            f"Results cannot be written to {folder}: {error.strerror}. Give another --results-dir."
        ) from error


def _picture(draw: Callable[..., None]) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    draw(figure)
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=120, metadata={"Software": None})
    return picture.getvalue()


@contextmanager
def _progress(title: str, total: int) -> Iterator[Callable[[str, float | None], None]]:
    """Give what tells of a finished run: a line each, below them a bar on a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console = Console(soft_wrap=True, highlight=False)
    is_terminal = sys.stdout.isatty()
    with Progress(
        *columns, TimeElapsedColumn(), console=console, disable=not is_terminal
    ) as progress:
        bar = progress.add_task(title, total=total)

        def advance(run_id: str, seconds: float | None) -> None:
            progress.advance(bar)
            took = "" if seconds is None else f", {seconds:.0f} s"
            console.print(f"{progress.tasks[0].completed:g}/{total} {run_id}{took}")

        yield advance
