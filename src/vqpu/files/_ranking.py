"""``rank``: the most likely positives of an input, and a sheet of their pictures."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from vqpu.base._parameters import check_integer
from vqpu.errors import InputError, UsageError
from vqpu.estimators._drift import watch_drift
from vqpu.estimators._finding import Finding
from vqpu.files import Notes, iter_images, read_label_file
from vqpu.files._engine import Engine, Reading, score_here
from vqpu.files._input_format import InputFormat
from vqpu.files._input_streams import known_label
from vqpu.files._models import open_model
from vqpu.files._scoring import Predictions, from_rows
from vqpu.files._writers import check_output, write_predictions
from vqpu.persistence._targets import MADE_HERE, check_target, writing

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
        Samples that cannot be judged, so that they do not compete.
    notes : Notes
        Cells that are not as in training, counted.
    drift : Finding or None
        As in :class:`vqpu.files._prediction.Written`.
    """

    best: Predictions
    n_seen: int
    n_labeled: int
    n_broken: int
    notes: Notes
    drift: Finding | None = None


def rank_file(
    model_path: str | Path,
    input_path: str | Path,
    *,
    top: int,
    out: str | Path | None = None,
    sheet: str | Path | None = None,
    include_labeled: bool = False,
    labels_file: str | Path | None = None,
    file_column: str = "file",
    id_column: str | None = None,
    keep: Sequence[str] = (),
    missing: str = "keep",
    features: str | Path | None = None,
    engine: Engine | None = None,
) -> Ranked:
    """Return the most likely hidden positives of an input; write and draw them if asked to.

    Parameters
    ----------
    model_path, input_path : path
    top : int
    out : path or None
        As in :func:`vqpu.files._prediction.predict_file`.
    sheet : path or None
        A PNG for images.
    include_labeled : bool
        Whether rows compete that the table says are positive, by the label column of training.
    labels_file, file_column : path or None, and str
        For a folder: the CSV of labels of training and its column of file names; pictures that it
        calls positive do not compete.
    id_column : str or None
    keep, missing, features, engine
        As in :func:`vqpu.files._prediction.predict_file`.
    """
    if out is not None:
        inputs = [input_path] if labels_file is None else [input_path, labels_file]
        check_output(out, inputs, model_path)
    model, notes = open_model(model_path), Notes()
    input_format = model.input_format
    if sheet is not None:
        check_sheet(sheet, input_format.kind, input_path, model_path)
    known = known_files(input_format, Path(input_path), labels_file, file_column)
    label = None if include_labeled else known_label(input_format, input_path)
    reading = Reading(
        id_column=id_column,
        label=label,
        positive=input_format.positive,
        keep=keep,
        missing=missing,
        features=features,
    )
    # Where labelled positives are not told apart while scoring, nothing is said of drift.
    watch = None if known or include_labeled else watch_drift(model.estimator)
    score: Engine = score_here if engine is None else engine
    predictions = score(model, input_path, reading, notes, watch=watch)
    if known:
        predictions = with_known(predictions, known)
    ranked = rank(predictions, top)._replace(notes=notes)
    if watch is not None:
        ranked = ranked._replace(drift=watch.finding())
    if out is not None:
        write_predictions(out, input_format.name_column, [ranked.best], keep)
    if sheet is not None:
        draw_sheet(Path(sheet), ranked.best, input_format.image_mode or "RGB")
    return ranked


def known_files(
    input_format: InputFormat, folder: Path, labels_file: str | Path | None, file_column: str
) -> frozenset[Path]:
    """Return the pictures that are labelled positive.

    Parameters
    ----------
    input_format : InputFormat
    folder : Path
    labels_file : path or None
    file_column : str
    """
    if labels_file is None:
        return frozenset()
    if input_format.kind not in ("images", "texts") or input_format.label is None:
        raise UsageError(
            "--labels is for models that were fitted on one folder of images or texts with "
            "--labels: leave it out."
        )
    paths, y = read_label_file(
        folder, Path(labels_file), input_format.positive, file_column, input_format.label
    )
    return frozenset(path for path, is_known in zip(paths, y, strict=True) if is_known)


def with_known(predictions: Iterable[Predictions], known: frozenset[Path]) -> Iterator[Predictions]:
    """Give the predictions for a folder of files with ``y``: 1 where one is labelled positive.

    Parameters
    ----------
    predictions : iterable of Predictions
    known : frozenset of Path
    """
    for part in predictions:
        is_known = [Path(name) in known for name in part.names]
        yield replace(part, y=np.array(is_known, np.int8))


def rank(predictions: Iterable[Predictions], top: int) -> Ranked:
    """Return the ``top`` samples by score; those whose ``y`` is 1 are not hidden and left out.

    Parameters
    ----------
    predictions : iterable of Predictions
    top : int
    """
    check_integer("top", top, 1)
    n_seen = n_labeled = n_broken = 0

    first: list[Predictions] = []

    def competing() -> Iterator[tuple[float, int, tuple[Any, ...]]]:
        nonlocal n_seen, n_labeled, n_broken
        for part in predictions:
            first[:] = first or [part]
            is_known = np.zeros(len(part), bool) if part.y is None else part.y == 1
            n_labeled += int(is_known.sum())
            n_broken += part.n_broken - sum(bool(is_known[place]) for place in part.reasons)
            for row, known in zip(part.rows(), is_known, strict=True):
                if not known and row[2] is not None:
                    n_seen += 1
                    yield row[2], -n_seen, row

    best = heapq.nlargest(top, competing())
    if not best:
        raise InputError(f"Nothing is left to rank: {nothing_left(n_labeled, n_broken)}")
    found = from_rows([row for *_, row in best], first[0])
    return Ranked(found, n_seen, n_labeled, n_broken, Notes())


def nothing_left(n_labeled: int, n_broken: int) -> str:
    """Return why no sample competes, and what to do.

    Parameters
    ----------
    n_labeled, n_broken : int
    """
    reasons = [
        f"{count} samples are {kind}"
        for count, kind in ((n_labeled, "labelled positive already"), (n_broken, "broken"))
        if count
    ]
    advice = "Pass unlabelled samples, or --include-labeled." if n_labeled else "Pass others."
    return f"{' and '.join(reasons) or 'there is none'}. {advice}"


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
    if Path(path).resolve().is_relative_to(Path(input_path).resolve()):
        raise UsageError(
            f"{path} lies in {input_path}, where the sheet would be one more picture to rank, or "
            "replace one. Choose another folder."
        )
    check_target(path, (".png",), marks=MADE_HERE, model_path=model_path)


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
        save_sheet(sheet, file)


def save_sheet(sheet: Any, file: BinaryIO) -> None:
    """Write a sheet as PNG that says what made it, so that the next one may replace it.

    Parameters
    ----------
    sheet : PIL image
    file : binary file
    """
    from PIL.PngImagePlugin import PngInfo

    made_by = PngInfo()
    made_by.add_text("Software", "vqpu")
    sheet.save(file, "PNG", pnginfo=made_by)


def _tiles(paths: Sequence[str], mode: str) -> Iterator[Any]:
    for chunk in iter_images([Path(path) for path in paths], size=_TILE, mode=mode):
        yield from chunk.X
