"""What every reader of users' data gives: samples, PU labels, and where each came from."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.base.columns._arrow import first_few as first_few
from vqpu.errors import InputError, did_you_mean
from vqpu.files.readers._stores import STORE_ENDINGS, Place, StoredFile, as_place, is_stored

if TYPE_CHECKING:
    from vqpu.base.columns import ColumnPlan

ON_BROKEN = ("raise", "skip")
ARRAY_ENDINGS = (".npy", ".npz")
_MOST_SIBLINGS = 1000  # names in a folder that a wrong one is compared with
_NEAR = 0.85  # how similar a name must be to be asked for: endings alone are alike
TABLE_ENDINGS = (".csv", ".tsv", ".parquet", ".feather", ".arrow", ".jsonl", ".xlsx")
_PACKED = (".gz", ".zst")
_PACKABLE = (".csv", ".tsv", ".jsonl")
_MOST_PARTS = 10_000


class Broken(NamedTuple):
    """A file, or a row of a table, that could not be used.

    Attributes
    ----------
    name : object
        Its path; of a row its id or number.
    reason : str
    """

    name: Any
    reason: str


class PUData(NamedTuple):
    """Samples ready for ``fit(X, y)``.

    Attributes
    ----------
    X : ndarray of shape (n, ...)
        Images (n, h, w, 3) or (n, h, w) of uint8, or rows (n, d). Usually a read-only memory map.
    y : ndarray of int8, shape (n,)
        1 for labelled positives, 0 for unlabelled samples.
    names : sequence of length n
        Where each sample came from: a path, the value of the id column, or the row number.
    broken : tuple of Broken
        Files that were left out.
    plan : ColumnPlan or None
        How a table was encoded; needed again for prediction.
    words : tuple of str or None
        What a table calls its samples: the only other label, if there is one, and the positive.
    raw : callable or None
        Where X holds features: gives the picture or the text of a sample by its row.
    """

    X: NDArray[Any]
    y: NDArray[np.int8]
    names: Sequence[Any]
    broken: tuple[Broken, ...] = ()
    plan: ColumnPlan | None = None
    words: tuple[str, str] | None = None
    raw: Callable[[int], Any] | None = None


class KeptColumn(NamedTuple):
    """Values of an input column that go into the result.

    Attributes
    ----------
    values : list
        Booleans, numbers, text or None; of other types their text.
    type : pyarrow.DataType
        As the input has it.
    """

    values: list[Any]
    type: Any


class Chunk(NamedTuple):
    """Some samples of a stream, in the order of the input.

    Attributes
    ----------
    X : ndarray of shape (n, ...)
    names : sequence of length n
        As in :class:`PUData`.
    y : ndarray of int8, shape (n,), or None
        1 where the label column has the positive value, if one was asked for.
    broken : tuple of Broken
        Files met in this part of the stream that cannot be used.
    kept : dict of KeptColumn
        Columns that were asked for; the one under "" has the rows' ids.
    broken_places : tuple of int
        Where broken files stand among all files of the chunk, if that is known.
    """

    X: NDArray[Any]
    names: Sequence[Any]
    y: NDArray[np.int8] | None = None
    broken: tuple[Broken, ...] = ()
    kept: Mapping[str, KeptColumn] = MappingProxyType({})
    broken_places: tuple[int, ...] = ()


def kind_of(path: str | Path) -> str:
    """Return "images" for a folder of them, "array" or "table" for a file, by its ending.

    A folder that holds tables and no image is one table in parts, one that holds ``.txt`` files
    and no image is of kind "texts".

    Examples
    --------
    >>> kind_of("reviews.csv")
    Traceback (most recent call last):
        ...
    vqpu.errors.InputError: reviews.csv does not exist.
    """
    if is_stored(path):
        return _kind_in_store(StoredFile(str(path)))
    path = Path(path)
    if table_parts(path):
        return "table"
    if os.path.isdir(path):  # False, not an error, where it may not be looked at
        from vqpu.files.readers._texts import holds_texts  # which needs this module

        return "texts" if holds_texts(path) else "images"
    check_regular_file(path)
    ending = table_ending(path)
    if ending in ARRAY_ENDINGS:
        return "array"
    if ending in TABLE_ENDINGS:
        return "table"
    raise InputError(
        f"{path} has an ending that says nothing to vqpu. Expected a folder of images, an array "
        f"({', '.join(ARRAY_ENDINGS)}) or a table ({', '.join(TABLE_ENDINGS)})."
    )


def _kind_in_store(place: StoredFile) -> str:
    if table_parts(place):
        return "table"
    if place.is_folder():
        raise InputError(
            f"{place} is no folder of tables alone ({', '.join(STORE_ENDINGS)}): of stores only "
            "those are read. Copy other data to a file system first."
        )
    place.status()
    if table_ending(place.name) not in STORE_ENDINGS:
        raise InputError(
            f"{place} cannot be read from a store: of those only {', '.join(STORE_ENDINGS)} are. "
            "Copy it to a file system first."
        )
    return "table"


def table_ending(path: str | Path | StoredFile) -> str:
    """Return the ending that says what a file is; that of a packed one is before it.

    Examples
    --------
    >>> table_ending("a.csv.gz"), table_ending("a.GZ")
    ('.csv', '.gz')
    """
    endings = [ending.lower() for ending in as_place(path).suffixes[-2:]]
    if len(endings) == 2 and endings[1] in _PACKED and endings[0] in _PACKABLE:
        return endings[0]
    return endings[-1] if endings else ""


def table_parts(path: str | Path | StoredFile) -> list[Place]:
    """Return the tables in a folder, sorted; none if there are other files or folders in it.

    Names that begin with a point or an underscore, as writers of parts leave them, do not count.
    A path with a star, such as ``sales-*.csv``, stands for the files that it fits.

    Parameters
    ----------
    path : path
    """
    path = as_place(path)
    if isinstance(path, StoredFile):
        inside = path.inside() if path.is_pattern or path.is_folder() else iter(())
        return _only_tables(inside, STORE_ENDINGS)
    if "*" in path.name and not os.path.exists(path):
        return _only_tables(((part.name, part) for part in path.parent.glob(path.name)), hidden="")
    if not os.path.isdir(path):
        return []
    with os.scandir(path) as entries:
        return _only_tables((entry.name, Path(entry.path)) for entry in entries)


def _only_tables(
    found: Iterable[tuple[str, Place]],
    endings: Sequence[str] = TABLE_ENDINGS,
    hidden: str = "._",
) -> list[Place]:
    """Return files by their names, sorted; none if some are no tables, or there are too many."""
    parts: dict[str, Place] = {}
    for name, place in found:
        if name[0] in hidden:
            continue
        if table_ending(name) not in endings or len(parts) == _MOST_PARTS:
            return []
        parts[name] = place
    return [parts[name] for name in sorted(parts)]


def check_regular_file(path: Place) -> None:
    """Refuse what is missing, a folder, a pipe or a device: reading those fails or never ends."""
    if isinstance(path, StoredFile):
        path.status()
        return
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError as error:
        hint = did_you_mean(path.name, _siblings(path), _NEAR)
        raise InputError(f"{path} does not exist.{hint}") from error
    except OSError as error:  # a circle of symbolic links, a folder that may not be entered
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    if not stat.S_ISREG(mode):
        kind = "a folder" if stat.S_ISDIR(mode) else "no regular file"
        raise InputError(f"{path} is {kind}, but a file is expected here.")


def _siblings(path: Path) -> list[str]:
    try:
        return sorted({*os.listdir(path.parent)} - {path.name})[:_MOST_SIBLINGS]
    except OSError:
        return []


def check_both_kinds(y: NDArray[np.int8], where: str, positive: Any, labels: list[str]) -> None:
    """Refuse labels without the positive value, or with nothing else."""
    if not len(y):
        raise InputError(f"{where} has no rows.")
    if not y.any():
        known = sorted({*labels} - {""})
        empty = ["(empty)"] if "" in labels else []
        raise InputError(
            f"{where} has no row with the positive value {str(positive)!r}. Its labels are "
            f"{', '.join([*([first_few(known)] if known else []), *empty])}."
        )
    if y.all():
        raise InputError(
            f"Every row of {where} has the positive value {str(positive)!r}. PU learning needs "
            "unlabelled samples too: add them with another label or none."
        )


def describe_broken(broken: Sequence[Broken], total: int, kind: str) -> str:
    """Return in a sentence how many of so many cannot be used, and why the first of them.

    Examples
    --------
    >>> describe_broken([Broken(3, "missing value in 'age'")], 10, "rows")
    "1 of 10 rows cannot be used (3: missing value in 'age')."
    """
    named = "; ".join(f"{name}: {reason}" for name, reason in broken[:5])
    more = f"; and {len(broken) - 5} more" if len(broken) > 5 else ""
    return f"{len(broken)} of {total} {kind} cannot be used ({named}{more})."
