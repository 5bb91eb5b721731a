"""Decoded images on disk: made once, keyed by content, there whole or not at all.

The truth of the key is the content: the SHA-256 of every file in order, the rule and Pillow's
version. Hashing all files at every start would be slow, so a second, quick key (name and stamp
of every file: times, size, inode) leads to the first; it is only trusted for
files that had been at rest when they were hashed. Entries are folders ``<key>`` with
``pixels.u8`` (rows of uint8) and ``manifest.json``. They may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.errors import BrokenImageError, CacheError, InputError
from vqpu.files.readers._decode import ImageFile, ImageRule, decode_image
from vqpu.persistence._atomic import name_beside, replacing, sync_folder

Progress = Callable[[str, int, int], None]

_FORMAT = 1
_REST_NS = 2_000_000_000
_STALE_SECONDS = 24 * 3600


class CachedImages(NamedTuple):
    """An entry of the cache.

    Attributes
    ----------
    pixels : ndarray of uint8, shape (n_good, ...)
        A read-only memory map.
    broken : dict
        Reason for every file that is not in ``pixels``, by its position in the list of files.
    """

    pixels: NDArray[np.uint8]
    broken: dict[int, str]


def cached_images(
    files: Sequence[ImageFile], rule: ImageRule, cache_dir: Path, progress: Progress
) -> CachedImages:
    """Return the decoded images, decoding them only if the cache has them not."""
    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
        _remove_stale(cache_dir)
        quick = _quick_key(files, rule)
        known = _read_quick(cache_dir, quick)
        entry = known and _open_entry(cache_dir / known, rule)
        if entry:
            return entry
        began = time.time_ns()
        digests = _digests(files, progress)
        key = _content_key(digests, rule)
        entry = _open_entry(cache_dir / key, rule)
        if entry is None:
            _build_entry(cache_dir / key, files, digests, rule, progress)
            entry = _open_entry(cache_dir / key, rule)
        if quick == _quick_key(files, rule) and _at_rest(files, began):
            with replacing(cache_dir / "quick" / quick) as file:
                file.write(key.encode())
    except OSError as error:
        raise CacheError(
            f"The image cache {cache_dir} cannot be used: {error.strerror or error}. Free some "
            "space, or choose another cache_dir (or XDG_CACHE_HOME)."
        ) from error
    if entry is None:
        raise CacheError(f"The image cache {cache_dir} was changed while it was written.")
    return entry


def _rule_text(rule: ImageRule) -> str:
    import PIL

    parts = (_FORMAT, rule.size, rule.mode, rule.max_pixels, rule.resample, PIL.__version__)
    return f"{' '.join(map(str, parts))}\n"


def _content_key(digests: Sequence[str], rule: ImageRule) -> str:
    return hashlib.sha256((_rule_text(rule) + "\n".join(digests)).encode()).hexdigest()


def _quick_key(files: Sequence[ImageFile], rule: ImageRule) -> str:
    digest = hashlib.sha256(_rule_text(rule).encode())
    for file in files:
        digest.update(f"{file.name!r} {file.stamp()}\n".encode())
    return digest.hexdigest()


def _at_rest(files: Sequence[ImageFile], began: int) -> bool:
    """Whether no file changed so shortly before hashing that its times might not show it."""
    stamps = (file.stamp() for file in files)
    return all(stamp and max(stamp[:2]) < began - _REST_NS for stamp in stamps)


def _read_quick(cache_dir: Path, quick: str) -> str | None:
    try:
        key = (cache_dir / "quick" / quick).read_text()
    except (FileNotFoundError, UnicodeDecodeError):
        return None
    # The text becomes part of a path, so nothing but a key is accepted.
    return key if len(key) == 64 and set(key) <= set("0123456789abcdef") else None


def _digest(raw: BinaryIO) -> str:
    digest = hashlib.sha256()
    while part := raw.read(1 << 20):
        digest.update(part)
    return digest.hexdigest()


def _digests(files: Sequence[ImageFile], progress: Progress) -> list[str]:
    digests = []
    for done, file in enumerate(files, start=1):
        try:
            with file.open() as raw:
                digests.append(_digest(raw))
        except BrokenImageError as error:
            digests.append(f"unreadable: {error}")  # the reason is kept with the entry
        progress("checking", done, len(files))
    return digests


def _open_entry(folder: Path, rule: ImageRule) -> CachedImages | None:
    """Return the entry, or None if there is none or its parts are not of one size."""
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
        n_good = int(manifest["n_good"])
        broken = {int(position): str(reason) for position, reason in manifest["broken"]}
        n_bytes = (folder / "pixels.u8").stat().st_size
    except (FileNotFoundError, ValueError, TypeError, KeyError):
        return None
    shape = (n_good, *rule.shape)
    if n_bytes != math.prod(shape):
        return None
    if n_good == 0:  # an empty file cannot be mapped
        return CachedImages(np.empty(shape, np.uint8), broken)
    return CachedImages(np.memmap(folder / "pixels.u8", np.uint8, "r", shape=shape), broken)


def _build_entry(
    target: Path,
    files: Sequence[ImageFile],
    digests: Sequence[str],
    rule: ImageRule,
    progress: Progress,
) -> None:
    folder = name_beside(target.with_name("decoding"))
    folder.mkdir()
    try:
        broken = _write_pixels(folder / "pixels.u8", files, digests, rule, progress)
        manifest: dict[str, Any] = {"n_good": len(files) - len(broken), "broken": broken}
        with replacing(folder / "manifest.json") as file:
            file.write(json.dumps(manifest).encode())
        _put_in_place(folder, target, rule)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sync_folder(target.parent)


def _put_in_place(folder: Path, target: Path, rule: ImageRule) -> None:
    """Rename a finished entry; one that another process put there first is as good."""
    reason: OSError | None = None
    for _ in range(2):
        try:
            os.rename(folder, target)
        except OSError as error:
            if _open_entry(target, rule) is not None:
                return
            reason = error
            shutil.rmtree(target, ignore_errors=True)  # parts of one: make way
        else:
            return
    raise CacheError(f"The image cache {target.parent} cannot be written: {reason}.") from reason


def _write_pixels(
    target: Path,
    files: Sequence[ImageFile],
    digests: Sequence[str],
    rule: ImageRule,
    progress: Progress,
) -> list[tuple[int, str]]:
    """Write one row after the other; return position and reason of broken files.

    Written, not mapped: on a full disk a write raises, while a map kills the process.
    """
    broken = []
    with open(target, "wb") as pixels:
        for position, (file, digest) in enumerate(zip(files, digests, strict=True)):
            try:
                with file.open() as raw:
                    if _digest(raw) != digest:
                        raise InputError(f"{file.name} changed while it was read. Try again.")
                    raw.seek(0)
                    row = decode_image(raw, rule)
            except BrokenImageError as error:
                broken.append((position, str(error)))
            else:
                pixels.write(row.tobytes())
            progress("decoding", position + 1, len(files))
        pixels.flush()
        os.fsync(pixels.fileno())
    return broken


def _remove_stale(cache_dir: Path) -> None:
    """Remove what processes left behind that were killed more than a day ago."""
    for folder in cache_dir.glob(".decoding[.-]*"):
        with contextlib.suppress(FileNotFoundError):  # its owner may be done just now
            newest = max(path.stat().st_mtime for path in (folder, *folder.iterdir()))
            if newest < time.time() - _STALE_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
