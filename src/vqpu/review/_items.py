"""What is reviewed: names and scores of all samples of an input, as arrays.

Scores are computed, or read from a file that ``vqpu predict`` wrote: then a million samples are
there in a second. Names stay in Arrow's arrays, and no Python object is kept for a sample.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.errors import InputError, MissingDependencyError

if TYPE_CHECKING:
    from vqpu.files._scoring import Predictions

_SCORE_ENDINGS = (".csv", ".parquet")


class Items(NamedTuple):
    """All samples of an input.

    Attributes
    ----------
    names : pyarrow.Array or pyarrow.ChunkedArray
        Paths, ids or row numbers.
    scores : ndarray of float64, shape (n,)
        NaN where a sample cannot be judged.
    is_labeled : ndarray of bool, shape (n,)
        Labelled positives, where the input says so.
    """

    names: Any
    scores: NDArray[np.float64]
    is_labeled: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.scores)

    def name(self, place: int) -> Any:
        """Return the name of a sample."""
        return self.names[place].as_py()

    def places_of(self, names: Iterable[Any]) -> dict[Any, int]:
        """Return where some names stand, those that are there; of equal ones the first.

        Parameters
        ----------
        names : iterable
        """
        pa, pc = require_pyarrow()
        wanted = [name for name in dict.fromkeys(names) if _fits(name, self.names.type)]
        if not wanted:
            return {}
        asked = pa.array(wanted, type=self.names.type)
        found = pc.index_in(self.names, value_set=asked)
        hits = np.asarray(pc.is_valid(found).to_numpy(zero_copy_only=False))
        places: dict[Any, int] = {}
        for place in np.flatnonzero(hits).tolist():
            places.setdefault(wanted[found[place].as_py()], place)
        return places


def _fits(name: Any, kind: Any) -> bool:
    import pyarrow as pa

    return isinstance(name, int) == bool(pa.types.is_integer(kind))


def require_pyarrow() -> Any:
    """Return pyarrow and its functions, or say how to get them."""
    try:
        import pyarrow as pa
        import pyarrow.compute as pc
    except ImportError:
        raise MissingDependencyError(
            "Reviewing needs pyarrow: pip install 'vqpu[review]'."
        ) from None
    return pa, pc


def gather_items(predictions: Iterable[Predictions]) -> Items:
    """Return the samples of a stream of predictions.

    Parameters
    ----------
    predictions : iterable of Predictions
        With ``y`` where labelled positives are known.
    """
    pa, _ = require_pyarrow()
    names, scores, labeled = [], [], []
    for part in predictions:
        values = (
            list(part.names)
            if not isinstance(part.names, range)
            else np.arange(part.names.start, part.names.stop, part.names.step)
        )
        names.append(pa.array(values, pa.int64() if part.are_numbered else pa.string()))
        own = part.scores.copy()
        own[list(part.reasons)] = np.nan
        scores.append(own)
        labeled.append(np.zeros(len(part), bool) if part.y is None else part.y == 1)
    if not scores:
        raise InputError("The input has no samples to review.")
    return Items(pa.chunked_array(names), np.concatenate(scores), np.concatenate(labeled))


def read_scores(path: str | Path, name_column: str, label: str | None, positive: Any) -> Items:
    """Return the samples of a file that ``vqpu predict`` wrote.

    Parameters
    ----------
    path : path
        CSV or Parquet.
    name_column : str
        Header of the names: "path" or "id".
    label, positive : str and object, or None
        Column of labels of the input, if ``vqpu predict --keep`` carried it along, and the value
        of positives.
    """
    require_pyarrow()
    path = Path(path)
    if path.suffix.lower() not in _SCORE_ENDINGS:
        raise InputError(
            f"{path} must end in {' or '.join(_SCORE_ENDINGS)}: give a file that "
            "vqpu predict wrote."
        )
    table = _read_columns(path, [name_column, "score"], label)
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        scores = table["score"].cast(pa.float64()).to_numpy()
    except pa.ArrowInvalid as error:
        raise InputError(f"{path}: a score is no number: {error}.") from error
    if not len(scores):
        raise InputError(f"{path} has no rows.")
    is_labeled = np.zeros(len(scores), bool)
    if label is not None and label in table.column_names:
        told = pc.equal(table[label].cast(pa.string()), str(positive)).fill_null(False)
        is_labeled = np.asarray(told.to_numpy())
    return Items(_names(table[name_column]), np.array(scores), is_labeled)


def _names(column: Any) -> Any:
    """Return names as whole numbers, if all of them are written as such, else as text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_integer(column.type):
        return column.cast(pa.int64())
    names = column.cast(pa.string())
    is_whole = pc.all(pc.match_substring_regex(names, r"^(0|-?[1-9][0-9]{0,17})$")).as_py()
    return names.cast(pa.int64()) if is_whole else names


def _read_columns(path: Path, needed: list[str], label: str | None) -> Any:
    """Return the columns that are needed, and that of labels if it is there; no other is read."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    try:
        is_parquet = path.suffix.lower() == ".parquet"
        if is_parquet:
            there = parquet.read_schema(path).names
        else:
            with csv.open_csv(path) as stream:
                there = stream.schema.names
        for column in needed:
            if column not in there:
                raise InputError(
                    f"{path} has no column {column!r}. Give a file that vqpu predict wrote with "
                    "this model."
                )
        wanted = [*needed, *([label] if label in there else [])]
        if is_parquet:
            return parquet.read_table(path, columns=wanted)
        # Names are text: 007 and 1.10 are no numbers.
        options = csv.ConvertOptions(include_columns=wanted, column_types={needed[0]: pa.string()})
        return csv.read_csv(path, convert_options=options)
    except (OSError, pa.ArrowInvalid) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} cannot be read: {str(error)[:200]}.") from error
