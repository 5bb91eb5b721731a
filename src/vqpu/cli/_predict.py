"""``vqpu predict``, ``rank`` and ``evaluate``: a model's predictions for files and folders."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vqpu.errors import UsageError

if TYPE_CHECKING:
    from vqpu.distributed._ray_scoring import RayEngine
    from vqpu.files import Notes
    from vqpu.files._explaining import Explained, Reason
    from vqpu.files._ranking import Ranked

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Directory of a model.")]
InputPath = Annotated[
    str,
    typer.Argument(
        metavar="INPUT",
        help="Folder, array or table, of the kind that was fitted; a table also by an address in "
        "an object store, such as s3://bucket/sales/.",
    ),
]
IdColumn = Annotated[
    str | None, typer.Option("--id", help="Column that names rows. Default: as in training.")
]
Keep = Annotated[
    list[str] | None,
    typer.Option(help="Column of the table that goes into the result; may be repeated."),
]
Missing = Annotated[
    str, typer.Option(help="keep: missing values are values like others. refuse: an error.")
]
Features = Annotated[
    str | None,
    typer.Option(
        metavar="EXTRACTOR",
        help="Where the pretrained network of a model on features lies now. Default: where it lay "
        "in training.",
    ),
]
Engine = Annotated[
    str | None,
    typer.Option(help="ray: score in parts on a Ray cluster. Default: in this process."),
]
Address = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT",
        help="With --engine ray: a running cluster, or auto. Default: one on this machine.",
    ),
]
Workers = Annotated[
    int | None, typer.Option(min=1, help="With --engine ray: parts at once. Default: all CPUs.")
]
_SHARES = ("recall", "precision", "f1", "auc", "proxy_auc")
BEYOND_BOUNDS = (
    "Estimates below 0 or above 1 mean that alpha or the scenario does not fit these data."
)
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]


def predict(
    model: Model,
    input_path: InputPath,
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
    id_column: IdColumn = None,
    keep: Keep = None,
    missing: Missing = "keep",
    features: Features = None,
    engine: Engine = None,
    address: Address = None,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Write label, score and probability of every sample.

    A sample that cannot be judged, such as a torn picture, has a reason instead.
    """
    from vqpu.files._engine import Reading
    from vqpu.files._input_streams import Shard
    from vqpu.files._prediction import predict_file

    scoring = _opened_engine(engine, address, workers, out.parent)
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
    _print_notes(written.notes, _plain(written.drift))
    unjudged = f"; {written.n_broken} cannot be judged, see their reason" * bool(written.n_broken)
    print(f"{out}: {written.n_rows} samples, {written.n_positive} called positive{unjudged}.")


