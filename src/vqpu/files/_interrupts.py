"""Ctrl-C that ends training once, and leaves time to save what was reached."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def patient_interrupts() -> Iterator[Callable[[], None]]:
    """Let the first Ctrl-C end training, take no notice of a second one and obey the third.

    Who presses twice out of impatience must not lose the model that is being saved. Give a function
    that says that training has ended by itself: from then on the next Ctrl-C is the second. Other
    threads than the main one get no signals, so nothing changes there.
    """
    n_pressed = 0

    def has_ended() -> None:
        nonlocal n_pressed
        n_pressed = max(n_pressed, 1)

    def press(number: int, frame: FrameType | None) -> None:
        nonlocal n_pressed
        n_pressed += 1
        if n_pressed == 2:
            # print may be under way in the code that was interrupted
            os.write(2, b"vqpu: saving; press Ctrl-C once more to give up.\n")
            return
        signal.default_int_handler(number, frame)

    before = signal.getsignal(signal.SIGINT)
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or before is not signal.default_int_handler:  # ignored, or somebody else's
        yield has_ended
        return
    signal.signal(signal.SIGINT, press)
    try:
        yield has_ended
    finally:
        signal.signal(signal.SIGINT, before)
