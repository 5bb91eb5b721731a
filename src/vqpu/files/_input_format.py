"""What kind of data a model was fitted on, kept with the model as ``input.json``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from vqpu.errors import InputError
from vqpu.features._extractor import Extractor
from vqpu.features._record import ExtractorRecord, parse_record
from vqpu.files import ColumnPlan, PUData, kind_of
from vqpu.files.readers._schema import plan_of_schema

INPUT_FILE = "input.json"
KINDS = ("images", "texts", "array", "table")
# Entries that models of before do not have.
_NEW = {"negative", "text", "features"}
_FORMAT = 1


@dataclass(frozen=True)
class InputFormat:
    """What input fits a model, and how it is read.

    Attributes
    ----------
    kind : {"images", "texts", "array", "table"}
    sample_shape : tuple of int
        Of one sample as it is read: (d,), (h, w), (h, w, c) or (c, h, w).
    dtype : str
        Of the array that ``fit`` was given.
    image_mode : {"RGB", "L"} or None
        How files are decoded, where the kind is "images"; their size is in ``sample_shape``.
    label, positive : str or None
        The column of labels and the value of positives, if one table was fitted.
    id_column : str or None
    negative : str or None
        The only other label in the column of labels, if there is one.
    text : str or None
        The column of texts that features are made of, where the kind is "table".
    features : ExtractorRecord or None
        The pretrained network whose features the model was fitted on.
    plan : ColumnPlan or None
        What the columns are, where the kind is "table". It is no part of this file but of the
        model itself; in models of before it stood here, as a schema.
    """

    kind: str
    sample_shape: tuple[int, ...]
    dtype: str
    image_mode: str | None = None
    label: str | None = None
    positive: str | None = None
    id_column: str | None = None
    negative: str | None = None
    text: str | None = None
    features: ExtractorRecord | None = None
    plan: ColumnPlan | None = None

    @classmethod
    def of_data(cls, kind: str, data: PUData, **roles: Any) -> InputFormat:
        """Return the format of what a ``read_`` function gave."""
        mode = None
        if kind == "images":
            mode = "RGB" if data.X.ndim == 4 else "L"
        negative = None if data.words is None else data.words[0]
        return cls(
            kind, data.X.shape[1:], str(data.X.dtype), mode,
            negative=negative, plan=data.plan, **roles,
        )  # fmt: skip

    @classmethod
    def of_features(cls, record: ExtractorRecord, **roles: Any) -> InputFormat:
        """Return the format of a model on features; ``text`` names the column of a table.

        Parameters
        ----------
        record : ExtractorRecord
        **roles : str or None
            Further fields.
        """
        image = record.image
        if image is not None:
            return cls("images", image.shape, "uint8", image.mode, features=record, **roles)
        kind = "texts" if roles.get("text") is None else "table"
        return cls(kind, (record.n_features,), "float32", features=record, **roles)

    @classmethod
    def of_shape(cls, input_shape: tuple[int, ...]) -> InputFormat:
        """Return the format of a model that was fitted on arrays in Python.

        Parameters
        ----------
        input_shape : tuple
            ``(d,)`` or ``(channels, height, width)``.
        """
        is_vector = len(input_shape) == 1
        return cls("array", tuple(input_shape), "float64" if is_vector else "float32")

    def to_json(self) -> bytes:
        """Return the format as the text of a JSON file."""
        plain = asdict(replace(self, plan=None, features=None)) | {"format": _FORMAT}
        del plain["plan"]
        if self.features is not None:
            plain["features"] = self.features.model_dump(mode="json")
        return (json.dumps(plain, indent=1) + "\n").encode()

    @classmethod
    def from_json(cls, text: bytes) -> InputFormat:
        """Rebuild a format from :meth:`to_json`, or raise if the text is none."""
        try:
            plain = json.loads(text)
        except ValueError as error:
            raise InputError(f"{INPUT_FILE} is no JSON: {error}.") from error
        if not isinstance(plain, Mapping) or plain.get("format") != _FORMAT:
            raise InputError(f"{INPUT_FILE} is not of format {_FORMAT}: {plain!r:.100}.")
        fields = {name: value for name, value in plain.items() if name != "format"}
        schema = fields.pop("schema", None)  # of models of before
        known = set(cls.__dataclass_fields__) - {"plan"}
        if not known - _NEW <= set(fields) <= known or fields["kind"] not in KINDS:
            raise InputError(f"{INPUT_FILE} has unknown or missing entries: {plain!r:.200}.")
        record = fields.pop("features", None)
        shape = _checked_fields(fields)
        plan = None if schema is None else plan_of_schema(schema)
        features = None if record is None else parse_record(record)
        return cls(**fields, sample_shape=shape, plan=plan, features=features)

    def words(self) -> tuple[Any, Any] | None:
        """Return what negatives and positives are called in the user's table, None if nowhere.

        Whole numbers stay such.

        Examples
        --------
        >>> InputFormat("table", (3,), "float64", label="bought", positive="yes").words()
        ('not yes', 'yes')
        """
        if self.positive is None:
            return None
        words = self.negative or f"not {self.positive}", self.positive
        return (int(words[0]), int(words[1])) if all(map(_is_whole, words)) else words

    @property
    def name_column(self) -> str:
        """Header of the samples' names in files of predictions."""
        return "path" if self.kind in ("images", "texts") else "id"

    def describe(self) -> str:
        """Return in a few words what input fits.

        Examples
        --------
        >>> InputFormat("images", (64, 64, 3), "uint8", "RGB").describe()
        'a folder of images (read as 64 x 64 RGB)'
        """
        by = "" if self.features is None else f", by {self.features.describe()}"
        if self.kind == "images":
            side = self.sample_shape[0]
            return f"a folder of images (read as {side} x {side} {self.image_mode}){by}"
        if self.kind == "texts":
            return f"a folder of texts{by}"
        if self.text is not None:
            return f"a table with texts in its column {self.text!r}{by}"
        if self.plan is not None:
            return f"a table with {len(self.plan.columns)} feature columns"
        return f"an array of samples of shape {self.sample_shape}"


