"""A model as a function of a batch, for engines that call one: Ray Data, Dask, Spark."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vqpu.errors import InputError, UsageError
from vqpu.files import Chunk, KeptColumn, iter_images
from vqpu.files._input_format import InputFormat
from vqpu.files._models import OpenedModel, is_model, model_digest, open_model
from vqpu.files._scoring import predict_chunk
from vqpu.files._writers import arrow_columns, headers
from vqpu.files.readers._roles import ids_of, kept_column
from vqpu.files.readers._tables import iter_arrow

PATH_COLUMN = "path"


def opened_once(path: str) -> OpenedModel:
    """Return a model; it is read once a process, and again if it was changed.

    Parameters
    ----------
    path : str
    """
    is_there = is_model(path)  # open_model says best what is wrong with something else
    return _opened(path, model_digest(path)) if is_there else open_model(path)


@functools.lru_cache(maxsize=1)
def _opened(path: str, digest: str) -> OpenedModel:  # noqa: ARG001  # it tells models apart
    return open_model(path)


class Scorer:
    """Scores batches with a saved model, by the function that ``vqpu predict`` uses.

    The model is read at the first batch, once a process: what goes to other processes is its path.

    Parameters
    ----------
    model : path
        A directory that every worker can read, under the same path.
    id_column : str or None
        Column of a batch that names its rows; None takes that of training, "" none. Without one
        the result has no names.
    keep : sequence of str
        Columns of a batch that go into the result.

    Examples
    --------
    >>> scorer = Scorer("model")  # doctest: +SKIP
    >>> frame.map_partitions(scorer)  # Dask  # doctest: +SKIP
    >>> frame.mapInArrow(scorer.batches, schema)  # Spark  # doctest: +SKIP
    """

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        id_column: str | None = None,
        keep: Sequence[str] = (),
    ) -> None:
        self.model = os.path.abspath(model)  # workers have working directories of their own
        self.id_column, self.keep = id_column, tuple(keep)

    def __call__(self, batch: Any) -> Any:
        """Return label, score, probability and reason of every row, in the kind of the batch.

        Parameters
        ----------
        batch : pyarrow.Table, pyarrow.RecordBatch or pandas.DataFrame
            The columns of training for a model on tables; the features in their order for one on
            arrays; a column "path" of files for one on images.
        """
        import pyarrow as pa

        if isinstance(batch, pa.Table):
            return self._score(batch)
        if isinstance(batch, pa.RecordBatch):
            table = self._score(pa.table(batch))
            return pa.record_batch(
                [column.combine_chunks() for column in table.columns], schema=table.schema
            )
        if type(batch).__name__ != "DataFrame" or not hasattr(batch, "iloc"):
            raise UsageError(
                "A batch must be a pyarrow Table or RecordBatch or a pandas DataFrame. Got "
                f"{type(batch).__name__} instead."
            )
        scored = self._score(pa.Table.from_pandas(batch, preserve_index=False)).to_pandas()
        scored.index = batch.index
        return scored

    def batches(self, batches: Iterable[Any]) -> Iterator[Any]:
        """Score a stream of record batches, as Spark's ``mapInArrow`` calls it.

        Parameters
        ----------
        batches : iterable of pyarrow.RecordBatch
        """
        for batch in batches:
            yield self(batch)

    def _score(self, table: Any) -> Any:
        import pyarrow as pa

        opened = opened_once(self.model)
        input_format = opened.input_format
        id_column = input_format.id_column if self.id_column is None else self.id_column or None
        words = input_format.words()
        names = headers(input_format.name_column, self.keep)
        is_named = id_column is not None or input_format.kind == "images"
        tables = []
        for chunk in self._chunks(input_format, table, id_column):
            found = predict_chunk(opened.estimator, chunk, words)
            columns = dict(zip(names, arrow_columns(found), strict=True))
            tables.append(pa.table(columns).select(names[not is_named :]))
        return pa.concat_tables(tables)

    def _chunks(self, input_format: InputFormat, table: Any, id_column: str | None) -> list[Chunk]:
        if input_format.features is not None:
            raise UsageError(
                f"The model takes {input_format.describe()}: Scorer extracts no features. Use "
                "vqpu predict --engine ray."
            )
        if input_format.plan is not None:
            plan = input_format.plan
            chunks = [*iter_arrow(table, plan, id_column=id_column, keep=self.keep)]
            empty = np.empty((0, plan.n_features))
            return chunks or [Chunk(empty, [], kept=_kept(table, id_column, self.keep))]
        if self.keep:
            raise UsageError(
                f"keep is for models on tables, but this one takes {input_format.describe()}: "
                "leave it out."
            )
        if input_format.kind == "images":
            mode, size = input_format.image_mode or "RGB", input_format.sample_shape[0]
            paths = [Path(path) for path in _column(table, PATH_COLUMN).to_pylist()]
            chunks = [*iter_images(paths, size=size, mode=mode, on_broken="skip")]
            empty = np.empty((0, *input_format.sample_shape), np.uint8)
            return chunks or [Chunk(empty, [])]
        return [Chunk(_matrix(table, input_format.sample_shape), range(table.num_rows))]


def _kept(table: Any, id_column: str | None, keep: Sequence[str]) -> dict[str, KeptColumn]:
    """Return the ids and kept columns of a table without rows, for their types."""
    kept = {name: kept_column(name, table.column(name).combine_chunks()) for name in keep}
    if id_column is not None:
        kept[""] = ids_of(id_column, table.column(id_column).combine_chunks())
    return kept


def _column(table: Any, name: str) -> Any:
    if name not in table.schema.names:
        raise InputError(f"The batch has no column {name!r}. It has {table.schema.names}.")
    return table.column(name)


def _matrix(table: Any, shape: tuple[int, ...]) -> Any:
    if (table.num_columns,) != shape:
        raise InputError(
            f"The batch has {table.num_columns} columns, but the model takes samples of shape "
            f"{shape}: pass the features alone, in their order."
        )
    return np.column_stack([column.to_numpy() for column in table.columns]).astype(np.float64)
