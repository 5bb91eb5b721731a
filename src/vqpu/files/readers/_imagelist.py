"""Which files of a folder are images, and what a CSV of labels says of them."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.errors import InputError, did_you_mean
from vqpu.files.readers._samples import check_both_kinds, check_regular_file, first_few

ENDINGS = frozenset(
    (".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")
)
# Images all the same: better called broken, and counted, than passed over in silence.
FOREIGN_ENDINGS = frozenset(
    (".heic", ".heif", ".avif", ".jxl", ".jp2", ".psd", ".svg", ".dng", ".cr2", ".nef", ".arw")
)
_LONGEST_LINE = 1 << 16


class LabeledFiles(NamedTuple):
    """Files named by a CSV, in its order, and ``y``: 1 for the positive value, 0 for others."""

    paths: list[Path]
    y: NDArray[np.int8]


def find_images(folder: str | Path) -> list[Path]:
    """Return the image files of a folder and all its subfolders, sorted by path.

    Files are told by their ending; formats that cannot be read (HEIC, AVIF, raw) are in the list
    too, so that they are reported. Names that begin with a dot are left out. Links to folders are
    followed, each folder once.
    """
    root = Path(folder)
    if not root.is_dir():
        raise InputError(f"{root} is not a folder. Expected a folder of images.")
    found: list[Path] = []
    others: Counter[str] = Counter()
    for parent, names in walk_files(root):
        for name in names:
            ending = os.path.splitext(name)[1].lower()
            if ending in ENDINGS or ending in FOREIGN_ENDINGS:
                found.append(Path(parent, name))
            else:
                others[ending or "no ending"] += 1
    if not found:
        kinds = ", ".join(f"{count} with {kind}" for kind, count in sorted(others.items())[:5])
        seen = f"its files are others ({kinds})" if others else "it is empty"
        raise InputError(
            f"{root} holds no images: {seen}. Expected files ending in "
            f"{', '.join(sorted(ENDINGS))}, in any subfolder."
        )
    return sorted(found, key=lambda path: path.relative_to(root).as_posix())


def walk_files(root: Path) -> Iterator[tuple[str, list[str]]]:
    """Give every folder below ``root`` with the names of its files, each folder once."""

    def complain(error: OSError) -> None:
        raise InputError(f"{error.filename} cannot be listed: {error.strerror}.") from error

    entered: set[tuple[int, int]] = set()
    for parent, folders, names in os.walk(root, onerror=complain, followlinks=True):
        status = os.stat(parent)
        if (status.st_dev, status.st_ino) in entered:  # a link back: going on would never end
            folders.clear()
            continue
        entered.add((status.st_dev, status.st_ino))
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield parent, [name for name in names if not name.startswith(".")]


def check_apart(
    positives: str | Path,
    unlabeled: str | Path,
    first: Sequence[Path],
    second: Sequence[Path],
) -> None:
    """Refuse two folders that share one, be it by a link: its images would be in both sets.

    Parameters
    ----------
    positives, unlabeled : path
    first, second : sequence of Path
        The images found in them.
    """
    places = [{str(path.parent) for path in paths} for paths in (first, second)]
    real = [{os.path.realpath(place) for place in some} for some in places]
    if real[0] & real[1] or Path(positives).resolve() == Path(unlabeled).resolve():
        raise InputError(
            f"positives ({positives}) and unlabeled ({unlabeled}) overlap, so images would be in "
            "both sets. Expected two folders that share none, be it by a link."
        )


def read_label_file(
    folder: Path, labels: Path, positive: Any, file_column: str, label_column: str
) -> LabeledFiles:
    """Read a CSV with a header, one line a file of ``folder``.

    Parameters
    ----------
    folder, labels : Path
    positive : object
        The label of positives.
    file_column, label_column : str
    """
    check_regular_file(labels)
    rows = list(_rows(labels, file_column, label_column))
    names = [name for name, _ in rows]
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise InputError(f"{labels} names files more than once: {first_few(repeated)}.")
    for name in names:
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise InputError(
                f"{labels} names {name!r}, which is not inside {folder}. Expected paths relative "
                "to that folder."
            )
    missing = [name for name in names if not (folder / name).exists()]
    if missing:
        raise InputError(
            f"{len(missing)} of {len(names)} files named by {labels} are not in {folder}: "
            f"{first_few(missing)}."
        )
    y = np.array([label == str(positive) for _, label in rows], dtype=np.int8)
    check_both_kinds(y, str(labels), positive, [label for _, label in rows])
    return LabeledFiles([folder / name for name in names], y)


def count_unlabeled_files(labels: str | Path, file_column: str, label_column: str) -> int:
    """Return how many files a CSV of labels names without a label.

    Parameters
    ----------
    labels : path
    file_column, label_column : str
    """
    path = Path(labels)
    check_regular_file(path)
    return sum(not label for _, label in _rows(path, file_column, label_column))


def _rows(labels: Path, file_column: str, label_column: str) -> Iterator[tuple[str, str]]:
    try:
        with open(labels, encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(_lines(file, labels), strict=True)
            header = next(reader, [])
            for column in (file_column, label_column):
                if header.count(column) != 1:
                    raise InputError(
                        f"{labels} must have one column {column!r}."
                        f"{did_you_mean(column, {*header} - {column})} Its header is "
                        f"{first_few(header, 10) or 'empty'}."
                    )
            first, second = header.index(file_column), header.index(label_column)
            for row in reader:
                if len(row) != len(header):
                    raise InputError(
                        f"{labels} has {len(row)} values in line {reader.line_num}, but "
                        f"{len(header)} columns."
                    )
                yield row[first], row[second]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{labels} cannot be read as CSV in UTF-8: {error}.") from error


def _lines(file: IO[str], path: Path) -> Iterator[str]:
    number = 0
    while line := file.readline(_LONGEST_LINE):
        number += 1
        if len(line) == _LONGEST_LINE:
            raise InputError(
                f"{path} has a line of more than {_LONGEST_LINE - 1} characters (line {number}), "
                "so it is no CSV of labels."
            )
        yield line
