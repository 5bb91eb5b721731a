"""Model files: the bundle of a fitted estimator."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from vqpu.errors import ModelFileError, VqpuError
from vqpu.persistence._bundle import MANIFEST, MODEL, Bundle, read_bundle, write_bundle
from vqpu.persistence._targets import check_no_store
from vqpu.persistence._tensors import WEIGHTS


def read_model(path: str | os.PathLike[str]) -> Bundle:
    """Read and verify the manifest of a model.

    Its ``manifest`` has the estimator's name, the parameters, the fitted values and the versions it
    was written with; ``extras`` lists the files that were saved beside the weights.

    Parameters
    ----------
    path : path
    """
    return read_bundle(_as_path(path), MODEL)


def read_extra(path: str | os.PathLike[str], name: str) -> bytes:
    """Return the bytes of a file that was saved with a model as one of its ``extras``, verified.

    Parameters
    ----------
    path : path
        Of the model.
    name : str
    """
    model = read_model(path)
    names = model.manifest.get("extras")
    if not isinstance(names, list) or name not in names:
        raise ModelFileError(f"{path} was saved without {name!r}. Its extras are {names}.")
    return model.read(name)


def write_model(
    path: str | os.PathLike[str],
    header: dict[str, Any],
    weights: bytes,
    extras: dict[str, bytes] | None,
) -> None:
    """Write a model in one step, in place of an older model or of nothing.

    Parameters
    ----------
    path : path
    header : dict
    weights : bytes
    extras : dict of bytes or None
        Further files by their names.
    """
    target, extras = check_free(path), extras or {}
    for name, content in extras.items():
        if name == WEIGHTS or not isinstance(content, bytes):
            raise ModelFileError(
                f"extras must be bytes by file names other than {WEIGHTS!r}. Got {name!r} of type "
                f"{type(content).__name__}."
            )
    contents = {WEIGHTS: weights, **extras}
    try:
        write_bundle(target, MODEL, {**header, "extras": list(extras)}, contents)
    except VqpuError:
        raise
    except OSError as error:
        size = sum(map(len, contents.values()))
        raise ModelFileError(
            f"Cannot write the model to {target}: {error.strerror} ({size:,} bytes are needed). "
            "What was there before is unchanged."
        ) from error


def check_free(path: str | os.PathLike[str]) -> Path:
    """Return a path as a whole one; raise unless a model can be written there.

    It must be free, an empty directory or a model and nothing else; folders that lead there are
    made when it is written, so what can be told before is whether the last one that exists lets
    us write.

    Parameters
    ----------
    path : path
    """
    check_no_store(path)
    target = _as_path(path)
    try:
        _refuse_foreign(target)
        there = next(folder for folder in target.parents if folder.exists())
        if not there.is_dir() or not os.access(there, os.W_OK):
            raise ModelFileError(
                f"Cannot write a model to {target}: {there} is no folder that can be written to. "
                "Choose another path."
            )
    except VqpuError:
        raise
    except OSError as error:
        raise ModelFileError(f"Cannot write a model to {target}: {error.strerror}.") from error
    return target


def _refuse_foreign(target: Path) -> None:
    if not target.exists() and not target.is_symlink():
        return
    names = {entry.name for entry in target.iterdir()} if target.is_dir() else None
    if names == set():
        return
    if names is None or MANIFEST not in names or target.is_symlink():
        raise ModelFileError(
            f"{target} exists and is no model, so it is not overwritten. Choose another path."
        )
    foreign = sorted(names - set(read_bundle(target, MODEL).manifest["files"]) - {MANIFEST})
    if foreign:
        raise ModelFileError(
            f"{target} holds {foreign} besides a model, so it is not overwritten. Choose another "
            "path."
        )


def _as_path(path: str | os.PathLike[str]) -> Path:
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise ModelFileError(f"path must be the path of a model directory. Got {path!r} instead.")
    return Path(path).absolute()
