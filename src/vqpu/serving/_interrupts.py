"""Ctrl-C that ends training once, and leaves time to save what was reached."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def patient_interrupts() -> Iterator[None]:
    """Let the first Ctrl-C end training, take no notice of a second one and obey the third.

    Who presses twice out of impatience must not lose the model that is being saved. Other threads
    than the main one get no signals, so nothing changes there.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    n_pressed = 0

    def press(number: int, frame: FrameType | None) -> None:
        nonlocal n_pressed
        n_pressed += 1
        if n_pressed == 2:
            print("vqpu: saving; press Ctrl-C once more to give up.", file=sys.stderr)
            return
        signal.default_int_handler(number, frame)

    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # ignored, or somebody else's: theirs to say
        yield
        return
    signal.signal(signal.SIGINT, press)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
