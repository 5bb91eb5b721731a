"""JSON lines: an object a line, read in blocks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from vqpu.errors import InputError
from vqpu.files.readers._cells import batch_of, without_nulls
from vqpu.files.readers._tablefiles import check_width

_LONGEST_LINE = 1 << 22
_BLOCK_BYTES = 1 << 22
_MOST_UNPACKED, _RATIO = 1 << 32, 200


class JsonFile:
    """A file of JSON objects, one a line, packed (.gz, .zst) or not.

    The columns are the keys of all objects, in the order in which they are met; an object without
    a key has no value there.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        names: dict[str, None] = {}
        first: list[dict[str, Any]] = []
        for block in self._blocks(1 << 14):
            first = first or block
            for row in block:
                names.update(dict.fromkeys(row))
            check_width(path, len(names))
        if not first:
            raise InputError(f"{path} has no rows.")
        batch = batch_of(_columns(first, list(names)))
        self.schema = without_nulls(batch.schema)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[Any]:
        """Yield record batches of the given columns with at most ``rows`` rows."""
        for block in self._blocks(rows):
            yield batch_of(_columns(block, columns))

    def _blocks(self, rows: int) -> Iterator[list[dict[str, Any]]]:
        block: list[dict[str, Any]] = []
        n_bytes = 0
        for number, line in enumerate(self._lines(), 1):
            if line.strip():
                block.append(self._parsed(line, number))
                n_bytes += len(line)
            if len(block) >= rows or n_bytes > _BLOCK_BYTES:
                yield block
                block, n_bytes = [], 0
        if block:
            yield block

    def _lines(self) -> Iterator[bytes]:
        import pyarrow as pa

        size, n_read, rest = self.path.stat().st_size, 0, b""
        with pa.input_stream(str(self.path)) as file:
            while part := file.read(1 << 20):
                n_read += len(part)
                if n_read > max(_MOST_UNPACKED, _RATIO * size):
                    raise InputError(f"{self.path} has {size} bytes and unpacks to {n_read}.")
                *lines, rest = (rest + part).split(b"\n")
                yield from lines
                if len(rest) > _LONGEST_LINE:
                    raise InputError(
                        f"{self.path} has a line of more than {_LONGEST_LINE} bytes. Expected a "
                        "JSON object a line."
                    )
        yield rest

    def _parsed(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"Line {number} of {self.path} is no JSON: {error}.") from error
        if not isinstance(row, dict):
            raise InputError(
                f"Line {number} of {self.path} is no JSON object but {row!r:.50}. Expected names "
                'and values, such as {"age": 31}.'
            )
        return row


def _columns(rows: list[dict[str, Any]], names: Sequence[str]) -> dict[str, list[Any]]:
    return {name: [row.get(name) for row in rows] for name in names}
