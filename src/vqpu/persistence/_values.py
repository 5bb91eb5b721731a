"""Plain values as JSON, arrays beside them as tensors.

Numbers, strings, booleans, None and lists stay as they are; everything else is an object with one
key that says what it is. Only records of the types handed over are made again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vqpu.errors import ModelFileError

_MOST_INLINE = 16  # numbers of an array that stay readable in the manifest


def encode(value: Any, name: str, tensors: dict[str, Tensor], records: Sequence[type]) -> Any:
    """Return ``value`` ready for JSON, and put its larger arrays into ``tensors``.

    Parameters
    ----------
    value : object
        Numbers, strings, None, lists, tuples, dicts with string keys, arrays, dtypes, records.
    name : str
        Where it stands, for the names of tensors and for messages.
    tensors : dict of Tensor
    records : sequence of type
        Types with named fields, named tuples for instance, that are saved field by field.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ModelFileError(f"{name} is {value}, and only finite numbers can be saved.")
        return value
    if isinstance(value, np.ndarray):
        return _encode_array(value, name, tensors)
    if isinstance(value, np.dtype):
        return {"dtype": value.str}
    if type(value) in records:
        fields = value._asdict() if hasattr(value, "_asdict") else vars(value)
        return {type(value).__name__: _encode_dict(fields, name, tensors, records)}
    if isinstance(value, (list, tuple)):
        parts = [
            encode(part, f"{name}.{index}", tensors, records) for index, part in enumerate(value)
        ]
        return {"tuple": parts} if isinstance(value, tuple) else parts
    if isinstance(value, dict):
        return {"dict": _encode_dict(value, name, tensors, records)}
    raise ModelFileError(f"{name} is a {type(value).__name__}, which cannot be saved.")


def _encode_dict(
    fields: dict[str, Any], name: str, tensors: dict[str, Tensor], records: Sequence[type]
) -> dict[str, Any]:
    return {key: encode(field, f"{name}.{key}", tensors, records) for key, field in fields.items()}


def _encode_array(array: NDArray[Any], name: str, tensors: dict[str, Tensor]) -> dict[str, Any]:
    is_number = array.dtype.kind in "biuf"
    if is_number and (array.ndim != 1 or len(array) > _MOST_INLINE):
        tensors[name] = torch.from_numpy(np.array(array, dtype=array.dtype.newbyteorder("=")))
        return {"tensor": name}
    values = array.tolist()
    if array.ndim != 1 or not all(isinstance(value, (bool, int, float, str)) for value in values):
        raise ModelFileError(
            f"{name} has dtype {array.dtype} and shape {array.shape}. Only numbers and one axis of "
            "strings can be saved."
        )
    return {"array": {"dtype": array.dtype.str, "values": values}}


def decode(value: Any, tensors: dict[str, Tensor], records: Sequence[type]) -> Any:
    """Return what :func:`encode` was given.

    Parameters
    ----------
    value : object
        From JSON.
    tensors : dict of Tensor
        Those that are used are taken out.
    records : sequence of type
    """
    if isinstance(value, list):
        return [decode(part, tensors, records) for part in value]
    if not isinstance(value, dict):
        return value
    if len(value) != 1:
        raise ModelFileError(f"An object with the keys {sorted(value)} is no saved value.")
    ((kind, content),) = value.items()
    try:
        return _decode_kind(kind, content, tensors, records)
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(f"A saved {kind!r} cannot be read: {error}") from None


def _decode_kind(
    kind: str, content: Any, tensors: dict[str, Tensor], records: Sequence[type]
) -> Any:
    if kind == "tensor":
        if content not in tensors:
            raise ModelFileError(f"The tensor {content!r} is missing.")
        return _finite_array(content, tensors.pop(content))
    if kind == "array":
        return np.array(content["values"], dtype=_plain_dtype(content["dtype"], "biufUO"))
    if kind == "dtype":
        return _plain_dtype(content, "biuf")
    if kind == "tuple":
        return tuple(decode(part, tensors, records) for part in content)
    if kind == "dict":
        return {key: decode(part, tensors, records) for key, part in content.items()}
    for record in records:
        if record.__name__ == kind:
            fields = {key: decode(part, tensors, records) for key, part in content.items()}
            _check_fields(record, fields)
            return record(**fields)
    raise ModelFileError(f"A saved value of the kind {kind!r} is not known here.")


def _check_fields(record: type, fields: dict[str, Any]) -> None:
    """Raise if a field is unknown, absent without a default, or of another type than stated.

    A field that the file does not have is newer than the file; its default must then mean what was
    before.
    """
    hints = get_type_hints(record)
    for name in hints:
        if name not in fields and not _has_default(record, name):
            raise ModelFileError(f"A saved {record.__name__} lacks {name}.")
    for name, value in fields.items():
        if hints and name not in hints:
            raise ModelFileError(f"A saved {record.__name__} has no {name}.")
        if hints and not is_of_type(value, hints[name]):
            stated = str(getattr(hints[name], "__name__", hints[name]))
            raise ModelFileError(
                f"{name} of a saved {record.__name__} must be a {stated}. It is {value!r:.100}."
            )


def _has_default(record: type, name: str) -> bool:
    return name in getattr(record, "_field_defaults", {}) or hasattr(record, name)


def is_of_type(value: Any, stated: Any) -> bool:
    """Return whether a value is of a type as annotations state it; whole numbers are floats too.

    Parameters
    ----------
    value : object
    stated : type
        A class, a generic alias such as ``tuple[int, ...]`` (its parts are not looked at) or a
        union of such.
    """
    parts = get_args(stated) if get_origin(stated) is UnionType else (stated,)
    plain = tuple(get_origin(part) or part for part in parts)
    if Any in plain:
        return True
    return isinstance(value, (*plain, int) if float in plain else plain)


def _plain_dtype(text: Any, kinds: str) -> np.dtype[Any]:
    dtype = np.dtype(str(text))
    if dtype.kind not in kinds or dtype.itemsize > 1 << 20:
        raise ModelFileError(f"The dtype {text!r} is not one of a saved array.")
    return dtype


def _finite_array(name: str, tensor: Tensor) -> NDArray[Any]:
    array = tensor.numpy()
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ModelFileError(f"The tensor {name!r} holds values that are not finite.")
    return array
