"""Archives read in place: nothing is unpacked to disk, and every size has a bound.

The names inside are checked all the same, so that an archive which would be dangerous to unpack
is refused here too.
"""

from __future__ import annotations

import gzip
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from vqpu.datasets._places import open_regular
from vqpu.errors import InputError

_BLOCK = 512
_TAR_MOST_BYTES = 1 << 28
_TAR_MOST_MEMBERS = 64
_TAR_MOST_COMMENT = 1 << 16
_TAR_MOST_PADDING = 1 << 20
_ZIP_MOST_DIRECTORY = 1 << 22
_ZIP_MOST_MEMBERS = 50_000
_ZIP_MOST_MEMBER = 1 << 24
_ZIP_MOST_BYTES = 1 << 33
_ZIP_UNREADABLE = 0x61  # flags of encrypted, patched and strongly encrypted members


class TarMember(NamedTuple):
    """A regular file inside a tar archive; ``stream`` stands at its first byte."""

    name: str
    n_bytes: int
    stream: Any


def tar_members(path: Path) -> Iterator[TarMember]:
    """Give the regular files of a ``.tar.gz``, in its order, each to be read before the next.

    Folders are passed over. Links, devices, sparse files, long-name records, a name that occurs
    twice or leads elsewhere, and an archive larger than any that is read here, are refused.
    """
    try:
        with open_regular(path) as raw, gzip.GzipFile(fileobj=raw) as stream:
            yield from _walk_tar(stream, path)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read: {error}. Fetch it again.") from error


def _walk_tar(stream: Any, path: Path) -> Iterator[TarMember]:
    seen: set[str] = set()
    for _ in range(_TAR_MOST_MEMBERS + 1):
        header = stream.read(_BLOCK)
        if header == bytes(_BLOCK):
            return _check_tar_end(stream, path)
        name, n_bytes, kind = _parse_tar_header(header, path)
        end = stream.tell() + -(-n_bytes // _BLOCK) * _BLOCK
        if end > _TAR_MOST_BYTES:
            raise InputError(f"{path} claims more than {_TAR_MOST_BYTES} bytes at member {name!r}.")
        if kind in (b"0", b"5"):
            _check_name(name, seen, path)
        if kind == b"0":
            yield TarMember(name, n_bytes, stream)
        elif kind in (b"x", b"g") and n_bytes > _TAR_MOST_COMMENT:
            raise InputError(f"{path} has a comment of {n_bytes} bytes.")
        _skip(stream, end - stream.tell(), path)
    raise InputError(f"{path} has more than {_TAR_MOST_MEMBERS} members.")


def _parse_tar_header(header: bytes, path: Path) -> tuple[str, int, bytes]:
    """Return name, size and kind: b"0" file, b"5" folder, b"x" or b"g" comment."""
    try:
        if len(header) < _BLOCK:
            raise ValueError("it ends early")
        checksum = sum(header) - sum(header[148:156]) + 8 * ord(" ")
        if checksum != int(header[148:156].strip(b"\0 "), 8):
            raise ValueError("a header's checksum is wrong")
        n_bytes = int(header[124:136].strip(b"\0 ") or b"0", 8)
        parts = [header[:100]] if header[257:263] != b"ustar\0" else [header[345:500], header[:100]]
        name = "/".join(part.split(b"\0")[0].decode() for part in parts if part[0])
        name = name.removeprefix("./")
    except ValueError as error:
        raise InputError(f"{path} is not a sound tar archive: {error}. Fetch it again.") from error
    kind = header[156:157].replace(b"\0", b"0")
    if kind not in (b"0", b"5", b"x", b"g") or n_bytes < 0:
        raise InputError(
            f"{path} has member {name!r} of tar kind {kind.decode('latin-1')!r}; only files and "
            "folders are read."
        )
    return name, n_bytes, kind


def _check_tar_end(stream: Any, path: Path) -> None:
    """Read the padding to the end, which also compares gzip's own checksum."""
    rest = stream.read(_TAR_MOST_PADDING)
    if rest.strip(b"\0") or len(rest) == _TAR_MOST_PADDING:
        raise InputError(f"{path} goes on after its end. Fetch it again.")


def _skip(stream: Any, n_bytes: int, path: Path) -> None:
    while n_bytes > 0:
        passed = len(stream.read(min(n_bytes, 1 << 20)))
        if not passed:
            raise InputError(f"{path} ends inside a member. Fetch it again.")
        n_bytes -= passed


class ZipMembers:
    """The regular files of an open zip archive, each read whole into memory.

    Attributes
    ----------
    names : list of str
    """

    def __init__(self, archive: zipfile.ZipFile, path: Path) -> None:
        self._archive, self._path = archive, path
        self._members = {info.filename: info for info in _checked_members(archive, path)}
        self.names = list(self._members)

    def read(self, name: str) -> bytes:
        """Return a member's bytes: as many as the directory says, with the right checksum."""
        info = self._members[name]
        try:
            with self._archive.open(info) as file:
                # Without a number the standard library unpacks all that there is, not all
                # that the directory claims.
                return file.read(info.file_size)
        except (zipfile.BadZipFile, OSError, EOFError, zlib.error, struct.error) as error:
            raise InputError(f"{self._path}: member {name!r} is damaged: {error}.") from error


@contextmanager
def open_zip(path: Path) -> Iterator[ZipMembers]:
    """Open a zip archive; a directory or member beyond every reasonable size is refused."""
    with open_regular(path) as raw:
        file = _FrugalFile(raw, path)
        try:
            archive = zipfile.ZipFile(file)
        except InputError:
            raise
        except (
            zipfile.BadZipFile,
            OSError,
            ValueError,
            NotImplementedError,
            struct.error,
        ) as fault:
            raise InputError(f"{path} is not a sound zip archive: {fault}.") from fault
        file.most_bytes = _ZIP_MOST_MEMBER
        with archive:
            yield ZipMembers(archive, path)


class _FrugalFile:
    """A file that hands out no more at once than a sane directory of members takes.

    The standard library reads a zip archive's directory whole, as large as the archive claims.
    """

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file, self._path = file, path
        self.most_bytes = _ZIP_MOST_DIRECTORY
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, n_bytes: int = -1) -> bytes:
        if n_bytes < 0:
            n_bytes = os.fstat(self._file.fileno()).st_size - self._file.tell()
        if n_bytes > self.most_bytes:
            raise InputError(
                f"{self._path} claims {n_bytes} bytes in one piece; at most {self.most_bytes} are "
                "read."
            )
        return self._file.read(n_bytes)


