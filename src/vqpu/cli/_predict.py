"""``vqpu predict``, ``rank`` and ``explain``: a model's predictions for files and folders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vqpu.cli import _options as option
from vqpu.errors import UsageError

if TYPE_CHECKING:
    from vqpu.distributed._ray_scoring import RayEngine
    from vqpu.files import Notes
    from vqpu.files._explaining import Explained, Reason
    from vqpu.files._ranking import Ranked

_LONGEST_SHOWN = 60  # letters of a kept cell on the screen


def predict(
    model: option.Model,
    input_path: option.InputPath,
    out: Annotated[
        Path,
        typer.Option(
            help="Result: .csv, .parquet or .jsonl by its ending; with --engine ray also a folder, "
            "which becomes Parquet in parts."
        ),
    ],
    sort: Annotated[bool, typer.Option("--sort", help="Largest score first.")] = False,
    shard: Annotated[
        str | None, typer.Option(metavar="i/n", help="Only every n-th sample, from the i-th.")
    ] = None,
    id_column: option.InputIdColumn = None,
    keep: option.Keep = None,
    missing: option.InputMissing = "keep",
    features: option.InputFeatures = None,
    engine: option.Engine = None,
    address: option.Address = None,
    workers: option.Workers = None,
    as_json: option.AsJson = False,
) -> None:
    """Write label, score and probability of every sample.

    A sample that cannot be judged, such as a torn picture, has a reason instead.
    """
    from vqpu.files._engine import Reading
    from vqpu.files._input_streams import Shard
    from vqpu.files._prediction import predict_file

    scoring = opened_engine(engine, address, workers, out.parent)
    share, kept = Shard.parse(shard or "1/1"), keep or []
    if scoring is not None and not out.suffix:
        if sort:
            raise UsageError("--sort is for one file of results: give --out an ending.")
        reading = Reading(share, id_column, keep=kept, missing=missing, features=features)
        written = scoring.write_parts(model, input_path, reading, out)
    else:
        written = predict_file(
            model,
            input_path,
            out,
            sort=sort,
            shard=share,
            id_column=id_column,
            keep=kept,
            missing=missing,
            features=features,
            engine=scoring,
        )
    if as_json:
        plain = written._asdict() | {"notes": written.notes.counts, "drift": _plain(written.drift)}
        print(json.dumps({"out": str(out), **plain}))
        return
    print_notes(written.notes, _plain(written.drift))
    unjudged = f"; {written.n_broken} cannot be judged, see their reason" * bool(written.n_broken)
    print(f"{out}: {written.n_rows} samples, {written.n_positive} called positive{unjudged}.")


def opened_engine(
    engine: str | None, address: str | None, workers: int | None, folder: Path
) -> RayEngine | None:
    """Return what scores in other processes; None: this one does."""
    if engine is None:
        if address is not None or workers is not None:
            raise UsageError("--address and --workers are for --engine ray: give it with them.")
        return None
    if engine != "ray":
        raise UsageError(f"--engine must be ray. Got {engine!r} instead.")
    from vqpu.distributed._ray import require_ray
    from vqpu.distributed._ray_scoring import RayEngine

    require_ray()
    return RayEngine(address, workers, folder)


def print_notes(notes: Notes, drift: dict[str, Any] | None = None) -> None:
    """Print what was noticed in the input, and drift if there is any, where errors go."""
    sentences = notes.sentences()
    if drift is not None and drift["level"] != "ok":
        sentences.append(drift["sentence"])
    for sentence in sentences:
        typer.echo(f"vqpu: note: {sentence}", err=True)


def _plain(finding: Any) -> dict[str, Any] | None:
    return None if finding is None else dict(finding._asdict())


def rank(
    model: option.Model,
    input_path: option.InputPath,
    top: Annotated[int, typer.Option(min=1, help="How many.")] = 100,
    out: Annotated[
        Path | None, typer.Option(help="Also write them: .csv, .parquet or .jsonl.")
    ] = None,
    sheet: Annotated[
        Path | None, typer.Option(help="PNG with the pictures, best first (images only).")
    ] = None,
    include_labeled: option.IncludeLabeled = False,
    labels: Annotated[
        Path | None,
        typer.Option(help="CSV of labels of a folder: files it calls positive do not compete."),
    ] = None,
    file_column: option.InputFileColumn = "file",
    id_column: option.InputIdColumn = None,
    keep: option.Keep = None,
    missing: option.InputMissing = "keep",
    features: option.InputFeatures = None,
    engine: option.Engine = None,
    address: option.Address = None,
    workers: option.Workers = None,
    as_json: option.AsJson = False,
) -> None:
    """List the most likely hidden positives, best first."""
    from vqpu.files._ranking import MOST_TILES, rank_file

    if include_labeled and labels is not None:
        raise UsageError(
            "--labels leaves labelled files out, --include-labeled does not: give one of them."
        )

    ranked = rank_file(
        model,
        input_path,
        top=top,
        out=out,
        sheet=sheet,
        include_labeled=include_labeled,
        labels_file=labels,
        file_column=file_column,
        id_column=id_column,
        keep=keep or [],
        missing=missing,
        features=features,
        engine=opened_engine(engine, address, workers, Path() if out is None else out.parent),
    )
    if as_json:
        kept = list(ranked.best.kept_columns())
        best = [_plain_row(row, kept) for row in ranked.best.rows()]
        counts = {name: count for name, count in ranked._asdict().items() if name != "best"}
        counts |= {"notes": ranked.notes.counts, "drift": _plain(ranked.drift)}
        print(json.dumps({**counts, "best": best}))
        return
    print_notes(ranked.notes, _plain(ranked.drift))
    _print_ranking(ranked)
    if out is not None:
        typer.echo(f"written to {out}", err=True)
    if sheet is not None:
        shown = min(len(ranked.best), MOST_TILES)
        typer.echo(f"{sheet} shows the first {shown} of them", err=True)


def _plain_row(row: tuple[Any, ...], kept: list[str]) -> dict[str, Any]:
    name, label, score, probability, _, *values = row
    found = {"name": name, "label": label, "score": score, "probability": probability}
    return {**found, "kept": dict(zip(kept, values, strict=True))} if kept else found


def _print_ranking(ranked: Ranked) -> None:
    kept = "".join(f"  {name}" for name in ranked.best.kept_columns())
    print(f"{'place':>5}  {'prob.':>6}  {'score':>9}  name{kept}")
    for place, (name, _, score, probability, _, *values) in enumerate(ranked.best.rows(), 1):
        shown = str(name).encode("utf-8", "backslashreplace").decode()
        cells = "".join(f"  {_on_a_line(value)}" for value in values)
        print(f"{place:5}  {probability:.4f}  {score:9.3f}  {shown}{cells}")
    _print_counts(len(ranked.best), ranked)


def _on_a_line(value: Any) -> str:
    """Return the beginning of a cell without what would leave the line or steer a terminal."""
    text = "" if value is None else str(value)[:_LONGEST_SHOWN]
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _print_counts(n_shown: int, found: Ranked | Explained) -> None:
    left_out = [
        f"{count} {kind} ones left out"
        for count, kind in ((found.n_labeled, "labelled"), (found.n_broken, "broken"))
        if count
    ]
    aside = f" ({', '.join(left_out)})" if left_out else ""
    typer.echo(f"best {n_shown} of {found.n_seen} samples{aside}", err=True)


def explain(
    model: option.Model,
    input_path: option.InputPath,
    top: Annotated[int, typer.Option(min=1, help="How many samples.")] = 20,
    include_labeled: option.IncludeLabeled = False,
    id_column: option.InputIdColumn = None,
    missing: option.InputMissing = "keep",
    features: option.InputFeatures = None,
    as_json: option.AsJson = False,
) -> None:
    """List the most likely hidden positives with the columns that speak for and against each."""
    from vqpu.files._explaining import explain_file

    explained = explain_file(
        model,
        input_path,
        top=top,
        include_labeled=include_labeled,
        id_column=id_column,
        missing=missing,
        features=features,
    )
    if as_json:
        print(json.dumps(_plain_explanation(explained), allow_nan=False))
        return
    print_notes(explained.notes)
    print(f"{'prob.':>6}  name, then the columns that speak most for (+) and against (-) it")
    for sample in explained.samples:
        shown = str(sample.name).encode("utf-8", "backslashreplace").decode()
        reasons = ", ".join(
            reason.text for reason in [*sample.reasons_for, *sample.reasons_against]
        )
        print(f"{sample.probability:.4f}  {shown}: {reasons or 'none'}")
    _print_counts(len(explained.samples), explained)
    overall = ", ".join(f"{name} {share:.1%}" for name, share in explained.importance[:10])
    typer.echo(f"overall: {overall}", err=True)


def _plain_explanation(explained: Explained) -> dict[str, Any]:
    def plain(reasons: list[Reason]) -> list[dict[str, Any]]:
        return [
            reason._asdict() | {"words": {one.word: one.contribution for one in reason.words}}
            for reason in reasons
        ]

    return {
        "n_seen": explained.n_seen,
        "n_labeled": explained.n_labeled,
        "n_broken": explained.n_broken,
        "notes": explained.notes.counts,
        "importance": dict(explained.importance),
        "samples": [
            {
                "name": sample.name,
                "probability": sample.probability,
                "for": plain(sample.reasons_for),
                "against": plain(sample.reasons_against),
            }
            for sample in explained.samples
        ],
    }
