"""Folders of images as samples: for ``fit`` from a cache, for prediction as a stream."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vqpu.base._parameters import check_choice, check_integer
from vqpu.errors import BrokenImageError, BrokenImageWarning, InputError
from vqpu.files.readers._decode import ImageRule, decode_image, image_on_disk, open_image_file
from vqpu.files.readers._imagecache import Progress, cached_images
from vqpu.files.readers._imagelist import check_apart, find_images, read_label_file
from vqpu.files.readers._samples import ON_BROKEN, Broken, Chunk, PUData, describe_broken
from vqpu.files.readers._spool import cache_folder

_DEFAULT_RULE = ImageRule()
_REPAIR = (
    "Repair or remove such files, or leave them out with --skip-broken "
    '(in Python on_broken="skip").'
)


def read_image_folders(
    positives: str | Path,
    unlabeled: str | Path,
    *,
    size: int = _DEFAULT_RULE.size,
    mode: str = _DEFAULT_RULE.mode,
    on_broken: str = "raise",
    cache_dir: str | Path | None = None,
    progress: Progress | None = None,
    max_pixels: int = _DEFAULT_RULE.max_pixels,
) -> PUData:
    """Read a folder of positives and a folder of everything else, with all their subfolders.

    Every image becomes ``size`` x ``size`` pixels: its largest centred square, averaged down, so
    shapes are kept and the margins of long images are cut off. The EXIF orientation is followed,
    transparent parts show white, and of moving images the first frame is taken. The result is
    decoded once into a cache keyed by content; memory does not grow with the number of images.

    Parameters
    ----------
    positives, unlabeled : path
        Folders of JPEG, PNG, WebP, BMP, GIF or TIFF files, neither inside the other.
    size : int, default 64
        Height and width of the samples, 8 to 1024.
    mode : {"RGB", "L"}, default "RGB"
        Colour, giving X of shape (n, size, size, 3), or grey, (n, size, size).
    on_broken : {"raise", "skip"}, default "raise"
        What to do if files cannot be decoded: raise an error that counts and names them, or leave
        them out with a warning and list them in ``broken``.
    cache_dir : path or None
        Where decoded images are kept; None means the user's cache folder.
    progress : callable or None
        Called as ``progress(stage, done, total)``, with stage "checking" or "decoding".
    max_pixels : int, default 25,000,000
        Larger images count as broken, unread: they may be decompression bombs. JPEG files, which
        are reduced while they are decoded, may have twice as many, WebP files three quarters. The
        default keeps decoding within 300 MB.

    Returns
    -------
    PUData
        Positives first, each set sorted by path; ``names`` are paths.
    """
    rule = _checked_rule(size, mode, max_pixels, on_broken)
    first, second = find_images(positives), find_images(unlabeled)
    check_apart(positives, unlabeled, first, second)
    y = np.repeat(np.array([1, 0], np.int8), [len(first), len(second)])
    return _read(first + second, y, rule, on_broken, cache_dir, progress)


def read_labeled_images(
    folder: str | Path,
    labels: str | Path,
    *,
    positive: Any,
    file_column: str = "file",
    label_column: str = "label",
    size: int = _DEFAULT_RULE.size,
    mode: str = _DEFAULT_RULE.mode,
    on_broken: str = "raise",
    cache_dir: str | Path | None = None,
    progress: Progress | None = None,
    max_pixels: int = _DEFAULT_RULE.max_pixels,
) -> PUData:
    """Read the images of one folder that a CSV of labels names, in its order.

    Parameters
    ----------
    folder : path
    labels : path
        CSV in UTF-8 with a header. Images that it does not name are not used.
    positive : object
        The label of positives; every other label, or none, means unlabelled.
    file_column, label_column : str
        Columns with the path relative to ``folder`` and with the label.
    size, mode, on_broken, cache_dir, progress, max_pixels
        As in :func:`read_image_folders`.

    Returns
    -------
    PUData
    """
    rule = _checked_rule(size, mode, max_pixels, on_broken)
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder. Expected a folder of images.")
    paths, y = read_label_file(folder, Path(labels), positive, file_column, label_column)
    return _read(paths, y, rule, on_broken, cache_dir, progress)


def iter_images(
    source: str | Path | Sequence[Path],
    *,
    size: int,
    mode: str,
    chunk_size: int = 256,
    on_broken: str = "raise",
    max_pixels: int = _DEFAULT_RULE.max_pixels,
) -> Iterator[Chunk]:
    """Decode a folder, or the given files, chunk by chunk; nothing is written.

    Parameters
    ----------
    source : path or sequence of paths
        A folder, or a part of what :func:`find_images` found in one.
    size, mode
        Those of the training images.
    chunk_size : int
        Files decoded at a time. A chunk with broken files is shorter.
    on_broken : {"raise", "skip"}
        "raise" ends the stream at the first broken file; "skip" lists it in its chunk.
    max_pixels : int

    Yields
    ------
    Chunk
        X of shape (n, size, size, 3) or (n, size, size) and uint8; names are paths.
    """
    rule = _checked_rule(size, mode, max_pixels, on_broken)
    check_integer("chunk_size", chunk_size, 1)
    paths = find_images(source) if isinstance(source, str | Path) else source
    return (
        _decode_chunk(paths[start : start + chunk_size], rule, on_broken)
        for start in range(0, len(paths), chunk_size)
    )


@contextmanager
def show_progress(what: str = "images") -> Iterator[Progress]:
    """Give a function for ``progress=`` that shows on standard error how far reading has come.

    ``what`` names the samples.

    Examples
    --------
    >>> with show_progress() as progress:  # doctest: +SKIP
    ...     data = read_image_folders("cats", "others", progress=progress)
    """
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import Progress as Bars

        with Bars(console=Console(stderr=True)) as bars:
            tasks = {}

            def update(stage: str, done: int, total: int) -> None:
                if stage not in tasks:
                    tasks[stage] = bars.add_task(f"{stage} {what}", total=total)
                bars.update(tasks[stage], completed=done)

            yield update
    else:
        yield partial(_print_tenths, what, {})


def _print_tenths(
    what: str, printed: dict[tuple[str, int], int], stage: str, done: int, total: int
) -> None:
    """Print a line for every tenth that is complete."""
    tenth = 10 * done // total
    if tenth > printed.get((stage, total), 0):
        printed[stage, total] = tenth
        print(f"{stage} {what}: {done} of {total}", file=sys.stderr)


def _checked_rule(size: int, mode: str, max_pixels: int, on_broken: str) -> ImageRule:
    rule = ImageRule(size, mode, max_pixels)
    rule.check()
    check_choice("on_broken", on_broken, ON_BROKEN)
    return rule


def _read(
    paths: list[Path],
    y: NDArray[np.int8],
    rule: ImageRule,
    on_broken: str,
    cache_dir: str | Path | None,
    progress: Progress | None,
) -> PUData:
    folder = cache_folder(cache_dir) / "images"
    files = [image_on_disk(path, rule) for path in paths]
    entry = cached_images(files, rule, folder, progress or (lambda *_: None))
    broken = tuple(Broken(str(paths[i]), reason) for i, reason in entry.broken.items())
    good = [i for i in range(len(paths)) if i not in entry.broken]
    _report(broken, len(paths), on_broken)
    y = y[good]
    for label, kind in ((1, "positive"), (0, "unlabelled")):
        if not (y == label).any():
            raise InputError(f"No {kind} image is left without the {len(broken)} broken ones.")
    return PUData(entry.pixels, y, [str(paths[i]) for i in good], broken)


def _report(broken: Sequence[Broken], n_files: int, on_broken: str) -> None:
    if not broken:
        return
    found = describe_broken(broken, n_files, "images")
    if on_broken == "raise":
        raise BrokenImageError(f"{found} {_REPAIR}")
    warnings.warn(f"{found} They are left out.", BrokenImageWarning, stacklevel=4)


def _decode_chunk(paths: Sequence[Path], rule: ImageRule, on_broken: str) -> Chunk:
    rows, names, broken, places = [], [], [], []
    for place, path in enumerate(paths):
        try:
            with open_image_file(path, rule) as file:
                rows.append(decode_image(file, rule))
        except BrokenImageError as error:
            if on_broken == "raise":
                raise BrokenImageError(f"{path} cannot be used: {error}. {_REPAIR}") from error
            broken.append(Broken(str(path), str(error)))
            places.append(place)
        else:
            names.append(str(path))
    X = np.stack(rows) if rows else np.empty((0, *rule.shape), np.uint8)
    return Chunk(X, names, None, tuple(broken), broken_places=tuple(places))
