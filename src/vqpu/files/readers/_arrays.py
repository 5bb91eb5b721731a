"""Arrays in ``.npy`` and ``.npz`` files, read without pickle and without trusting their headers."""

from __future__ import annotations

import io
import math
import mmap
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.base._parameters import check_integer
from vqpu.errors import InputError, VqpuError
from vqpu.files.readers._samples import Chunk, PUData, check_regular_file, first_few
from vqpu.files.readers._spool import Spool

_LONGEST_HEADER = 1 << 14
_BLOCK = 1 << 20
_CHUNK_VALUES = 1 << 20
_MOST_MEMBERS = 1000
MOST_NPZ_BYTES = 4 << 30


class _Header(NamedTuple):
    shape: tuple[int, ...]
    order: Literal["C", "F"]
    dtype: np.dtype[Any]
    offset: int

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def open_npy(path: str | Path) -> NDArray[Any]:
    """Map an ``.npy`` file read-only, once its header agrees with its size.

    Parameters
    ----------
    path : path
        An array of booleans, integers or floats with at least one axis and one entry.

    Returns
    -------
    ndarray
        A read-only memory map.
    """
    path = Path(path)
    check_regular_file(path)
    size = path.stat().st_size
    try:
        with open(path, "rb") as file:
            header = _read_header(file, str(path))
            _check_size(header, size - header.offset, str(path))
            return np.memmap(file, header.dtype, "r", header.offset, header.shape, header.order)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error


def read_npz(
    path: str | Path,
    *,
    cache_dir: str | Path | None = None,
    max_bytes: int = MOST_NPZ_BYTES,
) -> dict[str, NDArray[Any]]:
    """Read the arrays X and y, P and U, or X alone of an ``.npz`` file.

    Members are unpacked block by block into nameless files of the cache folder and mapped, so
    they need disk, not memory.

    Parameters
    ----------
    path : path
    cache_dir : path or None
    max_bytes : int, default 4 GiB
        Largest size of all wanted members together.

    Returns
    -------
    dict
        ``{"X", "y"}``, ``{"P", "U"}`` or ``{"X"}``; the file may hold other members too.
    """
    path = Path(path)
    check_regular_file(path)
    check_integer("max_bytes", max_bytes, 1)
    try:
        with zipfile.ZipFile(path) as archive:
            members = _wanted_members(archive, path, max_bytes)
            return {
                name: _unpack(archive, member, f"{name} in {path}", cache_dir)
                for name, member in members.items()
            }
    except VqpuError:
        raise
    except Exception as error:  # unpacking foreign bytes may raise anything
        raise InputError(f"{path} cannot be read as .npz: {error}.") from error


def read_arrays(
    positives: str | Path, unlabeled: str | Path, *, cache_dir: str | Path | None = None
) -> PUData:
    """Read positives and unlabelled samples from two ``.npy`` files.

    Both are copied block by block into one array on the disk of the cache folder.

    Parameters
    ----------
    positives, unlabeled : path
        Arrays with the same shape per sample.
    cache_dir : path or None

    Returns
    -------
    PUData
        Positives first; ``names`` are row numbers, counted through both.
    """
    return _stack(open_npy(positives), open_npy(unlabeled), cache_dir)


def read_array_file(
    path: str | Path, *, cache_dir: str | Path | None = None, may_be_swapped: bool = False
) -> PUData:
    """Read an ``.npz`` file with X and y (1 for positives, 0 for unlabelled) or with P and U.

    Parameters
    ----------
    path : path
    cache_dir : path or None
    may_be_swapped : bool
        Whether a y that marks most samples is refused, as nobody said that 1 means positive.

    Returns
    -------
    PUData
        ``names`` are row numbers.
    """
    arrays = read_npz(path, cache_dir=cache_dir)
    if "P" in arrays:
        return _stack(arrays["P"], arrays["U"], cache_dir)
    if "y" not in arrays:
        raise InputError(f"{path} has X but no y, so nothing says which samples are positive.")
    X, y = arrays["X"], arrays["y"]
    if y.shape != (len(X),):
        raise InputError(f"{path} has X of shape {X.shape} but y of shape {y.shape}.")
    values = np.unique(y)
    if not np.array_equal(values, [0, 1]):
        raise InputError(
            f"y in {path} must hold 1 for positives and 0 for unlabelled samples, both. Its "
            f"values are {first_few(values.tolist())}."
        )
    n_positive = int(np.count_nonzero(y))
    if may_be_swapped and 2 * n_positive > len(y):
        raise InputError(
            f"y in {path} marks {n_positive} of {len(y)} samples with 1, which means labelled "
            "positive. Say --positive 1 if that is right; if 1 means unlabelled there, swap the "
            "two values."
        )
    return PUData(X, y.astype(np.int8), range(len(X)))


