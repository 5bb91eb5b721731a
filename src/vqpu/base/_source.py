"""Where samples come from: one indexable source behind arrays and memory-mapped files.

A source never copies the array it stands for. Passes over all of it go chunk by chunk, and the
pages of a memory-mapped file are handed back to the system after use, so the resident memory of
a fit does not grow with the file.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vqpu.base._finite import all_finite
from vqpu.errors import InputError, UnusableSampleError

_CHUNK_VALUES = 1 << 20
_MOST_BYTES_HELD = 1 << 22
_ROWS_AT_A_TIME = 8
_SMALLEST_SIDE = 8
ALL = slice(None)

Span = slice  # whose name is that of a method below


class Moments(NamedTuple):
    """Mean and standard deviation per feature or per channel, both float64."""

    mean: NDArray[np.float64]
    std: NDArray[np.float64]


class Layout(NamedTuple):
    """How the array of samples was laid out, to give others in the same way.

    Attributes
    ----------
    n_axes : int
        Of the array: 2 for vectors, 3 for grey images, 4 for colour images.
    channels_first : bool
    dtype : dtype
        That of the array where it can hold fractions, else the floating type next to it.
    """

    n_axes: int
    channels_first: bool
    dtype: np.dtype[Any]

    def restore(self, samples: NDArray[Any]) -> NDArray[Any]:
        """Turn (n, d) or (n, c, h, w) into what ``fit`` was given."""
        if self.n_axes == 3:
            samples = samples[:, 0]
        elif self.n_axes == 4 and not self.channels_first:
            samples = samples.transpose(0, 2, 3, 1)
        return np.ascontiguousarray(samples, dtype=self.dtype)


class ArraySource:
    """Samples in an array: vectors (n, d), grey images (n, h, w) or colour images.

    Parameters
    ----------
    array : ndarray of shape (n, d), (n, h, w), (n, h, w, c) or (n, c, h, w)
        For four axes the channel axis is the smaller one of the second and the last. In vectors
        NaN means missing.
    categories : mapping of int to int
        Columns of vectors that hold category codes 0 ... n - 1 as floats, and their n.

    Attributes
    ----------
    sample_shape : tuple
        ``(d,)`` for vectors, ``(c, h, w)`` for images.
    categories : mapping of int to int
    n_missing : ndarray of int64, shape (d,), or None
        Missing values of every column, once :meth:`check_finite` has looked; None: no value is
        missing anywhere.
    """

    def __init__(
        self, array: NDArray[Any], categories: Mapping[int, int] = MappingProxyType({})
    ) -> None:
        if array.dtype.kind not in "biuf":
            raise InputError(
                f"X has dtype {array.dtype}. Expected numbers: encode dates, categories and text "
                "as integers or floats first."
            )
        self._array = array
        self._channels_first = array.ndim == 4 and _channel_axis(array.shape) == 1
        self._mapping = _underlying_mapping(array)
        self._bytes_touched = 0
        self.sample_shape = _sample_shape(array.shape, self._channels_first)
        self.categories = categories
        self.n_missing: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self._array)

    @property
    def array(self) -> NDArray[Any]:
        """The array itself, not a copy."""
        return self._array

    @property
    def is_image(self) -> bool:
        """Whether samples are images rather than vectors."""
        return len(self.sample_shape) == 3

    @property
    def layout(self) -> Layout:
        """How the array is laid out."""
        dtype = np.result_type(self._array.dtype, np.float32)
        return Layout(self._array.ndim, self._channels_first, dtype)

    def batch(self, indices: NDArray[np.integer[Any]]) -> Tensor:
        """Return the samples at ``indices``: (n, d), or (n, c, h, w) in channels-last memory."""
        if self._mapping is None:
            return self._as_tensor(self._array[indices])
        samples = np.empty((len(indices), *self._array.shape[1:]), self._array.dtype)
        for start in range(0, len(indices), _ROWS_AT_A_TIME):
            some = slice(start, start + _ROWS_AT_A_TIME)
            samples[some] = self._array[indices[some]]
            # The system maps far more than the row that is looked up: hundreds of kilobytes were
            # seen. Nothing says how much, so all of it is handed back.
            self._release_pages(_MOST_BYTES_HELD + 1)
        return self._as_tensor(samples)

    def slice(self, start: int, stop: int) -> Tensor:
        """Return the samples from ``start`` to ``stop`` as :meth:`batch` does."""
        samples = np.array(self._array[start:stop], order="C" if self.is_image else "K")
        self._release_pages(samples.nbytes)
        tensor = self._as_tensor(samples)
        # Data frames and streamed tables lie column by column: torch makes rows of them in half of
        # NumPy's time.
        return tensor if self.is_image else tensor.contiguous()

    def rows(self, indices: NDArray[np.integer[Any]] | Span = ALL) -> Any:
        """Return vectors as float32 or float64; all of them as the array itself where it can be.

        Parameters
        ----------
        indices : ndarray of int or slice
        """
        if isinstance(indices, Span):
            if indices == ALL and self._array.dtype in (np.float32, np.float64):
                return self._array
            rows = self.slice(*indices.indices(len(self))[:2]).numpy()
        else:
            rows = self.batch(indices).numpy()
        return rows if rows.dtype != np.uint8 else rows.astype(np.float32)

    def bytes_of(self, indices: NDArray[np.integer[Any]]) -> bytes:
        """Return what some samples consist of, for digests."""
        return self.batch(indices).contiguous().numpy().tobytes()

    def check_finite(self, *, allow_missing: bool = False) -> None:
        """Raise if any value is infinite, or NaN where none may be, naming the first such sample.

        Parameters
        ----------
        allow_missing : bool
            Whether NaN in vectors means missing. Images must be finite in any case.
        """
        if not np.issubdtype(self._array.dtype, np.floating):
            return
        allow_missing = allow_missing and not self.is_image
        n_missing = np.zeros(self.sample_shape[0], np.int64)
        for start, chunk in self._chunks():
            if all_finite(chunk):
                continue
            bad = np.isinf(chunk) if allow_missing else ~np.isfinite(chunk)
            if bad.any():
                self._refuse(start, chunk, bad)
            n_missing += np.isnan(chunk).sum(axis=0)
        self.n_missing = n_missing if n_missing.any() else None

    def check_present(self) -> None:
        """Raise if a sample has no value at all; to be called after :meth:`check_finite`."""
        for start, chunk in self._chunks() if self.n_missing is not None else ():
            is_empty = np.isnan(chunk).all(axis=1)
            if is_empty.any():
                raise UnusableSampleError(
                    f"X contains no value at all in sample {start + int(np.argmax(is_empty))}. "
                    "There is nothing to judge it by: leave such samples out."
                )

    def _refuse(self, start: int, chunk: NDArray[Any], bad: NDArray[np.bool_]) -> None:
        sample = int(np.argmax(bad.reshape(len(chunk), -1).any(axis=1)))
        kind = "NaN" if np.isnan(chunk[sample][bad[sample]]).any() else "infinity (inf)"
        raise UnusableSampleError(
            f"X contains {kind} in sample {start + sample}. Every value must be finite: "
            "remove or impute such samples first."
        )

    def moments(self) -> Moments:
        """Return mean and standard deviation of all samples, per feature or per channel.

        Missing values do not count; a feature without any value has mean 0 and deviation 0.
        """
        axes = self._sample_axes
        origin = self._origin()  # keeps the sum of squares well-conditioned
        count, total, squares = 0, 0.0, 0.0
        for _, chunk in self._chunks():
            centred = chunk.astype(np.float64)
            centred -= origin
            if self.n_missing is not None:
                np.nan_to_num(centred, copy=False, nan=0.0, posinf=np.inf, neginf=-np.inf)
            total = total + centred.sum(axis=axes)
            squares = squares + np.square(centred, out=centred).sum(axis=axes)
            count += centred.size // np.size(total)
        present = count if self.n_missing is None else np.maximum(count - self.n_missing, 1)
        mean = np.atleast_1d(np.asarray(total) / present)
        variance = np.maximum(np.atleast_1d(np.asarray(squares) / present) - mean**2, 0.0)
        mean = mean + origin.reshape(-1)
        std = np.sqrt(variance)
        # Rounding leaves a trace of variance in constant columns; it must not be blown up.
        std[std <= 1e-13 * np.abs(mean)] = 0.0
        return Moments(mean, std)

    def _origin(self) -> NDArray[np.float64]:
        """Return the mean of the first sample; of features that it lacks, their first value."""
        first = np.asarray(self._array[:1], dtype=np.float64)
        origin = np.asarray(first.mean(axis=self._sample_axes, keepdims=True))
        for _, chunk in self._chunks() if self.n_missing is not None else ():
            lacking = np.flatnonzero(np.isnan(origin[0]))
            if not len(lacking):
                break
            part = chunk[:, lacking]
            origin[0, lacking] = part[np.argmin(np.isnan(part), axis=0), np.arange(len(lacking))]
        return np.asarray(np.nan_to_num(origin, nan=0.0))

    def extremes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the least and the largest value per feature or per channel, NaN passed over."""
        low, high = np.inf, -np.inf
        for _, chunk in self._chunks():
            low = np.fmin(low, np.fmin.reduce(chunk, axis=self._sample_axes))
            high = np.fmax(high, np.fmax.reduce(chunk, axis=self._sample_axes))
        return np.atleast_1d(np.float64(low)), np.atleast_1d(np.float64(high))

    @property
    def _sample_axes(self) -> tuple[int, ...]:
        """The axes that statistics go over: all but that of features or channels."""
        if not self.is_image:
            return (0,)
        return (0, *_pixel_axes(self._array.ndim, self._channels_first))

    def _chunks(self) -> Iterator[tuple[int, NDArray[Any]]]:
        step = max(1, _CHUNK_VALUES // max(1, self._array[:1].size))
        for start in range(0, len(self._array), step):
            chunk = np.asarray(self._array[start : start + step])
            yield start, chunk
            self._release_pages(chunk.nbytes)

    def _as_tensor(self, samples: NDArray[Any]) -> Tensor:
        if samples.dtype not in (np.uint8, np.float32, np.float64):
            wide = samples.dtype.kind in "iu" or samples.dtype.itemsize > 4
            samples = samples.astype(np.float64 if wide else np.float32)
        tensor = torch.from_numpy(samples)
        if samples.ndim == 3:
            return tensor.unsqueeze(1)
        return (
            tensor.permute(0, 3, 1, 2) if samples.ndim == 4 and not self._channels_first else tensor
        )

    def _release_pages(self, n_bytes: int) -> None:
        self._bytes_touched += n_bytes
        if self._mapping is not None and self._bytes_touched > _MOST_BYTES_HELD:
            self._mapping.madvise(mmap.MADV_DONTNEED)
            self._bytes_touched = 0


def _channel_axis(shape: tuple[int, ...]) -> int:
    if shape[1] == shape[3]:
        raise InputError(
            f"X has shape {shape}, so its channel axis cannot be told from its height and width. "
            "Pass images as (n, h, w, c) or (n, c, h, w) with fewer channels than pixels a side."
        )
    return 1 if shape[1] < shape[3] else 3


def _sample_shape(shape: tuple[int, ...], channels_first: bool) -> tuple[int, ...]:
    if len(shape) == 2:
        return (shape[1],)
    if len(shape) not in (3, 4):
        raise InputError(
            f"X has {len(shape)} axes. Expected (n, d) for vectors, (n, h, w), (n, h, w, c) or "
            "(n, c, h, w) for images."
        )
    sample = shape[1:] if channels_first else (shape[3] if len(shape) == 4 else 1, *shape[1:3])
    if min(sample[1:]) < _SMALLEST_SIDE:
        raise InputError(
            f"X holds images of {sample[1]} x {sample[2]} pixels. Images must be at least "
            f"{_SMALLEST_SIDE} x {_SMALLEST_SIDE}; flatten smaller ones to (n, d)."
        )
    return sample


def _pixel_axes(ndim: int, channels_first: bool) -> tuple[int, int]:
    return (2, 3) if ndim == 4 and channels_first else (1, 2)


def _underlying_mapping(array: Any) -> mmap.mmap | None:
    """Return the memory map behind ``array`` if its pages can be dropped without loss.

    That is so for NumPy's maps of files. Copy-on-write maps keep changes in memory alone, and
    what a map of another origin holds may be nowhere else.
    """
    base, is_file = array, False
    while base is not None and not isinstance(base, mmap.mmap):
        if isinstance(base, np.memmap):
            is_file = base.mode in ("r", "r+", "w+")
        base = (
            getattr(base, "base", None)
            if isinstance(base, np.ndarray)
            else getattr(base, "obj", None)
        )
    return base if is_file and hasattr(mmap, "MADV_DONTNEED") else None
