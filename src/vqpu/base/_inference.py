"""Running a network over many samples, so that a sample's answer does not depend on the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vqpu.base._finite import all_finite
from vqpu.base._source import ArraySource
from vqpu.errors import UnusableSampleError

_VECTOR_CHUNK = 256
IMAGE_CHUNK = 128

Describe = Callable[[Tensor], tuple[Tensor, ...]]


@torch.inference_mode()
def encode_in_chunks(
    describe: Describe,
    source: ArraySource,
    indices: NDArray[np.int64] | None,
    device: torch.device,
) -> tuple[NDArray[Any], ...]:
    """Apply ``describe`` to samples of ``source``, chunk by chunk, and join what it returns.

    Every chunk has the same number of rows, the last one padded: matrix kernels round differently
    for different batch sizes, and a sample must get the same answer alone and in company.

    Parameters
    ----------
    describe : callable
        Takes a batch, returns tensors with one row a sample; the last one must be finite.
    source : ArraySource
    indices : ndarray of int or None
        Which samples; None means all, in order.
    device : torch.device
    """
    rows = IMAGE_CHUNK if source.is_image else _VECTOR_CHUNK
    n = len(source) if indices is None else len(indices)
    joined: tuple[NDArray[Any], ...] | None = None
    for start in range(0, n, rows):
        stop = min(start + rows, n)
        raw = source.slice(start, stop) if indices is None else source.batch(indices[start:stop])
        described = describe(_padded(raw, rows).to(device))
        arrays = [tensor[: stop - start].cpu().numpy() for tensor in described]
        _check_finite(arrays[-1], start, indices)
        if joined is None:
            joined = tuple(np.empty((n, *a.shape[1:]), dtype=a.dtype) for a in arrays)
        for target, array in zip(joined, arrays, strict=True):
            target[start:stop] = array
    assert joined is not None, "a source is never empty"
    return joined


def _padded(raw: Tensor, rows: int) -> Tensor:
    if len(raw) == rows:
        return raw
    padding = raw[-1:].expand(rows - len(raw), *raw.shape[1:])
    return torch.cat([raw, padding])


def _check_finite(values: NDArray[Any], start: int, indices: NDArray[np.int64] | None) -> None:
    if not all_finite(values):
        finite = np.isfinite(values).reshape(len(values), -1).all(axis=1)
        place = start + int(np.argmin(finite))
        sample = place if indices is None else int(indices[place])
        raise UnusableSampleError(
            f"Sample {sample} has no finite encoding. Either its values are far from all others, "
            "or training diverged: look at them, leave it out, or try a smaller learning_rate."
        )
