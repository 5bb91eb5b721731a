"""Fetching a whole data set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from vqpu.datasets._catalogue import find_dataset
from vqpu.datasets._places import data_directory
from vqpu.errors import InputError


def fetch_dataset(
    name: str,
    data_dir: str | Path | None = None,
    *,
    report: Callable[[str, int, int], None] | None = None,
) -> Iterator[Path]:
    """Fetch a data set's files from their official addresses; what is there stays.

    Parameters
    ----------
    name : str
    data_dir : path or None
        As in :func:`load_task`.
    report : callable or None
        Is told, now and then, a file's place, the bytes that are there and those of the whole.

    Yields
    ------
    path : Path
        One file after the other, each with the official digest.
    """
    # The network's modules load only here; nothing else needs them.
    from vqpu.datasets._download import download

    dataset, folder = find_dataset(name), data_directory(data_dir)
    if not dataset.remotes:
        raise InputError(f"{name} cannot be fetched: {dataset.by_hand}.")
    for remote in dataset.remotes:
        place = remote.place

        def tell(done: int, total: int, place: str = place) -> None:
            if report is not None:
                report(place, done, total)

        yield download(remote, folder, report=tell)
