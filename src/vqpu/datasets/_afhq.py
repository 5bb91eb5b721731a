"""AFHQ, version 1: cats and dogs from the official folders or the official zip archive."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vqpu.datasets._archives import open_zip
from vqpu.errors import BrokenImageError, InputError
from vqpu.files.readers._decode import ImageFile, ImageRule, image_on_disk, stamp_of
from vqpu.files.readers._imagecache import cached_images
from vqpu.files.readers._spool import cache_directory

FOLDER = "afhq"
ARCHIVE = "afhq.zip"
KINDS = ("cat", "dog")

_MOST_FILES = 50_000
_MOST_PIXELS = 1 << 23
_ENDINGS = (".jpg", ".jpeg", ".png")
_MEMBER = re.compile(r"(?:afhq/)?(train|val)/(cat|dog)/([^/]+)")


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
    rule = ImageRule(size, max_pixels=_MOST_PIXELS)
    with _open_photos(data_dir, "train" if train else "val", rule) as photos:
        files = [file for kind in KINDS for file in photos[kind]]
        images, broken = cached_images(
            files, rule, cache_directory() / "images", progress=lambda *_: None
        )
    if broken:
        place, reason = min(broken.items())
        raise BrokenImageError(f"{files[place].name}: {reason}. Replace or remove it.")
    counts = [len(photos[kind]) for kind in KINDS]
    return images, np.repeat(np.arange(len(KINDS), dtype=np.uint8), counts)


_Photos = dict[str, list[ImageFile]]  # of one split, by kind, sorted by name


@contextmanager
def _open_photos(data_dir: Path, split: str, rule: ImageRule) -> Iterator[_Photos]:
    folder, archive = data_dir / FOLDER, data_dir / ARCHIVE
    if folder.exists():
        paths = {kind: _list_folder(folder / split / kind) for kind in KINDS}
        yield {kind: [image_on_disk(path, rule) for path in paths[kind]] for kind in KINDS}
    elif archive.exists():
        with open_zip(archive) as members:
            names = _list_members(members.names, split, archive)
            yield {
                kind: [
                    ImageFile(
                        f"{archive}/{name}",
                        partial(_read_member, members.read, name),
                        partial(stamp_of, archive),
                    )
                    for name in names[kind]
                ]
                for kind in KINDS
            }
    else:
        raise InputError(
            f"Neither {folder} nor {archive} exists. Put the official AFHQ (version 1) there, "
            "unpacked or not, or name another data directory."
        )


def _list_folder(folder: Path) -> list[Path]:
    names: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                names.append(entry.name)
                if len(names) > _MOST_FILES:
                    raise InputError(f"{folder} holds more than {_MOST_FILES} files.")
    except OSError as error:
        raise InputError(f"{folder} cannot be read: {error.strerror}.") from error
    return [folder / name for name in _images_among(names, folder)]


def _list_members(members: list[str], split: str, archive: Path) -> dict[str, list[str]]:
    found: dict[str, dict[str, str]] = {kind: {} for kind in KINDS}
    for name in members:
        match = _MEMBER.fullmatch(name)
        if match and match[1] == split:
            if match[3] in found[match[2]]:
                raise InputError(f"{archive} has {split}/{match[2]}/{match[3]} in two folders.")
            found[match[2]][match[3]] = name
    return {
        kind: [whole[name] for name in _images_among(list(whole), archive / split / kind)]
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


def _read_member(read: Callable[[str], bytes], name: str) -> BytesIO:
    return BytesIO(read(name))
