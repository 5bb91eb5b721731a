"""Tables in object stores: addresses such as ``s3://bucket/sales/``, by pyarrow's file systems.

Only Parquet and CSV are read there. An address holds no password: it would stand in messages, in
the history of shells and in lists of processes.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import SplitResult, parse_qs, quote, unquote, urlsplit, urlunsplit

from vqpu.base.columns._arrow import require_pyarrow
from vqpu.errors import InputError

STORE_ENDINGS = (".parquet", ".csv", ".tsv")
SCHEMES = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs", "file")
# What may follow the question mark: where a store is, never who asks.
_OPTIONS = ("region", "scheme", "endpoint_override", "enable_tls", "replication", "buffer_size")


@dataclass(frozen=True)
class StoredFile:
    """A file, a folder or a pattern of files in a store.

    Attributes
    ----------
    uri : str
        Its address; names in it are quoted as in those of web pages, but for stars.
    """

    uri: str

    def __post_init__(self) -> None:
        scheme = self.uri.partition(":")[0].lower()
        if scheme not in SCHEMES:
            raise InputError(
                f"{scheme}:// is no store that tables are read from. Expected one of "
                f"{', '.join(SCHEMES)}; copy what lies elsewhere to a file first."
            )
        try:
            parts = urlsplit(self.uri)
            is_open = not _has_password(parts) and {*parse_qs(parts.query)} <= {*_OPTIONS}
        except ValueError:  # brackets that are no host, a port that is no number
            is_open = False
        if not is_open:  # and the address is not shown
            raise InputError(
                f"The {scheme} address given is none, or holds a user, a password or an option "
                f"other than {', '.join(_OPTIONS)}. Give who asks by the environment or the "
                "store's own settings, such as AWS_ACCESS_KEY_ID, and quote special characters."
            )

    def __str__(self) -> str:
        return self.uri

    @property
    def is_pattern(self) -> bool:
        """Whether a star stands in the last part for any name; one in a name itself is quoted."""
        return "*" in urlsplit(self.uri).path.rpartition("/")[2]

    @property
    def inner(self) -> PurePosixPath:
        """The path of it in its store, from the address."""
        return PurePosixPath(unquote(urlsplit(self.uri).path))

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.inner.name

    @property
    def suffix(self) -> str:
        """The ending."""
        return self.inner.suffix

    @property
    def suffixes(self) -> list[str]:
        """All endings."""
        return self.inner.suffixes

    def status(self) -> tuple[int, int | None]:
        """Return size and time of the last change in nanoseconds; raise unless it is a file."""
        info = self._info()
        if info.type.name == "NotFound":
            raise InputError(f"{self} {_MISSING}.")
        if not info.is_file:
            raise InputError(f"{self} is a folder, but a file is expected here.")
        return info.size, info.mtime_ns

    def is_folder(self) -> bool:
        """Whether it is a folder; False if nothing is there."""
        return bool(self._info().type.name == "Directory")

    def inside(self) -> Iterator[tuple[str, StoredFile]]:
        """Give names and addresses of what a folder holds, or of what fits a star in the name."""
        from pyarrow.fs import FileSelector

        pattern = self.name if self.is_pattern else "*"
        folder = StoredFile(self._beside("")) if self.is_pattern else self
        with _told(self):
            store, path = _located(folder.uri)
            found = store.get_file_info(FileSelector(path))
        for info in found:
            if info.base_name and fnmatchcase(info.base_name, pattern):
                yield info.base_name, StoredFile(folder._beside(info.base_name, within=True))

    def open(self) -> Any:
        """Return a file of pyarrow that can be read anywhere."""
        with _told(self):
            store, path = _located(self.uri)
            return store.open_input_file(path)

    def stream(self) -> Any:
        """Return a file of pyarrow that is read from start to end, unpacked by its ending."""
        with _told(self):
            store, path = _located(self.uri)
            return store.open_input_stream(path, compression="detect")

    def _info(self) -> Any:
        with _told(self):
            store, path = _located(self.uri)
            return store.get_file_info(path)

    def _beside(self, name: str, *, within: bool = False) -> str:
        """Return the address of something in the same folder, or in this one."""
        parts = urlsplit(self.uri)
        folder = parts.path.rstrip("/") if within else parts.path.rpartition("/")[0]
        return urlunsplit(parts._replace(path=f"{folder}/{quote(name)}"))


Place = Path | StoredFile
_MISSING = "does not exist"


def _has_password(parts: SplitResult) -> bool:
    """Whether an address says who asks; what stands before Azure's @ is a container."""
    parts.port  # noqa: B018 - raises where the beginning of a password stands for a port
    user, at, _ = parts.netloc.rpartition("@")
    return bool(at) and (":" in user or not parts.scheme.startswith("abfs"))


def is_stored(path: object) -> bool:
    """Whether a path is the address of something in a store.

    Examples
    --------
    >>> is_stored("s3://bucket/sales"), is_stored("C:/sales"), is_stored("sales")
    (True, False, False)
    """
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", str(path)) is not None


def as_place(path: str | Place) -> Place:
    """Return a path, or what is in a store.

    Parameters
    ----------
    path : path, or str that may be an address
    """
    if isinstance(path, StoredFile):
        return path
    return StoredFile(str(path)) if is_stored(path) else Path(path)


def local_path(path: str | Path) -> Path:
    """Return a path of this machine, also where it is given as an address."""
    place = as_place(path)
    if isinstance(place, StoredFile) and place.uri.startswith("file:"):
        return Path(place.inner)
    return Path(str(place))


def size_of(place: Place) -> int:
    """Return the bytes of a file."""
    return place.stat().st_size if isinstance(place, Path) else place.status()[0]


def status_of(path: str) -> tuple[int, int | None]:
    """Return size and time of the last change in nanoseconds of a file, which tell versions apart.

    Parameters
    ----------
    path : path or address
    """
    place = as_place(path)
    if isinstance(place, StoredFile):
        return place.status()
    status = place.stat()
    return status.st_size, status.st_mtime_ns


def _located(uri: str) -> tuple[Any, str]:
    """Return the file system of an address, and the path in it."""
    parts = urlsplit(uri)
    top = "/" if parts.scheme == "file" else ""
    store, base = _opened_store(urlunsplit(parts._replace(path=top)))
    return store, f"{base.rstrip('/')}{unquote(parts.path)}".rstrip("/") or "/"


@functools.lru_cache(maxsize=16)  # a store may be asked where it lies, by the network
def _opened_store(root: str) -> tuple[Any, str]:
    require_pyarrow()
    from pyarrow import fs

    found: tuple[Any, str] = fs.FileSystem.from_uri(root)
    return found


@contextmanager
def _told(place: StoredFile) -> Iterator[None]:
    """Turn what a store, or a library of it, says into one sentence."""
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(f"{place} {_MISSING}.") from error
    except (OSError, ValueError, ImportError, RuntimeError) as error:  # of pyarrow too
        reason = " ".join(str(error).split())[:300].rstrip(".")
        raise InputError(
            f"{place} cannot be read: {reason}. See that the address is right, and that the store "
            "lets this user in."
        ) from error
