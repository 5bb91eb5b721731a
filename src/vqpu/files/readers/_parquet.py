"""How much the pages of a Parquet file unpack to, told before anything is unpacked.

A page is unpacked at once, and a few kilobytes may become gigabytes. Neither can the sizes be had
safely from pyarrow, whose view of a damaged footer may end the process, nor can the sums in the
footer be trusted. So the few numbers are read here: ``parquet.thrift`` in Thrift's compact
protocol, whose field numbers are below.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from pathlib import Path
from typing import IO, NamedTuple

from vqpu.errors import InputError

_MOST_PAGE_BYTES = 1 << 27
_MOST_FOOTER_BYTES = 1 << 27
_MAGIC = b"PAR1"
_DEEPEST = 32
# Enough for the head of almost any page; statistics of long texts need more.
_HEAD_BYTES = (256, 1 << 20)

_ROW_GROUPS = 4
_COLUMNS = 1
_META_DATA = 3
_PATH, _CODEC, _VALUES, _COMPRESSED_BYTES, _DATA_OFFSET, _DICTIONARY_OFFSET = 3, 4, 5, 7, 9, 11
_PAGE_BYTES, _PAGE_COMPRESSED_BYTES = 2, 3
_BYTE, _INTEGERS, _DOUBLE, _BINARY, _LISTS, _MAP, _STRUCT = 3, (4, 5, 6), 7, 8, (9, 10), 11, 12


class _Chunk(NamedTuple):
    """Where the pages of a column of one row group lie."""

    name: str
    is_packed: bool
    start: int
    stop: int


def check_parquet(path: Path, columns: Set[str]) -> None:
    """Refuse a file with a page of ``columns`` that unpacks to more than 128 MB."""
    with open(path, "rb", buffering=0) as file:  # heads lie far apart: what is read ahead is lost
        try:
            for chunk in _chunks(_footer(file)):
                if chunk.name in columns and chunk.is_packed:
                    _check_pages(file, chunk, path)
        except (IndexError, RecursionError) as error:
            raise InputError(f"{path} cannot be read as parquet: it is damaged.") from error


def _footer(file: IO[bytes]) -> _Compact:
    size = file.seek(0, 2)
    file.seek(max(0, size - 8))
    tail = file.read(8)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MAGIC or length > min(size, _MOST_FOOTER_BYTES):
        raise IndexError
    file.seek(size - 8 - length)
    return _Compact(file.read(length))


def _chunks(data: _Compact) -> Iterator[_Chunk]:
    for number, kind in data.fields():
        if number != _ROW_GROUPS or kind not in _LISTS:
            data.skip(kind)
            continue
        for _ in range(data.list_length()):
            for field, field_kind in data.fields():
                if field != _COLUMNS or field_kind not in _LISTS:
                    data.skip(field_kind)
                    continue
                for _ in range(data.list_length()):
                    yield from _chunk(data)


def _chunk(data: _Compact) -> Iterator[_Chunk]:
    for number, kind in data.fields():
        if number != _META_DATA or kind != _STRUCT:
            data.skip(kind)
            continue
        path: list[bytes] = []
        values: dict[int, int] = {}
        for field, field_kind in data.fields():
            if field == _PATH and field_kind in _LISTS:
                path = [data.binary() for _ in range(data.list_length())]
            elif field_kind in _INTEGERS:
                values[field] = data.integer()
            else:
                data.skip(field_kind)
        start, dictionary = values.get(_DATA_OFFSET, 0), values.get(_DICTIONARY_OFFSET, 0)
        start = dictionary if 0 < dictionary < start else start
        name = b".".join(path).decode(errors="replace")
        if values.get(_VALUES, 0) == 0:  # then no page is read, and offsets mean nothing
            continue
        yield _Chunk(
            name, values.get(_CODEC, 0) != 0, start, start + values.get(_COMPRESSED_BYTES, 0)
        )


def _check_pages(file: IO[bytes], chunk: _Chunk, path: Path) -> None:
    position = chunk.start
    while position < chunk.stop:
        values, length = _page_head(file, position)
        packed, unpacked = values.get(_PAGE_COMPRESSED_BYTES, -1), values.get(_PAGE_BYTES, -1)
        if packed < 0 or unpacked < 0:
            raise IndexError
        if unpacked > _MOST_PAGE_BYTES:
            raise InputError(
                f"{path} unpacks {packed} bytes of column {chunk.name!r} to {unpacked} at once, "
                f"more than {_MOST_PAGE_BYTES}. Save it again with smaller pages."
            )
        position += length + packed


def _page_head(file: IO[bytes], position: int) -> tuple[dict[int, int], int]:
    for n_bytes in _HEAD_BYTES:
        file.seek(max(0, position))
        data = _Compact(file.read(n_bytes))
        values: dict[int, int] = {}
        try:
            for number, kind in data.fields():
                if kind in _INTEGERS:
                    values[number] = data.integer()
                else:
                    data.skip(kind)
        except IndexError:
            continue
        return values, data.position
    raise IndexError


class _Compact:
    """Thrift's compact protocol, read field by field; raises IndexError at the end of data."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0

    def fields(self) -> Iterator[tuple[int, int]]:
        """Yield number and kind of each field; the caller must read or skip its value."""
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self.integer()
            yield number, head & 15

    def integer(self) -> int:
        unsigned = self._varint()
        return (unsigned >> 1) ^ -(unsigned & 1)

    def binary(self) -> bytes:
        start = self._advance(self._varint())
        return self._data[start : self.position]

    def list_length(self) -> int:
        """Read the head of a list of structs or texts, and return its length."""
        return self._list_head()[0]

    def skip(self, kind: int, depth: int = 0) -> None:
        if depth > _DEEPEST:
            raise RecursionError
        if kind in _INTEGERS:
            self._varint()
        elif kind in (_BYTE, _DOUBLE):
            self._advance(1 if kind == _BYTE else 8)
        elif kind == _BINARY:
            self._advance(self._varint())
        elif kind in _LISTS:
            length, inner = self._list_head()
            self._skip_many([inner], length, depth)
        elif kind == _MAP:
            length = self._varint()
            kinds = self._byte() if length else 0
            self._skip_many([kinds >> 4, kinds & 15], length, depth)
        elif kind == _STRUCT:
            for _, inner in self.fields():
                self.skip(inner, depth + 1)
        elif kind not in (1, 2):  # true and false have no value of their own
            raise IndexError

    def _skip_many(self, kinds: list[int], length: int, depth: int) -> None:
        for _ in range(length):
            for kind in kinds:
                self.skip(_BYTE if kind in (1, 2) else kind, depth + 1)

    def _list_head(self) -> tuple[int, int]:
        head = self._byte()
        return (head >> 4 if head >> 4 < 15 else self._varint()), head & 15

    def _varint(self) -> int:
        value, data, position = 0, self._data, self.position  # a file has many thousands of these
        for shift in range(0, 70, 7):
            byte = data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                self.position = position
                return value
        raise IndexError

    def _byte(self) -> int:
        self.position += 1
        return self._data[self.position - 1]

    def _advance(self, n_bytes: int) -> int:
        start = self.position
        self.position += n_bytes
        if self.position > len(self._data):
            raise IndexError
        return start
