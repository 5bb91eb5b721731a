"""Damaged and hostile files: how each is made, and what must be said about it.

Run as a program it tries them all in a fresh process and prints what was said and how much memory
it took: ``python -m tests.hostile_official FOLDER``.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import struct
import sys
import tarfile
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

BATCH_BYTES = 30_730_000


class Case(NamedTuple):
    """A task, what is put into its data directory, and a pattern of the error."""

    task: str
    build: Callable[[Path], None]
    message: str


def idx_bytes(array: NDArray[Any]) -> bytes:
    shape = b"".join(int(size).to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + shape + array.tobytes()


def idx_header(*shape: int) -> bytes:
    return bytes([0, 0, 8, len(shape)]) + struct.pack(f">{len(shape)}I", *shape)


IMAGES = idx_bytes(np.zeros((10, 28, 28), np.uint8))
LABELS = idx_bytes(np.zeros(10, np.uint8))


def gzipped_zeros(start: bytes, n_zeros: int) -> bytes:
    packer = zlib.compressobj(1, wbits=31)
    chunk = bytes(1 << 20)
    parts = [packer.compress(start)]
    parts += [packer.compress(chunk) for _ in range(n_zeros >> 20)]
    return b"".join([*parts, packer.flush()])


def mnist(
    images: bytes = IMAGES, labels: bytes = LABELS, ending: str = ""
) -> Callable[[Path], None]:
    def build(folder: Path) -> None:
        (folder / "mnist").mkdir()
        (folder / f"mnist/train-images-idx3-ubyte{ending}").write_bytes(images)
        (folder / "mnist/train-labels-idx1-ubyte").write_bytes(labels)

    return build


def mnist_gz_bomb(folder: Path) -> None:
    mnist(gzipped_zeros(idx_header(10, 28, 28), 400 << 20), ending=".gz")(folder)


def mnist_pipe(folder: Path) -> None:
    (folder / "mnist").mkdir()
    os.mkfifo(folder / "mnist/train-images-idx3-ubyte")
    (folder / "mnist/train-labels-idx1-ubyte").mkdir()


def wrong_checksum(raw: bytes) -> bytes:
    return raw[:-8] + bytes([raw[-8] ^ 1]) + raw[-7:]


def cifar(raw: bytes) -> Callable[[Path], None]:
    def build(folder: Path) -> None:
        (folder / "cifar-10-batches-bin").mkdir()
        (folder / "cifar-10-batches-bin/data_batch_1.bin").write_bytes(raw)

    return build


def member(name: str, content: bytes = b"", **settings: Any) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for key, value in settings.items():
        setattr(info, key, value)
    return info, content


def tar_bytes(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    """A tar archive whose headers say what they were told, true or not."""
    blocks = []
    for info, content in members:
        blocks += [info.tobuf(tarfile.USTAR_FORMAT), content, bytes(-len(content) % 512)]
    return b"".join([*blocks, bytes(1024)])


def cifar_tar(
    *members: tuple[tarfile.TarInfo, bytes], after: bytes = b""
) -> Callable[[Path], None]:
    def build(folder: Path) -> None:
        raw = gzip.compress(tar_bytes(*members) + after, 1)
        (folder / "cifar-10-binary.tar.gz").write_bytes(raw)

    return build


def cifar_tar_bomb(folder: Path) -> None:
    raw = gzipped_zeros(tar_bytes(member("a")), 400 << 20)
    (folder / "cifar-10-binary.tar.gz").write_bytes(raw)


def cifar_tar_long_name(folder: Path) -> None:
    """A name of 200 MB before the first file, which are there."""
    raw = gzipped_zeros(tar_bytes(member("a", size=200 << 20, type=b"L"))[:-1024], 200 << 20)
    (folder / "cifar-10-binary.tar.gz").write_bytes(raw)


def cifar_tar_comments(folder: Path) -> None:
    """Headers before the first file that each add thousands of entries, as many as there fit."""
    parts = [
        member("a", b"".join(b"17 k%07d=0000\n" % (n * 1900 + i) for i in range(1900)), type=b"g")
        for n in range(700)
    ]
    raw = gzip.compress(tar_bytes(*parts), 1)
    (folder / "cifar-10-binary.tar.gz").write_bytes(raw)


def cifar_tar_raw(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def build(folder: Path) -> None:
        raw = tar_bytes(member("cifar-10-batches-bin/readme.html", b"hello"))
        (folder / "cifar-10-binary.tar.gz").write_bytes(change(raw))

    return build


BATCH = "cifar-10-batches-bin/data_batch_1.bin"


def image_bytes(
    size: tuple[int, int] = (8, 8), kind: str = "PNG", mode: str = "RGB", **settings: Any
) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.new(mode, size).save(file, kind, **settings)
    return file.getvalue()


def png_claiming(width: int, height: int) -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        body = kind + content
        return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))

    pixels = zlib.compress(bytes(1 << 16))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


def afhq(name: str, raw: bytes) -> Callable[[Path], None]:
    def build(folder: Path) -> None:
        for kind in ("cat", "dog"):
            (folder / "afhq/train" / kind).mkdir(parents=True)
            (folder / "afhq/train" / kind / "a.png").write_bytes(image_bytes())
        (folder / "afhq/train/cat" / name).write_bytes(raw)

    return build


def afhq_huge_file(folder: Path) -> None:
    afhq("b.png", b"")(folder)
    os.truncate(folder / "afhq/train/cat/b.png", 1 << 30)


def afhq_progressive(folder: Path) -> None:
    """As many pixels as are decoded, in the form that takes most memory."""
    afhq("b.jpg", image_bytes((2896, 2896), "JPEG", progressive=True)[:-500])(folder)


def afhq_no_dogs(folder: Path) -> None:
    (folder / "afhq/train/cat").mkdir(parents=True)
    (folder / "afhq/train/dog").mkdir()
    (folder / "afhq/train/cat/a.png").write_bytes(image_bytes())


def zip_bytes(*members: tuple[zipfile.ZipInfo | str, bytes], packing: int = 8) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", packing) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of duplicate names
        archive.writestr("afhq/train/dog/a.png", image_bytes())
        for name, content in members:
            archive.writestr(name, content, compress_type=packing)
    return file.getvalue()


def afhq_zip(
    *members: tuple[zipfile.ZipInfo | str, bytes],
    packing: int = 8,
    change: Callable[[bytes], bytes] = bytes,
) -> Callable[[Path], None]:
    def build(folder: Path) -> None:
        (folder / "afhq.zip").write_bytes(change(zip_bytes(*members, packing=packing)))

    return build


def directory_changed(offset: int, value: bytes) -> Callable[[bytes], bytes]:
    """Change the last entry of a zip archive's directory at an offset."""

    def change(raw: bytes) -> bytes:
        start = raw.rindex(b"PK\x01\x02") + offset
        return raw[:start] + value + raw[start + len(value) :]

    return change


