"""Two ways to do a thing, timed in turn: what machines with other work on them can still tell."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any


def in_turn(first: Callable[[], Any], second: Callable[[], Any], rounds: int) -> float:
    """Return the median over rounds of ``first``'s time over ``second``'s.

    Who begins changes every round: memory that was just given back is faster to get.
    """
    first(), second()
    ratios = []
    for number in range(rounds):
        times = {}
        for function in (first, second) if number % 2 else (second, first):
            started = time.perf_counter()
            function()
            times[function] = time.perf_counter() - started
        ratios.append(times[first] / times[second])
    return statistics.median(ratios)
