"""Archives read in place: nothing is unpacked to disk, and every size has a bound.

The names inside are checked all the same, so that an archive which would be dangerous to unpack
is refused here too. The standard library reads both formats, from a file that hands out no more
at once than a sane archive needs.
"""

from __future__ import annotations

import gzip
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vqpu.datasets._places import open_regular, read_into
from vqpu.errors import InputError

_TAR_MOST_BYTES = 1 << 28
_TAR_MOST_PIECE = 1 << 15
_TAR_MOST_MEMBERS = 64
_ZIP_MOST_DIRECTORY = 1 << 22
_ZIP_MOST_MEMBERS = 50_000
_ZIP_MOST_MEMBER = 1 << 24
_ZIP_MOST_BYTES = 1 << 33
_ZIP_UNREADABLE = 0x61  # flags of encrypted, patched and strongly encrypted members


def tar_members(
    path: Path, wanted: Collection[str], n_bytes: int
) -> Iterator[tuple[str, NDArray[np.uint8]]]:
    """Give names and bytes of the wanted files of a ``.tar.gz``, in its order.

    Other files are passed over. Links and devices, a name that occurs twice or leads elsewhere, and
    an archive larger than any that is read here, are refused.

    Parameters
    ----------
    path : Path
    wanted : collection of str
    n_bytes : int
        What each of them must have.
    """
    try:
        with open_regular(path) as raw, gzip.GzipFile(fileobj=raw) as unpacked:
            stream = _FrugalFile(unpacked, path, _TAR_MOST_PIECE, _TAR_MOST_BYTES)
            with tarfile.open(fileobj=stream, mode="r:") as archive:  # type: ignore[call-overload]
                for member in _checked_tar(archive, path):
                    if member.name in wanted:
                        yield member.name, _tar_content(archive, member, path, n_bytes)
            _check_tar_end(stream, path)
    except InputError:
        raise
    except (tarfile.TarError, OSError, EOFError, ValueError, RecursionError, zlib.error) as error:
        raise InputError(f"{path} cannot be read: {error}. Fetch it again.") from error


def _tar_content(
    archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path, n_bytes: int
) -> NDArray[np.uint8]:
    if member.size != n_bytes:
        raise InputError(
            f"{path / member.name} has {member.size} bytes, expected {n_bytes}. Fetch it again."
        )
    content = np.empty(n_bytes, np.uint8)
    read_into(content, archive.extractfile(member))
    return content


def _checked_tar(archive: tarfile.TarFile, path: Path) -> Iterator[tarfile.TarInfo]:
    """Give the files of an archive as long as nothing in it is unfit to be unpacked."""
    seen: set[str] = set()
    for member in archive:
        if len(seen) == _TAR_MOST_MEMBERS:
            raise InputError(f"{path} has more than {_TAR_MOST_MEMBERS} members.")
        member.name = member.name.removeprefix("./")
        _check_name(member.name, seen, path)
        tarfile.data_filter(member, str(path.parent))
        if member.isreg():
            yield member
        elif not member.isdir():
            raise InputError(
                f"{path} has member {member.name!r} of tar kind {member.type.decode('latin-1')!r}; "
                "only files and folders are read."
            )


def _check_tar_end(stream: _FrugalFile, path: Path) -> None:
    """Read the padding to the end, which also compares gzip's own checksum.

    tarfile takes a damaged header for the end of the archive; then something else follows.
    """
    while piece := stream.read(_TAR_MOST_PIECE):
        if piece.strip(b"\0"):
            raise InputError(f"{path} goes on after its end. Fetch it again.")


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
        file = _FrugalFile(raw, path, _ZIP_MOST_DIRECTORY, _ZIP_MOST_BYTES)
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
        file.most_piece = _ZIP_MOST_MEMBER
        with archive:
            yield ZipMembers(archive, path)


class _FrugalFile:
    """A file that hands out no more at once, and no more in all, than a sane archive takes.

    The standard library reads a zip archive's directory and a tar archive's long headers whole, as
    large as the archive claims.
    """

    def __init__(self, file: Any, path: Path, most_piece: int, most_bytes: int) -> None:
        self._file, self._path, self._most_bytes = file, path, most_bytes
        self.most_piece = most_piece
        self.tell, self.seekable = file.tell, file.seekable

    def seek(self, place: int, whence: int = os.SEEK_SET) -> int:
        if place > self._most_bytes:
            raise InputError(f"{self._path} claims more than {self._most_bytes} bytes.")
        found: int = self._file.seek(place, whence)
        return found

    def read(self, n_bytes: int = -1) -> bytes:
        if n_bytes < 0:
            n_bytes = os.fstat(self._file.fileno()).st_size - self._file.tell()
        if n_bytes > self.most_piece:
            raise InputError(
                f"{self._path} claims {n_bytes} bytes in one piece; at most {self.most_piece} are "
                "read."
            )
        if self._file.tell() > self._most_bytes:
            raise InputError(f"{self._path} unpacks to more than {self._most_bytes} bytes.")
        content: bytes = self._file.read(n_bytes)
        return content


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
