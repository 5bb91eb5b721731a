"""Raw samples to vectors: those in the cache are read, the others go through the network once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.errors import InputError
from vqpu.features._extractor import Extractor
from vqpu.features._preprocessing import square_pixels
from vqpu.features._store import MISSING, VectorStore

_CHUNK = 256


class Sample(NamedTuple):
    """A sample that has not been looked at yet.

    Attributes
    ----------
    read : callable
        Returns its content, or raises an :class:`InputError` that says why it cannot be used.
    decode : callable
        Turns the content into a picture or a text, or raises likewise.
    """

    read: Callable[[], bytes]
    decode: Callable[[bytes], Any]


class Prepared(NamedTuple):
    """Samples that were looked up; those without a vector are decoded.

    Attributes
    ----------
    digests : dict of bytes
        Of the contents, by place; empty without a store.
    rows : dict of int
        In the store, by place.
    loaded : dict
        Pictures or texts to be extracted, by place.
    broken : dict of str
        Why samples cannot be used, by place.
    """

    digests: dict[int, bytes]
    rows: dict[int, int]
    loaded: dict[int, Any]
    broken: dict[int, str]


class Extracted(NamedTuple):
    """Vectors of samples.

    Attributes
    ----------
    vectors : ndarray of float32, shape (n, d)
        Of those that can be used, in order.
    broken : dict of str
        Why others cannot, by their place among all.
    """

    vectors: NDArray[np.float32]
    broken: dict[int, str]


def prepare(samples: Iterable[Sample], store: VectorStore | None) -> Prepared:
    """Read samples one at a time, and decode those whose vectors are not there.

    Parameters
    ----------
    samples : iterable of Sample
        No more than fit into memory once they are decoded.
    store : VectorStore or None
    """
    prepared = Prepared({}, {}, {}, {})
    for place, sample in enumerate(samples):
        try:
            content = sample.read()
            row = MISSING
            if store is not None:
                prepared.digests[place] = hashlib.sha256(content).digest()
                row = store.find(prepared.digests[place])
            if row == MISSING:
                prepared.loaded[place] = sample.decode(content)
            else:
                prepared.rows[place] = row
        except InputError as error:
            prepared.broken[place] = str(error)
    return prepared


def extract_prepared(
    prepared: Prepared, extractor: Extractor, store: VectorStore | None
) -> Extracted:
    """Return the vectors of samples that were looked up, and keep the new ones.

    A sample whose vector is not finite counts as broken.

    Parameters
    ----------
    prepared : Prepared
    extractor : Extractor
    store : VectorStore or None
    """
    new, broken = _extract_new(prepared, extractor)
    good = [place for place in prepared.loaded if place not in broken]
    if store is not None and good:
        store.append([prepared.digests[place] for place in good], new)
    if not prepared.rows:
        return Extracted(new, broken)
    assert store is not None
    known = store.read([*prepared.rows.values()])
    order = np.argsort([*good, *prepared.rows])
    return Extracted(np.concatenate([new, known])[order], broken)


def _extract_new(
    prepared: Prepared, extractor: Extractor
) -> tuple[NDArray[np.float32], dict[int, str]]:
    """Return the vectors of samples that were decoded, and all that cannot be used."""
    if not prepared.loaded:
        return np.empty((0, extractor.record.n_features), np.float32), dict(prepared.broken)
    new = np.asarray(extractor([*prepared.loaded.values()]), np.float32)
    is_finite = np.asarray(np.isfinite(new).all(axis=1))
    if is_finite.all():
        return new, dict(prepared.broken)
    bad = [place for place, sound in zip(prepared.loaded, is_finite, strict=True) if not sound]
    return new[is_finite], prepared.broken | dict.fromkeys(bad, "its features are not finite")


def extract(
    extractor: Extractor,
    samples: Sequence[str] | NDArray[np.uint8] | Sequence[NDArray[np.uint8]],
    *,
    cache_dir: str | Path | None = None,
) -> NDArray[np.float32]:
    """Return the vectors of texts or pictures, ready for ``fit`` and ``predict``.

    Parameters
    ----------
    extractor : Extractor
        As of :func:`open_extractor`, or a :class:`FunctionExtractor`.
    samples : sequence of str, or of ndarray of uint8
        Texts, or pictures (h, w), (h, w, 1) or (h, w, 3) of any size.
    cache_dir : path or None
        Where vectors are kept, so that the same samples are not extracted again; None: nowhere.

    Returns
    -------
    X : ndarray of float32, shape (n, d)
    """
    store = None if cache_dir is None else VectorStore(Path(cache_dir), extractor.record)
    parts = [np.empty((0, extractor.record.n_features), np.float32)]
    for start in range(0, len(samples), _CHUNK):
        some = [_in_memory(extractor, one) for one in samples[start : start + _CHUNK]]
        found = extract_prepared(prepare(some, store), extractor, store)
        if found.broken:
            place, reason = next(iter(sorted(found.broken.items())))
            raise InputError(f"Sample {start + place} cannot be used: {reason}.")
        parts.append(found.vectors)
    return np.concatenate(parts)


def _in_memory(extractor: Extractor, one: Any) -> Sample:
    image = extractor.record.image
    if image is None:
        return text_sample(one)
    pixels = square_pixels(np.asarray(one), image)
    return Sample(pixels.tobytes, lambda _: pixels)


def text_sample(text: str | None) -> Sample:
    """Return a text as a sample; nothing, or spaces alone, cannot be used."""

    def read() -> bytes:
        if not isinstance(text, str) or not text.strip():
            raise InputError("it has no text")
        return text.encode("utf-8", "surrogatepass")

    return Sample(read, lambda _: text)
