"""Which data sets are there, and whether they are what they should be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vqpu.datasets._catalogue import DEFAULT_SIZE, Dataset, find_dataset
from vqpu.datasets._places import data_directory, digest_fault, first_existing, open_regular
from vqpu.errors import InputError


class Finding(NamedTuple):
    """One thing that was checked, and what came out."""

    sound: bool
    text: str


def is_present(name: str, data_dir: str | Path | None = None) -> bool:
    """Tell whether every file of a data set is there; what is in them is not looked at."""
    place = data_directory(data_dir)
    return all(_found(place, group) is not None for group in find_dataset(name).files)


def check_dataset(name: str, data_dir: str | Path | None = None) -> Iterator[Finding]:
    """Compare a data set's files, digests, shapes and class counts with the official ones.

    Parameters
    ----------
    name : str
    data_dir : path or None
        As in :func:`load_task`.

    Yields
    ------
    finding : Finding
        One a file and one a split, as soon as it is known.
    """
    dataset, place = find_dataset(name), data_directory(data_dir)
    paths = [_found(place, group) for group in dataset.files]
    for group, path in zip(dataset.files, paths, strict=True):
        if path is None:
            yield Finding(False, f"{place / group[0]} does not exist.")
    for path in dict.fromkeys(path for path in paths if path is not None):
        yield _check_file(path, dataset.digests.get(path.relative_to(place).as_posix()))
    if None not in paths:
        for train in (True, False):
            yield _check_split(dataset, place, train)


def _found(place: Path, group: tuple[str, ...]) -> Path | None:
    return first_existing(*(place / file for file in group))


def _check_file(path: Path, sha256: str | None) -> Finding:
    if sha256 is None:
        return Finding(True, f"{path} is there; no digest of it is known.")
    try:
        with open_regular(path) as file:
            fault = digest_fault(file, sha256)
    except (InputError, OSError) as error:
        return Finding(False, str(error))
    if fault:
        return Finding(False, f"{path} is not the official file: {fault}.")
    return Finding(True, f"{path} has the official sha256.")


def _check_split(dataset: Dataset, place: Path, train: bool) -> Finding:
    split, expected = "train" if train else "test", dataset.class_counts[0 if train else 1]
    try:
        images, classes = dataset.read(place, train, DEFAULT_SIZE)
    except InputError as error:
        return Finding(False, str(error))
    counts = tuple(np.bincount(classes, minlength=len(expected)).tolist())
    shape = (sum(expected), *dataset.image_shape)
    if counts != expected:
        return Finding(False, f"{split}: class counts {counts}, expected {expected}.")
    if images.shape != shape:
        return Finding(False, f"{split}: shape {images.shape}, expected {shape}.")
    return Finding(True, f"{split}: {' x '.join(map(str, shape))}, class counts as published.")
