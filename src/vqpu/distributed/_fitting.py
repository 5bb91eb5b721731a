"""A fit in several processes from Python: samples go to them through files."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vqpu.distributed._launching import RESTARTS, launch
from vqpu.errors import InputError, InputTypeError, ParameterError
from vqpu.persistence._loading import load
from vqpu.vq._classifier import VQKMeansClassifier

PARAMETERS, SAMPLES, LABELS, MODEL = "parameters.json", "X.npy", "y.npy", "model"


def fit(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    processes: int,
    max_restarts: int = RESTARTS,
    checkpoint_dir: str | os.PathLike[str] | None = None,
) -> Any:
    """Fit a network in several processes of this machine.

    Parameters
    ----------
    estimator : VQKMeansClassifier
        Its parameters are plain values: an encoder by its name.
    X, y : array-like
        As of its ``fit``, numbers; written once to a temporary folder, which all processes map.
    processes : int
    max_restarts : int
        How often all start again after one of them died.
    checkpoint_dir : path or None
        Where they go on from then; None: from the beginning, to the same end if there is a
        ``random_state``.

    Returns
    -------
    VQKMeansClassifier
        A fitted one; ``estimator`` is not changed.
    """
    if type(estimator) is not VQKMeansClassifier:
        raise ParameterError(
            "Several processes fit a VQKMeansClassifier and nothing else. Got "
            f"{type(estimator).__name__} instead."
        )
    if hasattr(X, "columns"):
        raise InputTypeError(
            f"X is a {type(X).__name__}, but only arrays go to several processes: pass its numbers "
            "as an array, or fit tables by vqpu fit --processes."
        )
    samples, labels = np.asarray(X), np.asarray(y)
    if samples.dtype.kind not in "biuf" or labels.dtype.kind not in "biufU":
        raise InputError(
            f"X and y must be numbers for several processes. Got {samples.dtype} and "
            f"{labels.dtype}: fit tables by vqpu fit --processes."
        )
    content = _parameters_of(estimator)
    place = None if checkpoint_dir is None else str(Path(checkpoint_dir).absolute())
    with tempfile.TemporaryDirectory(prefix="vqpu-") as name:
        folder = Path(name)
        (folder / PARAMETERS).write_text(json.dumps([content, place]), "utf-8")
        np.save(folder / SAMPLES, samples, allow_pickle=False)
        np.save(folder / LABELS, labels, allow_pickle=False)
        launch(["-m", "vqpu.distributed._fit_rank", name], processes, max_restarts)
        return load(folder / MODEL)


def _parameters_of(estimator: Any) -> dict[str, Any]:
    """Return an estimator's parameters, a group of them by its parts."""
    every = estimator.get_params(deep=True)
    groups = {name.partition("__")[0] for name in every if "__" in name}
    plain = {name: value for name, value in every.items() if name not in groups}
    try:
        json.dumps(plain, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"Parameters that go to other processes are plain values: {error}. Name the encoder, "
            "or fit in a script of your own under torchrun."
        ) from error
    return plain