def feature_extras(extractor: Extractor, *, text: str | None = None) -> dict[str, bytes]:
    """Return what tells a saved model that its X is features, so that commands extract them.

    Parameters
    ----------
    extractor : Extractor
        That X was made by.
    text : str or None
        Column of a table that holds the texts; None: they are files of a folder.

    Examples
    --------
    >>> model.save("model", extras=feature_extras(extractor))  # doctest: +SKIP
    """
    return {INPUT_FILE: InputFormat.of_features(extractor.record, text=text).to_json()}


def _checked_fields(fields: dict[str, Any]) -> tuple[int, ...]:
    """Take the shape out of a file's entries; raise if one of them is of another type."""
    shape = fields.pop("sample_shape")
    sides = isinstance(shape, list) and all(type(side) is int and side > 0 for side in shape)
    texts = [value for name, value in fields.items() if name not in ("kind", "dtype")]
    if not sides or not shape or not all(t is None or isinstance(t, str) for t in texts):
        raise InputError(f"{INPUT_FILE} has entries of wrong types: {fields!r:.200}.")
    if fields["kind"] == "images" and fields["image_mode"] not in ("RGB", "L"):
        raise InputError(f"{INPUT_FILE} has no image mode: {fields['image_mode']!r:.50}.")
    if not isinstance(fields["dtype"], str):
        raise InputError(f"{INPUT_FILE} has no dtype: {fields['dtype']!r:.50}.")
    return tuple(shape)


def _is_whole(word: str) -> bool:
    return re.fullmatch(r"-?(0|[1-9][0-9]{0,17})", word) is not None


def check_kind(input_format: InputFormat, path: str | Path) -> None:
    """Refuse input of another kind than the model was fitted on."""
    kind = kind_of(path)
    if kind != input_format.kind:
        hint = "Pass input of that kind, or fit a model on this one."
        if (kind, input_format.kind) == ("table", "array"):
            hint = (
                "It was fitted on arrays and does not know the columns of a table: fit one on a "
                "table by vqpu fit, or read the rows in Python by vqpu.files.iter_table."
            )
        raise InputError(
            f"{path} is of kind {kind!r}, but the model takes {input_format.describe()}. {hint}"
        )
