"""The commands of ``vqpu``."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer

import vqpu
from vqpu.cli import _compare, _data, _evaluate, _features, _fit, _model, _predict, _review
from vqpu.errors import ParameterError, UsageError, VqpuError

_INTERRUPTED = 130  # what typer makes of Ctrl-C

app = typer.Typer(
    name="vqpu",
    help="Learn from positives and unlabelled data, without negatives.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for _command in (
    _fit.fit,
    _predict.predict,
    _predict.rank,
    _predict.explain,
    _model.inspect,
    _model.report,
    _evaluate.evaluate,
    _model.export,
    _compare.compare,
):
    app.command()(_command)
app.add_typer(_review.app, name="review")
app.add_typer(_features.app, name="features")
app.add_typer(_data.app, name="data")


def run(arguments: list[str]) -> int:
    """Run one command; our own errors become one line and exit code 1, wrong usage 2."""
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            app(arguments)
        except SystemExit as done:  # how typer ends; the code is an integer or None
            if done.code == _INTERRUPTED:
                print("vqpu: stopped by Ctrl-C; what is not finished is lost.", file=sys.stderr)
            return done.code if isinstance(done.code, int) else 0
        except VqpuError as error:
            print(f"vqpu: {error}", file=sys.stderr)
            return 2 if isinstance(error, (UsageError, ParameterError)) else 1
        except OSError as error:  # a folder that may not be entered, a name that is too long
            where = f"{error.filename}: " if error.filename else ""
            print(f"vqpu: {where}{error.strerror or error}.", file=sys.stderr)
            return 1
    return 0


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print one line, without the place in the source, which says nothing to a user."""
    print(f"vqpu: warning: {message}", file=sys.stderr)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"vqpu {vqpu.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Learn from positives and unlabelled data, without negatives."""


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("vqpu-demo.png"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the sample and of the training.")] = 0,
) -> None:
    """Even against odd digits: VQ K-means, the naive classifier and the oracle in two minutes."""
    from vqpu.report._demo import run_demo

    run_demo(out, seed)
