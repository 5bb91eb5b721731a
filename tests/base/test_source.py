from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from vqpu.base._source import ArraySource
from vqpu.errors import InputError


@pytest.mark.parametrize(
    ("shape", "sample_shape"),
    [
        ((4, 7), (7,)),
        ((4, 8, 9), (1, 8, 9)),
        ((4, 8, 9, 3), (3, 8, 9)),
        ((4, 3, 8, 9), (3, 8, 9)),
        ((4, 13, 64, 64), (13, 64, 64)),
        ((4, 64, 64, 13), (13, 64, 64)),
    ],
)
def test_layout__told_by_the_shape(shape: tuple[int, ...], sample_shape: tuple[int, ...]) -> None:
    source = ArraySource(np.zeros(shape, dtype=np.uint8))
    assert source.sample_shape == sample_shape
    assert source.batch(np.array([0, 2])).shape == (2, *sample_shape)


def test_layouts__same_image__same_tensor() -> None:
    last = np.random.default_rng(0).integers(0, 256, (5, 8, 10, 3), dtype=np.uint8)
    first = np.ascontiguousarray(last.transpose(0, 3, 1, 2))
    indices = np.array([4, 1])
    assert torch.equal(ArraySource(last).batch(indices), ArraySource(first).batch(indices))
    for ours, other in zip(ArraySource(last).moments(), ArraySource(first).moments(), strict=True):
        np.testing.assert_allclose(ours, other)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((4, 8, 8, 8), "cannot be told"),
        ((4, 7, 9), "at least 8 x 8"),
        ((4, 2, 8, 8, 8), "5 axes"),
    ],
)
def test_layout__impossible__refused(shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ArraySource(np.zeros(shape))


def test_moments__equal_numpy_s() -> None:
    X = np.random.default_rng(0).normal(5, 3, (1000, 4))
    moments = ArraySource(X).moments()
    np.testing.assert_allclose(moments.mean, X.mean(axis=0))
    np.testing.assert_allclose(moments.std, X.std(axis=0))
    images = np.random.default_rng(1).integers(0, 256, (50, 9, 8, 3), dtype=np.uint8)
    moments = ArraySource(images).moments()
    np.testing.assert_allclose(moments.mean, images.mean(axis=(0, 1, 2)))
    np.testing.assert_allclose(moments.std, images.std(axis=(0, 1, 2)))


def test_moments__constant_column__zero_spread() -> None:
    X = np.random.default_rng(0).normal(size=(100, 2))
    X[:, 1] = 0.1
    assert ArraySource(X).moments().std[1] == 0.0


def test_check_finite__names_the_sample_and_the_kind() -> None:
    X = np.zeros((10, 3))
    X[7, 1] = np.nan
    with pytest.raises(InputError, match="NaN in sample 7"):
        ArraySource(X).check_finite()
    X[3, 0] = np.inf
    with pytest.raises(InputError, match=r"infinity \(inf\) in sample 3"):
        ArraySource(X).check_finite()


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int64, np.bool_, np.float16, np.float32])
def test_batch__any_dtype__its_values(dtype: type) -> None:
    X: NDArray[Any] = np.array([[0, 1], [1, 0]]).astype(dtype)
    assert ArraySource(X).batch(np.array([1])).double().tolist() == [[1.0, 0.0]]


def test_memory_map__after_its_pages_are_given_back__values_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vqpu.base._source._MOST_BYTES_HELD", 0)
    np.save(tmp_path / "x.npy", np.tile(np.arange(64, dtype=np.float32), (3_000, 1)))
    source = ArraySource(np.asarray(np.load(tmp_path / "x.npy", mmap_mode="r")))
    assert source._mapping is not None
    np.testing.assert_allclose(source.moments().mean, np.arange(64))
    assert source.batch(np.array([2_999]))[0, 63].item() == 63.0


def test_writable_map__never_given_back(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((4, 2)))
    assert ArraySource(np.load(tmp_path / "x.npy", mmap_mode="c"))._mapping is None


@pytest.mark.skipif(not hasattr(mmap, "MAP_PRIVATE"), reason="a POSIX map")
def test_map_that_is_no_file__keeps_its_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vqpu.base._source._MOST_BYTES_HELD", 0)
    memory = mmap.mmap(-1, 8 * 450, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    array = np.frombuffer(memory).reshape(150, 3)
    array[:] = np.arange(450).reshape(150, 3)
    source = ArraySource(array)
    source.batch(np.arange(150))
    source.moments()
    assert array.tolist() == np.arange(450).reshape(150, 3).tolist()


@pytest.mark.parametrize("shape", [(4, 7), (4, 8, 9), (4, 8, 9, 3), (4, 3, 8, 9)])
def test_layout__restore__gives_back_what_batch_took(shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    source = ArraySource(array)
    restored = source.layout.restore(source.slice(0, 4).numpy())
    assert restored.dtype == np.float32
    assert np.array_equal(restored, array)


def test_extremes__per_feature_and_per_channel() -> None:
    low, high = ArraySource(np.array([[1.0, -2.0], [3.0, 5.0]])).extremes()
    assert (low.tolist(), high.tolist()) == ([1.0, -2.0], [3.0, 5.0])
    image = np.zeros((2, 3, 8, 9), np.uint8)
    image[1, 2, 4, 4], image[:, 1] = 200, 7
    low, high = ArraySource(image).extremes()
    assert (low.tolist(), high.tolist()) == ([0, 7, 0], [0, 7, 200])
    low, high = ArraySource(image[:, 2]).extremes()
    assert (low.tolist(), high.tolist()) == ([0], [200])


def test_slice__columns_first_in_memory__the_same_rows_in_a_row() -> None:
    X = np.random.default_rng(0).normal(size=(20, 3))
    tensor = ArraySource(np.asfortranarray(X)).slice(2, 9)
    assert tensor.is_contiguous()  # kernels may round differently for other layouts
    np.testing.assert_array_equal(tensor.numpy(), X[2:9])
