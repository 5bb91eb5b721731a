"""One sample as a person sees it: a picture, or a row with the columns that speak for and against.

A client names the place of a sample among those of the input, or among the model's own, and never
a path; pictures are decoded and encoded anew, so that no byte of a user's file reaches the browser.
"""

from __future__ import annotations

import io
import math
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.errors import BrokenImageError, InputError
from vqpu.files._explaining import MOST_COLUMNS, column_groups
from vqpu.files._input_format import InputFormat
from vqpu.files.readers._decode import ImageRule, decode_image, open_image_file
from vqpu.files.readers._texts import decode_text, read_text_file
from vqpu.report._training_sample import TrainingSample
from vqpu.review._items import Items
from vqpu.review._rows import Row, RowStore

PICTURE_SIZE = 448
_N_NEAREST = 4
_MOST_CELLS = 60
_LONGEST_CELL = 2000


class Neighbour(NamedTuple):
    """A labelled positive that looks like the sample.

    Attributes
    ----------
    sample : int
        Its place in the model's training sample.
    name : str
    cells : list of (str, str)
        Its row, if it is in the input.
    has_picture : bool
    """

    sample: int
    name: str
    cells: list[tuple[str, str]]
    has_picture: bool


class Details(NamedTuple):
    """What speaks for and against a sample, and the labelled positives that are most like it."""

    reasons_for: list[str]
    reasons_against: list[str]
    nearest: list[Neighbour]


class SampleViewer:
    """Shows samples of an input by their place.

    Parameters
    ----------
    estimator : classifier
    input_format : InputFormat
    items : Items
    rows : RowStore or None
        Of tables, arrays and features; None for pictures, which are read when they are shown.
    kept : TrainingSample or None
        What the model keeps of its training data.
    """

    def __init__(
        self,
        estimator: Any,
        input_format: InputFormat,
        items: Items,
        rows: RowStore | None,
        kept: TrainingSample | None,
    ) -> None:
        self._estimator, self._format, self._items = estimator, input_format, items
        self._rows, self._kept = rows, kept
        self._one_at_a_time = threading.Lock()
        self._labeled = np.empty(0, np.int64) if kept is None else np.flatnonzero(kept.is_labeled)
        names = [] if kept is None else [kept.names[place] for place in self._labeled]
        self._in_input = items.places_of(names) if rows is not None else {}
        self._pictures = lru_cache(256)(self._make_picture)
        self._details = lru_cache(256)(self._make_details)

    def close(self) -> None:
        """Drop what was read of the input."""
        if self._rows is not None:
            self._rows.close()

    @property
    def shows_pictures(self) -> bool:
        """Whether samples are pictures."""
        return len(self._format.sample_shape) > 1

    def cells(self, place: int) -> list[tuple[str, str]] | None:
        """Return the columns of a row with their values; None of a picture, or one not yet read.

        Parameters
        ----------
        place : int
        """
        if self._rows is None or self.shows_pictures:
            return None
        if self._format.kind == "texts":
            return _text_of(Path(self._items.name(place)))
        row = self._rows.row(place)
        return None if row is None else self._cells(row)

    def picture(self, place: int) -> bytes | None:
        """Return the picture of a sample as JPEG, None if there is none.

        Parameters
        ----------
        place : int
        """
        return self._pictures(place)

    def neighbour_picture(self, sample: int) -> bytes | None:
        """Return the picture of a labelled positive of the model's sample, None without one.

        Parameters
        ----------
        sample : int
            Its place in the sample.
        """
        if self._kept is None or not 0 <= sample < len(self._kept.names):
            return None
        name = self._kept.names[sample]
        if self._format.kind != "images" or not self._kept.is_labeled[sample]:
            return None
        return self._file_picture(Path(str(name)))

    def details(self, place: int) -> Details:
        """Return what speaks for and against a sample, and its nearest labelled positives.

        Parameters
        ----------
        place : int
        """
        return self._details(place)

    def _cells(self, row: Row) -> list[tuple[str, str]]:
        plan = self._format.plan
        if self._format.features is not None:
            values: dict[str, Any] = dict(row.texts)
        elif plan is None:
            values = {f"column {i}": value for i, value in enumerate(row.values.tolist())}
        else:
            values = plan.row(np.asarray(row.values, dtype=np.float64)) | row.texts
        return [(str(name), _shown(value)) for name, value in values.items()][:_MOST_CELLS]

    def _make_picture(self, place: int) -> bytes | None:
        if not self.shows_pictures:
            return None
        if self._format.kind == "images":
            return self._file_picture(Path(self._items.name(place)))
        assert self._rows is not None, "an array's pictures are its rows"
        row = self._rows.row(place)
        return None if row is None else _jpeg(_pixels(row.values))

    def _file_picture(self, path: Path) -> bytes | None:
        rule = ImageRule(PICTURE_SIZE, "RGB")
        try:
            with open_image_file(path, rule) as file:
                return _jpeg(decode_image(file, rule))
        except BrokenImageError:
            return None

    def _sample(self, place: int) -> NDArray[Any] | None:
        """Return a sample as the model takes it, None where it cannot be judged."""
        if not np.isfinite(self._items.scores[place]):
            return None
        if self._rows is not None:
            row = self._rows.row(place)
            return None if row is None else row.values
        rule = ImageRule(self._format.sample_shape[0], self._format.image_mode or "RGB")
        try:
            with open_image_file(Path(self._items.name(place)), rule) as file:
                return decode_image(file, rule)
        except BrokenImageError:
            return None

    def _make_details(self, place: int) -> Details:
        sample = self._sample(place)
        if sample is None:
            return Details([], [], [])
        X = np.array(sample[None])
        with self._one_at_a_time:
            reasons = self._reasons(X)
            nearest = self._nearest(X)
        return Details(*reasons, nearest)

    def _reasons(self, X: NDArray[Any]) -> tuple[list[str], list[str]]:
        is_explained = hasattr(self._estimator, "feature_importances_")
        if not is_explained or self._format.features is not None:  # whose numbers mean nothing
            return [], []
        groups = column_groups(self._format, X.shape[1])
        explanation = groups.explanation(self._estimator, X)
        found = []
        for sign in (1, -1):
            places = explanation.strongest(0, MOST_COLUMNS, sign=sign)
            added = explanation.contributions[0]
            found.append([f"{groups.names[place]} ({added[place]:+.3f})" for place in places])
        return found[0], found[1]

    def _nearest(self, X: NDArray[Any]) -> list[Neighbour]:
        """Return labelled positives with the most codes in common, then the nearest s(x)."""
        kept = self._kept
        if kept is None or kept.codes is None or not hasattr(self._estimator, "encode"):
            return []
        encodings = self._estimator.encode(X)
        differing = (kept.codes[self._labeled] != encodings.representation).sum(axis=1)
        apart = np.abs(kept.projections[self._labeled] - encodings.projection[0])
        order = np.lexsort((apart, differing))[:_N_NEAREST]
        return [self._neighbour(int(self._labeled[place])) for place in order]

    def _neighbour(self, sample: int) -> Neighbour:
        assert self._kept is not None
        name = self._kept.names[sample]
        cells: list[tuple[str, str]] = []
        if name in self._in_input and not self.shows_pictures:
            cells = self.cells(self._in_input[name]) or []
        return Neighbour(sample, str(name), cells, self._format.kind == "images")


