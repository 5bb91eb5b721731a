"""A model directory as the commands use it: the estimator, its input contract, its files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from vqpu.errors import InputError, ModelFileError
from vqpu.files._input_contract import CONTRACT_FILE, InputContract
from vqpu.persistence._bundle import MANIFEST, Bundle
from vqpu.persistence._loading import load
from vqpu.persistence._model import read_model


class OpenedModel(NamedTuple):
    """A model that was read.

    Attributes
    ----------
    estimator : classifier
    contract : InputContract
        That of ``vqpu fit``, or one made from the model's shape if it was saved in Python.
    bundle : Bundle
        The verified manifest, for the other files of the model.
    """

    estimator: Any
    contract: InputContract
    bundle: Bundle


def is_model(path: str | Path) -> bool:
    """Whether there is a model directory, whole or not.

    Parameters
    ----------
    path : path
    """
    return (Path(path) / MANIFEST).exists()


def open_model(path: str | os.PathLike[str], *, encoder: Any = None) -> OpenedModel:
    """Load a classifier and its contract; the manifest is read once.

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
    contract = read_contract(bundle)
    estimator = load(bundle, encoder=encoder)
    if not hasattr(estimator, "decision_function"):
        raise InputError(f"{path} holds a {type(estimator).__name__}, which is no classifier.")
    if contract is None:
        contract = InputContract.of_shape(estimator.input_shape_)
    return OpenedModel(estimator, contract, bundle)


def read_contract(bundle: Bundle) -> InputContract | None:
    """Return the input contract of a model, None if it was saved without."""
    if CONTRACT_FILE not in bundle.manifest.get("extras", []):
        return None
    return InputContract.from_json(bundle.read(CONTRACT_FILE))


def _is_something_else(path: Path) -> bool:
    try:
        return path.exists() and not is_model(path)
    except OSError:  # may not be looked at: reading it says so
        return False
