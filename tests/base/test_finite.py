from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vqpu.base._finite import all_finite


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_all_finite__sum_overflows__looked_at_one_by_one(
    dtype: type[np.floating[Any]],
) -> None:
    largest = np.full(1000, np.finfo(dtype).max, dtype)
    assert all_finite(largest)
    for bad in (np.nan, np.inf, -np.inf):
        largest[500] = bad
        assert not all_finite(largest)


def test_all_finite__opposite_infinities__not_finite() -> None:
    assert not all_finite(np.array([[np.inf, 1.0], [-np.inf, 2.0]]))


def test_all_finite__integers_and_nothing_at_all__finite() -> None:
    assert all_finite(np.array([2**62, 2**62, 2**62]))
    assert all_finite(np.empty((0, 3)))
