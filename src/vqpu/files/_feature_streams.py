"""Pictures and texts as streams of features: raw samples in chunks, extracted where not cached."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.errors import InputError, UsageError
from vqpu.features._extraction import Sample, extract_prepared, prepare, text_sample
from vqpu.features._extractor import Extractor
from vqpu.features._record import ImageInput
from vqpu.features._store import StoredFeatures, VectorStore, stored_features
from vqpu.files._read_ahead import read_ahead
from vqpu.files.readers._decode import ImageRule, decode_image, open_image_file
from vqpu.files.readers._samples import Broken, Chunk, KeptColumn
from vqpu.files.readers._spool import cache_folder
from vqpu.files.readers._texts import decode_text, iter_text_column, read_text_file

_CHUNK = 256


class RawChunk(NamedTuple):
    """Some samples that are not extracted yet, in the order of the input.

    Attributes
    ----------
    samples : sequence of Sample
    names, y, kept
        As in :class:`vqpu.files.Chunk`, for all of them.
    words : sequence of str
        Some of the labels of a table.
    """

    samples: Sequence[Sample]
    names: Sequence[Any]
    y: NDArray[np.int8] | None = None
    kept: Mapping[str, KeptColumn] = MappingProxyType({})
    words: Sequence[str] = ()

    def taken(self, some: slice) -> RawChunk:
        """Return a part."""
        kept = {name: one._replace(values=one.values[some]) for name, one in self.kept.items()}
        y = None if self.y is None else self.y[some]
        return RawChunk(self.samples[some], self.names[some], y, kept, self.words)


def feature_cache(cache_dir: str | Path | None) -> Path:
    """Return the folder of features in a cache folder, None for that of the user."""
    return cache_folder(cache_dir) / "features"


def cached_features(cache_dir: str | Path | None = None) -> list[StoredFeatures]:
    """Return what the cache of features holds, an entry an extractor."""
    return stored_features(feature_cache(cache_dir))


def file_chunks(
    paths: Sequence[Path], image: ImageInput | None, y: NDArray[np.int8] | None = None
) -> Iterator[RawChunk]:
    """Give files as raw samples.

    Parameters
    ----------
    paths : sequence of Path
    image : ImageInput or None
        How pictures are read; None: the files are texts.
    y : ndarray of int8, shape (n,), or None
    """
    of_path = text_file_sample if image is None else picture_reader(image)
    for start in range(0, len(paths), _CHUNK):
        some = slice(start, start + _CHUNK)
        samples = [of_path(path) for path in paths[some]]
        names = [str(path) for path in paths[some]]
        yield RawChunk(samples, names, None if y is None else y[some])


def picture_reader(image: ImageInput) -> Callable[[Path], Sample]:
    """Return what makes a sample of a picture's path.

    Parameters
    ----------
    image : ImageInput
    """
    rule = ImageRule(image.resize, image.mode, resample=image.resample)

    def sample(path: Path) -> Sample:
        def read() -> bytes:
            with open_image_file(path, rule) as file:
                return file.read()

        return Sample(read, lambda content: decode_image(io.BytesIO(content), rule))

    return sample


def text_file_sample(path: Path) -> Sample:
    """Return the text of a file as a sample."""
    return Sample(lambda: read_text_file(path), decode_text)


def column_chunks(path: str | Path, column: str, **roles: Any) -> Iterator[RawChunk]:
    """Give the texts of a table's column as raw samples.

    Parameters
    ----------
    path : path
    column : str
    **roles : object
        As of :func:`vqpu.files.readers._texts.iter_text_column`.
    """
    for rows in iter_text_column(path, column, **roles):
        samples = [text_sample(text) for text in rows.texts]
        yield RawChunk(samples, rows.names, rows.y, rows.kept, rows.words)


def feature_chunks(
    chunks: Iterable[RawChunk],
    extractor: Extractor,
    *,
    cache_dir: str | Path | None = None,
    refuse: str | None = None,
) -> Iterator[Chunk]:
    """Give features for raw samples; the next ones are read while a network works.

    Parameters
    ----------
    chunks : iterable of RawChunk
    extractor : Extractor
    cache_dir : path or None
        None means the user's cache folder.
    refuse : str or None
        What to do about samples that cannot be used, at the end of an error; None: they are
        listed in their chunk.
    """
    store = VectorStore(feature_cache(cache_dir), extractor.record)
    prepared = ((chunk, prepare(chunk.samples, store)) for chunk in chunks)
    for chunk, ready in read_ahead(prepared):
        vectors, reasons = extract_prepared(ready, extractor, store)
        places = sorted(reasons)
        broken = tuple(Broken(chunk.names[place], reasons[place]) for place in places)
        if refuse is not None and broken:
            raise InputError(f"{broken[0].name} cannot be used: {broken[0].reason}. {refuse}")
        good = chunk.names
        if places:
            good = [name for place, name in enumerate(chunk.names) if place not in reasons]
        yield Chunk(vectors, good, chunk.y, broken, chunk.kept, tuple(places))


def check_input_kind(extractor: Extractor, kind: str, path: str | Path) -> None:
    """Refuse texts for a network of pictures, and the other way round.

    Parameters
    ----------
    extractor : Extractor
    kind : {"images", "texts", "table"}
        Of the samples.
    path : path
        Where they are.
    """
    needed = "image" if kind == "images" else "text"
    if extractor.record.input != needed:
        takes = "pictures" if extractor.record.input == "image" else "texts"
        raise UsageError(
            f"{extractor.record.name} takes {takes}, but {path} is of kind {kind!r}. Choose an "
            "extractor for these data."
        )
