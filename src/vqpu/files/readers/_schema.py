"""How the columns of a table become numbers: learned once, remembered, applied for ever."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vqpu.base._finite import all_finite
from vqpu.errors import InputError, did_you_mean
from vqpu.files.readers._samples import first_few

KINDS = ("number", "boolean", "category")
LONGEST_TEXT = 1000
_FORMAT = 1


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name : str
    kind : {"number", "boolean", "category"}
        Numbers stay as they are, booleans become 0 and 1, a category becomes one column a value.
    categories : tuple of str
        The values of a category, in the order of their columns; empty for other kinds.
    """

    name: str
    kind: str
    categories: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableSchema:
    """The columns that are used, in order, and how each is encoded. Plain data.

    Attributes
    ----------
    columns : tuple of Column

    Examples
    --------
    >>> schema = TableSchema((Column("age", "number"), Column("pet", "category", ("cat", "dog"))))
    >>> schema.feature_names
    ['age', 'pet=cat', 'pet=dog']
    >>> TableSchema.from_dict(schema.to_dict()) == schema
    True
    """

    columns: tuple[Column, ...]

    @property
    def feature_names(self) -> list[str]:
        """Name of every column of the encoded array."""
        names: list[str] = []
        for column in self.columns:
            one_hot = [f"{column.name}={value}" for value in column.categories]
            names += one_hot if column.kind == "category" else [column.name]
        return names

    @property
    def n_features(self) -> int:
        """Number of columns of the encoded array."""
        return sum(len(c.categories) if c.kind == "category" else 1 for c in self.columns)

    def encode(self, batch: Any) -> NDArray[np.float64]:
        """Encode a record batch; columns are found by name, others are ignored.

        Parameters
        ----------
        batch : pyarrow.RecordBatch

        Returns
        -------
        ndarray of float64, shape (n_rows, n_features)
            In column order where all columns are float64 already, in row order otherwise.
        """
        names = [column.name for column in self.columns]
        check_columns(batch.schema, names)
        if self._all_are_plain(batch.schema):
            tensor = batch.select(names).to_tensor(null_to_nan=True, row_major=False)
            X: NDArray[np.float64] = tensor.to_numpy()  # column after column, as they lie there
            if all_finite(X):
                return X
        return self._encode_columns(batch)  # which names the column of a value that is not

    def unusable(self, batch: Any) -> dict[int, str]:
        """Return why rows of a record batch cannot be encoded, by their place in it.

        A value is missing or infinite, or a category is one that training never saw.
        """
        reasons = incomplete(batch, [column.name for column in self.columns])
        for column in self.columns:
            if column.kind == "category":
                values = batch.column(column.name)
                _check_kind(column, values)
                codes = _find_categories(column, short_text(column.name, values))
                for place in _places(codes.is_null()):
                    shown = str(values[place].as_py())[:50]
                    reason = f"{shown!r} in {column.name!r}, which training never saw"
                    reasons.setdefault(place, reason)
        return reasons

    def _all_are_plain(self, arrow_schema: Any) -> bool:
        """Whether every column is a number and comes as float64, so that one copy does."""
        import pyarrow as pa

        return all(
            column.kind == "number" and arrow_schema.field(column.name).type == pa.float64()
            for column in self.columns
        )

    def _encode_columns(self, batch: Any) -> NDArray[np.float64]:
        X = np.zeros((batch.num_rows, self.n_features))
        start = 0
        for column in self.columns:
            values = batch.column(column.name)
            _check_kind(column, values)
            if column.kind == "category":
                codes = _category_codes(column, values)
                X[np.arange(len(X)), start + codes] = 1.0
                start += len(column.categories)
            else:
                X[:, start] = numbers_of(column.name, values)
                start += 1
        return X

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as plain data for a JSON file."""
        columns = [
            {"name": column.name, "kind": column.kind}
            | ({"categories": list(column.categories)} if column.kind == "category" else {})
            for column in self.columns
        ]
        return {"format": _FORMAT, "columns": columns}

    @classmethod
    def from_dict(cls, data: Any) -> TableSchema:
        """Rebuild a schema from :meth:`to_dict`, or raise if the data are not one."""
        if not isinstance(data, Mapping) or data.get("format") != _FORMAT:
            raise InputError(f"A table schema of format {_FORMAT} is expected. Got {data!r:.100}.")
        columns = data.get("columns")
        if not isinstance(columns, list) or not columns:
            raise InputError("The table schema has no list of columns.")
        schema = cls(tuple(_column_from(entry) for entry in columns))
        names = [column.name for column in schema.columns]
        if len(set(names)) != len(names):
            raise InputError(f"The table schema names columns twice: {first_few(names)}.")
        return schema


def kind_of_type(arrow_type: Any) -> str | None:
    """Return the kind of columns of an Arrow type, or None if they cannot be used."""
    import pyarrow.types as types

    if types.is_dictionary(arrow_type):
        return kind_of_type(arrow_type.value_type)
    if types.is_boolean(arrow_type):
        return "boolean"
    if (
        types.is_integer(arrow_type)
        or types.is_floating(arrow_type)
        or types.is_decimal(arrow_type)
    ):
        return "number"
    is_text = (types.is_string, types.is_large_string, types.is_string_view)
    return "category" if any(check(arrow_type) for check in is_text) else None


def check_columns(arrow_schema: Any, wanted: list[str]) -> None:
    """Raise if a wanted column is not there, naming those that are."""
    missing = [name for name in wanted if name not in arrow_schema.names]
    if missing:
        raise InputError(
            f"The table lacks the column{'s' * (len(missing) > 1)} {first_few(missing)}."
            f"{did_you_mean(missing[0], arrow_schema.names)} It has "
            f"{first_few(arrow_schema.names, 10) or 'no columns'}."
        )


def mapped(values: Any, function: Callable[[Any], Any]) -> Any:
    """Apply an element-wise Arrow function, once a distinct value if the array is a dictionary.

    A dictionary is never expanded: a small file may repeat one huge string a million times.
    """
    import pyarrow.types as types

    if types.is_dictionary(values.type):
        return function(values.dictionary).take(values.indices)
    return function(values)


def count_missing(values: Any) -> int:
    """Return the number of nulls, and of NaN among floats."""
    import pyarrow.compute as pc

    return int(pc.sum(_is_missing(values)).as_py() or 0)


def _is_missing(values: Any) -> Any:
    import pyarrow.compute as pc

    missing = mapped(values, lambda plain: pc.is_null(plain, nan_is_null=True))
    return pc.fill_null(missing, True)


def _is_infinite(values: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    is_dictionary = pa.types.is_dictionary(values.type)
    if not pa.types.is_floating(values.type.value_type if is_dictionary else values.type):
        return pa.repeat(False, len(values))
    return pc.fill_null(mapped(values, pc.is_inf), False)


def incomplete(batch: Any, names: list[str]) -> dict[int, str]:
    """Return in which column a row has no value or an infinite one, by its place in the batch."""
    reasons: dict[int, str] = {}
    for name in names:
        values = batch.column(name)
        found = {"missing": _is_missing(values), "infinite": _is_infinite(values)}
        for kind, mask in found.items():
            reason = f"{kind} value in {name!r}"
            for place in _places(mask):
                reasons.setdefault(place, reason)
    return reasons


def _places(mask: Any) -> list[int]:
    """Return where an Arrow array of booleans without nulls is true."""
    places: list[int] = np.flatnonzero(mask.to_numpy(zero_copy_only=False)).tolist()
    return places


def numbers_of(name: str, values: Any) -> NDArray[np.float64]:
    """Return a numeric or boolean column as float64; it must be finite throughout."""
    import pyarrow as pa

    try:
        plain = values.cast(pa.int8()) if pa.types.is_boolean(values.type) else values
        numbers = mapped(plain, lambda distinct: distinct.cast(pa.float64()))
    except pa.ArrowInvalid as error:
        raise InputError(
            f"Column {name!r} holds integers that no float64 can hold exactly ({error}). Drop it "
            "if it is an id, or scale it first."
        ) from error
    array: NDArray[np.float64] = numbers.to_numpy(zero_copy_only=False)
    if not np.isfinite(array).all():  # a null has become NaN
        _check_nothing_missing(name, values)
        raise InputError(
            f"Column {name!r} holds infinite values. Replace them, or leave such rows out with "
            '--skip-broken (in Python on_broken="skip").'
        )
    return array


def short_text(name: str, values: Any) -> Any:
    """Return a column of text as large_string or a dictionary of it, refusing long texts.

    The length is looked at before anything is copied: views may share one huge text.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(values.type):
        return pa.DictionaryArray.from_arrays(values.indices, short_text(name, values.dictionary))
    if pa.types.is_string_view(values.type):  # 16 bytes a view, the length in the first four
        views = np.frombuffer(values.buffers()[1], np.int32).reshape(-1, 4)
        longest = views[values.offset : values.offset + len(values), 0].max(initial=0)
    else:
        longest = pc.max(pc.binary_length(values)).as_py() or 0
    if longest > LONGEST_TEXT:
        raise InputError(
            f"Column {name!r} holds text of {longest} bytes, too long for a category or an id. "
            "Leave it out with --drop (in Python drop=[...])."
        )
    return values.cast(pa.large_string())


