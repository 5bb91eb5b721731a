"""Which fit a folder of checkpoints belongs to: estimator, parameters, data and seed."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from vqpu.base._parameters import draw_seed
from vqpu.base._source import ArraySource
from vqpu.errors import ParameterError
from vqpu.persistence._checkpoints import CheckpointFolder, locked_folder, stored_value
from vqpu.persistence._saving import plain_parameters

_ROWS_LOOKED_AT = 256


@contextmanager
def opened_checkpoints(
    folder: str | os.PathLike[str] | None, random_state: Any, identity: Mapping[str, Any]
) -> Iterator[tuple[int, CheckpointFolder | None]]:
    """Give the seed of a fit and the folder of its checkpoints, locked; None without a folder.

    Parameters
    ----------
    folder : path or None
    random_state : int, RandomState, Generator or None
        Draws the seed; None goes on with the one that was drawn for the checkpoints there are.
    identity : mapping
        Of the fit, but for the seed; see :func:`fit_identity`.
    """
    seed = draw_seed(random_state)
    if folder is None:
        yield seed, None
        return
    if not isinstance(folder, (str, os.PathLike)):
        raise ParameterError(f"checkpoint_dir must be a path or None. Got {folder!r} instead.")
    path = Path(folder).absolute()
    with locked_folder(path):
        if random_state is None:  # the seed that was drawn then is as good as one now
            seed = seed if (stored := stored_value(path, "seed")) is None else stored
        checkpoints = CheckpointFolder(path, {**identity, "seed": seed})
        checkpoints.clear_traces()
        yield seed, checkpoints


def fit_identity(
    estimator: Any, source: ArraySource, is_positive: Any, encoder: nn.Module | None
) -> dict[str, Any]:
    """Return what says which fit it is: two fits of one identity and seed end the same.

    Parameters
    ----------
    estimator : estimator
    source : ArraySource
    is_positive : ndarray of bool or None
        None for a fit without labels.
    encoder : Module or None
        One that the user's function built: its name alone may be that of another lambda.
    """
    # A group of parameters counts by its parts, however it was named.
    every = estimator.get_params(deep=True)
    groups = {name.partition("__")[0] for name in every if "__" in name}
    parameters = plain_parameters({k: v for k, v in every.items() if k not in groups})
    for name in ("random_state", "verbose"):  # the seed counts; progress shows and changes nothing
        del parameters[name]
    if encoder is not None:
        # Addresses differ from process to process.
        parameters["layers of the encoder"] = re.sub(r" at 0x[0-9a-f]+", "", repr(encoder))
    labels = b"" if is_positive is None else is_positive.tobytes()
    return {
        "estimator": type(estimator).__name__,
        **parameters,
        "shape of X": list(source.array.shape),
        "dtype of X": source.array.dtype.str,
        "digest of X": _digest_of_samples(source),
        **(
            {"categories": sorted(map(list, source.categories.items()))}
            if source.categories
            else {}
        ),
        "digest of y": hashlib.sha256(labels).hexdigest(),
    }


def _digest_of_samples(source: ArraySource) -> str:
    """Return the SHA-256 of some samples: all of them may be too many to read."""
    places = np.unique(np.linspace(0, len(source) - 1, _ROWS_LOOKED_AT).astype(np.int64))
    return hashlib.sha256(source.bytes_of(places)).hexdigest()
