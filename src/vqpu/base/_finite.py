"""Whether an array is free of NaN and infinity, looked at cheaply (NumPy only)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def all_finite(array: NDArray[Any]) -> bool:
    """Return whether no value is NaN or infinite.

    NaN and infinity survive a sum, which needs no array of its own; finite values whose sum
    overflows are looked at one by one.

    Examples
    --------
    >>> all_finite(np.array([1e308, 1e308])), all_finite(np.array([np.inf, -np.inf]))
    (True, False)
    """
    with np.errstate(over="ignore", invalid="ignore"):
        total = array.sum()
    return bool(np.isfinite(total)) or bool(np.isfinite(array).all())
