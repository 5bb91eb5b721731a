"""The input contract: what kind of data a model was fitted on, kept with the model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from vqpu.errors import InputError, UsageError
from vqpu.files import (
    Chunk,
    PUData,
    TableSchema,
    iter_array,
    iter_images,
    iter_table,
    kind_of,
)
from vqpu.files._ahead import read_ahead
from vqpu.files._shards import WHOLE, Shard

CONTRACT_FILE = "input.json"
KINDS = ("images", "array", "table")
_FORMAT = 1


@dataclass(frozen=True)
class InputContract:
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
    def of_data(cls, kind: str, data: PUData, **roles: str | None) -> InputContract:
        """Return the contract of what a ``read_`` function gave."""
        mode = None
        if kind == "images":
            mode = "RGB" if data.X.ndim == 4 else "L"
        return cls(kind, data.X.shape[1:], str(data.X.dtype), mode, data.schema, **roles)

    @classmethod
    def of_shape(cls, input_shape: tuple[int, ...]) -> InputContract:
        """Return the contract of a model that was fitted on arrays in Python.

        Parameters
        ----------
        input_shape : tuple
            ``(d,)`` or ``(channels, height, width)``.
        """
        is_vector = len(input_shape) == 1
        return cls("array", tuple(input_shape), "float64" if is_vector else "float32")

    def to_json(self) -> bytes:
        """Return the contract as the text of a JSON file."""
        plain = asdict(replace(self, schema=None)) | {"format": _FORMAT}
        plain["schema"] = None if self.schema is None else self.schema.to_dict()
        return (json.dumps(plain, indent=1) + "\n").encode()

    @classmethod
    def from_json(cls, text: bytes) -> InputContract:
        """Rebuild a contract from :meth:`to_json`, or raise if the text is none."""
        try:
            plain = json.loads(text)
        except ValueError as error:
            raise InputError(f"The input contract is no JSON: {error}.") from error
        if not isinstance(plain, Mapping) or plain.get("format") != _FORMAT:
            raise InputError(f"The input contract is not of format {_FORMAT}: {plain!r:.100}.")
        fields = {name: value for name, value in plain.items() if name != "format"}
        if set(fields) != set(cls.__dataclass_fields__) or fields["kind"] not in KINDS:
            raise InputError(f"The input contract has unknown or missing entries: {plain!r:.200}.")
        schema = fields.pop("schema")
        shape = tuple(int(side) for side in fields.pop("sample_shape"))
        return cls(
            **fields,
            sample_shape=shape,
            schema=None if schema is None else TableSchema.from_dict(schema),
        )

    def describe(self) -> str:
        """Return in a few words what input fits.

        Examples
        --------
        >>> InputContract("images", (64, 64, 3), "uint8", "RGB").describe()
        'a folder of images (read as 64 x 64 RGB)'
        """
        if self.kind == "images":
            side = self.sample_shape[0]
            return f"a folder of images (read as {side} x {side} {self.image_mode})"
        if self.schema is not None:
            return f"a table with {len(self.schema.columns)} feature columns"
        return f"an array of samples of shape {self.sample_shape}"


def check_kind(contract: InputContract, path: str | Path) -> None:
    """Refuse input of another kind than the model was fitted on."""
    kind = kind_of(path)
    if kind != contract.kind:
        hint = "Pass input of that kind, or fit a model on this one."
        if (kind, contract.kind) == ("table", "array"):
            hint = (
                "It was fitted on arrays and does not know the columns of a table: fit one on a "
                "table by vqpu fit, or read the rows in Python by vqpu.files.iter_table."
            )
        raise InputError(
            f"{path} is of kind {kind!r}, but the model takes {contract.describe()}. {hint}"
        )


def open_input(
    contract: InputContract,
    path: str | Path,
    *,
    shard: Shard = WHOLE,
    id_column: str | None = None,
    label: str | None = None,
    positive: Any = None,
    on_broken: str = "raise",
) -> Iterator[Chunk]:
    """Give samples of a file or folder chunk by chunk, read as in training.

    Parameters
    ----------
    contract : InputContract
    path : path
    shard : Shard
    id_column : str or None
        Of tables; None takes the one used in training, if any.
    label, positive : str and object, or None
        Of tables: if given, chunks have ``y``.
    on_broken : {"raise", "skip"}
        Of images and rows of tables.

    Yields
    ------
    Chunk
    """
    check_kind(contract, path)
    if id_column is not None and contract.kind != "table":
        raise UsageError(
            f"An id column is one of a table, but the model takes {contract.describe()}: leave "
            "--id out."
        )
    if contract.kind == "images":
        from vqpu.files import find_images

        paths = find_images(path)[shard.slice_from(0)]
        mode = contract.image_mode or "RGB"
        images = iter_images(paths, size=contract.sample_shape[0], mode=mode, on_broken=on_broken)
        # Tables are not read in a thread: that takes a core from the network, which costs more.
        return read_ahead(images)
    if contract.schema is None:
        return shard.take(_checked_array(contract, path))
    return shard.take(
        iter_table(
            path,
            contract.schema,
            id_column=id_column or contract.id_column,
            label=label,
            positive=positive,
            on_broken=on_broken,
        )
    )


def _checked_array(contract: InputContract, path: str | Path) -> Iterator[Chunk]:
    for chunk in iter_array(path):
        if chunk.X.shape[1:] != contract.sample_shape:
            raise InputError(
                f"{path} holds samples of shape {chunk.X.shape[1:]}, but the model takes "
                f"{contract.describe()}."
            )
        yield chunk
