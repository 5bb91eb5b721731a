"""AFHQ, version 1: cats and dogs from the official folders or the official zip archive."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.datasets._archives import open_zip
from vqpu.datasets._image_cache import cached_images
from vqpu.datasets._places import cache_directory, open_regular
from vqpu.errors import InputError

FOLDER = "afhq"
ARCHIVE = "afhq.zip"
KINDS = ("cat", "dog")

_MOST_FILES = 50_000
_MOST_BYTES = 1 << 24
_ENDINGS = (".jpg", ".jpeg", ".png")
_MEMBER = re.compile(r"(?:afhq/)?(train|val)/(cat|dog)/([^/]+)")


class _Photos(NamedTuple):
    """The images of one split: their names by kind, sorted, and how to read one."""

    names: dict[str, list[str]]
    read: Callable[[str], bytes]


def read_afhq(
    data_dir: Path, train: bool, size: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Read cats (class 0) and dogs (class 1) of one split, resized, as a memory map.

    Parameters
    ----------
    data_dir : Path
        Holds the folder ``afhq`` or the archive ``afhq.zip``.
    train : bool
        The official split "train", else "val".
    size : int
        Side of the images in pixels.

    Returns
    -------
    images : memory map of uint8, shape (n, size, size, 3)
    classes : ndarray of uint8, shape (n,)
    """
    with _open_photos(data_dir, "train" if train else "val") as photos:
        names = [name for kind in KINDS for name in photos.names[kind]]
        images = cached_images(names, photos.read, size=size, folder=cache_directory() / "images")
    counts = [len(photos.names[kind]) for kind in KINDS]
    return images, np.repeat(np.arange(len(KINDS), dtype=np.uint8), counts)


@contextmanager
def _open_photos(data_dir: Path, split: str) -> Iterator[_Photos]:
    folder, archive = data_dir / FOLDER, data_dir / ARCHIVE
    if folder.exists():
        names = {kind: _list_folder(folder / split / kind) for kind in KINDS}
        yield _Photos(names, _read_file)
    elif archive.exists():
        with open_zip(archive) as members:
            names = _list_members(members.names, split, archive)
            yield _Photos(names, lambda name: members.read(name.removeprefix(f"{archive}/")))
    else:
        raise InputError(
            f"Neither {folder} nor {archive} exists. Put the official AFHQ (version 1) there, "
            "unpacked or not, or name another data directory."
        )


def _list_folder(folder: Path) -> list[str]:
    names: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                names.append(entry.name)
                if len(names) > _MOST_FILES:
                    raise InputError(f"{folder} holds more than {_MOST_FILES} files.")
    except OSError as error:
        raise InputError(f"{folder} cannot be read: {error.strerror}.") from error
    return [str(folder / name) for name in _images_among(names, folder)]


def _list_members(members: list[str], split: str, archive: Path) -> dict[str, list[str]]:
    found: dict[str, dict[str, str]] = {kind: {} for kind in KINDS}
    for name in members:
        match = _MEMBER.fullmatch(name)
        if match and match[1] == split:
            if match[3] in found[match[2]]:
                raise InputError(f"{archive} has {split}/{match[2]}/{match[3]} in two folders.")
            found[match[2]][match[3]] = name
    return {
        kind: [
            f"{archive}/{whole[name]}"
            for name in _images_among(list(whole), archive / split / kind)
        ]
        for kind, whole in found.items()
    }


def _images_among(names: list[str], place: Path) -> list[str]:
    """Return the image files in order; hidden files are passed over, others refused."""
    visible = sorted(name for name in names if not name.startswith("."))
    for name in visible:
        if not name.lower().endswith(_ENDINGS):
            raise InputError(f"{place / name} is no image; {list(_ENDINGS)} are. Remove it.")
    if not visible:
        raise InputError(f"{place} holds no images.")
    return visible


def _read_file(name: str) -> bytes:
    with open_regular(Path(name)) as file:
        n_bytes = os.fstat(file.fileno()).st_size
        if n_bytes > _MOST_BYTES:
            raise InputError(f"{name} has {n_bytes} bytes; images have at most {_MOST_BYTES}.")
        return file.read(_MOST_BYTES)
