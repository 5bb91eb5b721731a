"""The next item of an iterable, made by a thread while one is used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


def read_ahead(items: Iterable[Item]) -> Iterator[Item]:
    """Give the items of an iterable; a thread makes the next one while one is used.

    Order and errors are those of the iterable.

    Examples
    --------
    >>> list(read_ahead(range(3)))
    [0, 1, 2]
    """
    source, end = iter(items), object()
    with ThreadPoolExecutor(1, thread_name_prefix="vqpu-reader") as reader:
        coming: Future[Item | object] = reader.submit(next, source, end)
        while (item := coming.result()) is not end:
            coming = reader.submit(next, source, end)
            yield item  # type: ignore[misc]
