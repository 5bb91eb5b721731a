"""Pictures and texts as training data of features, by what the settings name."""

from __future__ import annotations

import warnings
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vqpu.errors import BrokenImageWarning, BrokenTextWarning, InputError, UsageError
from vqpu.features._extractor import Extractor
from vqpu.features._opening import open_extractor
from vqpu.files import PUData, find_images, kind_of, read_label_file, show_progress
from vqpu.files._feature_streams import (
    RawChunk,
    check_input_kind,
    column_chunks,
    feature_chunks,
    file_chunks,
    picture_reader,
)
from vqpu.files._input_format import InputFormat
from vqpu.files._settings import Sources
from vqpu.files.readers._imagelist import check_apart
from vqpu.files.readers._samples import Broken, check_both_kinds, describe_broken
from vqpu.files.readers._spool import Spool
from vqpu.files.readers._texts import count_rows, decode_text, find_texts, read_text_file

# What a user who leaves the encoder open gets on features: see results/features/summary.md. A layer
# behind a pretrained network is learned in a few hundred steps, and more of its vectors would say
# the same again.
FEATURE_DEFAULTS: dict[str, Any] = {
    "encoder": "linear",
    "n_vectors": 2,
    "max_steps": 500,
    "n_rounds": 2,
}
_LONGEST_SHOWN = 2000


