"""``vqpu.load``: a saved model of whatever class."""

from __future__ import annotations

import os
from typing import Any

from vqpu.base._registry import find_method
from vqpu.errors import ModelFileError
from vqpu.persistence._bundle import Bundle
from vqpu.persistence._model import read_model
from vqpu.persistence._saving import EncoderMaker, restore_estimator


def load(
    path: str | os.PathLike[str] | Bundle,
    *,
    encoder: EncoderMaker | None = None,
    device: str | None = None,
) -> Any:
    """Return a model that was saved with ``save``; it predicts as it did, bit for bit.

    No code from the file is run, so a file from somebody else can be looked at.

    Parameters
    ----------
    path : path or Bundle
        Of the directory, or what ``read_model`` made of it, so that it is verified once.
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
    >>> import vqpu, vqpu.rivals
    >>> rng = np.random.default_rng(0)
    >>> X, y = vqpu.stack_pu(rng.normal(3, 1, (50, 2)), rng.normal(0, 3, (100, 2)))
    >>> model = vqpu.rivals.NaivePUClassifier(max_steps=20, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model")
    ...     again = vqpu.load(f"{folder}/model")
    >>> bool((again.decision_function(X) == model.decision_function(X)).all())
    True
    """
    bundle = path if isinstance(path, Bundle) else read_model(path)
    name = bundle.manifest.get("estimator")
    method = find_method(name) if isinstance(name, str) else None
    if method is None or not method.is_saved or method.class_name != name:
        raise ModelFileError(
            f"{bundle.path} was saved by {name!r}, which is none of vqpu's classes. Load it with "
            "the load of that class, or update vqpu."
        )
    return restore_estimator(method.load_class(), bundle, encoder=encoder, device=device)
