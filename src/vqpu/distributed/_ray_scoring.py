"""``predict``, ``rank`` and ``evaluate`` on Ray: an input in parts, each scored by some worker."""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from vqpu.base._parameters import check_integer
from vqpu.base.columns._plan import ColumnPlan
from vqpu.distributed._part_files import read_part
from vqpu.distributed._parts_folder import (
    MANIFEST,
    Record,
    finish,
    opened_folder,
    read_record,
    remove,
)
from vqpu.distributed._ray import Cluster, opened_cluster, require_ray
from vqpu.distributed._scorer import Scorer
from vqpu.distributed._worker import Job, count_part, score_part, versions
from vqpu.errors import EngineError, InputError, OutputError, UsageError
from vqpu.estimators._drift import DriftWatch, watch_drift
from vqpu.files import Notes
from vqpu.files._engine import Reading
from vqpu.files._input_parts import InputPart, cut_input, number_parts
from vqpu.files._input_streams import WHOLE, open_input
from vqpu.files._models import OpenedModel, model_digest, open_model
from vqpu.files._prediction import Written
from vqpu.files._scoring import Predictions
from vqpu.files.readers._stores import local_path, status_of
from vqpu.persistence._targets import check_no_store


class RayEngine(NamedTuple):
    """Scores an input on Ray; the same answers as in one process, bit for bit.

    Attributes
    ----------
    address : str or None
        Of the cluster; None: one on this machine.
    workers : int or None
        Parts at the same time; None: as many as the cluster has CPUs.
    folder : path
        Where parts lie until they are gathered, seen by all workers. A job that was stopped finds
        them there again.
    samples : int or None
        About how many a part has.
    """

    address: str | None = None
    workers: int | None = None
    folder: str | Path = "."
    samples: int | None = None

    def __call__(
        self,
        model: OpenedModel,
        path: str | Path,
        reading: Reading,
        notes: Notes,
        *,
        watch: DriftWatch | None = None,
    ) -> Iterator[Predictions]:
        """Give the predictions for an input, in its order, once all parts are scored.

        Parameters
        ----------
        model, path, reading, notes, watch
            As of :class:`vqpu.files._engine.Engine`.
        """
        plan = self._plan(model, path, reading, ".arrow", is_watched=watch is not None)
        name = hashlib.sha256(json.dumps(plan.identity).encode()).hexdigest()[:16]
        folder = Path(self.folder).resolve() / f".vqpu-{name}.parts"
        with opened_folder(folder, plan.identity, is_ours=True):
            try:
                records = self._score_all(plan, folder)
            except _ChangedInputError as error:
                remove(folder)  # no later job is this one: its parts would stay for ever
                raise InputError(f"{error}: score it again.") from error
            try:
                _add_counts(records, model.input_format.plan, notes, watch)
            except InputError:  # the whole is refused, so nobody will ask for its parts
                remove(folder)
                raise
            for record in records:
                if record["rows"]:
                    yield from read_part(folder / record["file"], reading.keep)
        remove(folder)

    def write_parts(
        self, model: str | Path, path: str | Path, reading: Reading, out: str | Path
    ) -> Written:
        """Write the predictions for an input as a folder of Parquet files with a manifest.

        Parameters
        ----------
        model, path : path
        reading : Reading
        out : path
            A folder; one with some of the parts already is completed.
        """
        check_parts_folder(out, path, model)
        opened, notes = open_model(model), Notes()
        reading, watch = reading.for_drift(opened.input_format, path), watch_drift(opened.estimator)
        plan = self._plan(opened, path, reading, ".parquet", is_watched=watch is not None)
        folder = Path(out).resolve()
        with opened_folder(folder, plan.identity, is_ours=False):
            (folder / MANIFEST).unlink(missing_ok=True)
            try:
                records = self._score_all(plan, folder)
            except _ChangedInputError as error:
                raise InputError(
                    f"{error}: score it again, into a new --out, and remove {out}."
                ) from error
            sums = {
                name: sum(record[name] for record in records)
                for name in ("rows", "n_positive", "n_broken")
            }
            _add_counts(records, opened.input_format.plan, notes, watch)
            drift = None if watch is None else watch.finding()
            plain = None if drift is None else drift._asdict()
            finish(folder, records, {**plan.identity, **sums, "drift": plain})
        return Written(sums["rows"], sums["n_positive"], sums["n_broken"], notes, drift)

    def _plan(
        self,
        model: OpenedModel,
        path: str | Path,
        reading: Reading,
        ending: str,
        *,
        is_watched: bool,
    ) -> _Plan:
        require_ray()
        if self.workers is not None:
            check_integer("workers", self.workers, 1)
        if reading.shard != WHOLE:
            raise UsageError("--engine ray takes all samples: leave --shard out.")
        # Opened and not read: what does not fit is refused here as it is without an engine.
        open_input(model.input_format, path, **reading.options())
        parts = cut_input(
            model.input_format, path, files=reading.files, y=reading.y, samples=self.samples
        )
        return _Plan.of(model, str(path), reading, parts, ending, is_watched=is_watched)

    def _score_all(self, plan: _Plan, folder: Path) -> list[Record]:
        """Return the records of all parts, making those that are missing."""
        found: list[Record | None] = [read_record(folder, i) for i in range(len(plan.parts))]
        missing = [index for index, record in enumerate(found) if record is None]
        if missing:
            with opened_cluster(self.address, self.workers) as cluster:
                parts = plan.numbered(cluster)
                job = plan.job(folder)._asdict()
                tasks = [(job, index, list(parts[index])) for index in missing]
                for place, record in cluster.results(score_part, tasks):
                    if "refused" in record:
                        plan.check_unchanged()  # which may be why
                        raise InputError(record["refused"])
                    index = missing[place]
                    # Where workers write elsewhere, nothing is here, or something older.
                    here = found[index] = read_record(folder, index, by_digest=False)
                    if here is None or here["sha256"] != record["sha256"]:
                        raise EngineError(
                            f"Part {index} was written to {folder}, but is not there: the folder "
                            "must be one that this machine and all workers see."
                        )
        plan.check_unchanged()
        records = [record for record in found if record is not None]
        if not any(record["rows"] for record in records):
            raise InputError(f"{plan.path} has no rows.")
        return records


