"""Sheets of generated samples: small pictures that fit into a record."""

from __future__ import annotations

import base64
import io
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

KEY = "sample_sheet"  # of the metrics
_COLUMNS, _ROWS = 8, 2
_QUALITY = 85


def draw_sheet(model: Any) -> str:
    """Return a sheet of samples of a fitted GAN, a JPEG as text.

    Parameters
    ----------
    model : estimator
        With ``sample``, fitted on images of whole numbers from 0 to 255 or of any other range.
    """
    images = model.sample(_COLUMNS * _ROWS, random_state=0).astype(float)
    low, high = images.min(), images.max()
    if low < 0 or high > 255 or high <= 1:  # no bytes: show the range that there is
        images = 255 * (images - low) / max(high - low, 1e-12)
    picture = Image.fromarray(_tiled(np.rint(images).astype(np.uint8)))
    content = io.BytesIO()
    picture.save(content, format="JPEG", quality=_QUALITY)
    return base64.b64encode(content.getvalue()).decode()


def read_sheet(text: str) -> NDArray[np.uint8]:
    """Return the pixels of a sheet, shape (height, width) or (height, width, 3)."""
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(text))))


def _tiled(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Put images of shape (n, h, w) or (n, h, w, 3) side by side, row by row."""
    rows = images.reshape(_ROWS, _COLUMNS, *images.shape[1:])
    return np.concatenate([np.concatenate(list(row), axis=1) for row in rows], axis=0)
