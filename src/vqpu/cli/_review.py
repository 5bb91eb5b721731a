"""``vqpu review``: the page in the browser, and its decisions as a table."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from vqpu.cli import _options as option

_DEFAULT = "open"


class _OpensByDefault(TyperGroup):
    """``vqpu review MODEL INPUT`` is ``vqpu review open MODEL INPUT``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the command's name before arguments that do not begin with one."""
        if args and args[0] not in self.commands and args[0] not in ("--help",):
            args = [_DEFAULT, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_OpensByDefault,
    help="Look at the ranked list in the browser and decide: vqpu review MODEL INPUT.",
    no_args_is_help=True,
    add_completion=False,
)


@app.command(name=_DEFAULT)
def open_page(
    model: option.Model,
    input_path: option.InputPath,
    decisions: Annotated[
        Path | None,
        typer.Option(help="File of decisions, .jsonl. Default: MODEL.decisions.jsonl."),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(help="What vqpu predict wrote for INPUT, so that nothing is scored again."),
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="CSV of labels of a folder: which files are positive.")
    ] = None,
    file_column: option.InputFileColumn = "file",
    id_column: option.InputIdColumn = None,
    features: option.InputFeatures = None,
    reviewer: Annotated[str | None, typer.Option(help="Who decides. Default: you.")] = None,
    host: Annotated[
        str, typer.Option(help="Where to listen; anything but 127.0.0.1 lets others in.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address and open nothing.")
    ] = False,
) -> None:
    """Review samples in the browser: this is what vqpu review MODEL INPUT does."""
    from vqpu.review._serving import Place, check_installed, serve_review
    from vqpu.review._session import ReviewRequest

    check_installed()
    place = Path(f"{str(model).rstrip('/')}.decisions.jsonl")
    request = ReviewRequest(
        model, input_path, decisions or place, scores, labels, file_column, id_column, features
    )
    serve_review(
        request,
        Place(host, port, not no_browser),
        (reviewer or _user())[:80],
        lambda line: print(line, flush=True),
    )


@app.command()
def export(
    decisions: Annotated[Path, typer.Argument(metavar="DECISIONS", help="File of vqpu review.")],
    out: Annotated[Path, typer.Option(help="Result: .csv, .parquet or .jsonl by its ending.")],
) -> None:
    """Write the decisions that count, one an item: those taken back or replaced are left out."""
    from vqpu.review._exporting import export_decisions

    count = export_decisions(decisions, out)
    print(f"{out}: {count} decisions.")


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a container without a name for its user
        return "reviewer"