def zip_link(folder: Path) -> None:
    info = zipfile.ZipInfo("afhq/train/cat/b.png")
    info.external_attr = 0o120777 << 16
    afhq_zip((info, b"/etc/passwd"))(folder)


def zip_entry(name: bytes, packing: int, packed: bytes, checksum: int, size: int) -> list[bytes]:
    """Return a member's local part and the start of its directory entry."""
    fields = struct.pack(
        "<HHHHHIIIHH", 20, 0, packing, 0, 0, checksum, len(packed), size, len(name), 0
    )
    return [b"PK\x03\x04" + fields + name + packed, b"PK\x01\x02\x14\0" + fields]


def zip_lying_bomb(folder: Path) -> None:
    """A cat that says 100 bytes and unpacks to 400 MB, and a sound dog."""
    packer = zlib.compressobj(1, wbits=-15)
    packed = b"".join([packer.compress(bytes(1 << 20)) for _ in range(400)] + [packer.flush()])
    sound = image_bytes()
    names = (b"afhq/train/cat/b.png", b"afhq/train/dog/a.png")
    cat, cat_entry = zip_entry(names[0], 8, packed, 0, 100)
    dog, dog_entry = zip_entry(names[1], 0, sound, zlib.crc32(sound), len(sound))
    directory = b"".join(
        entry + struct.pack("<HHHII", 0, 0, 0, 0, offset) + name
        for entry, offset, name in zip((cat_entry, dog_entry), (0, len(cat)), names, strict=True)
    )
    sizes = struct.pack("<HHHHIIH", 0, 0, 2, 2, len(directory), len(cat) + len(dog), 0)
    (folder / "afhq.zip").write_bytes(cat + dog + directory + b"PK\x05\x06" + sizes)