class _ChangedInputError(InputError):
    """An input that is another than at the start; the message is the beginning of a sentence."""


class _Plan(NamedTuple):
    """A job before it has a folder.

    Attributes
    ----------
    identity : dict of str
        What says which job it is, each entry in words.
    """

    model: OpenedModel
    path: str
    reading: Reading
    parts: list[InputPart]
    ending: str
    is_watched: bool
    identity: dict[str, str]

    @classmethod
    def of(
        cls,
        model: OpenedModel,
        path: str,
        reading: Reading,
        parts: list[InputPart],
        ending: str,
        *,
        is_watched: bool,
    ) -> _Plan:
        identity = {
            "versions": json.dumps(versions()),
            "model": model_digest(model.bundle.path),
            "input": _input_digest(parts),
            "options": json.dumps({**_plain(reading), "is_watched": is_watched}),
            "form": ending,
        }
        return cls(model, path, reading, parts, ending, is_watched, identity)

    def check_unchanged(self) -> None:
        """Raise if the input is another than at the start: parts of two states are no result."""
        try:
            is_same = _input_digest(self.parts) == self.identity["input"]
        except (OSError, InputError):  # a file is gone
            is_same = False
        if not is_same:
            raise _ChangedInputError(f"{self.path} was changed while it was scored")

    def job(self, folder: Path) -> Job:
        return Job(
            versions(),
            os.getcwd(),
            str(self.model.bundle.path),
            self.identity["model"],
            self.path,
            _plain(self.reading),
            str(folder),
            self.ending,
            self.is_watched,
        )

    def numbered(self, cluster: Cluster) -> Sequence[InputPart]:
        """Return parts that know their rows' numbers, if rows are named by them."""
        input_format, given = self.model.input_format, self.reading.id_column
        name = input_format.id_column if given is None else given or None
        if input_format.kind != "table" or name is not None:
            return self.parts

        def count(paths: list[str]) -> list[int]:
            counts: dict[int, int] = {}
            for place, found in cluster.results(count_part, [(os.getcwd(), p) for p in paths]):
                if isinstance(found, str):
                    raise InputError(found)
                counts[place] = found
            return [counts[place] for place in range(len(paths))]

        return number_parts(self.parts, count)


