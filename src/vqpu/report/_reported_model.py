"""What a page is made of: the model, its manifest, what input it takes and its training sample."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from vqpu.errors import InputTypeError, ModelFileError
from vqpu.files._explaining import ColumnGroups, column_groups
from vqpu.files._models import open_model
from vqpu.report._training_sample import TrainingSample, read_training_sample
from vqpu.vq._classifier import VQKMeansClassifier


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
    sample : TrainingSample or None
        None if the model was saved from Python.
    classes : tuple of two
        What negatives and positives are called.
    columns : ColumnGroups or None
        Of vectors, as people know them.
    """

    name: str
    model: VQKMeansClassifier
    parameters: dict[str, Any]
    versions: dict[str, str]
    takes: str
    sample: TrainingSample | None
    classes: tuple[Any, Any]
    columns: ColumnGroups | None = None


def read_reported_model(path: str | os.PathLike[str], encoder: Any = None) -> ReportedModel:
    """Load a model with what was saved beside it.

    Parameters
    ----------
    path : path
        Of the model.
    encoder : callable or None
        The function that was given as ``encoder`` when the model was fitted, if one was.
    """
    model, input_format, bundle = open_model(path, encoder=encoder)
    if not isinstance(model, VQKMeansClassifier):
        raise InputTypeError(
            f"{path} holds a {type(model).__name__}. A report needs a VQKMeansClassifier, whose "
            "stopping curve, held-out scores and codes it shows."
        )
    if not 0 <= model.best_check_ < len(model.history_):
        raise ModelFileError(
            f"{path} says that check {model.best_check_} is the best of {len(model.history_)}."
        )
    return ReportedModel(
        bundle.path.name,
        model,
        bundle.manifest["parameters"],
        bundle.manifest["versions"],
        input_format.describe(),
        read_training_sample(bundle),
        input_format.words() or tuple(model.classes_.tolist()),
        column_groups(input_format, *model.input_shape_) if len(model.input_shape_) == 1 else None,
    )
