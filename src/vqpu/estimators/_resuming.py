"""Which fit a folder of checkpoints belongs to: estimator, parameters, data and seed."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from vqpu.base._labels import PULabels
from vqpu.base._parameters import draw_seed
from vqpu.base._seeding import preserved_torch_state
from vqpu.base._source import ArraySource
from vqpu.errors import ParameterError
from vqpu.estimators._saving import plain_parameters
from vqpu.persistence._checkpoints import CheckpointFolder, locked_folder, stored_seed

INTERRUPTS = ("raise", "keep-best")

_ROWS_LOOKED_AT = 256


@contextmanager
def opened_checkpoints(
    folder: str | os.PathLike[str] | None, estimator: Any, source: ArraySource, labels: PULabels
) -> Iterator[tuple[int, CheckpointFolder | None]]:
    """Give the seed of a fit and the folder of its checkpoints, locked; None without a folder.

    Parameters
    ----------
    folder : path or None
    estimator : estimator
    source : ArraySource
    labels : PULabels
    """
    seed = draw_seed(estimator.random_state)
    if folder is None:
        yield seed, None
        return
    if not isinstance(folder, (str, os.PathLike)):
        raise ParameterError(f"checkpoint_dir must be a path or None. Got {folder!r} instead.")
    path = Path(folder).absolute()
    with locked_folder(path):
        if estimator.random_state is None:  # the seed that was drawn then is as good as one now
            seed = seed if (stored := stored_seed(path)) is None else stored
        checkpoints = CheckpointFolder(path, _identity(estimator, source, labels, seed))
        checkpoints.clear_traces()
        yield seed, checkpoints


def _identity(estimator: Any, source: ArraySource, labels: PULabels, seed: int) -> dict[str, Any]:
    parameters = plain_parameters(estimator.get_params(deep=False))
    for name in ("random_state", "verbose"):  # the seed counts; progress shows and changes nothing
        del parameters[name]
    if callable(estimator.encoder):  # its name may be that of another lambda
        with preserved_torch_state(torch.device("cpu")):
            built = estimator._build_encoder(source.sample_shape, estimator._output_dim)
        # Addresses differ from process to process.
        parameters["layers of the encoder"] = re.sub(r" at 0x[0-9a-f]+", "", repr(built))
    return {
        "estimator": type(estimator).__name__,
        **parameters,
        "seed": seed,
        "shape of X": list(source.array.shape),
        "dtype of X": source.array.dtype.str,
        "digest of X": _digest_of_samples(source),
        "digest of y": hashlib.sha256(labels.is_positive.tobytes()).hexdigest(),
    }


def _digest_of_samples(source: ArraySource) -> str:
    """Return the SHA-256 of some samples: all of them may be too many to read."""
    places = np.unique(np.linspace(0, len(source) - 1, _ROWS_LOOKED_AT).astype(np.int64))
    return hashlib.sha256(source.batch(places).contiguous().numpy().tobytes()).hexdigest()
