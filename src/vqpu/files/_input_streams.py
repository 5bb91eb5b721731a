"""The samples of an input as a stream of chunks, read as in training: all, a share, or labelled."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vqpu.errors import ColumnWarning, InputError, UsageError, did_you_mean
from vqpu.features._extractor import Extractor
from vqpu.features._opening import reopen_extractor
from vqpu.files import (
    Chunk,
    Notes,
    PUData,
    count_unlabeled,
    count_unlabeled_files,
    find_images,
    iter_array,
    iter_images,
    iter_table,
    read_array_file,
    read_label_file,
    read_labeled_images,
    table_columns,
)
from vqpu.files._feature_streams import (
    RawChunk,
    column_chunks,
    feature_chunks,
    file_chunks,
)
from vqpu.files._input_format import InputFormat, check_kind
from vqpu.files._input_parts import InputPart
from vqpu.files._read_ahead import read_ahead as read_ahead
from vqpu.files.readers._tables import can_hold
from vqpu.files.readers._texts import find_texts

_ROWS = 4096


@dataclass(frozen=True)
class Shard:
    """The samples at ``number - 1``, ``number - 1 + count``, ...

    Attributes
    ----------
    number, count : int
        From 1; shard ``number`` of ``count``.
    """

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read ``"i/n"``.

        Examples
        --------
        >>> Shard.parse("2/3")
        Shard(number=2, count=3)
        """
        match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise UsageError(
                f"shard must be i/n with 1 <= i <= n, such as 2/8. Got {text!r} instead."
            )
        return cls(int(match[1]), int(match[2]))

    def slice_from(self, start: int) -> slice:
        """Return what to take of samples whose first has the number ``start``."""
        return slice((self.number - 1 - start) % self.count, None, self.count)

    def take(self, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        """Thin a stream out."""
        start = 0
        for chunk in chunks:
            mine = self.slice_from(start)
            start += len(chunk.X)
            y = None if chunk.y is None else chunk.y[mine]
            kept = {
                name: column._replace(values=column.values[mine])
                for name, column in chunk.kept.items()
            }
            yield chunk._replace(X=chunk.X[mine], names=chunk.names[mine], y=y, kept=kept)


WHOLE = Shard(1, 1)
Features = str | Path | Extractor | None


def open_input(
    input_format: InputFormat,
    path: str | Path,
    *,
    shard: Shard = WHOLE,
    id_column: str | None = None,
    label: str | None = None,
    positive: Any = None,
    keep: Sequence[str] = (),
    missing: str = "keep",
    notes: Notes | None = None,
    features: Features = None,
    part: InputPart | None = None,
) -> Iterator[Chunk]:
    """Give samples of a file or folder chunk by chunk, read as in training.

    Parameters
    ----------
    input_format : InputFormat
    path : path
    shard : Shard
    id_column : str or None
        Of tables; None takes the one used in training, if it is there, and "" none.
    label, positive : str and object, or None
        Of tables: if given, chunks have ``y``.
    keep : sequence of str
        Columns of tables that chunks carry along.
    missing : {"keep", "refuse"}
        Of tables: whether missing values are an error.
    notes : Notes or None
        Takes the counts of cells that are not as in training.
    features : path, Extractor or None
        Of a model on features: where the extractor lies now; None: where it lay.
    part : InputPart or None
        Only this part of the input, which is not looked at as a whole then.

    Yields
    ------
    Chunk
        Images that cannot be decoded are listed in their chunk.
    """
    rows: dict[str, Any] = {}
    if part is None:
        check_kind(input_format, path)
    elif part.files is None:
        path, rows = part.path, part.rows()
    check_of_table(input_format, id_column, keep, missing)
    extractor = opened_features(input_format, features)
    if id_column is None:
        id_column = _id_of_training(input_format, path, is_part=part is not None)
    id_column = id_column or None
    if extractor is not None:
        roles = {"id_column": id_column, "label": label, "positive": positive, "keep": keep}
        raw = _raw_chunks(input_format, path, shard, {**roles, **rows}, part)
        refuse = "Fill it, or leave out --missing refuse." if missing == "refuse" else None
        return feature_chunks(raw, extractor, refuse=refuse)
    if input_format.kind == "images":
        paths = _files(input_format, path, part)[shard.slice_from(0)]
        mode = input_format.image_mode or "RGB"
        images = iter_images(paths, size=input_format.sample_shape[0], mode=mode, on_broken="skip")
        # Tables are not read in a thread: that takes a core from the network, which costs more.
        return read_ahead(images)
    if input_format.plan is None:
        return shard.take(_checked_array(input_format, path))
    return shard.take(
        iter_table(
            path,
            input_format.plan,
            id_column=id_column,
            label=label,
            positive=positive,
            keep=keep,
            missing=missing,
            notes=notes,
            **rows,
        )
    )


def watched_label(input_format: InputFormat, path: str | Path) -> str | None:
    """Return the same if it can say which rows are labelled positive here too.

    Parameters
    ----------
    input_format : InputFormat
    path : path
    """
    label = known_label(input_format, path)
    if label is None or not can_hold(path, label, input_format.positive):
        return None
    return label


def known_label(input_format: InputFormat, path: str | Path) -> str | None:
    """Return the label column of training if this table has it too.

    Parameters
    ----------
    input_format : InputFormat
    path : path
    """
    if input_format.kind != "table" or input_format.label is None:
        return None
    check_kind(input_format, path)
    return input_format.label if input_format.label in table_columns(path) else None


def _id_of_training(input_format: InputFormat, path: str | Path, *, is_part: bool) -> str | None:
    """Return the column that named rows in training, None if there is none here.

    Nothing is learned from it, so that a table without it can be judged as well as any.
    """
    name = input_format.id_column
    if name is None or name in table_columns(path):
        return name
    if not is_part:  # the whole input was told of already
        warnings.warn(
            f"{path} has no column {name!r}, which named rows in training, so rows are named by "
            "their number from 0. Name them by another column with --id.",
            ColumnWarning,
            stacklevel=4,
        )
    return None


def _files(input_format: InputFormat, path: str | Path, part: InputPart | None) -> Sequence[Path]:
    """Return the pictures or texts of a folder, or those of its part."""
    if part is not None and part.files is not None:
        return [*map(Path, part.files)]
    return find_images(path) if input_format.kind == "images" else find_texts(path)


def opened_features(input_format: InputFormat, features: Features) -> Extractor | None:
    """Return the extractor that a model was fitted with, None for one that takes no features.

    Parameters
    ----------
    input_format : InputFormat
    features : path, Extractor or None
        Where it lies now; None: where it lay.
    """
    if input_format.features is not None:
        return reopen_extractor(input_format.features, features)
    if features is not None:
        raise UsageError(
            f"The model takes {input_format.describe()} and no features: leave --features out."
        )
    return None


def _raw_chunks(
    input_format: InputFormat,
    path: str | Path,
    shard: Shard,
    roles: dict[str, Any],
    part: InputPart | None,
) -> Iterator[RawChunk]:
    """Give the samples of a model on features before they are extracted."""
    assert input_format.features is not None
    if input_format.text is None:
        paths = _files(input_format, path, part)[shard.slice_from(0)]
        yield from file_chunks(paths, input_format.features.image)
        return
    start = 0
    for chunk in column_chunks(path, input_format.text, **roles):
        yield chunk.taken(shard.slice_from(start))
        start += len(chunk.samples)


def check_of_table(
    input_format: InputFormat, id_column: str | None, keep: Sequence[str], missing: str
) -> None:
    """Refuse options of tables where the model takes none.

    Parameters
    ----------
    input_format : InputFormat
    id_column, keep, missing
        As in :func:`open_input`.
    """
    given = {"--id": id_column, "--keep": keep, "--missing": missing != "keep"}
    named = [option for option, value in given.items() if value]
    if named and input_format.kind != "table":
        raise UsageError(
            f"Columns are those of a table, but the model takes {input_format.describe()}: leave "
            f"{' and '.join(named)} out."
        )


def _checked_array(input_format: InputFormat, path: str | Path) -> Iterator[Chunk]:
    for chunk in iter_array(path):
        if chunk.X.shape[1:] != input_format.sample_shape:
            raise InputError(
                f"{path} holds samples of shape {chunk.X.shape[1:]}, but the model takes "
                f"{input_format.describe()}."
            )
        yield chunk


class LabeledInput(NamedTuple):
    """What is said of labelled input.

    Attributes
    ----------
    label, positive : str or None
        Column of labels and value of positives; None takes those used in training. ``.npz`` files
        have neither.
    labels_file, file_column : path and str
        For a folder: the CSV with the labels, and its column of file names.
    on_broken : {"raise", "skip"}
        Of images.
    needs_truth : bool
        Whether a sample without a label is refused, as nobody knows what it is.
    missing, features
        As in :func:`open_input`.
    """

    label: str | None = None
    positive: str | None = None
    labels_file: str | Path | None = None
    file_column: str = "file"
    on_broken: str = "raise"
    needs_truth: bool = False
    missing: str = "keep"
    features: str | Path | None = None

    def checked(self, input_format: InputFormat, path: str | Path) -> LabeledInput:
        """Return the same with what training says of labels; raise if it does not fit the input.

        Parameters
        ----------
        input_format : InputFormat
        path : path
        """
        check_kind(input_format, path)
        _check_labels_option(input_format, self.label, self.labels_file)
        if input_format.kind == "array":
            return self
        label, positive = self.label or input_format.label, self.positive or input_format.positive
        if label is None or positive is None:
            raise UsageError(
                "Say which column holds the labels and which value is positive: --label COLUMN "
                "--positive VALUE."
            )
        if input_format.kind == "table":
            _check_label_column(path, label, self.needs_truth)
        elif self.needs_truth:
            assert self.labels_file is not None
            n_unlabeled = count_unlabeled_files(self.labels_file, self.file_column, label)
            _check_all_labeled(self.labels_file, n_unlabeled)
        return self._replace(label=label, positive=positive)


def open_labeled_input(
    input_format: InputFormat, path: str | Path, given: LabeledInput, *, notes: Notes | None = None
) -> Iterator[Chunk]:
    """Give the samples of labelled input with ``y``, chunk by chunk.

    Parameters
    ----------
    input_format : InputFormat
    path : path
        A table, a folder of images, or an ``.npz`` file with X and y (1 and 0).
    given : LabeledInput
    notes : Notes or None
        As in :func:`open_input`.
    """
    given = given.checked(input_format, path)
    extractor = opened_features(input_format, given.features)
    if input_format.kind == "array":
        return _in_chunks(read_array_file(path))
    label, positive = str(given.label), given.positive
    if input_format.kind == "table":
        if extractor is not None:
            raw = column_chunks(path, str(input_format.text), label=label, positive=positive)
            return _labeled_features(extractor, raw, given.on_broken)
        assert input_format.plan is not None
        # Without an id column: nothing is written that a row's name would stand in.
        return iter_table(
            path,
            input_format.plan,
            label=label,
            positive=positive,
            missing=given.missing,
            notes=notes,
        )
    assert given.labels_file is not None
    if extractor is not None:
        labels = Path(given.labels_file)
        paths, y = read_label_file(Path(path), labels, positive, given.file_column, label)
        raw = file_chunks(paths, extractor.record.image, y)
        return _labeled_features(extractor, raw, given.on_broken)
    data = read_labeled_images(
        path,
        given.labels_file,
        positive=positive,
        file_column=given.file_column,
        label_column=label,
        size=input_format.sample_shape[0],
        mode=input_format.image_mode or "RGB",
        on_broken=given.on_broken,
    )
    return _in_chunks(data)


def _labeled_features(
    extractor: Extractor, raw: Iterator[RawChunk], on_broken: str
) -> Iterator[Chunk]:
    refuse = "Leave such samples out with --skip-broken." if on_broken == "raise" else None
    return feature_chunks(raw, extractor, refuse=refuse)


def _check_labels_option(
    input_format: InputFormat, label: str | None, labels_file: str | Path | None
) -> None:
    """Refuse a file of labels where there can be none, and its absence where it is needed."""
    if input_format.kind == "array" and (label is not None or labels_file is not None):
        raise UsageError("An .npz file has its labels in y: leave --label and --labels out.")
    if input_format.kind == "table" and labels_file is not None:
        raise UsageError("A table has its labels in a column: leave --labels out.")
    if input_format.kind in ("images", "texts") and labels_file is None:
        raise UsageError(
            f"A folder of {input_format.kind} needs --labels FILE.csv, which names its files, with "
            "--label COLUMN and --positive VALUE."
        )


def _check_label_column(path: str | Path, label: str, needs_truth: bool) -> None:
    columns = table_columns(path)
    if label not in columns:
        raise InputError(
            f"{path} has no column {label!r}.{did_you_mean(label, columns)} Without --label it "
            "is that of training: say with --label which column holds the labels here."
        )
    if needs_truth:
        _check_all_labeled(path, count_unlabeled(path, label))


def _check_all_labeled(path: str | Path, n_unlabeled: int) -> None:
    if n_unlabeled:
        raise InputError(
            f"{path} has {n_unlabeled} samples without a label, so they cannot be judged by the "
            "truth. Leave them out, or say with --scenario that they are unlabelled."
        )


def _in_chunks(data: PUData) -> Iterator[Chunk]:
    for start in range(0, len(data.X), _ROWS):
        some = slice(start, start + _ROWS)
        broken = data.broken if start == 0 else ()
        yield Chunk(np.asarray(data.X[some]), data.names[some], data.y[some], broken)
