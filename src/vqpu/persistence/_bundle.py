"""A bundle: a directory whose manifest lists every other file with its size and SHA-256.

The manifest carries the digest of itself, its own 64 digits taken as zeros, so that a changed byte
anywhere is noticed before any of it is used. Digests find damage; they are no signature.
"""

from __future__ import annotations

import hashlib
import json
import re
import stat
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from vqpu.errors import ModelFileError, did_you_mean
from vqpu.persistence._directory import replaced_path, write_directory

MANIFEST = "manifest.json"
MODEL = "vqpu-model"  # the kind of bundle that estimators are
FORMAT_VERSION = 1

_HEAD = b'{\n  "sha256": "'
_BLANK = b"0" * 64
_MOST_MANIFEST_BYTES = 64 << 20
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class Bundle(NamedTuple):
    """A directory whose manifest has been verified.

    Attributes
    ----------
    path : Path
    manifest : dict
        Everything in it but its own digest.
    """

    path: Path
    manifest: dict[str, Any]

    def read(self, name: str) -> bytes:
        """Return the bytes of one listed file, verified."""
        listed = self.manifest["files"]
        if name not in listed:
            raise ModelFileError(f"{self.path} has no file {name!r}. It has {sorted(listed)}.")
        size, digest = listed[name]["bytes"], listed[name]["sha256"]
        content = _read_regular(self.path / name, size)
        if len(content) != size:
            raise ModelFileError(
                f"{self.path / name} has {len(content)} bytes, {size} are expected: it was cut off "
                "or changed. Restore the directory from a copy."
            )
        if hashlib.sha256(content).hexdigest() != digest:
            raise ModelFileError(
                f"{self.path / name} was changed since it was written: its SHA-256 is not that of "
                f"{MANIFEST}. Restore the directory from a copy."
            )
        return content


def write_bundle(path: Path, kind: str, header: dict[str, Any], contents: dict[str, bytes]) -> None:
    """Write a bundle in one step; ``OSError`` means that nothing has changed.

    Parameters
    ----------
    path : Path
    kind : str
        What it is; it can only be read as the same.
    header : dict
        Ready for JSON; it goes into the manifest.
    contents : dict of bytes
        By file name: letters, digits, ``.``, ``_`` and ``-``.
    """
    for name in contents:
        check_file_name(name)
    files = {
        name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in contents.items()
    }
    body = {"format": kind, "format_version": FORMAT_VERSION, **header, "files": files}
    write_directory(path, {**contents, MANIFEST: _sealed(body)})


def read_bundle(path: Path, kind: str) -> Bundle:
    """Read and verify a manifest, and see that the directory holds what it lists and no more."""
    if not path.is_dir():
        refuse_missing_model(path)
    raw = _read_regular(path / MANIFEST, _MOST_MANIFEST_BYTES)
    manifest = _parsed(path / MANIFEST, raw)
    if manifest.get("format") != kind:
        found = manifest.get("format")
        raise ModelFileError(f"{path} is no {kind}: its {MANIFEST} says format {found!r}.")
    if manifest.get("format_version") != FORMAT_VERSION:
        raise ModelFileError(
            f"{path} has format version {manifest.get('format_version')!r}. This vqpu reads "
            f"version {FORMAT_VERSION}: use the version of vqpu that wrote it, or a newer one."
        )
    _check_seal(path / MANIFEST, raw)
    _check_files(path, manifest)
    del manifest["sha256"]
    return Bundle(path, manifest)


def check_file_name(name: str) -> None:
    """Raise unless ``name`` can be the name of a file in a bundle."""
    if not isinstance(name, str) or not _FILE_NAME.fullmatch(name) or name == MANIFEST:
        raise ModelFileError(
            f"A file in a model cannot be named {name!r}. Use letters, digits, '.', '_' and '-', "
            f"beginning with a letter or digit, and not {MANIFEST!r}."
        )


def _sealed(body: dict[str, Any]) -> bytes:
    text = json.dumps({"sha256": _BLANK.decode(), **body}, indent=2, allow_nan=False).encode()
    digest = hashlib.sha256(text).hexdigest().encode()
    return text.replace(_BLANK, digest, 1)


def _check_seal(path: Path, raw: bytes) -> None:
    start, stop = len(_HEAD), len(_HEAD) + len(_BLANK)
    blank = raw[:start] + _BLANK + raw[stop:]
    if raw[:start] != _HEAD or raw[start:stop] != hashlib.sha256(blank).hexdigest().encode():
        raise ModelFileError(
            f"{path} was changed since it was written: its SHA-256 is not the one it states. "
            "Restore the directory from a copy."
        )


def _parsed(path: Path, raw: bytes) -> dict[str, Any]:
    try:
        manifest = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        reason = "too deep" if isinstance(error, RecursionError) else str(error)
        raise ModelFileError(
            f"{path} is not valid JSON ({reason}), so it was cut off or changed. Restore the "
            "directory from a copy."
        ) from None
    if not isinstance(manifest, dict):
        raise ModelFileError(f"{path} must hold a JSON object. It holds a {type(manifest)!r}.")
    return manifest


def _check_files(path: Path, manifest: dict[str, Any]) -> None:
    files = manifest.get("files")
    if not isinstance(files, dict) or not all(map(_is_entry, files.values())):
        raise ModelFileError(f"{path / MANIFEST} must list its files with bytes and sha256.")
    for name in files:
        check_file_name(name)
    # Hidden files are left by file managers and mean nothing here.
    present = {entry.name for entry in path.iterdir() if not entry.name.startswith(".")}
    missing, extra = sorted(set(files) - present), sorted(present - set(files) - {MANIFEST})
    if missing:
        raise ModelFileError(f"{path} lacks {missing}, listed in its {MANIFEST}.")
    if extra:
        raise ModelFileError(
            f"{path} holds {extra}, which its {MANIFEST} does not list. Take it out of there."
        )


def _is_entry(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("bytes"), int)
        and isinstance(entry.get("sha256"), str)
    )


def _read_regular(path: Path, most: int) -> bytes:
    """Return a file's bytes; of a file with more than ``most``, one more than that."""
    try:
        # A pipe would block for ever. Bytes, not a mapping: a mapped file that somebody cuts off
        # ends the process.
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ModelFileError(f"{path} is no regular file.")
        with open(path, "rb") as file:
            return file.read(min(most, status.st_size) + 1)
    except ModelFileError:
        raise
    except FileNotFoundError:
        raise ModelFileError(
            f"{path} is missing, so {path.parent} is no model or checkpoint, or not all of one."
        ) from None
    except OSError as error:
        raise ModelFileError(f"Cannot read {path}: {error.strerror}.") from None


def refuse_missing_model(path: Path) -> NoReturn:
    """Raise because there is no directory of this name, with the nearest one there is.

    Parameters
    ----------
    path : Path
    """
    if path.exists():
        raise ModelFileError(f"{path} is a file. A model is a directory with {MANIFEST}.")
    waiting = replaced_path(path)
    hint = did_you_mean(path.name, (place.name for place in path.parent.glob("*")), cutoff=0.85)
    hint = f" {waiting} is its predecessor: rename it back." if waiting.exists() else hint
    raise ModelFileError(f"{path} does not exist.{hint}")
