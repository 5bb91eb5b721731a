"""The most likely positives of an input, and a sheet of their pictures."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vqpu.base._parameters import check_integer
from vqpu.errors import InputError, UsageError
from vqpu.files._scoring import Predictions
from vqpu.persistence._targets import check_target, writing

_TILE = 112
_MARGIN = 4
_CAPTION = 14
MOST_TILES = 1000


class Ranked(NamedTuple):
    """The best samples of an input.

    Attributes
    ----------
    best : Predictions
        The largest score first; of equal ones, the earlier first.
    n_seen : int
        Samples that were scored and compete.
    n_labeled : int
        Samples left out because they are labelled positive already.
    n_broken : int
        Files or rows left out because they cannot be used.
    """

    best: Predictions
    n_seen: int
    n_labeled: int
    n_broken: int


def rank(answers: Iterable[Predictions], top: int) -> Ranked:
    """Return the ``top`` samples by score; those whose ``y`` is 1 are not hidden and left out.

    Parameters
    ----------
    answers : iterable of Predictions
    top : int
    """
    check_integer("top", top, 1)
    n_seen = n_labeled = n_broken = 0

    def competing() -> Iterator[tuple[float, int, tuple[Any, ...]]]:
        nonlocal n_seen, n_labeled, n_broken
        for part in answers:
            n_broken += len(part.broken)
            is_known = np.zeros(len(part), bool) if part.y is None else part.y == 1
            n_labeled += int(is_known.sum())
            for row, known in zip(part.rows(), is_known, strict=True):
                if not known:
                    n_seen += 1
                    yield row[2], -n_seen, row

    best = heapq.nlargest(top, competing())
    if not best:
        raise InputError(
            f"Nothing is left to rank: {n_labeled} samples are labelled positive already and "
            f"{n_broken} are broken. Pass unlabelled samples, or --include-labeled."
        )
    names, labels, scores, probabilities = zip(*(row for *_, row in best), strict=True)
    found = Predictions(names, np.array(labels), np.array(scores), np.array(probabilities))
    return Ranked(found, n_seen, n_labeled, n_broken)


def check_sheet(
    path: str | Path, kind: str, input_path: str | Path, model_path: str | Path
) -> None:
    """Refuse, before any work, a sheet that cannot be drawn, or not there.

    Parameters
    ----------
    path : path
        Ends in .png, outside the folder that is ranked: there it would be one of the pictures.
    kind : str
        Of the model's input.
    input_path, model_path : path
    """
    if kind != "images":
        raise UsageError(f"A contact sheet needs images; this model's input is of kind {kind!r}.")
    check_target(path, (".png",), model_path=model_path)
    if Path(path).resolve().is_relative_to(Path(input_path).resolve()):
        raise UsageError(
            f"{path} lies in {input_path}, where the sheet would be one more picture to rank, or "
            "replace one. Choose another folder."
        )


def draw_sheet(path: Path, best: Predictions, mode: str) -> None:
    """Write a contact sheet of up to 1,000 pictures, best first, with place and probability.

    Parameters
    ----------
    path : Path
        Ends in .png.
    best : Predictions
        Names are paths of images.
    mode : {"RGB", "L"}
    """
    from PIL import Image, ImageDraw

    shown = min(len(best), MOST_TILES)
    n_columns = int(np.ceil(np.sqrt(shown)))
    n_rows = -(-shown // n_columns)
    step_x, step_y = _TILE + _MARGIN, _TILE + _CAPTION + _MARGIN
    size = (n_columns * step_x + _MARGIN, n_rows * step_y + _MARGIN)
    sheet = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(sheet)
    for place, tile in enumerate(_tiles(best.names[:shown], mode)):
        x = _MARGIN + place % n_columns * step_x
        y = _MARGIN + place // n_columns * step_y
        sheet.paste(Image.fromarray(tile), (x, y))
        caption = f"{place + 1}: {best.probabilities[place]:.3f}"
        draw.text((x, y + _TILE), caption, fill="black")
    with writing(path) as file:
        sheet.save(file, "PNG")


def _tiles(paths: Sequence[str], mode: str) -> Iterator[Any]:
    from vqpu.files import iter_images

    for chunk in iter_images([Path(path) for path in paths], size=_TILE, mode=mode):
        yield from chunk.X