def with_feature_defaults(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return parameters with those of features, unless another encoder was chosen.

    Parameters
    ----------
    parameters : dict
        What the user set.
    """
    if parameters.get("encoder", "auto") not in ("auto", "linear"):
        return parameters
    chosen = {name: value for name, value in parameters.items() if name != "encoder"}
    return FEATURE_DEFAULTS | chosen


def read_features(
    sources: Sources, *, quiet: bool = False, extractor: Extractor | None = None
) -> tuple[PUData, InputFormat]:
    """Read and extract the data set that the settings name.

    Parameters
    ----------
    sources : Sources
        Checked, with ``features``.
    quiet : bool
        Whether to show no progress.
    extractor : Extractor or None
        None opens what ``sources.features`` names.
    """
    if extractor is None:
        assert sources.features is not None
        extractor = open_extractor(sources.features)
    path = sources.data if sources.data is not None else str(sources.positives)
    kind = kind_of(path)
    check_input_kind(extractor, kind, path)
    with _progress(kind, quiet) as progress:
        read = _of_table if kind == "table" else _of_files
        data = read(sources, extractor, progress)
    return data, _input_format(kind, data, sources, extractor)


def _input_format(kind: str, data: PUData, sources: Sources, extractor: Extractor) -> InputFormat:
    is_table = kind == "table"
    return InputFormat.of_features(
        extractor.record,
        label=sources.label,
        positive=None if sources.positive is None else str(sources.positive),
        id_column=sources.id_column if is_table else None,
        negative=None if data.words is None else data.words[0],
        text=sources.text[0] if is_table else None,
    )


Progress = Callable[[int, int], None]


@contextmanager
def _progress(kind: str, quiet: bool) -> Iterator[Progress]:
    if quiet:
        yield lambda *_: None
        return
    with show_progress("images" if kind == "images" else "texts") as report:
        yield lambda done, total: report("extracting", done, total)


def _of_files(sources: Sources, extractor: Extractor, progress: Progress) -> PUData:
    """Read two folders, or one with a file of labels."""
    image = extractor.record.image
    find = find_images if image is not None else find_texts
    if sources.data is not None:
        assert sources.labels is not None
        paths, y = read_label_file(
            Path(sources.data), Path(sources.labels), sources.positive, sources.file_column,
            str(sources.label),
        )  # fmt: skip
    else:
        assert sources.positives is not None
        assert sources.unlabeled is not None
        first, second = find(sources.positives), find(sources.unlabeled)
        check_apart(sources.positives, sources.unlabeled, first, second)
        paths = first + second
        y = np.repeat(np.array([1, 0], np.int8), [len(first), len(second)])
    data = _gathered(file_chunks(paths, image, y), len(paths), sources, extractor, progress)
    return data._replace(raw=_file_reader(data, extractor))


def _file_reader(data: PUData, extractor: Extractor) -> Callable[[int], Any]:
    """Return what shows a sample: its file is read once more."""
    image = extractor.record.image
    if image is None:
        return lambda row: decode_text(read_text_file(Path(data.names[row])))[:_LONGEST_SHOWN]
    sample_of = picture_reader(image)

    def picture(row: int) -> NDArray[np.uint8]:
        sample = sample_of(Path(data.names[row]))
        return np.asarray(sample.decode(sample.read()))

    return picture


def _of_table(sources: Sources, extractor: Extractor, progress: Progress) -> PUData:
    """Read a column of one table with labels, or of two tables."""
    (column,) = sources.text
    if sources.data is not None:
        total = count_rows(sources.data, column)
        chunks = column_chunks(
            sources.data, column,
            id_column=sources.id_column, label=sources.label, positive=sources.positive,
        )  # fmt: skip
    else:
        pair = (str(sources.positives), str(sources.unlabeled))
        total = sum(count_rows(path, column) for path in pair)
        chunks = _labeled_by_table(pair, column, sources.id_column)
    words: set[str] = set()
    shown = _ShownTexts(sources.cache_dir)
    data = _gathered(
        shown.watch(_watched(chunks, words)), total, sources, extractor, progress
    )  # fmt: skip
    others = sorted(words - {str(sources.positive), ""})
    if len(others) == 1:
        data = data._replace(words=(others[0], str(sources.positive)))
    return data._replace(raw=shown.reader(data))


def _labeled_by_table(
    pair: tuple[str, str], column: str, id_column: str | None
) -> Iterator[RawChunk]:
    """Give the rows of positives, then those of unlabelled data, numbered through."""
    start = 0
    for path, label in zip(pair, (1, 0), strict=True):
        for chunk in column_chunks(path, column, id_column=id_column):
            n = len(chunk.samples)
            names = chunk.names if id_column is not None else range(start, start + n)
            start += n
            yield chunk._replace(names=names, y=np.full(n, label, np.int8))


def _watched(chunks: Iterable[RawChunk], words: set[str]) -> Iterator[RawChunk]:
    for chunk in chunks:
        if len(words) < 10:
            words.update(chunk.words)
        yield chunk


class _ShownTexts:
    """The beginnings of texts that pass by, on disk, for the galleries of a report."""

    def __init__(self, cache_dir: str | Path | None) -> None:
        self._cache_dir = cache_dir
        self._ends = array("q", [0])
        self._found: NDArray[np.uint8] = np.empty(0, np.uint8)

    def watch(self, chunks: Iterable[RawChunk]) -> Iterator[RawChunk]:
        with Spool(self._cache_dir) as spool:
            for chunk in chunks:
                for sample in chunk.samples:
                    try:
                        content = sample.read()[: 4 * _LONGEST_SHOWN]
                    except InputError:  # left out, or refused further on
                        continue
                    spool.write(content)
                    self._ends.append(self._ends[-1] + len(content))
                yield chunk
            if self._ends[-1]:
                self._found = spool.finish(np.uint8, (self._ends[-1],))

    def reader(self, data: PUData) -> Callable[[int], str] | None:
        if len(self._ends) - 1 != len(data.names):  # a text without finite features was left out
            return None
        found, ends = self._found, self._ends

        def text(row: int) -> str:
            content = found[ends[row] : ends[row + 1]].tobytes()
            return content.decode("utf-8", "ignore")[:_LONGEST_SHOWN]

        return text


def _gathered(
    chunks: Iterable[RawChunk],
    total: int,
    sources: Sources,
    extractor: Extractor,
    progress: Progress,
) -> PUData:
    """Extract everything; vectors go to the disk of the cache folder."""
    labels: list[NDArray[np.int8]] = []
    names: list[Any] = []
    broken: list[Broken] = []
    n_done = 0
    with Spool(sources.cache_dir) as spool:
        for chunk in feature_chunks(chunks, extractor, cache_dir=sources.cache_dir):
            assert chunk.y is not None
            n_done += len(chunk.y)
            spool.write(np.ascontiguousarray(chunk.X).tobytes())
            labels.append(np.delete(chunk.y, chunk.broken_places))
            names += chunk.names
            broken += chunk.broken
            progress(n_done, total)
        kind = "images" if extractor.record.image is not None else "texts"
        _report(broken, n_done, kind, sources.on_broken)
        y = np.concatenate(labels)
        _check_both(y, sources, len(broken))
        X = spool.finish(np.float32, (len(y), extractor.record.n_features))
    return PUData(X, y, names, tuple(broken))


def _report(broken: list[Broken], total: int, kind: str, on_broken: str) -> None:
    if not broken:
        return
    found = describe_broken(broken, total, kind)
    if on_broken == "raise":
        raise InputError(f"{found} Repair or remove them, or leave them out with --skip-broken.")
    category = BrokenImageWarning if kind == "images" else BrokenTextWarning
    warnings.warn(f"{found} They are left out.", category, stacklevel=5)


def _check_both(y: NDArray[np.int8], sources: Sources, n_broken: int) -> None:
    if sources.data is not None:
        check_both_kinds(y, sources.data, sources.positive, [])
    elif y.all() or not y.any():
        kind = "unlabelled" if y.any() else "positive"
        raise InputError(f"No {kind} sample is left without the {n_broken} broken ones.")


def check_feature_sources(sources: Sources, kind: str) -> None:
    """Refuse, before anything is read, what features cannot be made of.

    Parameters
    ----------
    sources : Sources
    kind : str
        Of the data.
    """
    if kind == "texts" and sources.features is None:
        raise UsageError(
            "A folder of texts is read by a pretrained network: give --features MODEL, an ONNX "
            "file with its tokenizer.json beside it or a local Hugging Face directory. Without one "
            "put the texts into a column of a table, CSV or JSON lines: its words count then."
        )
    if sources.features is not None and kind == "array":
        raise UsageError("--features is for pictures and texts; arrays are learned from as is.")
    if sources.features is not None and kind == "table" and len(sources.text) != 1:
        raise UsageError(
            "Say which column of the table holds the text: --text COLUMN with --features, once."
        )