def _text_of(path: Path) -> list[tuple[str, str]] | None:
    try:
        return [("text", _shown(decode_text(read_text_file(path))))]
    except InputError:
        return None


def _shown(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "missing"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _LONGEST_CELL else text[:_LONGEST_CELL] + " ..."


def _pixels(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Return an image of an array as bytes; numbers without a fixed range are stretched."""
    pixels = values
    if pixels.ndim == 3 and pixels.shape[0] < pixels.shape[2]:
        pixels = pixels.transpose(1, 2, 0)
    if pixels.ndim == 3 and pixels.shape[2] != 3:
        pixels = pixels.mean(axis=2)
    if pixels.dtype != np.uint8:
        low, high = float(pixels.min()), float(pixels.max())
        pixels = (pixels - low) * (255 / max(high - low, 1e-12))
    return np.ascontiguousarray(pixels).astype(np.uint8)


def _jpeg(pixels: NDArray[np.uint8]) -> bytes:
    from PIL import Image

    picture = Image.fromarray(pixels)
    if max(picture.size) < PICTURE_SIZE // 2:  # tiny ones without blurred edges
        times = PICTURE_SIZE // 2 // max(picture.size)
        size = (picture.width * max(1, times), picture.height * max(1, times))
        picture = picture.resize(size, Image.Resampling.NEAREST)
    buffer = io.BytesIO()
    picture.convert("RGB").save(buffer, "JPEG", quality=88)
    return buffer.getvalue()
