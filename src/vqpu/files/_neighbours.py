"""``features try``: the nearest neighbours of some samples, to see what a network sees."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.base._parameters import check_integer
from vqpu.errors import InputError, UsageError
from vqpu.features._extractor import Extractor
from vqpu.features._opening import open_extractor
from vqpu.files import find_images, kind_of
from vqpu.files._feature_streams import (
    RawChunk,
    check_input_kind,
    column_chunks,
    feature_chunks,
    file_chunks,
)
from vqpu.files._ranking import check_sheet, save_sheet
from vqpu.files.readers._texts import find_texts
from vqpu.persistence._targets import writing

N_NEIGHBOURS = 7
_TILE, _MARGIN, _CAPTION = 96, 4, 14
_LONGEST_TEXT = 100


class Neighbour(NamedTuple):
    """A sample near another.

    Attributes
    ----------
    place : int
        Among the samples that were tried.
    similarity : float
        Cosine of the angle between the features, less their mean; 1 is the same.
    """

    place: int
    similarity: float


class Tried(NamedTuple):
    """What was tried.

    Attributes
    ----------
    extractor : Extractor
    names : list
        Of all samples that were compared.
    shown : list of str
        What to print of each: the beginning of a text, or its name.
    rows : list of list of Neighbour
        A row a question: the sample itself first, then its nearest ones.
    n_broken : int
    """

    extractor: Extractor
    names: list[Any]
    shown: list[str]
    rows: list[list[Neighbour]]
    n_broken: int


def try_features(
    extractor_path: str | Path,
    input_path: str | Path,
    *,
    text: str | None = None,
    sheet: str | Path | None = None,
    n_samples: int = 300,
    n_questions: int = 8,
    seed: int = 0,
) -> Tried:
    """Compare samples of a folder or a table by their features.

    Parameters
    ----------
    extractor_path, input_path : path
    text : str or None
        Column of a table.
    sheet : path or None
        A PNG for pictures: a row a question.
    n_samples, n_questions : int
        How many samples are drawn, and of how many the nearest ones are shown.
    seed : int
    """
    check_integer("n_samples", n_samples, 2)
    check_integer("n_questions", n_questions, 1)
    kind = kind_of(input_path)
    if sheet is not None:
        check_sheet(sheet, kind, input_path, extractor_path)
    if (kind == "table") != (text is not None):
        raise UsageError("--text COLUMN is for tables, and tables need it.")
    extractor = open_extractor(extractor_path)
    check_input_kind(extractor, kind, input_path)
    rng = np.random.default_rng(seed)
    chunks = _drawn(extractor, input_path, text, n_samples, rng)
    found = [*feature_chunks(chunks, extractor)]
    X, names = np.concatenate([one.X for one in found]), [n for one in found for n in one.names]
    if len(X) < 2:
        raise InputError(f"{input_path} has {len(X)} samples that can be used. Two are needed.")
    asked = np.sort(rng.permutation(len(X))[:n_questions])
    rows = nearest_neighbours(X, asked, N_NEIGHBOURS)
    if sheet is not None:
        _draw(Path(sheet), rows, names, extractor)
    shown = _shown(chunks, names, extractor)
    return Tried(extractor, names, shown, rows, sum(len(one.broken) for one in found))


def _drawn(
    extractor: Extractor,
    path: str | Path,
    text: str | None,
    n_samples: int,
    rng: np.random.Generator,
) -> list[RawChunk]:
    """Return a random sample in the order of the input."""
    if text is not None:
        return [_reservoir(column_chunks(path, text), n_samples, rng)]
    find = find_images if extractor.record.image is not None else find_texts
    paths = find(path)
    chosen = np.sort(rng.permutation(len(paths))[:n_samples])
    return [*file_chunks([paths[place] for place in chosen], extractor.record.image)]


def _shown(chunks: list[RawChunk], names: list[Any], extractor: Extractor) -> list[str]:
    """Return the names of pictures, the beginnings of texts."""
    if extractor.record.image is not None:
        return [str(name) for name in names]
    texts = {
        name: _text(sample)
        for chunk in chunks
        for name, sample in zip(chunk.names, chunk.samples, strict=True)
    }
    return [_brief(texts[name]) for name in names]


def _reservoir(chunks: Iterable[RawChunk], n_samples: int, rng: np.random.Generator) -> RawChunk:
    """Return a random sample of a stream of unknown length: those with the smallest draws."""
    kept: list[tuple[float, int, Any, Any]] = []
    n_seen = 0
    for chunk in chunks:
        draws = rng.random(len(chunk.samples))
        numbers = range(n_seen, n_seen + len(draws))
        n_seen += len(draws)
        kept += zip(draws.tolist(), numbers, chunk.samples, chunk.names, strict=True)
        kept = sorted(kept, key=lambda one: one[:2])[:n_samples]
    kept.sort(key=lambda one: one[1])
    return RawChunk([one[2] for one in kept], [one[3] for one in kept])


def _text(sample: Any) -> str | None:
    try:
        return str(sample.decode(sample.read()))
    except InputError:
        return None


def _brief(text: str | None) -> str:
    plain = " ".join((text or "").split())
    return plain if len(plain) <= _LONGEST_TEXT else plain[: _LONGEST_TEXT - 3] + "..."


def nearest_neighbours(
    vectors: NDArray[np.float32], asked: Sequence[int] | NDArray[np.int64], n_neighbours: int
) -> list[list[Neighbour]]:
    """Return samples with their nearest ones, the nearest first, the sample itself before all.

    Parameters
    ----------
    vectors : ndarray of shape (n, d)
    asked : sequence of int
        Whose neighbours.
    n_neighbours : int
        At most so many each.

    Examples
    --------
    >>> [[row]] = [nearest_neighbours(np.array([[1.0, 0], [1, 0.1], [-2, 0]]), [0], 1)]
    >>> [one.place for one in row]
    [0, 1]
    """
    away = vectors - vectors.mean(axis=0)
    unit = away / np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-12)
    rows = []
    for place in asked:
        similarity = unit @ unit[place]
        order = np.argsort(-similarity, kind="stable")
        others = order[order != place][:n_neighbours]
        row = [Neighbour(int(place), 1.0)]
        rows.append(row + [Neighbour(int(one), float(similarity[one])) for one in others])
    return rows


def _draw(path: Path, rows: list[list[Neighbour]], names: list[Any], extractor: Extractor) -> None:
    """Write the sheet: in every row a picture, framed, and its nearest ones."""
    from PIL import Image, ImageDraw

    from vqpu.files import iter_images

    step_x, step_y = _TILE + _MARGIN, _TILE + _CAPTION + _MARGIN
    width = max(map(len, rows)) * step_x + 2 * _MARGIN
    sheet = Image.new("RGB", (width, len(rows) * step_y + _MARGIN), "white")
    draw = ImageDraw.Draw(sheet)
    image = extractor.record.image
    assert image is not None
    for line, row in enumerate(rows):
        paths = [Path(names[one.place]) for one in row]
        (tiles,) = iter_images(paths, size=_TILE, mode=image.mode)
        for column, (one, tile) in enumerate(zip(row, tiles.X, strict=True)):
            x = _MARGIN + column * step_x + (_MARGIN if column else 0)
            y = _MARGIN + line * step_y
            sheet.paste(Image.fromarray(tile), (x, y))
            draw.text((x, y + _TILE), f"{one.similarity:.2f}" if column else "like", fill="black")
            if not column:
                frame = (x - 2, y - 2, x + _TILE + 1, y + _TILE + 1)
                draw.rectangle(frame, outline="black", width=2)
    with writing(path) as file:
        save_sheet(sheet, file)
