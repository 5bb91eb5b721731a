"""Vectors on disk, made once: found by the content of their sample, for one extractor.

A folder an extractor, named by ``ExtractorRecord.cache_key``, with ``vectors.f32`` (rows of
float32) and ``keys.bin`` (SHA-256 of the sample and CRC-32 of the row). Both only ever grow, rows
before keys, so that a process that is killed leaves whole rows and one that starts again goes on
behind them. They may be deleted at any time.
"""

from __future__ import annotations

import json
import os
import threading
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from filelock import FileLock
from numpy.typing import NDArray

from vqpu.errors import CacheError, InputError
from vqpu.features._record import ExtractorRecord, parse_record
from vqpu.persistence._atomic import replacing

MISSING = -1
_KEY = np.dtype([("digest", "V32"), ("crc", "<u4")])
_RECORD, _VECTORS, _KEYS, _LOCK = "extractor.json", "vectors.f32", "keys.bin", ".lock"
# Rows that were added since the index was sorted; beyond, it is sorted again.
_MOST_FRESH = 1 << 16


class StoredFeatures(NamedTuple):
    """What a cache holds of an extractor.

    Attributes
    ----------
    record : ExtractorRecord
    n_vectors, n_bytes : int
    """

    record: ExtractorRecord
    n_vectors: int
    n_bytes: int


class VectorStore:
    """The vectors of one extractor in a cache folder.

    Parameters
    ----------
    cache_dir : Path
        With a folder an extractor.
    record : ExtractorRecord
    """

    def __init__(self, cache_dir: Path, record: ExtractorRecord) -> None:
        self._folder, self._width = cache_dir / record.cache_key, record.n_features
        self._lock, self._fresh = threading.Lock(), dict[bytes, int]()
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            if not (self._folder / _RECORD).exists():
                with replacing(self._folder / _RECORD) as file:
                    file.write(record.model_dump_json(indent=1).encode())
            for name in (_VECTORS, _KEYS):
                (self._folder / name).touch()
            self._sort()
        except OSError as error:
            raise self._error(error) from error

    def find(self, digest: bytes) -> int:
        """Return the row of a sample's vector, ``MISSING`` if it is not there or is damaged."""
        with self._lock:
            row = self._fresh.get(digest, MISSING)
            if row != MISSING and self._is_whole(row):
                return row
            return self._search(digest)

    def read(self, rows: Sequence[int]) -> NDArray[np.float32]:
        """Return the vectors of some rows, shape (n, d)."""
        with self._lock:
            self._map_again(max(rows, default=MISSING))
            return np.array(self._vectors[list(rows)])

    def append(self, digests: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        """Add rows; another process that adds some at the same time waits.

        Parameters
        ----------
        digests : sequence of bytes
        vectors : ndarray of float32, shape (n, d)
        """
        rows = np.ascontiguousarray(vectors, dtype="<f4")
        keys = np.empty(len(digests), _KEY)
        keys["digest"] = np.frombuffer(b"".join(digests), "V32")
        keys["crc"] = [zlib.crc32(row.tobytes()) for row in rows]
        try:
            with FileLock(self._folder / _LOCK):
                first = _whole_rows(self._folder, self._width)
                _write_at(self._folder / _VECTORS, first * 4 * self._width, rows.tobytes())
                _write_at(self._folder / _KEYS, first * _KEY.itemsize, keys.tobytes())
        except OSError as error:
            raise self._error(error) from error
        with self._lock:
            self._fresh.update(zip(digests, range(first, first + len(digests)), strict=True))
            if len(self._fresh) > _MOST_FRESH:
                self._sort()

    def _sort(self) -> None:
        """Index the rows by the first eight bytes of their digests, sixteen bytes a row."""
        n_rows = _whole_rows(self._folder, self._width)
        self._keys = _mapped(self._folder / _KEYS, _KEY, (n_rows,))
        self._vectors = _mapped(self._folder / _VECTORS, "<f4", (n_rows, self._width))
        raw = np.asarray(self._keys).view(np.uint8).reshape(n_rows, _KEY.itemsize)
        heads = np.ascontiguousarray(raw[:, :8]).view("<u8").reshape(n_rows)
        self._order = np.argsort(heads, kind="stable")
        self._heads = heads[self._order]
        self._fresh.clear()

    def _search(self, digest: bytes) -> int:
        head = np.frombuffer(digest[:8], "<u8")[0]
        place = int(np.searchsorted(self._heads, head))
        while place < len(self._heads) and self._heads[place] == head:
            row = int(self._order[place])
            if self._keys["digest"][row].tobytes() == digest and self._is_whole(row):
                return row
            place += 1
        return MISSING

    def _is_whole(self, row: int) -> bool:
        self._map_again(row)
        return zlib.crc32(self._vectors[row].tobytes()) == int(self._keys["crc"][row])

    def _map_again(self, row: int) -> None:
        """Map the files anew if a row was added since."""
        if row < len(self._vectors):
            return
        n_rows = _whole_rows(self._folder, self._width)
        self._keys = _mapped(self._folder / _KEYS, _KEY, (n_rows,))
        self._vectors = _mapped(self._folder / _VECTORS, "<f4", (n_rows, self._width))

    def _error(self, error: OSError) -> CacheError:
        return CacheError(
            f"The cache of features {self._folder} cannot be used: {error.strerror or error}. Free "
            "some space, or choose another cache_dir (or XDG_CACHE_HOME)."
        )


def stored_features(cache_dir: Path) -> list[StoredFeatures]:
    """Return what a cache holds, by the names of the extractors.

    Parameters
    ----------
    cache_dir : Path
    """
    found = []
    for path in sorted(cache_dir.glob(f"*/{_RECORD}")):
        try:
            record = parse_record(json.loads(path.read_bytes()))
            n_vectors = _whole_rows(path.parent, record.n_features)
            n_bytes = sum(entry.stat().st_size for entry in path.parent.iterdir())
        except (InputError, ValueError, OSError):  # no entry of this cache
            continue
        found.append(StoredFeatures(record, n_vectors, n_bytes))
    return sorted(found, key=lambda one: one.record.name)


def _whole_rows(folder: Path, width: int) -> int:
    """Return how many rows have all of their vector and all of their key."""
    n_vectors = (folder / _VECTORS).stat().st_size // (4 * width)
    return min(n_vectors, (folder / _KEYS).stat().st_size // _KEY.itemsize)


def _write_at(path: Path, place: int, content: bytes) -> None:
    """Write and flush from ``place`` on; what a killed process left behind it is replaced.

    Written, not mapped: on a full disk a write raises, while a map kills the process.
    """
    with open(path, "r+b") as file:
        file.seek(place)
        file.write(content)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())


def _mapped(path: Path, dtype: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    if shape[0] == 0:  # an empty file cannot be mapped
        return np.empty(shape, dtype)
    return np.memmap(path, dtype, "r", shape=shape)
