"""``vqpu fit``: from the user's files to a model."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vqpu.cli import _options as option
from vqpu.distributed._refusals import told_refusals

if TYPE_CHECKING:
    from vqpu.files._settings import FitSettings


@told_refusals()
def fit(
    data: option.Data = None,
    positives: option.Positives = None,
    unlabeled: option.Unlabeled = None,
    label: option.Label = None,
    positive: option.Positive = None,
    labels: option.Labels = None,
    file_column: option.FileColumn = None,
    id_column: option.IdColumn = None,
    columns: option.Columns = None,
    drop: option.Drop = None,
    number: option.Number = None,
    category: option.Category = None,
    text: option.Text = None,
    missing: option.Missing = None,
    features: option.Features = None,
    image_size: option.ImageSize = None,
    image_mode: option.ImageMode = None,
    skip_broken: option.SkipBroken = False,
    decisions: Annotated[
        str | None,
        typer.Option(
            help="Decisions of vqpu review: a yes is a labelled positive, a no a known negative."
        ),
    ] = None,
    out: Annotated[str | None, typer.Option(help="Directory that becomes the model.")] = None,
    overwrite: option.Overwrite = False,
    config: Annotated[
        Path | None,
        typer.Option(
            help="TOML file with these settings and the estimator's parameters, by name; options "
            "on the line go first, and paths are as on the line."
        ),
    ] = None,
    assignments: option.Assignments = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            help="auto, network, conv, vqvae, dcgan, mlp, linear or trees. Default: auto, conv for "
            "pictures, trees for tables and linear for features."
        ),
    ] = None,
    time_limit: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Such as 90s, 2m or 1h: train as long as fits into it, no longer."
        ),
    ] = None,
    alpha: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE",
            help="What is known of the share of positives among the unlabelled: 0.15, or 0.1,0.2 "
            "for between the two. Default: estimated.",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of everything random.")] = None,
    checkpoint_dir: Annotated[
        str | None, typer.Option(help="Folder of checkpoints. Default with --resume: beside OUT.")
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Keep checkpoints, and go on from those of an earlier start."
        ),
    ] = False,
    processes: Annotated[
        int,
        typer.Option(min=1, help="Train in so many processes, which share samples or members out."),
    ] = 1,
    max_restarts: Annotated[
        int, typer.Option(min=0, help="With --processes: starts again after one of them died.")
    ] = 3,
    quiet: option.Quiet = False,
    as_json: option.AsJson = False,
) -> None:
    """Learn from positives and unlabelled data, and save a model.

    Ctrl-C ends training early, keeps the best state so far and saves it.
    """
    from vqpu.distributed._launching import fit_in_processes
    from vqpu.files._settings import fit_settings, parse_assignments, parse_duration, parse_share

    options = option.given(
        data=data, positives=positives, unlabeled=unlabeled, label=label, positive=positive,
        labels=labels, file_column=file_column, id_column=id_column, columns=columns, drop=drop,
        number=number, category=category, text=text, missing=missing, features=features,
        image_size=image_size, image_mode=image_mode, on_broken="skip" if skip_broken else None,
        decisions=decisions, out=out, overwrite=overwrite, encoder=encoder, random_state=seed,
        max_seconds=None if time_limit is None else parse_duration(time_limit),
        alpha=None if alpha is None else parse_share(alpha),
        checkpoint_dir=checkpoint_dir, resume=resume,
    )  # fmt: skip
    settings = fit_settings(config, parse_assignments(assignments or []) | options)
    if processes > 1:
        fit_in_processes(settings, processes, max_restarts, quiet=quiet, as_json=as_json)
    else:
        _fit_here(settings, quiet=quiet, as_json=as_json)


_UNDOUBTED = (
    "[ok] No finding doubts this fit (vqpu inspect lists them). None can see whether only the easy "
    "positives were labelled: look at a random sample (vqpu review)."
)


def _fit_here(settings: FitSettings, *, quiet: bool, as_json: bool) -> None:
    """Fit in this process; of several that were launched together, the first tells the result."""
    from vqpu.distributed import joined_ranks
    from vqpu.files._fitting import fit_files
    from vqpu.files._models import is_model
    from vqpu.report._training_sample import make_training_sample

    replaces = settings.out is not None and is_model(settings.out)
    with joined_ranks() as ranks:
        if not ranks.is_first:
            warnings.simplefilter("ignore")  # one says it for all
        model = fit_files(settings, make_training_sample, quiet=quiet, ranks=ranks)
    if ranks.is_first:
        _print_fitted(model, settings.out, replaces=replaces, as_json=as_json)


def _print_fitted(model: Any, out: str | None, *, replaces: bool, as_json: bool) -> None:
    from vqpu.report._diagnosis import worst_finding

    finding = worst_finding(model)
    if as_json:
        summary = {
            "model": out,
            "alpha": model.alpha_,
            "alpha_interval": model.alpha_interval_,
            "finding": finding._asdict(),
            "positive_share": model.positive_share_,
            "n_steps": model.n_steps_,
            "stop_reason": model.stop_reason_,
            "replaced": replaces,
        }
        print(json.dumps(summary))
        return
    note = " The model that was there before is replaced." if replaces else ""
    evidence = model.evidence_
    if finding.level != "ok" and evidence.n_positive > evidence.n_unlabeled:
        note += (
            f" There were more labelled positives ({evidence.n_positive} of those kept apart) than "
            f"unlabelled samples ({evidence.n_unlabeled}): see that the two are not swapped."
        )
    if model.max_seconds is not None:
        note += _describe_limit(model)
    print(
        f"{out}: {model.positive_share_:.1%} of the unlabelled samples are called "
        f"positive; alpha is {'taken' if model.alpha is not None else 'estimated'} as "
        f"{model.alpha_:.3f} ({model.alpha_interval_[0]:.2f} to {model.alpha_interval_[1]:.2f})."
        f"{note}\n{_UNDOUBTED if finding.level == 'ok' else finding}"
    )


def _describe_limit(model: Any) -> str:
    names = ("max_steps", "n_members", "n_rounds")
    again = " ".join(f"--set {name}={getattr(model, f'{name}_')}" for name in names)
    return (
        f" {model.max_seconds:g} s held {model.max_steps_} steps in each of {model.n_rounds_} "
        f"rounds of {model.n_members_} members: {again} repeats this fit."
    )