def _check_kind(column: Column, values: Any) -> None:
    kind = kind_of_type(values.type)
    if kind != column.kind:
        raise InputError(
            f"Column {column.name!r} is of type {values.type}, but was a {column.kind} in "
            "training. Convert it first."
        )


def _check_nothing_missing(name: str, values: Any) -> None:
    n_missing = count_missing(values)
    if n_missing:
        raise InputError(
            f"Column {name!r} has missing values. "
            "They are never guessed at: fill them, or leave such rows out with --skip-broken "
            '(in Python on_broken="skip").'
        )


def _category_codes(column: Column, values: Any) -> NDArray[np.int64]:
    import pyarrow.compute as pc

    _check_nothing_missing(column.name, values)
    values = short_text(column.name, values)
    codes = _find_categories(column, values)
    if codes.null_count:
        unknown = pc.unique(values.filter(pc.is_null(codes)))
        raise InputError(
            f"Column {column.name!r} has values that training never "
            f"saw: {first_few(unknown[:6].to_pylist())}. Known are {first_few(column.categories)}. "
            'Such rows are left out with --skip-broken (in Python on_broken="skip").'
        )
    array: NDArray[np.int64] = codes.to_numpy(zero_copy_only=False).astype(np.int64)
    return array


def _find_categories(column: Column, values: Any) -> Any:
    """Return the place of every text among a column's categories, or null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pa.array(column.categories, pa.large_string())
    return mapped(values, lambda plain: pc.index_in(plain, value_set=known))


def _column_from(entry: Any) -> Column:
    fits = isinstance(entry, Mapping) and set(entry) <= {"name", "kind", "categories"}
    if fits and isinstance(entry.get("name"), str) and entry.get("kind") in KINDS:
        categories = entry.get("categories", [])
        is_category = entry["kind"] == "category"
        all_text = isinstance(categories, list) and all(isinstance(c, str) for c in categories)
        distinct = all_text and len(set(categories)) == len(categories)
        if distinct and bool(categories) == is_category == ("categories" in entry):
            return Column(entry["name"], entry["kind"], tuple(categories))
    raise InputError(f"The table schema has an entry that is no column: {entry!r:.200}.")
