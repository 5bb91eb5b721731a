"""One image file to one small square of uint8, by a fixed rule and within fixed memory."""

from __future__ import annotations

import os
import stat
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.base._parameters import check_choice, check_integer
from vqpu.errors import BrokenImageError, ParameterError

if TYPE_CHECKING:
    from PIL.Image import Image

MODES = ("RGB", "L")
_FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF")
_SMALLEST, _LARGEST = 8, 1024
# A file larger than raw pixels with alpha and some spare cannot be an image within the limit.
_MOST_BYTES_PER_PIXEL = 5
# Where decoding takes less or more memory a pixel than elsewhere, the limit follows.
_SHARES = {"JPEG": 2, "MPO": 2, "WEBP": 0.75}


class ImageRule(NamedTuple):
    """How a file becomes a sample; two equal rules give equal pixels.

    Attributes
    ----------
    size : int
        Height and width of the result.
    mode : {"RGB", "L"}
        Colour or grey.
    max_pixels : int
        Larger images are refused before they are decoded. A JPEG, reduced while it is decoded,
        may have twice as many, a WebP, which is held three times, three quarters.
    resample : {"box", "bilinear", "bicubic"}
        How the square is made smaller or larger; "box" averages.
    """

    size: int = 64
    mode: str = "RGB"
    max_pixels: int = 25_000_000
    resample: str = "box"

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one sample."""
        return (self.size, self.size) + ((3,) if self.mode == "RGB" else ())

    def check(self) -> None:
        """Raise if a value is out of range."""
        check_integer("size", self.size, _SMALLEST)
        check_integer("max_pixels", self.max_pixels, 1)
        if self.size > _LARGEST:
            raise ParameterError(f"size must be at most {_LARGEST}. Got {self.size}.")
        check_choice("mode", self.mode, MODES)


class ImageFile(NamedTuple):
    """An encoded image somewhere: on disk, or in an archive.

    Attributes
    ----------
    name : str
        How errors call it.
    open : callable
        Returns its bytes as a binary file, or raises :class:`BrokenImageError`.
    stamp : callable
        Returns what changes when the file does, such as size and times; () if it is not there.
    """

    name: str
    open: Callable[[], BinaryIO]
    stamp: Callable[[], tuple[int, ...]]


def image_on_disk(path: Path, rule: ImageRule) -> ImageFile:
    """Return the image at a path."""
    return ImageFile(
        os.path.abspath(path), lambda: open_image_file(path, rule), lambda: stamp_of(path)
    )


def stamp_of(path: Path) -> tuple[int, ...]:
    """Return modification and change time, size, inode and device of a file, () without one."""
    try:
        status = os.stat(path)
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_dev


def open_image_file(path: Path, rule: ImageRule) -> BinaryIO:
    """Open a regular file of a sensible size, or raise :class:`BrokenImageError`."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait for ever
            raise BrokenImageError("it is not a regular file")
        if status.st_size == 0:
            raise BrokenImageError("it is empty")
        if status.st_size > _MOST_BYTES_PER_PIXEL * rule.max_pixels:
            raise BrokenImageError(f"it has {status.st_size} bytes, too many for max_pixels")
        return open(path, "rb")
    except OSError as error:
        raise BrokenImageError(f"it cannot be opened ({error.strerror})") from error


def decode_image(file: BinaryIO, rule: ImageRule) -> NDArray[np.uint8]:
    """Decode an open file into an array of shape ``rule.shape``.

    The rule: the first frame; the largest centred square; averaged down (or as ``resample`` says)
    to ``size`` x ``size``; turned as its EXIF orientation says. Transparent parts show white;
    16-bit greys keep their high byte; palettes, CMYK and black-and-white become RGB or grey.
    Images of 32-bit numbers have no rule and are refused. A JPEG much larger than needed is
    decoded at 1/2, 1/4 or 1/8 of its size, at least twice ``size``, which changes pixels by a grey
    level or two.
    """
    from PIL import Image

    try:
        # Pillow warns of odd metadata and of large images; the latter are checked below.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(file, formats=_FORMATS) as image:
                return _render(image, rule)
    except BrokenImageError:
        raise
    except Exception as error:  # a decoder on foreign bytes may raise anything
        raise BrokenImageError(_reason(error)) from error


def _render(image: Image, rule: ImageRule) -> NDArray[np.uint8]:
    from PIL import ExifTags, ImageOps
    from PIL import Image as Pillow

    _check_pixels(image, int(rule.max_pixels * _SHARES.get(image.format or "", 1)))
    image.draft("RGB", (2 * rule.size, 2 * rule.size))
    _check_pixels(image, rule.max_pixels)
    image.load()
    orientation = image.getexif().get(ExifTags.Base.Orientation, 1)
    plain = _eight_bits(image)
    side = min(plain.size)
    left, top = ((length - side) / 2 for length in plain.size)
    box = (left, top, left + side, top + side)
    way = Pillow.Resampling[rule.resample.upper()]
    small = plain.resize((rule.size, rule.size), way, box=box)
    if small.mode == "RGBA":
        small = Pillow.alpha_composite(Pillow.new("RGBA", small.size, "white"), small)
    small = small.convert(rule.mode)
    small.info = {}  # what else the metadata say is of no use, and may be broken
    small.getexif()[ExifTags.Base.Orientation] = orientation
    return np.array(ImageOps.exif_transpose(small), dtype=np.uint8)  # the small one costs least


def _check_pixels(image: Image, limit: int) -> None:
    width, height = image.size
    if width * height > limit:
        raise BrokenImageError(
            f"it has {width} x {height} pixels, more than the limit of {limit} "
            "(raise max_pixels if you trust it)"
        )


def _eight_bits(image: Image) -> Image:
    """Return ``image`` in mode L, RGB or RGBA."""
    from PIL.Image import fromarray

    if image.mode.startswith("I;16"):  # Pillow's own conversion would clip at 255
        return fromarray((np.asarray(image) >> 8).astype(np.uint8))
    if image.mode in ("I", "F"):
        raise BrokenImageError("its pixels are 32-bit numbers: save it with 8 or 16 bits")
    if image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info:
        return image if image.mode == "RGBA" else image.convert("RGBA")
    if image.mode in ("L", "RGB"):
        return image
    return image.convert("L" if image.mode == "1" else "RGB")


def _reason(error: Exception) -> str:
    from PIL import UnidentifiedImageError

    if isinstance(error, UnidentifiedImageError):
        return "it is no JPEG, PNG, WebP, BMP, GIF or TIFF file"
    return f"it cannot be decoded ({type(error).__name__}: {error})"