def _checked_members(archive: zipfile.ZipFile, path: Path) -> Iterator[zipfile.ZipInfo]:
    seen: set[str] = set()
    total = 0
    if len(archive.infolist()) > _ZIP_MOST_MEMBERS:
        raise InputError(f"{path} has more than {_ZIP_MOST_MEMBERS} members.")
    for info in archive.infolist():
        _check_name(info.orig_filename, seen, path)
        total += info.file_size
        fault = _zip_fault(info)
        if fault or total > _ZIP_MOST_BYTES:
            raise InputError(f"{path}: member {info.filename!r} {fault or 'is one too many'}.")
        if not info.is_dir():
            yield info


def _zip_fault(info: zipfile.ZipInfo) -> str | None:
    mode = info.external_attr >> 16
    if mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is a link or a device; only files and folders are read"
    if info.flag_bits & _ZIP_UNREADABLE:
        return "is encrypted or patched"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is packed in an unusual way; only stored and deflated members are read"
    if max(info.file_size, info.compress_size) > _ZIP_MOST_MEMBER:
        return f"claims {info.file_size} bytes; at most {_ZIP_MOST_MEMBER} are read"
    return None


def _check_name(name: str, seen: set[str], path: Path) -> None:
    parts = name.removesuffix("/").split("/")
    if "\\" in name or "\0" in name or ":" in name or {"", ".", ".."} & set(parts):
        raise InputError(f"{path} has a member whose name leads elsewhere: {name!r}.")
    if name in seen:
        raise InputError(f"{path} has two members named {name!r}.")
    seen.add(name)