def _opened_engine(
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


def _print_notes(notes: Notes, drift: dict[str, Any] | None = None) -> None:
    sentences = notes.sentences()
    if drift is not None and drift["level"] != "ok":
        sentences.append(drift["sentence"])
    for sentence in sentences:
        typer.echo(f"vqpu: note: {sentence}", err=True)


def _plain(finding: Any) -> dict[str, Any] | None:
    return None if finding is None else dict(finding._asdict())


def rank(
    model: Model,
    input_path: InputPath,
    top: Annotated[int, typer.Option(min=1, help="How many.")] = 100,
    out: Annotated[
        Path | None, typer.Option(help="Also write them: .csv, .parquet or .jsonl.")
    ] = None,
    sheet: Annotated[
        Path | None, typer.Option(help="PNG with the pictures, best first (images only).")
    ] = None,
    include_labeled: Annotated[
        bool,
        typer.Option(
            "--include-labeled",
            help="Let rows compete that the label column says are positive already.",
        ),
    ] = False,
    labels: Annotated[
        Path | None,
        typer.Option(help="CSV of labels of a folder: files it calls positive do not compete."),
    ] = None,
    file_column: Annotated[str, typer.Option(help="Its column of file names.")] = "file",
    id_column: IdColumn = None,
    keep: Keep = None,
    missing: Missing = "keep",
    features: Features = None,
    engine: Engine = None,
    address: Address = None,
    workers: Workers = None,
    as_json: AsJson = False,
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
        engine=_opened_engine(engine, address, workers, Path() if out is None else out.parent),
    )
    if as_json:
        keys = ("name", "label", "score", "probability")
        best = [dict(zip(keys, row[:4], strict=True)) for row in ranked.best.rows()]
        counts = {name: count for name, count in ranked._asdict().items() if name != "best"}
        counts |= {"notes": ranked.notes.counts, "drift": _plain(ranked.drift)}
        print(json.dumps({**counts, "best": best}))
        return
    _print_notes(ranked.notes, _plain(ranked.drift))
    _print_ranking(ranked)
    if sheet is not None and len(ranked.best) > MOST_TILES:
        typer.echo(f"{sheet} shows the first {MOST_TILES} of them", err=True)


def _print_ranking(ranked: Ranked) -> None:
    print(f"{'place':>5}  {'prob.':>6}  {'score':>9}  name")
    for place, (name, _, score, probability, *_) in enumerate(ranked.best.rows(), 1):
        shown = str(name).encode("utf-8", "backslashreplace").decode()
        print(f"{place:5}  {probability:.4f}  {score:9.3f}  {shown}")
    left_out = [
        f"{count} {kind} ones left out"
        for count, kind in ((ranked.n_labeled, "labelled"), (ranked.n_broken, "broken"))
        if count
    ]
    aside = f" ({', '.join(left_out)})" if left_out else ""
    typer.echo(f"best {len(ranked.best)} of {ranked.n_seen} samples{aside}", err=True)


def explain(
    model: Model,
    input_path: InputPath,
    top: Annotated[int, typer.Option(min=1, help="How many samples.")] = 20,
    id_column: IdColumn = None,
    missing: Missing = "keep",
    features: Features = None,
    as_json: AsJson = False,
) -> None:
    """List the most likely positives with the columns that speak for and against each."""
    from vqpu.files._explaining import explain_file

    explained = explain_file(
        model,
        input_path,
        top=top,
        id_column=id_column,
        missing=missing,
        features=features,
    )
    if as_json:
        print(json.dumps(_plain_explanation(explained), allow_nan=False))
        return
    _print_notes(explained.notes)
    print(f"{'prob.':>6}  name, then the columns that speak most for (+) and against (-) it")
    for sample in explained.samples:
        shown = str(sample.name).encode("utf-8", "backslashreplace").decode()
        reasons = ", ".join(
            reason.text for reason in [*sample.reasons_for, *sample.reasons_against]
        )
        print(f"{sample.probability:.4f}  {shown}: {reasons or 'none'}")
    typer.echo(f"best {len(explained.samples)} of {explained.n_seen} samples", err=True)
    overall = ", ".join(f"{name} {share:.1%}" for name, share in explained.importance[:10])
    typer.echo(f"overall: {overall}", err=True)


def _plain_explanation(explained: Explained) -> dict[str, Any]:
    def plain(reasons: list[Reason]) -> list[dict[str, Any]]:
        return [reason._asdict() for reason in reasons]

    return {
        "n_seen": explained.n_seen,
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


def evaluate(
    model: Model,
    input_path: InputPath,
    label: Annotated[str | None, typer.Option(help="Column of labels.")] = None,
    positive: Annotated[
        str | None, typer.Option(help="Value of positives. Default: as in training.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="For a folder of images: CSV of files and labels.")
    ] = None,
    file_column: Annotated[str, typer.Option(help="Its column of file names.")] = "file",
    scenario: Annotated[
        str | None,
        typer.Option(
            help="case-control or single-set: other labels then mean unlabelled, not negative, and "
            "scores are estimated without negatives."
        ),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(help="With --scenario: positives among the unlabelled. Default: the model's."),
    ] = None,
    missing: Missing = "keep",
    features: Features = None,
    skip_broken: Annotated[
        bool, typer.Option("--skip-broken", help="Leave out images that cannot be decoded.")
    ] = False,
    decisions: Annotated[
        Path | None,
        typer.Option(help="Decisions of vqpu review: its random audit takes the place of labels."),
    ] = None,
    engine: Engine = None,
    address: Address = None,
    workers: Workers = None,
    as_json: AsJson = False,
) -> None:
    """Score a model on labelled data: with the truth, or with --scenario by PU labels alone."""
    from vqpu.files import Notes
    from vqpu.files._evaluation import evaluate_file

    if decisions is not None:
        if scenario is not None or alpha is not None:
            raise UsageError("--decisions needs neither --scenario nor --alpha: leave them out.")
        if engine is not None:
            raise UsageError("--decisions has few samples: leave --engine out.")
        _print_audit(model, input_path, decisions, labels, file_column, as_json=as_json)
        return
    notes = Notes()
    scores = evaluate_file(
        model,
        input_path,
        label=label,
        positive=positive,
        labels_file=labels,
        file_column=file_column,
        on_broken="skip" if skip_broken else "raise",
        scenario=scenario,
        alpha=alpha,
        missing=missing,
        features=features,
        notes=notes,
        engine=_opened_engine(engine, address, workers, Path()),
    )
    if as_json:
        print(json.dumps({**scores, "notes": notes.counts}))
        return
    _print_notes(notes, scores.pop("drift"))
    for name, value in scores.items():
        shown = f"{value:.4f}" if isinstance(value, float) else value
        print(f"{name.replace('_', ' '):18} {shown}")
    if not within_bounds(scores):
        typer.echo(BEYOND_BOUNDS, err=True)


def _print_audit(
    model: Path,
    input_path: str,
    decisions: Path,
    labels: Path | None,
    file_column: str,
    *,
    as_json: bool,
) -> None:
    from vqpu.review._evaluation import evaluate_decisions

    scores = evaluate_decisions(
        model, input_path, decisions, labels_file=labels, file_column=file_column
    )
    if as_json:
        print(json.dumps(scores))
        return
    for name, value in scores.items():
        shown = f"{value:.4f}" if isinstance(value, float) else value
        print(f"{name.replace('_', ' '):18} {shown}")


def within_bounds(scores: Mapping[str, Any]) -> bool:
    """Say whether all scores that are shares lie between 0 and 1."""
    return all(0 <= scores[name] <= 1 for name in _SHARES if name in scores)
