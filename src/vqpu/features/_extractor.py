"""What an extractor is, and the batches in which it works."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vqpu.features._preprocessing import pooled, with_unit_length
from vqpu.features._record import ExtractorRecord, ImageInput
from vqpu.features._tokens import Tokenizer, Tokens

_MOST_BATCH = 32
_BATCH_VALUES = 1 << 22


class Extractor(Protocol):
    """A name, a kind of input and a function from raw samples to vectors.

    Attributes
    ----------
    record : ExtractorRecord
    """

    record: ExtractorRecord

    def __call__(self, samples: Sequence[Any]) -> NDArray[np.float32]:
        """Return vectors of shape (n, n_features).

        Parameters
        ----------
        samples : sequence of length n
            Texts, or pictures of uint8 and shape ``record.image.shape``.
        """


def in_batches(
    samples: Sequence[Any], size: int, extract: Callable[[Sequence[Any]], NDArray[np.float32]]
) -> NDArray[np.float32]:
    """Return the vectors of all samples, taken ``size`` at a time."""
    parts = [extract(samples[start : start + size]) for start in range(0, len(samples), size)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def image_vectors(
    pixels: Sequence[NDArray[np.uint8]],
    record: ExtractorRecord,
    run: Callable[[NDArray[np.uint8], ImageInput], NDArray[Any]],
) -> NDArray[np.float32]:
    """Return the vectors of pictures; the larger they are, the fewer go through together.

    Parameters
    ----------
    pixels : sequence of ndarray
    record : ExtractorRecord
    run : callable
        The network: pictures and their preprocessing in, its output out.
    """
    image = record.image
    assert image is not None
    size = max(1, min(_MOST_BATCH, _BATCH_VALUES // (3 * image.size**2)))

    def extract(some: Sequence[Any]) -> NDArray[np.float32]:
        return pooled(run(np.asarray(some), image), record.pooling)

    found = in_batches(pixels, size, extract)
    return with_unit_length(found) if record.unit_length else found


def text_vectors(
    texts: Sequence[str],
    tokenizer: Tokenizer,
    record: ExtractorRecord,
    run: Callable[[Tokens], NDArray[Any]],
) -> NDArray[np.float32]:
    """Return the vectors of texts; those of like length go through the network together.

    Parameters
    ----------
    texts : sequence of str
    tokenizer : Tokenizer
    record : ExtractorRecord
    run : callable
        The network: tokens in, its output out.
    """
    ids = tokenizer.encode(texts)
    order = sorted(range(len(ids)), key=lambda place: len(ids[place]))
    found = np.empty((len(ids), record.n_features), np.float32)
    for start in range(0, len(order), _MOST_BATCH):
        places = order[start : start + _MOST_BATCH]
        tokens = tokenizer.padded([ids[place] for place in places])
        found[places] = pooled(run(tokens), record.pooling, tokens.mask)
    return with_unit_length(found) if record.unit_length else found


def n_threads() -> int:
    """Return how many threads a network may use: ``OMP_NUM_THREADS``, or one a core."""
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    if wanted.isdigit() and int(wanted) > 0:
        return int(wanted)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
