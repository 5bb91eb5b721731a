"""Rows of an input by their place: read once, in the background, into a file without a name."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.errors import VqpuError
from vqpu.files import Chunk

_WAIT = 5.0  # seconds that somebody waits for a row that is still to be read


class Row(NamedTuple):
    """A sample as it is read, and the texts that stand in it.

    Attributes
    ----------
    values : ndarray of shape (d,), (h, w), ...
    texts : dict of str
        Cells of columns of text, which the values count the words of.
    """

    values: NDArray[Any]
    texts: dict[str, str]


class RowStore:
    """Gives any row of a stream that is gone through once.

    Parameters
    ----------
    open_chunks : callable
        Opens the stream.
    text_columns : list of str
        Kept columns of the chunks whose text is shown as it stands.
    """

    def __init__(self, open_chunks: Callable[[], Iterator[Chunk]], text_columns: list[str]) -> None:
        self._open_chunks, self._text_columns = open_chunks, text_columns
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (as long as the server)
        self._texts: list[dict[str, Any]] = []
        self._starts = [0]
        self._shape: tuple[int, ...] = ()
        self._dtype: np.dtype[Any] = np.dtype(np.float32)
        self._arrived = threading.Condition()
        self._is_finished = self._is_closing = False
        self._reader = threading.Thread(target=self._read, name="vqpu-rows", daemon=True)
        self._reader.start()

    def close(self) -> None:
        """Stop reading and drop the file."""
        self._is_closing = True
        self._reader.join()
        self._file.close()

    def row(self, place: int) -> Row | None:
        """Return a row, None if it cannot be read, or has not been yet.

        Parameters
        ----------
        place : int
        """
        with self._arrived:
            self._arrived.wait_for(lambda: self._is_finished or self._starts[-1] > place, _WAIT)
            if self._starts[-1] <= place:
                return None
            size = int(np.prod(self._shape)) * self._dtype.itemsize
            part = int(np.searchsorted(self._starts, place, side="right")) - 1
            inside = place - self._starts[part]
            texts = {
                name: column[inside].as_py() or "" for name, column in self._texts[part].items()
            }
        data = os.pread(self._file.fileno(), size, place * size)
        return Row(np.frombuffer(data, self._dtype).reshape(self._shape), texts)

    def _read(self) -> None:
        try:
            for chunk in self._open_chunks():
                if self._is_closing:
                    break
                self._take(chunk)
        except (VqpuError, OSError):
            pass  # rows that are not there are shown as such; scores and names are
        finally:
            with self._arrived:
                self._is_finished = True
                self._arrived.notify_all()

    def _take(self, chunk: Chunk) -> None:
        import pyarrow as pa

        X = np.ascontiguousarray(_with_gaps(chunk))
        texts = {
            name: pa.array(
                [None if value is None else str(value) for value in chunk.kept[name].values],
                pa.string(),
            )
            for name in self._text_columns
        }
        self._file.write(X.tobytes())
        self._file.flush()
        with self._arrived:
            self._shape, self._dtype = X.shape[1:], X.dtype
            self._texts.append(texts)
            self._starts.append(self._starts[-1] + len(X))
            self._arrived.notify_all()


def _with_gaps(chunk: Chunk) -> NDArray[Any]:
    """Return the samples of a chunk with zeros where one cannot be used, so that places agree."""
    if not chunk.broken_places:
        return chunk.X
    n = len(chunk.X) + len(chunk.broken_places)
    X = np.zeros((n, *chunk.X.shape[1:]), chunk.X.dtype)
    X[np.setdiff1d(np.arange(n), chunk.broken_places)] = chunk.X
    return X
