"""``vqpu evaluate``: how good a model is on labelled data, or by PU labels alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from vqpu.cli import _options as option
from vqpu.cli._predict import opened_engine, print_notes
from vqpu.errors import UsageError

_SHARES = ("recall", "precision", "f1", "auc", "proxy_auc")
BEYOND_BOUNDS = (
    "Estimates below 0 or above 1 mean that alpha or the scenario does not fit these data, or that "
    "the model was trained on these very rows, which it then ranks too well."
)


def evaluate(
    model: option.Model,
    input_path: option.InputPath,
    label: option.Label = None,
    positive: Annotated[
        str | None, typer.Option(help="Value of positives. Default: as in training.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(help="For a folder of images: CSV of files and labels.")
    ] = None,
    file_column: option.InputFileColumn = "file",
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
    missing: option.InputMissing = "keep",
    features: option.InputFeatures = None,
    skip_broken: option.SkipBroken = False,
    decisions: Annotated[
        Path | None,
        typer.Option(help="Decisions of vqpu review: its random audit takes the place of labels."),
    ] = None,
    engine: option.Engine = None,
    address: option.Address = None,
    workers: option.Workers = None,
    as_json: option.AsJson = False,
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
        engine=opened_engine(engine, address, workers, Path()),
    )
    if as_json:
        print(json.dumps({**scores, "notes": notes.counts}))
        return
    print_notes(notes, scores.pop("drift"))
    _print_scores(scores)
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
    _print_scores(scores)


def _print_scores(scores: Mapping[str, Any]) -> None:
    for name, value in scores.items():
        shown = f"{value:.4f}" if isinstance(value, float) else value
        print(f"{name.replace('_', ' '):18} {shown}")


def within_bounds(scores: Mapping[str, Any]) -> bool:
    """Say whether all scores that are shares lie between 0 and 1."""
    return all(0 <= scores[name] <= 1 for name in _SHARES if name in scores)
