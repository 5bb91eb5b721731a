"""``vqpu compare``: a table of methods on the user's own data."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from vqpu.base._registry import compared_methods
from vqpu.cli import _options as option
from vqpu.cli._evaluate import BEYOND_BOUNDS, within_bounds

if TYPE_CHECKING:
    from vqpu.files._comparison import Comparison


def compare(
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
    methods: Annotated[
        str | None,
        typer.Option(
            help=f"Comma-separated: {', '.join(compared_methods())}. Default: vq,elkan-noto for "
            "tables, vq,naive,nnpu for pictures."
        ),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Parts that are judged in turn, each by a fit on the others; 1: a single split. "
            "Default: 5 for tables, 1 for pictures.",
        ),
    ] = None,
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
    assignments: option.Assignments = None,
    fit_best: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Fit the best method on all samples, and save it there (of those that can be "
            "saved: all but elkan-noto and bagging).",
        ),
    ] = None,
    overwrite: option.Overwrite = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the folds and of training.")] = 0,
    quiet: option.Quiet = False,
    as_json: option.AsJson = False,
) -> None:  # fmt: skip
    """Fit several methods on parts of the data and score them on the rest.

    All scores are estimates from PU labels: no negatives are needed.
    """
    from vqpu.files._comparing_files import ComparisonSettings, compare_files
    from vqpu.files._settings import fit_settings
    from vqpu.report._training_sample import make_training_sample

    sources = fit_settings(None, option.given(
        data=data, positives=positives, unlabeled=unlabeled, label=label, positive=positive,
        labels=labels, file_column=file_column, id_column=id_column, columns=columns, drop=drop,
        number=number, category=category, text=text, missing=missing, features=features,
        image_size=image_size, image_mode=image_mode, on_broken="skip" if skip_broken else None,
    ))  # fmt: skip
    names = None if methods is None else [name.strip() for name in methods.split(",")]
    settings = ComparisonSettings(
        names, assignments or [], scenario, alpha, folds, seed, fit_best, overwrite
    )
    found, fitted = compare_files(sources, settings, make_training_sample, quiet=quiet)
    if as_json:
        print(json.dumps(found._asdict() | {"model": fit_best, "model_method": fitted}))
        return
    _print_comparison(found)
    if fitted is not None:
        print(_describe_model(found, fitted, str(fit_best)))


_POPULATION = {"case-control": "the unlabelled", "single-set": "all samples"}


def _print_comparison(found: Comparison) -> None:
    from vqpu.files._comparison import describe_leads

    columns = ("auc", "lee_liu", "recall", "precision", "f1", "called_positive", "seconds")
    print(f"{'method':14}{'proxy_auc':>16}" + "".join(f"{name:>16}" for name in columns))
    for row in found.rows:
        if "error" in row:
            print(f"{row['method']:14}failed: {row['error']}")
            continue
        spread = row["proxy_auc_spread"]
        ranks = f"{row['proxy_auc']:.3f}" + ("" if spread is None else f" ± {spread:.3f}")
        cells = "".join(f"{row[name]:16.3f}" for name in columns)
        print(f"{row['method']:14}{ranks:>16}{cells}")
    leads = describe_leads(found)
    if leads:
        print(leads)
    n_positive, n_unlabeled = found.n_judged
    how = "by one fit" if found.n_folds == 1 else f"in {found.n_folds} folds"
    print(
        f"Scored {how} on {n_positive} labelled and {n_unlabeled} unlabelled samples that were not "
        f"trained on; {found.scenario}, alpha = {found.alpha:.3f} ({found.alpha_from}).\n"
        "auc, recall, precision and f1 are those of positives against negatives, estimated without "
        "negatives; proxy_auc is\nthe AUC of labelled against unlabelled samples, lee_liu is "
        f"recall squared over the share of {_POPULATION[found.scenario]} called\npositive. More is "
        "better in all of them; called_positive, the share of the unlabelled called positive, "
        "should be near alpha."
    )
    if not all(within_bounds(row) for row in found.rows):
        print(BEYOND_BOUNDS)


def _describe_model(found: Comparison, fitted: str, path: str) -> str:
    best = found.rows[0]["method"]
    if best == fitted:
        return f"{path}: {fitted}, the best of them, fitted on all samples."
    return (
        f"{path}: {fitted}, fitted on all samples, the best of those that can be saved. {best} "
        "holds scikit-learn's trees, for which there is no file that is safe to read: fit it in "
        "Python."
    )
