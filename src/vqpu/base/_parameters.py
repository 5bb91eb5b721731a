"""Checks of estimator parameters: what is expected, and what was given instead."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from vqpu.errors import ParameterError


def check_integer(name: str, value: Any, low: int, *, optional: bool = False) -> None:
    """Raise unless ``value`` is an integer of at least ``low`` (or None, if optional)."""
    if optional and value is None:
        return
    if not isinstance(value, Integral) or isinstance(value, bool) or value < low:
        alternative = " or None" if optional else ""
        raise ParameterError(
            f"{name} must be an integer >= {low}{alternative}. Got {value!r} instead."
        )


def check_real(
    name: str,
    value: Any,
    low: float,
    high: float = math.inf,
    *,
    open_low: bool = False,
    open_high: bool = True,
    optional: bool = False,
) -> None:
    """Raise unless ``value`` is a number in the interval (or None, if optional)."""
    if optional and value is None:
        return
    is_number = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if is_number:
        above = value > low if open_low else value >= low
        below = value < high if open_high else value <= high
        if above and below:
            return
    interval = f"{'(' if open_low else '['}{low:g}, {high:g}{')' if open_high else ']'}"
    alternative = " or None" if optional else ""
    raise ParameterError(
        f"{name} must be a number in {interval}{alternative}. Got {value!r} instead."
    )


def check_choice(name: str, value: Any, choices: Sequence[str]) -> None:
    """Raise unless ``value`` is one of ``choices``."""
    if not isinstance(value, str) or value not in choices:
        raise ParameterError(f"Unknown {name} {value!r}. Valid values are {list(choices)}.")


def draw_seed(random_state: Any) -> int:
    """Return one integer seed; the global random state is neither read nor changed."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0] >> 1)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if isinstance(random_state, Integral) and 0 <= int(random_state) < 2**32:
        return int(random_state)
    raise ParameterError(
        "random_state must be None, an integer in [0, 2**32), a numpy RandomState or a Generator. "
        f"Got {random_state!r} instead."
    )
