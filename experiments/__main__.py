"""``python -m experiments``: the paper's tables and figures, and the studies."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from experiments.errors import FailedRunsError
from experiments.registry import PAPER_ITEMS, STUDIES
from vqpu.errors import InputError, ParameterError, UsageError, VqpuError

_INTERRUPTED = 130  # what typer makes of Ctrl-C

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def reproduce(
    item: Annotated[
        str,
        typer.Argument(
            help=f"{', '.join(PAPER_ITEMS)} or all of these; or a study: {', '.join(STUDIES)}."
        ),
    ],
    profile: Annotated[
        str, typer.Option(help="smoke (seconds), cpu (what is published) or paper (GPU).")
    ] = "cpu",
    data_dir: Annotated[
        Path | None,
        typer.Option(help="Where the data lie. Default: $VQPU_DATA_DIR, else the per-user cache."),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            help="Such as 0,1,2; records go to runs/ then. Default: those of the settings."
        ),
    ] = None,
    show: Annotated[
        bool, typer.Option("--show", help="Train nothing: the summary from the records.")
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Runs at a time. Default: 1; with --engine ray all CPUs."),
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help="ray: make runs on a Ray cluster. Default: processes here.")
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Of a running cluster. Default: one started here."),
    ] = None,
    only: Annotated[str, typer.Option(help="Run only what has this text in its id.")] = "",
    paper_dir: Annotated[Path, typer.Option(help="Where the settings lie.")] = Path("paper"),
    results_dir: Annotated[
        Path | None,
        typer.Option(help="Where records and summaries go. Default: results for cpu."),
    ] = None,
) -> None:
    """Make the runs of an item, and show it, beside the paper's numbers where there are any.

    Finished runs are skipped, so an interrupted item goes on where it stopped.
    """
    from experiments.runner import Request, check_item, run_item, show_item, split_request
    from experiments.workers import Engine
    from vqpu.distributed._ray import require_ray

    if engine not in (None, "ray") or (engine is None and address is not None):
        raise UsageError("--engine must be ray, and --address is for it alone.")
    if engine is not None:
        require_ray()
    place = Engine(workers, engine is not None, address)
    wanted = None if seeds is None else _parse_seeds(seeds)
    request = Request(item, profile, paper_dir, results_dir, data_dir, wanted, only, place)
    requests = split_request(request)
    for request in () if show else requests:  # all of them before the first is run
        check_item(request)
    failures = []
    for request in requests:
        if not show:
            try:
                run_item(request)
            except FailedRunsError as error:  # what did run is shown first
                failures.append(error)
        print(show_item(request).markdown)
    if failures:
        raise failures[0]


def _parse_seeds(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    are_numbers = all(part.isascii() and part.isdigit() for part in parts)
    if not are_numbers or len({*map(int, parts)}) < len(parts):
        raise InputError(
            f"--seeds must be different whole numbers of at least 0 such as 0,1,2. Got {text!r} "
            "instead."
        )
    return tuple(map(int, parts))


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code.

    Parameters
    ----------
    arguments : list of str or None
        None takes those of the process.

    Returns
    -------
    code : int
        0 done, 1 refused input or failed runs, 2 wrong usage, 130 stopped by Ctrl-C.
    """
    try:
        app(arguments, prog_name="python -m experiments")
    except SystemExit as done:  # how typer ends; the code is an integer or None
        if done.code == _INTERRUPTED:
            _tell("stopped by Ctrl-C; finished runs are recorded.")
        return done.code if isinstance(done.code, int) else 0
    except VqpuError as error:
        _tell(str(error))
        return 2 if isinstance(error, (UsageError, ParameterError)) else 1
    except OSError as error:  # a folder that may not be entered, a full disk
        where = f"{error.filename}: " if error.filename else ""
        _tell(f"{where}{error.strerror or error}.")
        return 1
    return 0


def _tell(text: str) -> None:
    print(f"experiments: {text}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
