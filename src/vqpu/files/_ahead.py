"""Reading while the network computes: a thread that is two chunks ahead, and no more."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")

_PATIENCE = 0.1  # seconds after which a reader looks whether anybody still waits for its chunk


def read_ahead(items: Iterable[Item], depth: int = 1) -> Iterator[Item]:
    """Give the items of an iterable that a thread of its own goes through.

    Order and errors are those of the iterable. The thread ends when the last item is taken, on an
    error, or when nobody asks any more.

    Parameters
    ----------
    items : iterable
    depth : int
        Items that may wait to be taken; one more is being made.

    Examples
    --------
    >>> list(read_ahead(range(3)))
    [0, 1, 2]
    """
    waiting: queue.Queue[tuple[str, object]] = queue.Queue(depth)
    abandoned = threading.Event()

    def hand_over(kind: str, item: object) -> bool:
        while not abandoned.is_set():
            try:
                waiting.put((kind, item), timeout=_PATIENCE)
            except queue.Full:
                continue
            return True
        return False

    def go_through() -> None:
        try:
            for item in items:
                if not hand_over("item", item):
                    return
        except BaseException as error:  # raised again where the items are used
            hand_over("error", error)
        else:
            hand_over("end", None)

    reader = threading.Thread(target=go_through, name="vqpu-reader", daemon=True)
    reader.start()
    try:
        while True:
            kind, item = waiting.get()
            if kind == "end":
                return
            if kind == "error":
                assert isinstance(item, BaseException)
                raise item
            yield item  # type: ignore[misc]
    finally:
        abandoned.set()
        reader.join()
