"""Options that several commands have: each is named and described here, once."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import Annotated, Any

import typer


def _model_there(path: Path) -> Path:
    """Refuse a model that is not there before anything slow is imported."""
    if not os.path.lexists(path):
        from vqpu.persistence._bundle import refuse_missing_model

        refuse_missing_model(path.absolute())
    return path


def _data_there(path: str | None) -> str | None:
    """Refuse data that are not there before anything slow is imported."""
    if path is None or "://" in path or glob.has_magic(path):
        return path
    if not os.path.lexists(path):
        from vqpu.files.readers._samples import check_regular_file

        check_regular_file(Path(path))
    return path


# The data of a fit or of a comparison.
Data = Annotated[
    str | None,
    typer.Argument(
        metavar="DATA",
        callback=_data_there,
        help="One table (.csv, .parquet, .feather, .jsonl, .xlsx, or a folder of such files) with "
        "--label and --positive, one .npz file with X and y, or one folder of images with "
        "--labels.",
    ),
]
Positives = Annotated[
    str | None,
    typer.Option(callback=_data_there, help="Folder, array or table of labelled positives."),
]
Unlabeled = Annotated[
    str | None, typer.Option(callback=_data_there, help="The same of unlabelled data.")
]
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
    bool, typer.Option("--skip-broken", help="Leave out images that cannot be decoded.")
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

# A model, and the samples that it is shown.
Model = Annotated[
    Path, typer.Argument(metavar="MODEL", callback=_model_there, help="Directory of a model.")
]
InputPath = Annotated[
    str,
    typer.Argument(
        metavar="INPUT",
        callback=_data_there,
        help="Folder, array or table, of the kind that was fitted; a table also by an address in "
        "an object store, such as s3://bucket/sales/.",
    ),
]
InputFileColumn = Annotated[str, typer.Option(help="Its column of file names.")]
InputIdColumn = Annotated[
    str | None, typer.Option("--id", help="Column that names rows. Default: as in training.")
]
IncludeLabeled = Annotated[
    bool,
    typer.Option(
        "--include-labeled",
        help="Let rows compete that the label column says are positive already.",
    ),
]
InputMissing = Annotated[
    str, typer.Option(help="keep: missing values are values like others. refuse: an error.")
]
InputFeatures = Annotated[
    str | None,
    typer.Option(
        metavar="EXTRACTOR",
        help="Where the pretrained network of a model on features lies now. Default: where it lay "
        "in training.",
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(help="Column of the table that goes into the result; may be repeated."),
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

# What is printed.
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]


def given(**options: Any) -> dict[str, Any]:
    """Return the options that were given: flags that are on, lists that hold something."""
    return {
        name: value
        for name, value in options.items()
        if value is not None and value is not False and value != []
    }
