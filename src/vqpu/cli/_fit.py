"""``vqpu fit``: from the user's files to a model; and the options that say what the data are."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from vqpu.distributed._refusals import told_refusals

Data = Annotated[
    str | None,
    typer.Argument(
        metavar="DATA",
        help="One table (.csv, .parquet, .feather, .jsonl, .xlsx, or a folder of such files) with "
        "--label and --positive, one .npz file with X and y, or one folder of images with "
        "--labels.",
    ),
]
Positives = Annotated[
    str | None, typer.Option(help="Folder, array or table of labelled positives.")
]
Unlabeled = Annotated[str | None, typer.Option(help="The same of unlabelled data.")]
Label = Annotated[str | None, typer.Option(help="Column of labels.")]
Positive = Annotated[
    str | None, typer.Option(help="Value of that column that marks positives; others are unknown.")
]
Labels = Annotated[str | None, typer.Option(help="CSV that names the files of a folder.")]
FileColumn = Annotated[str | None, typer.Option(help="Its column of file names. Default: file.")]
IdColumn = Annotated[str | None, typer.Option("--id", help="Column of a table that names rows.")]
Columns = Annotated[
    list[str] | None, typer.Option(help="Column to learn from, and no other; may be repeated.")
]
Drop = Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")]
Number = Annotated[
    list[str] | None,
    typer.Option(help="Column that is taken as numbers, whatever it looks like; may be repeated."),
]
Category = Annotated[list[str] | None, typer.Option(help="The same, as a category.")]
Text = Annotated[
    list[str] | None,
    typer.Option(help="The same, as free text; with --features the column of texts."),
]
Features = Annotated[
    str | None,
    typer.Option(
        metavar="MODEL",
        help="Learn from features of a pretrained network: an .onnx file, or a local Hugging Face "
        "directory. For pictures, folders of .txt files, and tables with --text COLUMN.",
    ),
]
Missing = Annotated[
    str | None,
    typer.Option(help="keep: a missing value is a value like any other. refuse: it is an error."),
]
ImageSize = Annotated[
    int | None, typer.Option(help="Pixels a side that images are read at. Default: 64.")
]
ImageMode = Annotated[str | None, typer.Option(help="RGB or L (grey). Default: RGB.")]
SkipBroken = Annotated[
    bool,
    typer.Option(
        "--skip-broken",
        help="Leave out images that cannot be decoded.",
    ),
]
Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A parameter of the estimator, such as max_steps=2000; may be repeated.",
    ),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace a model that is there already.")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]


@told_refusals()
def fit(
    data: Data = None,
    positives: Positives = None,
    unlabeled: Unlabeled = None,
    label: Label = None,
    positive: Positive = None,
    labels: Labels = None,
    file_column: FileColumn = None,
    id_column: IdColumn = None,
    columns: Columns = None,
    drop: Drop = None,
    number: Number = None,
    category: Category = None,
    text: Text = None,
    missing: Missing = None,
    features: Features = None,
    image_size: ImageSize = None,
    image_mode: ImageMode = None,
    skip_broken: SkipBroken = False,
    decisions: Annotated[
        str | None,
        typer.Option(
            help="Decisions of vqpu review: a yes is a labelled positive, a no a known negative."
        ),
    ] = None,
    out: Annotated[str | None, typer.Option(help="Directory that becomes the model.")] = None,
    overwrite: Overwrite = False,
    config: Annotated[
        Path | None,
        typer.Option(
            help="TOML file with these settings and the estimator's parameters, by name; options "
            "on the line go first, and paths are as on the line."
        ),
    ] = None,
    assignments: Assignments = None,
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
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Learn from positives and unlabelled data, and save a model.

    Ctrl-C ends training early, keeps the best state so far and saves it.
    """
    from vqpu.distributed import joined_ranks
    from vqpu.distributed._launching import fit_in_processes
    from vqpu.files._fitting import fit_files
    from vqpu.files._models import is_model
    from vqpu.files._settings import fit_settings, parse_assignments, parse_duration, parse_share
    from vqpu.report._diagnosis import worst_finding
    from vqpu.report._training_sample import make_training_sample

    options = given(
        data=data, positives=positives, unlabeled=unlabeled, label=label, positive=positive,
        labels=labels, file_column=file_column, id_column=id_column, columns=columns or None,
        drop=drop or None, number=number or None, category=category or None, text=text or None,
        missing=missing, features=features,
        image_size=image_size, image_mode=image_mode, out=out, encoder=encoder, random_state=seed,
        decisions=decisions,
        checkpoint_dir=checkpoint_dir, resume=resume or None, overwrite=overwrite or None,
        max_seconds=None if time_limit is None else parse_duration(time_limit),
        alpha=None if alpha is None else parse_share(alpha),
        on_broken="skip" if skip_broken else None,
    )  # fmt: skip
    settings = fit_settings(config, parse_assignments(assignments or []) | options)
    if processes > 1:
        fit_in_processes(settings, processes, max_restarts, quiet=quiet, as_json=as_json)
        return
    replaces = settings.out is not None and is_model(settings.out)
    with joined_ranks() as ranks:
        if not ranks.is_first:
            warnings.simplefilter("ignore")  # one says it for all
        model = fit_files(settings, make_training_sample, quiet=quiet, ranks=ranks)
    if not ranks.is_first:
        return
    finding = worst_finding(model)
    summary = {
        "model": settings.out,
        "alpha": model.alpha_,
        "alpha_interval": model.alpha_interval_,
        "finding": finding._asdict(),
        "positive_share": model.positive_share_,
        "n_steps": model.n_steps_,
        "stop_reason": model.stop_reason_,
        "replaced": replaces,
    }
    if as_json:
        print(json.dumps(summary))
        return
    note = " The model that was there before is replaced." if replaces else ""
    if model.max_seconds is not None:
        note += _describe_limit(model)
    print(
        f"{settings.out}: {model.positive_share_:.1%} of the unlabelled samples are called "
        f"positive; alpha is {'taken' if model.alpha is not None else 'estimated'} as "
        f"{model.alpha_:.3f} ({model.alpha_interval_[0]:.2f} to {model.alpha_interval_[1]:.2f})."
        f"{note}\n{finding}"
    )


def _describe_limit(model: Any) -> str:
    names = ("max_steps", "n_members", "n_rounds")
    again = " ".join(f"--set {name}={getattr(model, f'{name}_')}" for name in names)
    return (
        f" {model.max_seconds:g} s held {model.max_steps_} steps in each of {model.n_rounds_} "
        f"rounds of {model.n_members_} members: {again} repeats this fit."
    )


def given(**options: Any) -> dict[str, Any]:
    """Return the options that were given."""
    return {name: value for name, value in options.items() if value is not None}
