"""What kind of data a model was fitted on, kept with the model as ``input.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from vqpu.errors import InputError
from vqpu.files import PUData, TableSchema, kind_of

INPUT_FILE = "input.json"
KINDS = ("images", "array", "table")
_FORMAT = 1


@dataclass(frozen=True)
class InputFormat:
    """What input fits a model, and how it is read.

    Attributes
    ----------
    kind : {"images", "array", "table"}
    sample_shape : tuple of int
        Of one sample as it is read: (d,), (h, w), (h, w, c) or (c, h, w).
    dtype : str
        Of the array that ``fit`` was given.
    image_mode : {"RGB", "L"} or None
        How files are decoded, where the kind is "images"; their size is in ``sample_shape``.
    schema : TableSchema or None
        Columns, types and categories, where the kind is "table".
    label, positive : str or None
        The column of labels and the value of positives, if one table was fitted.
    id_column : str or None
    """

    kind: str
    sample_shape: tuple[int, ...]
    dtype: str
    image_mode: str | None = None
    schema: TableSchema | None = None
    label: str | None = None
    positive: str | None = None
    id_column: str | None = None

    @classmethod
    def of_data(cls, kind: str, data: PUData, **roles: str | None) -> InputFormat:
        """Return the format of what a ``read_`` function gave."""
        mode = None
        if kind == "images":
            mode = "RGB" if data.X.ndim == 4 else "L"
        return cls(kind, data.X.shape[1:], str(data.X.dtype), mode, data.schema, **roles)

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
        plain = asdict(replace(self, schema=None)) | {"format": _FORMAT}
        plain["schema"] = None if self.schema is None else self.schema.to_dict()
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
        if set(fields) != set(cls.__dataclass_fields__) or fields["kind"] not in KINDS:
            raise InputError(f"{INPUT_FILE} has unknown or missing entries: {plain!r:.200}.")
        schema = fields.pop("schema")
        shape = tuple(int(side) for side in fields.pop("sample_shape"))
        return cls(
            **fields,
            sample_shape=shape,
            schema=None if schema is None else TableSchema.from_dict(schema),
        )

    @property
    def name_column(self) -> str:
        """Header of the samples' names in files of predictions."""
        return "path" if self.kind == "images" else "id"

    def describe(self) -> str:
        """Return in a few words what input fits.

        Examples
        --------
        >>> InputFormat("images", (64, 64, 3), "uint8", "RGB").describe()
        'a folder of images (read as 64 x 64 RGB)'
        """
        if self.kind == "images":
            side = self.sample_shape[0]
            return f"a folder of images (read as {side} x {side} {self.image_mode})"
        if self.schema is not None:
            return f"a table with {len(self.schema.columns)} feature columns"
        return f"an array of samples of shape {self.sample_shape}"


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
