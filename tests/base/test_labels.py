from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from vqpu import stack_pu
from vqpu.base._labels import encode_pu_labels, refuse_masked
from vqpu.errors import InputError


@pytest.mark.parametrize(
    "y",
    [
        [0, 1, 0, 1],
        [-1, 1, -1, 1],
        [False, True, False, True],
        ["other", "wanted"] * 2,
        [0.0, 1.0] * 2,
    ],
)
def test_encode__two_values__the_larger_is_positive(y: list[Any]) -> None:
    labels = encode_pu_labels(np.array(y))
    assert labels.is_positive.tolist() == [False, True, False, True]
    assert labels.classes.tolist() == sorted(set(y))


def test_encode__three_values__named() -> None:
    with pytest.raises(
        InputError, match=r"Only binary classification.*3 values instead: \[0, 1, 2\]"
    ):
        encode_pu_labels(np.array([0, 1, 2]))


def test_encode__one_value__named() -> None:
    with pytest.raises(InputError, match="only one class"):
        encode_pu_labels(np.array([1, 1]))


@pytest.mark.parametrize(
    "pair",
    [
        ("P", "U"),
        ("positive", "unlabelled"),
        ("known", "unknown"),
        ("ja", "nein"),
        ("no", "unknown"),
    ],
)
def test_encode__word_for_unlabelled_is_the_larger__refused(pair: tuple[str, str]) -> None:
    with pytest.raises(InputError, match=f"{pair[1]!r}, would mark the labelled positives. Use 1"):
        encode_pu_labels(np.array(pair * 2))


def test_refuse_masked__column_of_that_name__is_no_mask() -> None:
    refuse_masked("X", pd.DataFrame({"a": [1.0, 2.0], "_mask": [0.0, 1.0]}))
    refuse_masked("X", np.ma.MaskedArray([1.0, 2.0]))  # nothing is masked


def test_stack__masked__refused() -> None:
    with pytest.raises(InputError, match="unlabeled is a masked array with 1 masked"):
        stack_pu(np.ones((2, 1)), np.ma.masked_equal([[3.0], [4.0]], 4.0))


def test_stack__two_arrays__positives_first() -> None:
    X, y = stack_pu(np.ones((2, 8, 8)), np.zeros((3, 8, 8)))
    assert X.shape == (5, 8, 8)
    assert y.tolist() == [1, 1, 0, 0, 0]


def test_stack__different_shapes__both_named() -> None:
    with pytest.raises(InputError, match=r"\(2, 3\).*\(2, 4\)"):
        stack_pu(np.ones((2, 3)), np.ones((2, 4)))
