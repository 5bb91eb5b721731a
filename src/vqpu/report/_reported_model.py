"""What a page is made of: the model, its manifest, the format of its input and its evidence."""

from __future__ import annotations

import base64
import binascii
import os
from typing import Any, NamedTuple

import numpy as np

from vqpu.errors import InputTypeError, ModelFileError
from vqpu.files._input_format import InputFormat
from vqpu.files._models import read_input_format
from vqpu.persistence._model import read_model
from vqpu.report._training_sample import JSON_FILE, TrainingSample, read_training_sample
from vqpu.rivals._loading import load
from vqpu.vq._classifier import VQKMeansClassifier

GALLERIES = ("positive", "negative", "doubtful")
_JPEG = b"\xff\xd8"


class ReportedModel(NamedTuple):
    """A model and all that is known of it.

    Attributes
    ----------
    name : str
        Of the model's directory.
    model : VQKMeansClassifier
    parameters, versions : dict
        As the manifest has them.
    takes : str
        What input fits, in a few words.
    evidence : TrainingSample or None
        None if the model was saved from Python.
    """

    name: str
    model: VQKMeansClassifier
    parameters: dict[str, Any]
    versions: dict[str, str]
    takes: str
    evidence: TrainingSample | None


def read_subject(path: str | os.PathLike[str], encoder: Any = None) -> ReportedModel:
    """Load a model with what was saved beside it.

    Parameters
    ----------
    path : path
        Of the model.
    encoder : callable or None
        The function that was given as ``encoder`` when the model was fitted, if one was.
    """
    bundle = read_model(path)
    model = load(path, encoder=encoder)
    if not isinstance(model, VQKMeansClassifier):
        raise InputTypeError(
            f"{path} holds a {type(model).__name__}. A report needs a VQKMeansClassifier, whose "
            "stopping curve, held-out scores and codes it shows."
        )
    if not 0 <= model.best_check_ < len(model.history_):
        raise ModelFileError(
            f"{path} says that check {model.best_check_} is the best of {len(model.history_)}."
        )
    extras = bundle.manifest["extras"]
    input_format = read_input_format(bundle) or InputFormat.of_shape(model.input_shape_)
    evidence = None
    if JSON_FILE in extras:
        evidence = _checked_sample(path)
    manifest = bundle.manifest
    return ReportedModel(
        bundle.path.name,
        model,
        manifest["parameters"],
        manifest["versions"],
        input_format.describe(),
        evidence,
    )


def _checked_sample(path: Any) -> TrainingSample:
    """Read the evidence; what does not hold together is refused rather than drawn."""
    try:
        evidence = read_training_sample(path)
        _check_sample(evidence)
    except (LookupError, TypeError, ValueError, AttributeError, binascii.Error) as error:
        raise ModelFileError(
            f"The evidence in {path} does not hold together ({error!r:.200}). Fit the model again."
        ) from error
    return evidence


def _check_sample(evidence: TrainingSample) -> None:
    n = len(evidence.names)
    lengths = {len(evidence.is_labeled), len(evidence.scores), len(evidence.projections)}
    if evidence.codes is not None:
        lengths.add(len(evidence.codes))
    if lengths != {n}:
        raise ValueError(f"{n} names for columns of {sorted(lengths)} samples")
    if not np.isfinite(evidence.scores).all():
        raise ValueError("scores are not finite")
    if evidence.codes is not None and (evidence.codes.ndim != 2 or evidence.codes.min() < 0):
        raise ValueError("codes must be a matrix of indices")
    for finding in evidence.findings:
        if not {"level", "name", "sentence"} <= set(finding):
            raise ValueError(f"a finding lacks a part: {finding}")
    for gallery in GALLERIES:
        for entry in evidence.galleries[gallery]:
            _check_entry(entry, n)


def _check_entry(entry: dict[str, Any], n: int) -> None:
    if not 0 <= entry["sample"] < n:
        raise ValueError(f"a gallery shows sample {entry['sample']} of {n}")
    image, row = entry["image"], entry["row"]
    if image is None and not isinstance(row, dict):
        raise ValueError("a gallery entry has neither an image nor a row")
    if image is not None and not base64.b64decode(image, validate=True).startswith(_JPEG):
        raise ValueError("an image is no JPEG")
