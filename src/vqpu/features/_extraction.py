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
        Of the contents, by place.
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
            digest = hashlib.sha256(content).digest()
            row = MISSING if store is None else store.find(digest)
            if row == MISSING:
                prepared.loaded[place] = sample.decode(content)
            else:
                prepared.rows[place] = row
            prepared.digests[place] = digest
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
    places = list(prepared.loaded)
    broken = dict(prepared.broken)
    parts: dict[int, NDArray[np.float32]] = {}
    if places:
        new = extractor([prepared.loaded[place] for place in places])
        is_finite = np.asarray(np.isfinite(new).all(axis=1))
        good = [place for place, sound in zip(places, is_finite, strict=True) if sound]
        broken |= dict.fromkeys({*places} - {*good}, "its features are not finite")
        parts = dict(zip(good, new[is_finite], strict=True))
        if store is not None and good:
            store.append([prepared.digests[place] for place in good], new[is_finite])
    if prepared.rows:
        assert store is not None
        parts |= zip(prepared.rows, store.read([*prepared.rows.values()]), strict=True)
    width = extractor.record.n_features
    vectors = np.stack([parts[place] for place in sorted(parts)]) if parts else np.empty((0, width))
    return Extracted(vectors.astype(np.float32, copy=False), broken)


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
