"""Hostile and broken files: one clear error each, and nothing written elsewhere."""

from __future__ import annotations

import gzip
import os
import struct
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from vqpu.errors import InputError
from vqpu.files import (
    open_npy,
    read_array_file,
    read_image_folders,
    read_labeled_images,
    read_table,
)

pa = pytest.importorskip("pyarrow")
from tests.hostile_user import (  # noqa: E402
    image_bytes,
    npy_bytes,
    png_of_zeros,
    table_bytes,
    zeros_in_one_page,
    zip_of,
)

Make = Callable[[Path], None]


class Canary:
    """Pickled, it would make a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def saved(name: str, data: bytes) -> Make:
    def make(folder: Path) -> None:
        (folder / name).write_bytes(data)

    return make


# ---- images: (file in an otherwise good folder, expected message)

IMAGES: dict[str, tuple[Make, str]] = {
    "bomb": (saved("a.png", png_of_zeros(30_000, 10_000)), "300000000 pixels"),
    "bomb below Pillow's limit": (saved("a.png", png_of_zeros(9_000, 9_000)), "9000 x 9000 pixels"),
    "wrong magic": (saved("a.jpg", b"GIF8" + bytes(500)), "it is no JPEG, PNG"),
    "empty file": (saved("a.png", b""), "it is empty"),
    "archive as image": (saved("a.png", b"PK\3\4" + bytes(99)), "it is no JPEG"),
    "postscript": (saved("a.jpg", b"%!PS-Adobe-3.0 EPSF-3.0\n"), "it is no JPEG"),
    "pipe": (lambda f: os.mkfifo(f / "a.png"), "not a regular file"),
    "link to itself": (lambda f: (f / "a.png").symlink_to(f / "a.png"), "cannot be opened"),
    "dangling link": (lambda f: (f / "a.png").symlink_to(f / "none"), "cannot be opened"),
    "32-bit floats": (
        lambda f: Image.fromarray(np.ones((9, 9), np.float32)).save(f / "a.tif"),
        "32-bit numbers",
    ),
    **{
        f"truncated {kind}": (
            saved(f"a.{kind.lower()}", image_bytes(kind)[: len(image_bytes(kind)) * 2 // 3]),
            "cannot be decoded",
        )
        for kind in ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF")
    },
}


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    for name in ("p", "u"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "good.png").write_bytes(image_bytes("PNG"))
    return tmp_path / "p", tmp_path / "u"


def files_of(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if "cache" not in path.parts}


@pytest.mark.parametrize("case", IMAGES)
def test_image__hostile__named_with_its_reason(case: str, folders: tuple[Path, Path]) -> None:
    make, message = IMAGES[case]
    make(folders[1])
    before = files_of(folders[0].parent)
    with pytest.raises(InputError, match=f"^1 of 3 images cannot be used .*a\\..*{message}"):
        read_image_folders(*folders, cache_dir=folders[0].parent / "cache")
    assert files_of(folders[0].parent) == before


def test_image__not_readable__named(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(
        "vqpu.files.readers._decode.open", refuse, raising=False
    )  # root may read all
    with pytest.raises(InputError, match=r"2 of 2 .* cannot be opened \(Permission denied"):
        read_image_folders(*folders, cache_dir=folders[0].parent / "cache")


def folder_of_others(folder: Path) -> None:
    folder.mkdir()
    (folder / "a.txt").write_text("x")
    (folder / "b").write_text("x")


def circle_of_links(folder: Path) -> None:
    folder.mkdir()
    (folder / "again").symlink_to(folder)


FOLDERS: dict[str, tuple[Make, str]] = {
    "missing": (lambda _: None, "is not a folder"),
    "a file": (lambda f: f.touch(), "is not a folder"),
    "empty": (lambda f: f.mkdir(), "holds no images: it is empty"),
    "no images": (folder_of_others, r"are others \(1 with \.txt, 1 with no ending\)"),
    "folder named as image": (lambda f: (f / "a.png").mkdir(parents=True), "holds no images"),
    "circle of links": (circle_of_links, "holds no images"),
    "linked to itself": (lambda f: f.symlink_to(f), "is not a folder"),
}


@pytest.mark.parametrize("case", FOLDERS)
def test_folder__without_images__refused(
    case: str, folders: tuple[Path, Path], tmp_path: Path
) -> None:
    make, message = FOLDERS[case]
    make(tmp_path / "x")
    with pytest.raises(InputError, match=message):
        read_image_folders(folders[0], tmp_path / "x", cache_dir=tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_labels_file__wrong_kinds__refused(folders: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "binary.csv").write_bytes(b"file,label\n\xff\xfe\x00,1\n")
    for labels, message in (
        (tmp_path / "binary.csv", "cannot be read as CSV in UTF-8"),
        (tmp_path / "none.csv", "does not exist"),
        (tmp_path, "is a folder, but a file is expected"),
    ):
        with pytest.raises(InputError, match=message):
            read_labeled_images(folders[0], labels, positive=1, cache_dir=tmp_path / "cache")


# ---- arrays

NPY: dict[str, tuple[bytes, str]] = {
    "terabytes": (npy_bytes((10**12, 10)), r"claims shape .* 80000000000000 bytes, but holds 80"),
    "overflowing shape": (npy_bytes((2**62, 2**62)), "truncated or forged"),
    "negative shape": (npy_bytes((-1, 10)), r"shape \(-1, 10\)"),
    "scalar": (npy_bytes(()), r"shape \(\)"),
    "no samples": (npy_bytes((0, 10)), r"shape \(0, 10\)"),
    "truncated": (npy_bytes((11,)), "88 bytes, but holds 80"),
    "too long": (npy_bytes((9,)), "72 bytes, but holds 80"),
    "objects": (npy_bytes((10,), "|O"), "dtype object"),
    "text": (npy_bytes((10,), "<U2"), "dtype <U2"),
    "complex": (npy_bytes((5,), "<c16"), "dtype complex128"),
    "structure": (npy_bytes((5,), "<f8").replace(b"'<f8'", b"'V16'"), r"dtype \|V16"),
    "unknown version": (npy_bytes((10,), version=9), "not a valid .npy array"),
    "header of 4 GB": (b"\x93NUMPY\2\0" + b"\xff\xff\xff\xff" + bytes(1 << 20), "not a valid"),
    "header is code": (
        b"\x93NUMPY\1\0" + struct.pack("<H", 20) + b"__import__('os').x()",
        "not a valid",
    ),
    "wrong magic": (b"PK\3\4" + bytes(99), "not a valid .npy array"),
    "empty": (b"", "not a valid .npy array"),
}


@pytest.mark.parametrize("case", NPY)
def test_npy__hostile__refused(case: str, tmp_path: Path) -> None:
    data, message = NPY[case]
    (tmp_path / "x.npy").write_bytes(data)
    with pytest.raises(InputError, match=message):
        open_npy(tmp_path / "x.npy")


GOOD = npy_bytes((10, 1)), npy_bytes((10,))
NPZ: dict[str, tuple[bytes, str]] = {
    "terabytes": (zip_of(X=npy_bytes((10**12, 10)), y=GOOD[1]), "claims shape"),
    "objects": (zip_of(X=npy_bytes((10,), "|O"), y=GOOD[1]), "X in .* dtype object"),
    "no zip": (npy_bytes((10,)), "cannot be read as .npz"),
    "empty": (b"", "cannot be read as .npz"),
    "truncated": (zip_of(lambda data: data[:150], X=GOOD[0], y=GOOD[1]), "cannot be read"),
    "changed bytes": (
        zip_of(lambda data: data[:60] + b"\0\0\0" + data[63:], X=GOOD[0], y=GOOD[1]),
        "cannot be read",
    ),
    "forged size": (
        zip_of(
            lambda data: data.replace(
                struct.pack("<I", len(GOOD[0])), struct.pack("<I", 0xFFFFFFF0)
            ),
            X=GOOD[0],
            y=GOOD[1],
        ),
        "more than the limit|claims shape",
    ),
    "encrypted": (
        zip_of(
            lambda data: data.replace(b"PK\1\2\x14\3\x14\0\0\0", b"PK\1\2\x14\3\x14\0\1\0"),
            X=GOOD[0],
            y=GOOD[1],
        ),
        "cannot be read",
    ),
    "too many members": (zip_of(**{f"m{i}": b"" for i in range(1001)}), "1001 members"),
}


@pytest.mark.parametrize("case", NPZ)
def test_npz__hostile__refused(case: str, tmp_path: Path) -> None:
    data, message = NPZ[case]
    (tmp_path / "x.npz").write_bytes(data)
    with pytest.raises(InputError, match=message):
        read_array_file(tmp_path / "x.npz", cache_dir=tmp_path / "cache")
    assert files_of(tmp_path) - {tmp_path / "cache"} == {tmp_path / "x.npz"}


def test_pickles__never_run(tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    objects = np.array([Canary(canary)], dtype=object)
    np.save(tmp_path / "x.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "x.npz", X=objects, y=objects)
    for read in (open_npy, read_array_file):
        with pytest.raises(InputError, match="run foreign code"):
            read(tmp_path / ("x.npy" if read is open_npy else "x.npz"))
    assert not canary.exists()


# ---- tables


def repeated_text() -> bytes:
    """A hundred thousand rows of a megabyte each, in a few kilobytes."""
    text = pa.DictionaryArray.from_arrays(np.zeros(100_000, np.int32), ["x" * 1_000_000])
    return table_bytes("parquet", x=text, l=np.arange(100_000))


def zeros_in_one_batch() -> bytes:
    return table_bytes("feather", x=np.zeros(40_000_000), l=np.zeros(40_000_000, bool))


def cut(kind: str, length: int) -> bytes:
    return table_bytes(kind)[:length]


def no_rows() -> bytes:
    return table_bytes("parquet", x=np.zeros(0), l=np.zeros(0))


TABLES: dict[str, tuple[str, bytes | Callable[[], bytes], str]] = {
    "csv with a huge line": ("csv", b"x,l\n" + b"1" * 10_000_000, "cannot be read as csv"),
    "csv with a huge first line": ("csv", b"x" * 10_000_000, "first line of more than"),
    "csv with many columns": ("csv", b"," * 400_000 + b"\n", "has 400001 columns"),
    "csv empty": ("csv", b"", "is empty"),
    "csv of parquet": ("csv", partial(table_bytes, "parquet"), "binary|cannot be read"),
    "csv not UTF-8": ("csv", b"x,c,l\n1,\xff\xfe,1\n2,a,0\n", "Column 'c' .* is not UTF-8"),
    "packed csv cut short": ("csv.gz", gzip.compress(b"x,l\n1,1\n" * 99)[:-1], "cannot be read"),
    "packed csv of csv": ("csv.gz", b"x,l\n1,1\n", "cannot be read as csv"),
    "jsonl with a huge line": ("jsonl", b'{"x": "' + b"1" * 10_000_000, "line of more than"),
    "jsonl of parquet": ("jsonl", partial(table_bytes, "parquet"), "is no JSON"),
    "jsonl nested deeply": ("jsonl", b"[" * 1_000_000, "is no JSON"),
    "jsonl of long numbers": ("jsonl", b'{"x": ' + b"1" * 5000 + b"}\n", "is no JSON"),
    "xlsx of csv": ("xlsx", b"x,l\n1,1\n", "cannot be read as xlsx"),
    "xlsx of a bomb": ("xlsx", partial(zip_of, a=bytes(300_000_000)), "unpacks to 300000000"),
    "csv without rows": ("csv", b"x,l\n", "has no rows"),
    "parquet of csv": ("parquet", b"x,l\n1,1\n", "cannot be read as parquet"),
    "parquet empty": ("parquet", b"", "cannot be read as parquet"),
    "parquet truncated": ("parquet", partial(cut, "parquet", -100), "cannot be read as parquet"),
    "parquet cut short": ("parquet", partial(cut, "parquet", 5000), "cannot be read as parquet"),
    "parquet without rows": ("parquet", no_rows, "has no rows"),
    "parquet bomb": ("parquet", repeated_text, "no column left to learn from.*'x: it has"),
    "parquet with a huge page": ("parquet", zeros_in_one_page, "unpacks to 16[0-9]+ at once"),
    "feather of csv": ("feather", b"x,l\n1,1\n", "cannot be read as feather"),
    "feather version 1": ("feather", b"FEA1" + bytes(100), "cannot be read as feather"),
    "feather truncated": ("feather", partial(cut, "feather", -50), "cannot be read as feather"),
    "feather cut short": ("feather", partial(cut, "feather", 5000), "cannot be read as feather"),
    "feather bomb": ("feather", zeros_in_one_batch, "unpacks .* at once"),
}


@pytest.mark.parametrize("case", TABLES)
def test_table__hostile__refused(case: str, tmp_path: Path) -> None:
    ending, data, message = TABLES[case]
    path = tmp_path / f"t.{ending}"
    path.write_bytes(data if isinstance(data, bytes) else data())
    with pytest.raises(InputError, match=message):
        read_table(path, label="l", positive=1, cache_dir=tmp_path / "cache")
    assert files_of(tmp_path) - {tmp_path / "cache"} == {path}


READERS: dict[str, Callable[[Path], Any]] = {
    "npy": open_npy,
    "npz": read_array_file,
    **dict.fromkeys(("csv", "parquet", "feather"), partial(read_table, label="l", positive=1)),
}


@pytest.mark.parametrize("ending", READERS)
def test_no_regular_file__refused(ending: str, tmp_path: Path) -> None:
    folder, pipe, circle, missing = (tmp_path / f"{i}.{ending}" for i in range(4))
    folder.mkdir()
    os.mkfifo(pipe)
    circle.symlink_to(circle)
    for path, message in (
        (folder, "is a folder"),
        (pipe, "no regular file"),
        (circle, "cannot be read: Too many levels"),
        (missing, "does not exist"),
    ):
        with pytest.raises(InputError, match=message):
            READERS[ending](path)