def _plain(reading: Reading) -> dict[str, Any]:
    """Return how an input is read, as JSON takes it; without the share, the files and their y."""
    plain = reading._asdict()
    del plain["shard"], plain["files"], plain["y"]
    features = None if reading.features is None else str(reading.features)
    return {**plain, "features": features, "keep": list(reading.keep)}


def _input_digest(parts: Sequence[InputPart]) -> str:
    """Return a digest of names, sizes and times of all files of an input, and of its cuts."""
    found, status = hashlib.sha256(), functools.cache(status_of)  # a file has many parts
    for part in parts:
        found.update(json.dumps(part).encode())
        for file in part.files or [part.path]:
            size, changed = status(file)
            found.update(f"{size} {changed} ".encode())
    return found.hexdigest()


def _add_counts(
    records: Sequence[Record], columns: ColumnPlan | None, notes: Notes, watch: DriftWatch | None
) -> None:
    for record in records:
        notes.add_plain(record["notes"])
        if watch is not None:
            watch.add_counts(record["drift"])
    if columns is not None:  # a part says nothing of the whole
        notes.check_readable(columns)


def check_parts_folder(out: str | Path, path: str | Path, model: str | Path) -> None:
    """Refuse, before any work, a folder that no parts can be written to.

    Parameters
    ----------
    out : path
    path, model : path
        The input and the model, which take no further file.
    """
    check_no_store(out)
    place = Path(out).resolve()
    for given in map(local_path, (path, model)):
        if given.is_dir() and place.is_relative_to(given.resolve()):
            raise UsageError(f"{out} lies in {given}, which is read. Choose another --out.")
    if place.exists() and not place.is_dir():
        raise OutputError(f"{out} is a file. Parts go into a folder: choose another --out.")


def score(
    dataset: Any,
    model: str | Path,
    *,
    out: str | Path | None = None,
    address: str | None = None,
    workers: int | None = None,
    id_column: str | None = None,
    keep: Sequence[str] = (),
    samples: int | None = None,
) -> Any:
    """Score a data set on Ray.

    Parameters
    ----------
    dataset : path or ray.data.Dataset
        Files as of ``vqpu predict``, tables also by an address such as ``s3://bucket/sales/``, or a
        data set of Ray Data whose batches :class:`Scorer` takes.
    model : path
        A directory that all workers can read.
    out : path or None
        For files: the folder that becomes the result; one with some parts already is completed.
    address : str or None
        Of the cluster, for files; None: one on this machine. A data set of Ray Data is scored by
        its own cluster.
    workers : int or None
        Parts at the same time; None: as many as the cluster has CPUs.
    id_column : str or None
        Of tables; None takes the one used in training, if any.
    keep : sequence of str
        Columns of tables that go into the result.
    samples : int or None
        For files: about how many a part has.

    Returns
    -------
    Written or ray.data.Dataset
        How it went, or the data set of results, lazy as those of Ray Data are.
    """
    require_ray()
    if not isinstance(dataset, str | Path):
        if not hasattr(dataset, "map_batches") or out is not None:
            raise UsageError(
                "dataset must be a path, with out, or a data set of Ray Data, without. Got "
                f"{type(dataset).__name__} and out = {out!r}."
            )
        return _score_batches(dataset, Scorer(model, id_column=id_column, keep=keep), workers)
    if out is None:
        raise UsageError("Say which folder becomes the result: out.")
    reading = Reading(id_column=id_column, keep=keep)
    return RayEngine(address, workers, samples=samples).write_parts(model, dataset, reading, out)


def _score_batches(dataset: Any, scorer: Scorer, workers: int | None) -> Any:
    # Tasks rather than actors: a pool of actors as large as the cluster leaves no CPU for reading,
    # and waits for ever. Workers live on between tasks, and the scorer keeps its model there.
    return dataset.map_batches(scorer, batch_format="pyarrow", concurrency=workers)
