"""Users' files as training data, by what they are."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from vqpu.errors import InputError, UsageError
from vqpu.files import (
    PUData,
    kind_of,
    read_array_file,
    read_arrays,
    read_image_folders,
    read_labeled_images,
    read_table,
    read_tables,
    show_progress,
)
from vqpu.files._feature_data import check_feature_sources, read_features
from vqpu.files._input_format import InputFormat
from vqpu.files._settings import Sources


class TrainingData(NamedTuple):
    """Samples for ``fit`` and the format of input that fits them.

    Attributes
    ----------
    data : PUData
    input_format : InputFormat
    """

    data: PUData
    input_format: InputFormat


_COLUMNS = ("columns", "drop", "number", "category", "text", "missing")
_TABLE = {"cache_dir", "id_column", *_COLUMNS}
_IMAGES = {"cache_dir", "on_broken", "image_size", "image_mode"}
_LABELS = {"data", "label", "positive"}
_PAIR = {"positives", "unlabeled"}
# Settings that mean something, by how many sources there are and of what kind.
_USED = {
    (1, "table"): _LABELS | _TABLE,
    (1, "images"): _LABELS | _IMAGES | {"labels", "file_column"},
    (1, "array"): {"data", "positive", "cache_dir"},
    (2, "table"): _PAIR | _TABLE,
    (2, "images"): _PAIR | _IMAGES,
    (2, "array"): _PAIR | {"cache_dir"},
}
# The same with --features.
_FEATURES = {"features", "cache_dir", "on_broken"}
_USED_WITH_FEATURES = {
    (1, "table"): _LABELS | _FEATURES | {"id_column", "text"},
    (1, "images"): _LABELS | _FEATURES | {"labels", "file_column"},
    (1, "texts"): _LABELS | _FEATURES | {"labels", "file_column"},
    (2, "table"): _PAIR | _FEATURES | {"id_column", "text"},
    (2, "images"): _PAIR | _FEATURES,
    (2, "texts"): _PAIR | _FEATURES,
}
_OPTION_NAMES = {"id_column": "--id", "on_broken": "--skip-broken"}


def check_sources(sources: Sources) -> None:
    """Refuse options that do not name one data set, before anything is read."""
    pair = (sources.positives, sources.unlabeled)
    if sources.data is None and None in pair:
        raise UsageError(
            "Give either --positives and --unlabeled, or one DATA file with --label and --positive."
        )
    if sources.data is None:
        assert sources.positives is not None
        assert sources.unlabeled is not None
        kind = _kind_of_both(sources.positives, sources.unlabeled)
        _check_all_used(sources, 2, kind)
        return
    if pair != (None, None):
        raise UsageError("Give DATA or --positives and --unlabeled, not both.")
    kind = kind_of(sources.data)
    if kind == "array" and sources.label is not None:
        raise UsageError("An .npz file has its labels in y: leave --label out.")
    if kind == "array" and sources.positive is not None and str(sources.positive) != "1":
        raise UsageError(
            f"In an .npz file 1 marks the positives of y. Got --positive {sources.positive}: write "
            "y with 1 for them and 0 for unlabelled samples."
        )
    if kind in ("images", "texts") and sources.labels is None:
        raise UsageError(
            f"{sources.data} is one folder: give two by --positives and --unlabeled, or "
            f"--labels FILE.csv, which says which of its {kind} are positive."
        )
    if kind != "array" and (sources.label is None or sources.positive is None):
        raise UsageError(f"{sources.data} needs --label COLUMN and --positive VALUE.")
    _check_all_used(sources, 1, kind)


def _kind_of_both(positives: str, unlabeled: str) -> str:
    kinds = kind_of(positives), kind_of(unlabeled)
    if kinds[0] != kinds[1]:
        raise InputError(
            f"{positives} is of kind {kinds[0]!r} and {unlabeled} of kind {kinds[1]!r}. Both must "
            "be folders of images, arrays or tables."
        )
    if positives == unlabeled or (
        os.path.exists(positives)
        and os.path.exists(unlabeled)
        and os.path.samefile(positives, unlabeled)
    ):
        raise InputError(
            f"{positives} and {unlabeled} are the same. Expected positives, and apart from them "
            "everything else."
        )
    return kinds[0]


def _check_all_used(sources: Sources, count: int, kind: str) -> None:
    """Refuse settings that would be passed over in silence."""
    check_feature_sources(sources, kind)
    used = _USED if sources.features is None else _USED_WITH_FEATURES
    given = sources.model_fields_set & set(Sources.model_fields)
    unused = sorted(
        _OPTION_NAMES.get(name, f"--{name.replace('_', '-')}")
        for name in given - used[count, kind]
        if getattr(sources, name) != Sources.model_fields[name].default
    )
    if unused:
        what = {"array": "array", "table": "table"}.get(kind, "folder")
        raise UsageError(
            f"No meaning for {'one' if count == 1 else 'two'} {what}{'s' * (count - 1)}"
            f"{' with --features' * (sources.features is not None)}: "
            f"{', '.join(unused)}. See vqpu fit --help for what belongs together."
        )


def read_sources(sources: Sources, *, quiet: bool = False) -> TrainingData:
    """Read the data set that the settings name.

    Parameters
    ----------
    sources : Sources
    quiet : bool
        Whether to show no progress of decoding images.
    """
    check_sources(sources)
    if sources.features is not None:
        return TrainingData(*read_features(sources, quiet=quiet))
    if sources.data is not None:
        return _read_one(sources, sources.data, quiet)
    assert sources.positives is not None
    assert sources.unlabeled is not None
    return _read_pair(sources, sources.positives, sources.unlabeled, quiet)


def _read_one(sources: Sources, path: str, quiet: bool) -> TrainingData:
    kind = kind_of(path)
    if kind == "array":
        if Path(path).suffix.lower() != ".npz":
            raise InputError(f"{path} is one array: give two by --positives and --unlabeled.")
        data = read_array_file(
            path, cache_dir=sources.cache_dir, may_be_swapped=sources.positive is None
        )
        return TrainingData(data, InputFormat.of_data(kind, data))
    assert sources.label is not None
    roles = {"label": sources.label, "positive": str(sources.positive)}
    if kind == "table":
        data = read_table(
            path,
            label=sources.label,
            positive=sources.positive,
            id_column=sources.id_column,
            cache_dir=sources.cache_dir,
            **_column_options(sources),
        )
        input_format = InputFormat.of_data(kind, data, **roles, id_column=sources.id_column)
        return TrainingData(data, input_format)
    assert sources.labels is not None
    with _decoding(sources, quiet) as options:
        data = read_labeled_images(
            path,
            sources.labels,
            positive=sources.positive,
            file_column=sources.file_column,
            label_column=sources.label,
            **options,
        )
    return TrainingData(data, InputFormat.of_data(kind, data, **roles))


def _read_pair(sources: Sources, positives: str, unlabeled: str, quiet: bool) -> TrainingData:
    kind = kind_of(positives)
    if kind == "images":
        with _decoding(sources, quiet) as options:
            data = read_image_folders(positives, unlabeled, **options)
    elif kind == "array":
        data = read_arrays(positives, unlabeled, cache_dir=sources.cache_dir)
    else:
        data = read_tables(
            positives,
            unlabeled,
            id_column=sources.id_column,
            cache_dir=sources.cache_dir,
            **_column_options(sources),
        )
    id_column = sources.id_column if kind == "table" else None
    return TrainingData(data, InputFormat.of_data(kind, data, id_column=id_column))


def _column_options(sources: Sources) -> dict[str, Any]:
    return {name: getattr(sources, name) for name in _COLUMNS}


@contextmanager
def _decoding(sources: Sources, quiet: bool) -> Iterator[dict[str, Any]]:
    """Give the keywords with which images are read, progress included."""
    options: dict[str, Any] = {
        "size": sources.image_size,
        "mode": sources.image_mode,
        "on_broken": sources.on_broken,
        "cache_dir": sources.cache_dir,
    }
    if quiet:
        yield options
        return
    with show_progress() as progress:
        yield options | {"progress": progress}