def iter_array(path: str | Path, *, cache_dir: str | Path | None = None) -> Iterator[Chunk]:
    """Give an ``.npy`` file, or X of an ``.npz`` file, chunk by chunk.

    Parameters
    ----------
    path : path
    cache_dir : path or None
        Where an ``.npz`` file is unpacked.

    Yields
    ------
    Chunk
        About a million values each, copied; names are row numbers.
    """
    if Path(path).suffix.lower() == ".npz":
        arrays = read_npz(path, cache_dir=cache_dir)
        if "X" not in arrays:
            raise InputError(f"{path} has P and U but no X, so it is for training only.")
        X = arrays["X"]
    else:
        X = open_npy(path)
    return _chunks(X)


def _chunks(X: NDArray[Any]) -> Iterator[Chunk]:
    step = max(1, _CHUNK_VALUES // max(1, math.prod(X.shape[1:])))
    for start in range(0, len(X), step):
        rows = np.array(X[start : start + step])
        if isinstance(X.base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            X.base.madvise(mmap.MADV_DONTNEED)  # the pages are copied: hand them back
        yield Chunk(rows, range(start, start + len(rows)))


def _stack(positive: NDArray[Any], unlabeled: NDArray[Any], cache_dir: str | Path | None) -> PUData:
    if positive.shape[1:] != unlabeled.shape[1:]:
        raise InputError(
            f"The positives have shape {positive.shape} and the unlabelled samples "
            f"{unlabeled.shape}. Both must have the same shape per sample."
        )
    dtype = np.result_type(positive.dtype, unlabeled.dtype)
    n = len(positive) + len(unlabeled)
    with Spool(cache_dir) as spool:
        for part in (positive, unlabeled):
            for chunk in _chunks(part):
                spool.write(chunk.X.astype(dtype).tobytes())
        X = spool.finish(dtype, (n, *positive.shape[1:]))
    y = np.repeat(np.array([1, 0], np.int8), [len(positive), len(unlabeled)])
    return PUData(X, y, range(n))


def _read_header(file: IO[bytes], where: str) -> _Header:
    # numpy would read a header of any length; this one is cut off first.
    start = io.BytesIO(file.read(_LONGEST_HEADER))
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    try:
        version = np.lib.format.read_magic(start)
        shape, is_fortran, dtype = readers[version](start)
    except Exception as error:  # its text is parsed as Python literals, which may fail anyhow
        raise InputError(f"{where} is not a valid .npy array: {error}.") from error
    if dtype.kind not in "biuf":
        raise InputError(
            f"{where} has dtype {dtype}. Expected booleans, integers or floats: objects would run "
            "foreign code when loaded, and other kinds must be encoded first."
        )
    if not shape or min(shape) < 1:
        raise InputError(f"{where} has shape {shape}. Expected at least one sample and one value.")
    return _Header(shape, "F" if is_fortran else "C", dtype, start.tell())


def _check_size(header: _Header, n_bytes: int, where: str) -> None:
    if header.n_bytes != n_bytes:
        raise InputError(
            f"{where} claims shape {header.shape} of {header.dtype}, {header.n_bytes} bytes, but "
            f"holds {n_bytes}. It is truncated or forged."
        )


def _wanted_members(
    archive: zipfile.ZipFile, path: Path, max_bytes: int
) -> dict[str, zipfile.ZipInfo]:
    infos = archive.infolist()
    by_name = {info.filename.removesuffix(".npy"): info for info in infos}
    if len(infos) > _MOST_MEMBERS or len(by_name) != len(infos):
        raise InputError(f"{path} has {len(infos)} members, too many or with repeated names.")
    for names in (("X", "y"), ("P", "U"), ("X",)):
        if all(name in by_name for name in names):
            break
    else:
        raise InputError(
            f"{path} holds {first_few(sorted(by_name)) or 'nothing'}. Expected arrays named X and "
            "y, or P and U, or X alone for prediction."
        )
    total = sum(by_name[name].file_size for name in names)
    if total > max_bytes:
        raise InputError(
            f"{path} unpacks to {total} bytes, more than the limit of {max_bytes}. Save large "
            "arrays as .npy files, which are not unpacked."
        )
    return {name: by_name[name] for name in names}


def _unpack(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, where: str, cache_dir: str | Path | None
) -> NDArray[Any]:
    with archive.open(member) as file:
        header = _read_header(file, where)
        _check_size(header, member.file_size - header.offset, where)
    with archive.open(member) as file, Spool(cache_dir) as spool:
        file.read(header.offset)
        n_bytes = 0
        while block := file.read(_BLOCK):
            spool.write(block)
            n_bytes += len(block)
        _check_size(header, n_bytes, where)
        return spool.finish(header.dtype, header.shape, header.order)
