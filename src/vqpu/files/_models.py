"""A model directory as the commands use it: the estimator, the format of its input, its files."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from vqpu.errors import InputError, ModelFileError
from vqpu.files._input_format import INPUT_FILE, InputFormat
from vqpu.persistence._bundle import MANIFEST, Bundle
from vqpu.persistence._loading import load
from vqpu.persistence._model import read_model


class OpenedModel(NamedTuple):
    """A model that was read.

    Attributes
    ----------
    estimator : classifier
    input_format : InputFormat
        That of ``vqpu fit``, or one made from the model's shape if it was saved in Python.
    bundle : Bundle
        The verified manifest, for the other files of the model.
    """

    estimator: Any
    input_format: InputFormat
    bundle: Bundle


def is_model(path: str | Path) -> bool:
    """Whether there is a model directory, whole or not.

    Parameters
    ----------
    path : path
    """
    return (Path(path) / MANIFEST).exists()


def model_digest(path: str | Path) -> str:
    """Return the SHA-256 of a model's manifest, which lists those of its files.

    Parameters
    ----------
    path : path
    """
    return hashlib.sha256((Path(path) / MANIFEST).read_bytes()).hexdigest()


def open_model(path: str | os.PathLike[str], *, encoder: Any = None) -> OpenedModel:
    """Load a classifier and the format of its input; the manifest is verified once.

    Parameters
    ----------
    path : path
    encoder : callable or None
        The function that was given as ``encoder`` when the model was fitted, if one was.
    """
    if _is_something_else(Path(path)):
        raise ModelFileError(
            f"{path} is no model: it has no {MANIFEST}. A model is the directory that vqpu fit or "
            "save made, and on the command line MODEL comes before INPUT."
        )
    bundle = read_model(path)
    input_format = read_input_format(bundle)
    estimator = load(bundle, encoder=encoder)
    if not hasattr(estimator, "decision_function"):
        raise InputError(f"{path} holds a {type(estimator).__name__}, which is no classifier.")
    plan = getattr(estimator, "columns_", None)
    if input_format is None:
        input_format = InputFormat.of_shape(estimator.input_shape_)
        if plan is not None:  # fitted on a data frame in Python
            input_format = replace(input_format, kind="table")
    if plan is not None:
        input_format = replace(input_format, plan=plan)
    if input_format.features is not None:
        _check_features(input_format, estimator, path)
    elif input_format.kind == "table" and input_format.plan is None:
        raise ModelFileError(f"{path} is for tables but does not say what their columns are.")
    return OpenedModel(estimator, input_format, bundle)


def _check_features(
    input_format: InputFormat, estimator: Any, path: str | os.PathLike[str]
) -> None:
    record = input_format.features
    assert record is not None
    fits = tuple(estimator.input_shape_) == (record.n_features,)
    if record.image is not None:
        fits &= input_format.kind == "images" and input_format.sample_shape == record.image.shape
    else:
        fits &= input_format.kind == ("texts" if input_format.text is None else "table")
    if not fits:
        raise ModelFileError(
            f"{path} says that it takes {input_format.describe()}, which does not hold together "
            f"with its samples of shape {tuple(estimator.input_shape_)}."
        )


def read_input_format(bundle: Bundle) -> InputFormat | None:
    """Return the format of a model's input, None if it was saved without."""
    if INPUT_FILE not in bundle.manifest.get("extras", []):
        return None
    return InputFormat.from_json(bundle.read(INPUT_FILE))


def _is_something_else(path: Path) -> bool:
    try:
        return path.exists() and not is_model(path)
    except OSError:  # may not be looked at: reading it says so
        return False
