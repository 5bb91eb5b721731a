"""Files of pretrained networks on disk: looked at before any of them is trusted."""

from __future__ import annotations

import hashlib
import json
import os
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from vqpu.errors import InputError, did_you_mean

MOST_SETTINGS_BYTES = 1 << 20
MOST_TOKENIZER_BYTES = 1 << 26
_BLOCK = 1 << 20


def check_model_file(path: Path, most_bytes: int, what: str) -> int:
    """Return the size of a regular file, or refuse what is missing, no file, or too large.

    Parameters
    ----------
    path : Path
    most_bytes : int
    what : str
        What it should be, such as "an ONNX file".
    """
    try:
        if not path.is_file():
            hint = did_you_mean(path.name, _siblings(path), 0.85)
            found = "is no regular file" if path.exists() else "does not exist"
            raise InputError(f"{path} {found}; {what} is expected here.{hint}")
        size = path.stat().st_size
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    if size > most_bytes:
        raise InputError(
            f"{path} has {size} bytes, more than the {most_bytes} that {what} may have. It is not "
            "read."
        )
    return size


def _siblings(path: Path) -> list[str]:
    try:
        return os.listdir(path.parent)
    except OSError:
        return []


def digest_of(paths: Iterable[Path]) -> str:
    """Return the SHA-256 of the contents of some files, in their order, whatever their names.

    Parameters
    ----------
    paths : iterable of Path
    """
    total = hashlib.sha256()
    for path in paths:
        own = hashlib.sha256()
        with open(path, "rb") as file:
            while block := file.read(_BLOCK):
                own.update(block)
        total.update(own.digest())
    return total.hexdigest()


def inside(folder: Path, name: str, named_by: Path) -> Path:
    """Return the file of ``folder`` that a file of it names, or refuse one that lies elsewhere.

    Parameters
    ----------
    folder : Path
    name : str
        A relative path; links are followed.
    named_by : Path
    """
    path = folder / name
    outside = os.path.isabs(name) or "\\" in name or ".." in Path(name).parts
    if outside or not path.resolve().is_relative_to(folder.resolve()):
        raise InputError(
            f"{named_by} says that a part of its data is {name!r:.200}, which is outside its own "
            "folder. It is not read: a model's data must lie beside it."
        )
    return path


def read_settings(path: Path) -> dict[str, Any]:
    """Return the entries of a small TOML or JSON file.

    Parameters
    ----------
    path : Path
    """
    check_model_file(path, MOST_SETTINGS_BYTES, "a file of settings")
    try:
        text = path.read_text("utf-8")
        plain = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{path} cannot be read as {path.suffix[1:].upper()}: {reason}.") from None
    if not isinstance(plain, dict):
        raise InputError(f"{path} must hold names and values. Got {plain!r:.80} instead.")
    return plain


def settings_beside(folder: Path, name: str) -> dict[str, Any]:
    """Return the entries of a JSON file of a folder, none if it is not there."""
    path = folder / name
    return read_settings(path) if path.exists() else {}