def zip_many_members(folder: Path) -> None:
    """A directory of 200,000 entries that all name the same bytes."""
    name = b"afhq/train/cat/%06d.png"
    fields = struct.pack("<HHHHHIIIHH", 20, 0, 0, 0, 0, 0, 0, 0, len(name % 0), 0)
    head = b"PK\x01\x02\x14\0" + fields + struct.pack("<HHHII", 0, 0, 0, 0, 0)
    directory = b"".join(head + name % number for number in range(200_000))
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 65535, 65535, len(directory), 0, 0)
    (folder / "afhq.zip").write_bytes(directory + end)


MNIST, CIFAR, AFHQ = "mnist-even-odd", "cifar10-animals", "afhq-cats"

CASES: dict[str, Case] = {
    "idx empty": Case(MNIST, mnist(b""), "not an IDX file"),
    "idx wrong magic": Case(MNIST, mnist(b"PK" + IMAGES[2:]), "not an IDX file"),
    "idx of doubles": Case(MNIST, mnist(b"\0\0\x0e\3" + IMAGES[4:]), "not an IDX file"),
    "idx without axes": Case(MNIST, mnist(b"\0\0\x08\0\0"), "not an IDX file"),
    "idx cut in its header": Case(MNIST, mnist(IMAGES[:9]), "ends inside its header"),
    "idx truncated": Case(MNIST, mnist(IMAGES[:-3]), r"claims shape \(10, 28, 28\) but holds 7837"),
    "idx with more": Case(MNIST, mnist(IMAGES + b"x"), "but holds 7841 bytes"),
    "idx of terabytes": Case(MNIST, mnist(idx_header(*[2**31] * 3)), "at most 134217728 values"),
    "idx claims, file lacks": Case(MNIST, mnist(idx_header(99_999, 28, 28)), "but holds 0 bytes"),
    "idx other images": Case(MNIST, mnist(idx_bytes(np.zeros((10, 9, 9), np.uint8))), "28, 28"),
    "idx labels missing": Case(MNIST, mnist(labels=LABELS[:4] + b"\0\0\0\0"), "10 images"),
    "idx class 10": Case(MNIST, mnist(labels=LABELS[:-1] + b"\n"), "holds class 10"),
    "idx no gzip": Case(MNIST, mnist(IMAGES, ending=".gz"), "cannot be read: Not a gzipped"),
    "idx gzip cut": Case(MNIST, mnist(gzip.compress(IMAGES)[:-9], ending=".gz"), "cannot be read"),
    "idx gzip damaged": Case(
        MNIST, mnist(gzip.compress(IMAGES)[:12] + b"\xff" * 9, ending=".gz"), "cannot be read"
    ),
    "idx gzip checksum": Case(
        MNIST, mnist(wrong_checksum(gzip.compress(IMAGES)), ending=".gz"), "CRC check failed"
    ),
    "idx gzip then junk": Case(
        MNIST, mnist(gzip.compress(IMAGES) + b"junk", ending=".gz"), "cannot be read: Not a gz"
    ),
    "idx gzip short": Case(
        MNIST, mnist(gzip.compress(idx_header(170_000, 28, 28)), ending=".gz"), "but holds 0 bytes"
    ),
    "idx gzip with more": Case(
        MNIST, mnist(gzip.compress(IMAGES + b"x"), ending=".gz"), "holds more bytes"
    ),
    "idx gzip bomb": Case(MNIST, mnist_gz_bomb, "holds more bytes"),
    "idx pipe": Case(MNIST, mnist_pipe, "not a regular file"),
    "cifar truncated": Case(CIFAR, cifar(bytes(3073 * 9)), "has 27657 bytes"),
    "cifar with more": Case(CIFAR, cifar(bytes(BATCH_BYTES + 1)), "has 30730001 bytes"),
    "cifar class 99": Case(CIFAR, cifar(b"c" + bytes(BATCH_BYTES - 1)), "holds class 99"),
    "cifar batch missing": Case(
        CIFAR, cifar(bytes(BATCH_BYTES)), "data_batch_2.bin cannot be read"
    ),
    "tar no gzip": Case(CIFAR, cifar_tar_raw(bytes), "cannot be read: Not a gzipped"),
    "tar gzip cut": Case(CIFAR, cifar_tar_raw(lambda raw: gzip.compress(raw)[:-20]), "cannot be"),
    "tar junk": Case(
        CIFAR, cifar_tar_raw(lambda _: gzip.compress(b"junk" * 999)), "invalid header"
    ),
    "tar cut": Case(CIFAR, cifar_tar_raw(lambda raw: gzip.compress(raw[:700])), "unexpected end"),
    "tar no end": Case(CIFAR, cifar_tar_raw(lambda raw: gzip.compress(raw[:1024])), "lacks"),
    "tar header changed": Case(
        CIFAR, cifar_tar_raw(lambda raw: gzip.compress(b"d" + raw[1:])), "bad checksum"
    ),
    "tar goes on": Case(CIFAR, cifar_tar(member("a"), after=b"more"), "goes on after its end"),
    "tar gzip bomb": Case(CIFAR, cifar_tar_bomb, "unpacks to more than"),
    "tar without batches": Case(CIFAR, cifar_tar(member("a")), "lacks"),
    "tar up": Case(CIFAR, cifar_tar(member("../../evil", b"x")), "leads elsewhere: '../../evil'"),
    "tar up, folder": Case(CIFAR, cifar_tar(member("..", type=b"5")), "leads elsewhere"),
    "tar absolute": Case(CIFAR, cifar_tar(member("/etc/evil", b"x")), "leads elsewhere"),
    "tar Windows name": Case(CIFAR, cifar_tar(member("C:\\evil", b"x")), "leads elsewhere"),
    "tar symbolic link": Case(CIFAR, cifar_tar(member(BATCH, type=b"2")), "of tar kind '2'"),
    "tar hard link": Case(CIFAR, cifar_tar(member(BATCH, type=b"1")), "of tar kind '1'"),
    "tar device": Case(CIFAR, cifar_tar(member(BATCH, type=b"3")), "is a special file"),
    "tar long name": Case(CIFAR, cifar_tar(member("a", size=1 << 27, type=b"L")), "in one piece"),
    "tar long comment": Case(
        CIFAR, cifar_tar(member("a", size=1 << 27, type=b"x")), "in one piece"
    ),
    "tar long name, there": Case(CIFAR, cifar_tar_long_name, "in one piece"),
    "tar comments": Case(CIFAR, cifar_tar_comments, "recursion"),
    "tar of gigabytes": Case(CIFAR, cifar_tar(member("a", size=7 << 30)), "claims more than"),
    "tar size lies": Case(CIFAR, cifar_tar(member(BATCH, size=BATCH_BYTES)), "unexpected end"),
    "tar wrong size": Case(CIFAR, cifar_tar(member(BATCH, b"short")), "has 5 bytes"),
    "tar twice": Case(CIFAR, cifar_tar(member("a"), member("a")), "two members named 'a'"),
    "tar members": Case(
        CIFAR, cifar_tar(*[member(f"m{i}") for i in range(999)]), "more than 64 members"
    ),
    "image truncated": Case(
        AFHQ, afhq("b.jpg", image_bytes((64, 64), "JPEG")[:-200]), "b.jpg: it cannot be decoded"
    ),
    "image of text": Case(AFHQ, afhq("b.png", b"hello"), "b.png: it is no JPEG"),
    "image empty": Case(AFHQ, afhq("b.png", b""), "b.png: it is empty"),
    "image bomb": Case(AFHQ, afhq("b.png", png_claiming(60_000, 60_000)), "cannot be decoded"),
    "image bomb, warned of": Case(
        AFHQ, afhq("b.png", png_claiming(10_000, 10_000)), "more than the"
    ),
    "image progressive, cut": Case(AFHQ, afhq_progressive, "image file is truncated"),
    "image large": Case(AFHQ, afhq("b.png", png_claiming(3000, 3000)), "has 3000 x 3000 pixels"),
    "image pixels missing": Case(
        AFHQ, afhq("b.png", png_claiming(2800, 2800)), "cannot be decoded"
    ),
    "image file huge": Case(AFHQ, afhq_huge_file, "has 1073741824 bytes"),
    "image folder, other file": Case(AFHQ, afhq("run.sh", b""), "run.sh is no image"),
    "image folder empty": Case(AFHQ, afhq_no_dogs, "holds no images"),
    "zip of junk": Case(AFHQ, afhq_zip(change=lambda _: b"junk" * 99), "not a sound zip"),
    "zip cut": Case(AFHQ, afhq_zip(change=lambda raw: raw[:-30]), "not a sound zip"),
    "zip without cats": Case(AFHQ, afhq_zip(), "holds no images"),
    "zip up": Case(AFHQ, afhq_zip(("../../evil.png", b"x")), "leads elsewhere"),
    "zip absolute": Case(AFHQ, afhq_zip(("/etc/evil", b"x")), "leads elsewhere"),
    "zip Windows name": Case(AFHQ, afhq_zip(("..\\evil", b"x")), "leads elsewhere"),
    "zip link": Case(AFHQ, zip_link, "is a link or a device"),
    "zip twice": Case(AFHQ, afhq_zip(*[("train/cat/a.png", b"x")] * 2), "two members named"),
    "zip two folders": Case(
        AFHQ, afhq_zip(("train/cat/a.png", b"x"), ("afhq/train/cat/a.png", b"x")), "in two folders"
    ),
    "zip encrypted": Case(
        AFHQ,
        afhq_zip(("train/cat/a.png", b"x"), change=directory_changed(8, b"\1")),
        "is encrypted",
    ),
    "zip lzma": Case(AFHQ, afhq_zip(("train/cat/a.png", b"x"), packing=14), "packed in an unusual"),
    "zip member huge": Case(
        AFHQ,
        afhq_zip(("train/cat/a.png", b"x"), change=directory_changed(24, b"\0\0\0\x7f")),
        "claims 2130706432 bytes",
    ),
    "zip checksum": Case(
        AFHQ,
        afhq_zip(("train/cat/a.png", b"x"), change=directory_changed(16, b"abcd")),
        "is damaged: Bad CRC-32",
    ),
    "zip member of zeros": Case(
        AFHQ, afhq_zip(("train/cat/a.png", bytes(16 << 20))), "zip/train/cat/a.png: it is no JPEG"
    ),
    "zip size lies": Case(AFHQ, zip_lying_bomb, "is damaged: Bad CRC-32"),
    "zip members": Case(AFHQ, zip_many_members, "in one piece"),
}


def refusal(case: Case, data_dir: Path) -> str:
    """Return what is said about a case; anything but an InputError is not caught."""
    from vqpu.datasets import load_task
    from vqpu.errors import InputError

    try:
        load_task(case.task, data_dir)
    except InputError as error:
        return str(error)
    return "accepted"


def main(folder: Path) -> None:
    said = {}
    for name in CASES:
        said[name] = refusal(CASES[name], folder / name)
    status = Path("/proc/self/status").read_text().split("VmHWM:")[1]
    print(json.dumps({"said": said, "peak_kilobytes": int(status.split()[0])}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
