"""The page: all parts put into one template, and written whole or not at all."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vqpu.base._parameters import check_integer
from vqpu.persistence._targets import MADE_HERE, check_target, writing
from vqpu.report._codes import code_map, code_usage
from vqpu.report._curves import check_rows, score_histogram, stopping_curve
from vqpu.report._drawing import draw_histogram, draw_map, draw_stopping, draw_usage
from vqpu.report._galleries import galleries
from vqpu.report._reported_model import ReportedModel, read_reported_model
from vqpu.report._summary import (
    alpha_check,
    changed_parameters,
    diagnosis_of,
    facts,
    importance_rows,
    training_note,
)

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATE = "page.html.jinja"
_ENDINGS = (".html", ".htm")


def make_report(
    model_path: str | os.PathLike[str], *, encoder: Any = None, random_state: int = 0
) -> str:
    """Return one self-contained HTML page about a model.

    A model that was saved from Python has no samples with it; its page says so and lacks the map,
    the codes in use and the galleries. The same model gives the same page.

    Parameters
    ----------
    model_path : path
        Directory of a saved :class:`vqpu.VQKMeansClassifier`.
    encoder : callable or None
        The function that was given as ``encoder`` when the model was fitted, if one was.
    random_state : int, default=0
        Seed of the map.

    Returns
    -------
    str
    """
    check_integer("random_state", random_state, 0)
    reported = read_reported_model(model_path, encoder)
    return _environment().from_string(_template()).render(_parts(reported, random_state))


def write_report(model_path: str | os.PathLike[str], out: str | os.PathLike[str]) -> None:
    """Write the page of a model to a file, which appears whole or not at all.

    Parameters
    ----------
    model_path : path
    out : path
        Ends in .html, in an existing folder that is not the model's.
    """
    target = Path(out)
    check_target(target, _ENDINGS, marks=MADE_HERE, model_path=model_path)
    # A file name may hold bytes that are no text; they are shown as question marks.
    page = make_report(model_path).encode("utf-8", "replace")
    with writing(target) as file:
        file.write(page)


def _parts(reported: ReportedModel, seed: int) -> dict[str, Any]:
    """Return everything that the template names."""
    model, diagnosis = reported.model, diagnosis_of(reported)
    curve, histogram = stopping_curve(model), score_histogram(model)
    headings, rows = check_rows(model)
    return {
        "name": reported.name,
        "diagnosis": diagnosis,
        "alpha": alpha_check(reported, diagnosis),
        "curve": curve,
        "best_value": curve.values[curve.best],
        "curve_picture": draw_stopping(curve),
        "check_headings": headings,
        "check_rows": rows,
        "histogram": histogram,
        "histogram_picture": draw_histogram(histogram),
        "facts": facts(reported),
        "importance": importance_rows(reported),
        "changed": changed_parameters(reported.parameters),
        "sample": reported.sample,
        **_parts_of_sample(reported, seed),
    }


def _parts_of_sample(reported: ReportedModel, seed: int) -> dict[str, Any]:
    sample = reported.sample
    parts: dict[str, Any] = {"usage": None, "map": None, "galleries": None}
    if sample is None:
        return parts
    parts["galleries"] = galleries(sample)
    model = reported.model
    parts["training_note"] = training_note(
        model.n_members_, model.n_holdout_[1], sample.n_unlabeled
    )
    if sample.codes is not None:
        usage = code_usage(sample.codes, sample.is_labeled, model.codebook_size)
        found = code_map(sample, seed)
        parts |= {"usage": usage, "usage_picture": draw_usage(usage)}
        parts |= {"map": found, "map_picture": draw_map(found)}
    return parts


def _environment() -> Environment:
    from jinja2 import Environment, StrictUndefined

    # Names and values are the user's and may hold anything: escaped without exception.
    return Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


def _template() -> str:
    return files("vqpu.report").joinpath(_TEMPLATE).read_text("utf-8")
