"""Files that tests of hostile input are made of."""

from __future__ import annotations

import gzip
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from PIL import Image
from pyarrow import csv, feather, parquet


def png_of_zeros(width: int, height: int) -> bytes:
    """A grey PNG of any size in a few bytes, made without its pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    packer = zlib.compressobj(9)
    data = b"".join(packer.compress(bytes(1 + width)) for _ in range(height)) + packer.flush()
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"".join(
        [b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", header), chunk(b"IDAT", data), chunk(b"IEND", b"")]
    )


def image_bytes(kind: str, side: int = 64) -> bytes:
    noise = np.random.default_rng(0).integers(0, 256, (side, side, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(noise).save(file, kind)
    return file.getvalue()


def npy_bytes(shape: tuple[int, ...], descr: str = "<f8", version: int = 1) -> bytes:
    """A header that claims ``shape``, and 80 bytes of data."""
    text = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode() + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + bytes(80)


def zip_of(change: Callable[[bytes], bytes] = lambda data: data, /, **members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return change(file.getvalue())


def zeros_in_one_page() -> bytes:
    """A Parquet file of ten kilobytes with a page of 160 MB."""
    sink = io.BytesIO()
    parquet.write_table(
        pa.table({"x": np.zeros(20_000_000), "l": np.zeros(20_000_000, bool)}),
        sink,
        compression="zstd",
        use_dictionary=False,
        row_group_size=1 << 30,
        data_page_size=1 << 30,
        write_batch_size=1 << 30,
        max_rows_per_page=1 << 30,
    )
    return sink.getvalue()


def table_bytes(kind: str, **columns: Any) -> bytes:
    table = pa.table(
        columns or {"x": np.arange(5000.0), "c": ["a", "b"] * 2500, "l": [1, 0] * 2500}
    )
    sink = io.BytesIO()
    if kind == "parquet":
        parquet.write_table(table, sink)
    else:
        feather.write_feather(table, sink, chunksize=1 << 30, compression="zstd")
    return sink.getvalue()


def mixed_table_bytes(kind: str) -> bytes:
    """A small table with columns of every kind, in the format of an ending."""
    n = 150
    columns: dict[str, Any] = {
        "x": [None if i % 9 == 0 else i / 7 for i in range(n)],
        "c": [["a", "b", None, "é"][i % 4] for i in range(n)],
        "d": [f"2021-{i % 12 + 1:02}-{i % 28 + 1:02}" for i in range(n)],
        "t": [f"some remark number {i} about it" for i in range(n)],
        "q": ["?" if i % 10 == 0 else str(i % 5) for i in range(n)],
        "b": [i % 3 == 0 for i in range(n)],
        "l": [i % 2 for i in range(n)],
    }
    sink = io.BytesIO()
    if kind in ("parquet", "feather"):
        typed = {
            "v": pa.array([[float(i), 1.0] for i in range(n)]),
            "w": pa.array(range(n), pa.timestamp("s")),
            "k": pa.array(columns["c"]).dictionary_encode(),
        }
        return table_bytes(kind, **columns, **typed)
    if kind == "xlsx":
        import openpyxl

        book = openpyxl.Workbook()
        sheet: Any = book.active
        for row in (columns, *zip(*columns.values(), strict=True)):
            sheet.append(list(row))
        book.save(sink)
        return sink.getvalue()
    if kind == "jsonl":
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return "\n".join(map(json.dumps, rows)).encode()
    csv.write_csv(pa.table(columns), sink)
    content = sink.getvalue()
    if kind == "csv.zst":
        packed: bytes = pa.compress(content, "zstd", asbytes=True)
        return packed
    return gzip.compress(content) if kind == "csv.gz" else content
