"""What runs in a worker: one part scored and written, or a sentence why it cannot be.

Refusals are returned, not raised: an engine tries again what raises, and these would fail again.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import vqpu
from vqpu.distributed._part_files import write_part
from vqpu.distributed._parts_folder import Record, part_path, read_record, write_record
from vqpu.distributed._scorer import opened_once
from vqpu.errors import InputError, VqpuError
from vqpu.estimators._drift import watch_drift
from vqpu.files import Notes
from vqpu.files._engine import Reading, score_here
from vqpu.files._input_parts import InputPart, count_rows
from vqpu.files._models import OpenedModel, model_digest
from vqpu.files._scoring import Predictions
from vqpu.files._writers import write_predictions


def versions() -> dict[str, str]:
    """Return what must be the same everywhere for the same answers."""
    import torch

    return {"vqpu": vqpu.__version__, "torch": torch.__version__}


class Job(NamedTuple):
    """A scoring job; plain values, so that it goes to other processes as they are.

    Attributes
    ----------
    versions : dict of str
        Of the process that started it.
    here : str
        Its working directory, which paths are relative to.
    model, model_digest : str
    input : str
    reading : dict
        Of :class:`Reading`, without the share of samples, the files and their labels.
    out : str
        Folder of the parts.
    ending : {".arrow", ".parquet"}
        Parts to be gathered, or those of a result.
    is_watched : bool
        Whether records have counts of samples and scores, for drift.
    """

    versions: dict[str, str]
    here: str
    model: str
    model_digest: str
    input: str
    reading: dict[str, Any]
    out: str
    ending: str
    is_watched: bool = False


class _RefusedError(VqpuError):
    """A worker that cannot do the job at all; the message says why."""


def score_part(job: dict[str, Any], index: int, part: list[Any]) -> Record:
    """Score and write one part; return its record, or a dict with "refused": a sentence.

    Parameters
    ----------
    job : dict
        Of :class:`Job`.
    index : int
    part : list
        Of :class:`InputPart`.
    """
    given, input_part = Job(**job), InputPart(*part)
    try:
        with _in_folder(given.here):
            model = _ready_model(given)
            done = read_record(Path(given.out), index)  # by a worker that was taken for dead
            return done or _scored(given, model, index, input_part)
    except (VqpuError, OSError) as error:
        where = "" if isinstance(error, _RefusedError) else f"Part {index} ({_name(input_part)}): "
        return {"refused": f"{where}{error}"}


@contextmanager
def _in_folder(folder: str) -> Iterator[None]:
    """Be in the folder that relative paths start from; a worker may serve other jobs too."""
    before = os.getcwd()
    try:
        os.chdir(folder)
    except OSError as error:
        raise _RefusedError(
            f"A worker on {socket.gethostname()} cannot enter {folder}: {error}. Put model, input "
            "and result where every machine sees them under the same path."
        ) from error
    try:
        yield
    finally:
        os.chdir(before)


def _name(part: InputPart) -> str:
    if part.files is not None:
        return f"{len(part.files)} files from {part.files[0]}"
    groups = "" if part.row_groups is None else f", row groups from {part.row_groups[0]}"
    return f"{part.path}{groups}"


def _ready_model(job: Job) -> OpenedModel:
    host = socket.gethostname()
    if versions() != job.versions:
        raise _RefusedError(
            f"A worker on {host} runs {_listed(versions())}, but this command "
            f"{_listed(job.versions)}: install the same on all machines."
        )
    try:
        model = opened_once(job.model)
    except OSError as error:  # of models too
        raise _RefusedError(
            f"A worker on {host} cannot read the model {job.model} from {job.here}: {error} Put "
            "model, input and result where every machine sees them under the same path."
        ) from error
    if model_digest(job.model) != job.model_digest:
        raise _RefusedError(
            f"A worker on {host} sees another model in {job.model}: copy the same to all machines."
        )
    return model


def _listed(found: dict[str, str]) -> str:
    return " and ".join(f"{name} {version}" for name, version in found.items())


def _scored(job: Job, model: OpenedModel, index: int, part: InputPart) -> Record:
    notes, counts = Notes(), {"rows": 0, "n_positive": 0, "n_broken": 0}
    reading = Reading(**job.reading)
    watch = watch_drift(model.estimator) if job.is_watched else None
    scored = score_here(model, job.input, reading, notes, watch=watch, part=part)
    found = _counted(scored, counts)
    first = next((one for one in found if len(one)), None)
    if first is not None:
        path = part_path(Path(job.out), index, job.ending)
        _write(path, model.input_format.name_column, chain([first], found), reading.keep)
    ending = None if first is None else job.ending  # no rows say which types a file would have
    seen = {"notes": notes.to_plain(), "drift": None if watch is None else watch.counts()}
    return write_record(Path(job.out), index, ending, {**counts, **seen})


def _write(path: Path, name_column: str, found: Iterable[Predictions], keep: Sequence[str]) -> None:
    import pyarrow as pa

    try:
        if path.suffix == ".parquet":
            write_predictions(path, name_column, found, keep)
        else:
            write_part(path, found)
    except pa.ArrowException as error:
        reason = str(error).strip().split("\n")[0]
        raise InputError(f"Its predictions cannot be written: {reason}") from error


def _counted(parts: Iterable[Predictions], counts: dict[str, int]) -> Iterator[Predictions]:
    for part in parts:
        counts["rows"] += len(part)
        counts["n_positive"] += int((part.scores > 0).sum())
        counts["n_broken"] += part.n_broken
        yield part


def count_part(here: str, path: str) -> int | str:
    """Return how many rows a file of a table has, or a sentence why that cannot be told.

    Parameters
    ----------
    here : str
        Folder that the path is relative to.
    path : str
    """
    try:
        with _in_folder(here):
            return count_rows(path)
    except (VqpuError, OSError) as error:
        return str(error)
