"""``vqpu fit`` and ``vqpu compare``: from the user's files to a model, or to a table of methods."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from vqpu.base._registry import compared_methods
from vqpu.cli._predict import BEYOND_BOUNDS, within_bounds

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
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]


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
    out: Annotated[str | None, typer.Option(help="Directory that becomes the model.")] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a model that is there already.")
    ] = False,
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
            help="auto, network, conv, vqvae, mlp, linear or trees. Default: auto, conv for "
            "pictures, trees for tables and linear for features."
        ),
    ] = None,
    time_limit: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Such as 90s, 2m or 1h: train as long as fits into it, no longer."
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
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Learn from positives and unlabelled data, and save a model.

    Ctrl-C ends training early, keeps the best state so far and saves it.
    """
    from vqpu.files._fitting import fit_files
    from vqpu.files._models import is_model
    from vqpu.files._settings import fit_settings, parse_assignments, parse_duration
    from vqpu.report._training_sample import make_training_sample

    options = _given(
        data=data, positives=positives, unlabeled=unlabeled, label=label, positive=positive,
        labels=labels, file_column=file_column, id_column=id_column, columns=columns or None,
        drop=drop or None, number=number or None, category=category or None, text=text or None,
        missing=missing, features=features,
        image_size=image_size, image_mode=image_mode, out=out, encoder=encoder, random_state=seed,
        checkpoint_dir=checkpoint_dir, resume=resume or None, overwrite=overwrite or None,
        max_seconds=None if time_limit is None else parse_duration(time_limit),
        on_broken="skip" if skip_broken else None,
    )  # fmt: skip
    settings = fit_settings(config, parse_assignments(assignments or []) | options)
    replaces = settings.out is not None and is_model(settings.out)
    model = fit_files(settings, make_training_sample, quiet=quiet)
    summary = {
        "model": settings.out,
        "alpha": model.alpha_,
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
        note += (
            f" {model.max_seconds:g} s held {model.max_steps_} steps a round: max_steps="
            f"{model.max_steps_} repeats this fit."
        )
    print(
        f"{settings.out}: {model.positive_share_:.1%} of the unlabelled samples are called "
        f"positive; alpha is estimated as {model.alpha_:.3f}.{note}"
    )


def compare(
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
    methods: Annotated[
        str, typer.Option(help=f"Comma-separated: {', '.join(compared_methods())}.")
    ] = "vq,naive,nnpu",
    scenario: Annotated[
        str,
        typer.Option(help="case-control (P and U drawn apart) or single-set (P taken out of U)."),
    ] = "case-control",
    alpha: Annotated[
        float | None,
        typer.Option(
            help="Share of positives among the unlabelled, also for methods that need it. Default: "
            "estimated."
        ),
    ] = None,
    assignments: Assignments = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the split and of training.")] = 0,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Fit several methods on three quarters of the data and score them on the rest.

    All scores are estimates from PU labels: no negatives are needed.
    """
    from vqpu.files._comparison import compare as compare_methods
    from vqpu.files._comparison import describe_parameters, make_methods, method_parameters
    from vqpu.files._settings import fit_settings, parse_assignments
    from vqpu.files._training_data import read_sources

    sources = _given(
        data=data, positives=positives, unlabeled=unlabeled, label=label, positive=positive,
        labels=labels, file_column=file_column, id_column=id_column, columns=columns or None,
        drop=drop or None, number=number or None, category=category or None, text=text or None,
        missing=missing, features=features,
        image_size=image_size, image_mode=image_mode,
        on_broken="skip" if skip_broken else None,
    )  # fmt: skip
    names = [name.strip() for name in methods.split(",") if name.strip()]
    parameters = parse_assignments(assignments or [], method_parameters(names))
    # What a method refuses is refused before a file is read.
    make_methods(names, seed=seed, alpha=alpha, parameters=parameters)
    if parameters and not quiet:
        print(describe_parameters(names, parameters), file=sys.stderr)
    found = compare_methods(
        read_sources(fit_settings(None, sources), quiet=quiet).data,
        names,
        scenario=scenario,
        alpha=alpha,
        seed=seed,
        parameters=parameters,
        report=lambda name: None if quiet else print(f"fitting {name}", file=sys.stderr),
    )
    if as_json:
        print(json.dumps(found._asdict()))
        return
    _print_comparison(found)


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


_POPULATION = {"case-control": "the unlabelled", "single-set": "all samples"}


def _print_comparison(found: Any) -> None:
    columns = ("proxy_auc", "auc", "lee_liu", "recall", "precision", "f1", "called_positive")
    print(f"{'method':14}" + "".join(f"{name:>16}" for name in (*columns, "seconds")))
    for row in found.rows:
        if "error" in row:
            print(f"{row['method']:14}failed: {row['error']}")
            continue
        cells = "".join(f"{row[name]:16.3f}" for name in columns)
        print(f"{row['method']:14}{cells}{row['seconds']:16.1f}")
    n_positive, n_unlabeled = found.n_judged
    print(
        f"Scored on {n_positive} labelled and {n_unlabeled} unlabelled samples that were not "
        f"trained on; {found.scenario}, alpha = {found.alpha:.3f} ({found.alpha_from}).\n"
        "auc, recall, precision and f1 are those of positives against negatives, estimated without "
        "negatives; proxy_auc is\nthe AUC of labelled against unlabelled samples, lee_liu is "
        f"recall squared over the share of {_POPULATION[found.scenario]} called\npositive. More is "
        "better in all of them; called_positive, the share of the unlabelled called positive, "
        "should be near alpha."
    )
    if not all(within_bounds(row) for row in found.rows):
        print(BEYOND_BOUNDS)
