"""The galleries: clear positives, clear negatives and doubtful samples, as pictures or rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from vqpu.report._curves import shown
from vqpu.report._training_sample import TrainingSample

MOST_COLUMNS = 8
_DOUBTLESS = math.log(9)  # a probability of .9, or of .1

TITLES = {
    "positive": "Clearest positives",
    "negative": "Clearest negatives",
    "doubtful": "Most doubtful",
}


class GalleryItem(NamedTuple):
    """One sample of a gallery.

    Attributes
    ----------
    name : str
        Path, id or row number.
    short_name : str
        The end of a path.
    probability : str
        Of being positive.
    image : str or None
        JPEG in base64.
    cells : list of str
        Values of the telling columns.
    all_cells : list of str
        Values of all columns that were kept.
    """

    name: str
    short_name: str
    probability: str
    image: str | None
    cells: list[str]
    all_cells: list[str]


class Gallery(NamedTuple):
    """Samples of one kind.

    Attributes
    ----------
    title : str
    note : str or None
    items : list of GalleryItem
    """

    title: str
    note: str | None
    items: list[GalleryItem]


class Galleries(NamedTuple):
    """All of them.

    Attributes
    ----------
    are_images : bool
    columns, all_columns : list of str
        The telling ones, the most telling first, and all that were kept; empty for images.
    galleries : list of Gallery
    """

    are_images: bool
    columns: list[str]
    all_columns: list[str]
    galleries: list[Gallery]


def galleries(sample: TrainingSample) -> Galleries:
    """Return the samples that the page shows, gallery by gallery.

    Parameters
    ----------
    sample : TrainingSample
    """
    are_images = sample.kind == "images"
    rows = {
        name: [entry["row"] for entry in sample.galleries[name] if entry["row"] is not None]
        for name in TITLES
    }
    all_columns = next((list(kept[0]) for kept in rows.values() if kept), [])
    columns = telling_columns(rows["positive"], rows["negative"], all_columns)
    found = []
    for name, title in TITLES.items():
        entries = sample.galleries[name]
        note = _note(sample, entries) if name == "doubtful" else None
        items = [_item(sample, entry, columns, all_columns) for entry in entries]
        found.append(Gallery(title, note, items))
    return Galleries(are_images, columns, all_columns, found)


def telling_columns(
    positive: list[dict[str, Any]], negative: list[dict[str, Any]], columns: list[str]
) -> list[str]:
    """Return the columns in which clear positives and clear negatives differ most.

    Parameters
    ----------
    positive, negative : list of dict
        Rows by column.
    columns : list of str

    Returns
    -------
    telling : list of str
        At most :data:`MOST_COLUMNS`, the most telling first; of equal ones, the first.
    """
    differences = [
        difference([row[name] for row in positive], [row[name] for row in negative])
        for name in columns
    ]
    order = np.argsort(-np.array(differences), kind="stable")
    return [columns[place] for place in order[:MOST_COLUMNS]]


def difference(first: Sequence[Any], second: Sequence[Any]) -> float:
    """Return by how much two samples of a column differ, from 0 to 1.

    For numbers the largest difference of their distribution functions (Kolmogorov-Smirnov), for
    texts and truth values half the sum of the differences of their shares (total variation).

    Examples
    --------
    >>> difference([1.0, 2.0], [3.0, 4.0]), difference(["a", "b"], ["a", "a"])
    (1.0, 0.5)
    """
    if not first or not second:
        return 0.0
    numbers = [[value for value in part if value is not None] for part in (first, second)]
    if all(numbers) and all(isinstance(value, float) for part in numbers for value in part):
        own, other = (np.sort(part) for part in numbers)
        at = np.concatenate([own, other])
        below = [np.searchsorted(part, at, side="right") / len(part) for part in (own, other)]
        return float(np.abs(below[0] - below[1]).max())
    shares = [
        abs(list(first).count(value) / len(first) - list(second).count(value) / len(second))
        for value in {*first, *second}
    ]
    return sum(shares) / 2


def _note(sample: TrainingSample, entries: list[dict[str, Any]]) -> str | None:
    """Return what to say where even the samples nearest to the border are far from it."""
    nearest = min((abs(sample.scores[entry["sample"]]) for entry in entries), default=0.0)
    if nearest < _DOUBTLESS:
        return None
    return "None of the kept samples is in doubt; these are the nearest to the border."


def _item(
    sample: TrainingSample, entry: dict[str, Any], columns: list[str], all_columns: list[str]
) -> GalleryItem:
    name, row = str(sample.names[entry["sample"]]), entry["row"] or {}
    return GalleryItem(
        name,
        name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1],
        _probability(float(sample.scores[entry["sample"]])),
        entry["image"],
        [shown(row[column]) for column in columns],
        [shown(row[column]) for column in all_columns],
    )


def _probability(score: float) -> str:
    """Return the logistic function of a score, never rounded to a certainty."""
    probability = 1 / (1 + math.exp(-max(min(score, 700.0), -700.0)))
    if probability > 0.999:
        return "> 0.999"
    return "< 0.001" if probability < 0.001 else f"{probability:.3f}"
