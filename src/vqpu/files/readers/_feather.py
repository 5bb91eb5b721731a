"""How much a Feather file unpacks to, told before anything is unpacked.

Arrow gives no access to these numbers, so the few fields that hold them are read here from the
flatbuffers of the file: ``Message.fbs`` of the Arrow format, whose field numbers are below.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from vqpu.errors import InputError

# One batch may unpack to this many bytes, or to this many times what it has on disk.
_MOST_BYTES = 1 << 28
_MOST_RATIO = 16
FEATHER_MAGIC = b"ARROW1\0\0"

_MESSAGE_HEADER = 2
_DICTIONARY_DATA = 1
_BATCH_BUFFERS, _BATCH_COMPRESSION = 2, 3


def check_feather(path: Path) -> int:
    """Refuse a file that unpacks to far too much; return its number of record batches."""
    import pyarrow as pa

    n_batches = 0
    with pa.memory_map(str(path)) as file:
        if file.read(len(FEATHER_MAGIC)) != FEATHER_MAGIC:
            raise InputError(f"{path} is no Feather (version 2) file.")
        for message in pa.ipc.MessageReader.open_stream(file):
            if message.type == "schema":
                continue
            n_batches += message.type == "record batch"
            n_bytes = _unpacked_bytes(message)
            if n_bytes > max(_MOST_BYTES, _MOST_RATIO * message.body.size):
                raise InputError(
                    f"{path} unpacks {message.body.size} bytes to {n_bytes} at once, more than "
                    f"{_MOST_BYTES}. Save it again with a smaller chunksize."
                )
    return n_batches


def _unpacked_bytes(message: Any) -> int:
    """Return the sum of the sizes that stand before every compressed buffer."""
    data, body = message.metadata.to_pybytes(), memoryview(message.body)
    table = _follow(data, _field(data, _follow(data, 0), _MESSAGE_HEADER))
    if message.type == "dictionary":
        table = _follow(data, _field(data, table, _DICTIONARY_DATA))
    buffers = _field(data, table, _BATCH_BUFFERS)
    if buffers is None or _field(data, table, _BATCH_COMPRESSION) is None:
        return 0
    vector = _follow(data, buffers)
    (count,) = struct.unpack_from("<I", data, vector)
    total = 0
    for index in range(count):
        offset, length = struct.unpack_from("<qq", data, vector + 4 + 16 * index)
        if length > 0:
            total += max(0, struct.unpack_from("<q", body, offset)[0])
    return total


def _follow(data: bytes, position: int | None) -> int:
    if position is None:
        raise InputError("A message of the Feather file lacks its header.")
    return int(position + struct.unpack_from("<I", data, position)[0])


def _field(data: bytes, table: int, number: int) -> int | None:
    """Return where a field of a flatbuffer table lies, or None if it has its default."""
    vtable = table - struct.unpack_from("<i", data, table)[0]
    (size,) = struct.unpack_from("<H", data, vtable)
    if 4 + 2 * number >= size:
        return None
    (offset,) = struct.unpack_from("<H", data, vtable + 4 + 2 * number)
    return table + offset if offset else None
