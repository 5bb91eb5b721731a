"""``vqpu.load``: a saved model of whatever class."""

from __future__ import annotations

import os
from typing import Any

from vqpu import rivals
from vqpu.errors import ModelFileError
from vqpu.estimators._saving import EncoderMaker, SavedEstimator
from vqpu.persistence._bundle import Bundle
from vqpu.persistence._model import read_model
from vqpu.vq._classifier import VQKMeansClassifier

# The names that model files use. A name, once here, stays: files live longer than code.
SAVED_CLASSES: dict[str, type[SavedEstimator]] = {
    "CVIRClassifier": rivals.CVIRClassifier,
    "DGANClassifier": rivals.DGANClassifier,
    "DistPUClassifier": rivals.DistPUClassifier,
    "NNPUClassifier": rivals.NNPUClassifier,
    "NaivePUClassifier": rivals.NaivePUClassifier,
    "ObserverGANClassifier": rivals.ObserverGANClassifier,
    "OracleClassifier": rivals.OracleClassifier,
    "TEDnClassifier": rivals.TEDnClassifier,
    "UPUClassifier": rivals.UPUClassifier,
    "VPUClassifier": rivals.VPUClassifier,
    "VQKMeansClassifier": VQKMeansClassifier,
    "VQVAE": rivals.VQVAE,
}


def load(
    path: str | os.PathLike[str],
    *,
    encoder: EncoderMaker | None = None,
    device: str | None = None,
) -> Any:
    """Return a model that was saved with ``save``; it answers as it did, bit for bit.

    No code from the file is run, so a file from somebody else can be looked at.

    Parameters
    ----------
    path : path
        Of the directory.
    encoder : callable or None
        The function that was given as ``encoder`` when the model was fitted, if one was.
    device : str or None
        Where to compute. None: as the parameter ``device`` says that was saved.

    Returns
    -------
    model : estimator
        Of the class that was saved.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import vqpu
    >>> rng = np.random.default_rng(0)
    >>> X, y = vqpu.stack_pu(rng.normal(3, 1, (50, 2)), rng.normal(0, 3, (100, 2)))
    >>> model = vqpu.NaivePUClassifier(max_steps=20, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model")
    ...     again = vqpu.load(f"{folder}/model")
    >>> bool((again.decision_function(X) == model.decision_function(X)).all())
    True
    """
    return load_bundle(read_model(path), encoder=encoder, device=device)


def load_bundle(
    bundle: Bundle, *, encoder: EncoderMaker | None = None, device: str | None = None
) -> Any:
    """Return the model of a directory whose manifest has been verified; see :func:`load`."""
    name = bundle.manifest.get("estimator")
    if not isinstance(name, str) or name not in SAVED_CLASSES:
        raise ModelFileError(
            f"{bundle.path} was saved by {name!r}, which is none of vqpu's classes. Load it with "
            "the load of that class, or update vqpu."
        )
    return SAVED_CLASSES[name]._of_bundle(bundle, encoder=encoder, device=device)
