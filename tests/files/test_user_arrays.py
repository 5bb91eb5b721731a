"""Arrays in files: mapped or unpacked, never trusted."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from vqpu.errors import CacheError, InputError
from vqpu.files import iter_array, open_npy, read_array_file, read_arrays, read_npz


@pytest.mark.parametrize("dtype", ["?", "u1", "<i8", "<f4", ">f8"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy__mapped_with_its_values(dtype: str, order: Any, tmp_path: Path) -> None:
    array = np.asarray(np.arange(24).reshape(6, 4) % 7, dtype=dtype, order=order)
    np.save(tmp_path / "x.npy", array)
    mapped = open_npy(tmp_path / "x.npy")
    np.testing.assert_array_equal(mapped, array)
    assert isinstance(mapped.base, mmap.mmap)
    assert not mapped.flags.writeable


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz__x_and_y(order: Any, save: Any, tmp_path: Path) -> None:
    X = np.asarray(np.random.default_rng(0).normal(size=(9, 8, 8, 3)), order=order)
    y = np.arange(9) % 2
    save(tmp_path / "d.npz", X=X, y=y, other=np.array(["text"]))
    data = read_array_file(tmp_path / "d.npz", cache_dir=tmp_path / "cache")
    np.testing.assert_array_equal(data.X, X)
    assert data.y.tolist() == y.tolist()
    assert list((tmp_path / "cache").iterdir()) == []


def test_npz__p_and_u__stacked(tmp_path: Path) -> None:
    P, U = np.ones((2, 3), np.float32), np.zeros((4, 3), np.float64)
    np.savez(tmp_path / "d.npz", P=P, U=U)
    data = read_array_file(tmp_path / "d.npz", cache_dir=tmp_path)
    assert data.X.dtype == np.float64
    assert data.X[:, 0].tolist() == [1, 1, 0, 0, 0, 0]
    assert data.y.tolist() == [1, 1, 0, 0, 0, 0]
    assert list(data.names) == list(range(6))


def test_two_npy_files__stacked_on_disk(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    P, U = rng.integers(0, 9, (5, 700_000)), rng.integers(0, 9, (3, 700_000))  # several chunks
    np.save(tmp_path / "p.npy", P)
    np.save(tmp_path / "u.npy", U)
    data = read_arrays(tmp_path / "p.npy", tmp_path / "u.npy", cache_dir=tmp_path / "cache")
    assert isinstance(data.X, np.memmap)
    np.testing.assert_array_equal(data.X, np.concatenate([P, U]))


def test_stream__chunks_put_together_are_the_array(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(50_000, 50)).astype(np.float32)
    np.save(tmp_path / "x.npy", X)
    np.savez(tmp_path / "x.npz", X=X)
    for name in ("x.npy", "x.npz"):
        chunks = list(iter_array(tmp_path / name, cache_dir=tmp_path / "cache"))
        assert len(chunks) == 3
        np.testing.assert_array_equal(np.concatenate([chunk.X for chunk in chunks]), X)
        assert [i for chunk in chunks for i in chunk.names] == list(range(50_000))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"a": np.ones(3), "b": np.ones(3)}, "holds 'a', 'b'. Expected arrays named X and y"),
        ({}, "holds nothing"),
        ({"X": np.ones((3, 2))}, "X but no y"),
        ({"X": np.ones((3, 2)), "y": np.ones(2)}, r"X of shape \(3, 2\) but y of shape \(2,\)"),
        ({"X": np.ones((3, 2)), "y": np.ones(3)}, "both. Its values are 1.0"),
        ({"X": np.ones((3, 2)), "y": np.arange(3)}, "values are 0, 1, 2"),
        ({"P": np.ones((3, 2)), "U": np.ones((3, 4))}, "same shape per sample"),
        ({"X": np.ones((0, 2)), "y": np.ones(0)}, r"shape \(0, 2\)"),
    ],
)
def test_npz__unfit__refused(arrays: dict[str, NDArray[Any]], message: str, tmp_path: Path) -> None:
    save: Any = np.savez
    save(tmp_path / "d.npz", **arrays)
    with pytest.raises(InputError, match=message):
        read_array_file(tmp_path / "d.npz", cache_dir=tmp_path / "cache")


def test_npz__over_the_limit__refused_unread(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "d.npz", X=np.zeros((1000, 100)))
    with pytest.raises(InputError, match="unpacks to 800128 bytes, more than the limit of 800000"):
        read_npz(tmp_path / "d.npz", cache_dir=tmp_path / "cache", max_bytes=800_000)
    assert not (tmp_path / "cache").exists()


def test_spool__folder_cannot_be_made__one_error(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", X=np.ones((3, 2)))
    with pytest.raises(CacheError, match="choose another cache_dir"):
        read_npz(tmp_path / "d.npz", cache_dir=tmp_path / "d.npz")
