"""``stack_pu`` on arrays, data frames and sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from vqpu import stack_pu
from vqpu.errors import InputError

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")


def rows_of(frame: Any) -> list[dict[str, Any]]:
    if isinstance(frame, pd.DataFrame):
        return list(frame.to_dict("records"))
    return list(frame.to_dicts() if isinstance(frame, pl.DataFrame) else frame.to_pylist())


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames__columns_in_another_order__by_their_names(kind: Any) -> None:
    positive = kind({"a": [1, 2], "b": ["x", "y"]})
    unlabeled = kind({"b": ["z", None, "x"], "a": [3.5, 4.0, 5.0]})
    X, y = stack_pu(positive, unlabeled)
    assert type(X) is type(positive)
    assert y.tolist() == [1, 1, 0, 0, 0]
    rows = rows_of(X)
    assert [row["a"] for row in rows] == [1, 2, 3.5, 4, 5]
    assert [row["b"] for row in rows[:3]] == ["x", "y", "z"]
    assert list(rows[0]) == ["a", "b"]


def test_frames__other_columns_or_kinds__refused() -> None:
    positive = pd.DataFrame({"a": [1], "b": [2]})
    with pytest.raises(InputError, match=r"Only in positive: 'b'; only in unlabeled: 'c'"):
        stack_pu(positive, pd.DataFrame({"a": [1], "c": [2]}))
    with pytest.raises(InputError, match="of pandas and unlabeled a DataFrame of polars"):
        stack_pu(positive, pl.DataFrame({"a": [1], "b": [2]}))
    with pytest.raises(InputError, match="unlabeled a ndarray of numpy"):
        stack_pu(positive, np.ones((2, 2)))
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(InputError, match="Repeated: 'a'"):
        stack_pu(twice, twice)


def test_sparse__stays_sparse() -> None:
    X, y = stack_pu(sparse.eye(2, 3, format="csr"), sparse.csc_matrix((4, 3)))
    assert sparse.issparse(X)
    assert X.shape == (6, 3)
    assert X.nnz == 2
    assert y.tolist() == [1, 1, 0, 0, 0, 0]
    with pytest.raises(InputError, match=r"shape \(2, 3\) and unlabeled has shape \(1, 2\)"):
        stack_pu(sparse.eye(2, 3), sparse.eye(1, 2))
