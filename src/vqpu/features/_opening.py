"""Extractors by the path that a user gives, or by the record that a model has."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from vqpu.errors import InputError, UsageError
from vqpu.features._extractor import Extractor
from vqpu.features._record import ExtractorRecord


def open_extractor(
    path: str | os.PathLike[str], precision: Literal["float32", "bfloat16"] | None = None
) -> Extractor:
    """Open an ONNX file, or a directory with one or with a Hugging Face model.

    Parameters
    ----------
    path : path
    precision : {"float32", "bfloat16"} or None
        Of a Hugging Face network, if it must be that of a model; None: the machine's best.
    """
    path = Path(path)
    if not path.is_dir():
        if path.suffix.lower() != ".onnx":
            found = "is no ONNX file" if path.exists() else "does not exist"
            raise InputError(
                f"{path} {found}. Features come from a file ending in .onnx or from a local "
                "Hugging Face directory."
            )
        return _onnx(path)
    graphs = sorted(path.glob("*.onnx"))
    if (path / "config.json").exists() and (any(path.glob("*.safetensors*")) or not graphs):
        from vqpu.features._huggingface import HuggingFaceExtractor

        return HuggingFaceExtractor(path, precision)
    if len(graphs) != 1:
        raise InputError(
            f"{path} holds {len(graphs)} ONNX files and no Hugging Face model (config.json with "
            "model.safetensors). Name one file."
        )
    return _onnx(graphs[0])


def _onnx(path: Path) -> Extractor:
    from vqpu.features._onnx import OnnxExtractor

    return OnnxExtractor(path)


def reopen_extractor(
    record: ExtractorRecord, given: str | os.PathLike[str] | Extractor | None = None
) -> Extractor:
    """Open the extractor that a model was fitted with, and refuse any other.

    Parameters
    ----------
    record : ExtractorRecord
        Of the model.
    given : path, Extractor or None
        Where it lies now; None: where it lay.
    """
    if given is None and record.path is None:
        raise UsageError(
            f"The model was fitted on features of the Python function {record.name!r}: score "
            "samples with it in Python."
        )
    if given is not None and not isinstance(given, str | os.PathLike):
        record.check_same(given.record)
        return given
    place = Path(given if given is not None else str(record.path))
    if given is None and not place.exists():
        raise InputError(
            f"The model needs {record.name}, which is no longer at {place}. Say by --features "
            "where it lies."
        )
    found = open_extractor(place, record.precision)
    record.check_same(found.record)
    return found
