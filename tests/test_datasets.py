from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from vqpu import make_pu
from vqpu.datasets import TASKS, load_task, read_idx
from vqpu.errors import InputError

DATA = os.environ.get("VQPU_DATA_DIR")


def idx_bytes(array: np.ndarray) -> bytes:
    shape = b"".join(int(size).to_bytes(4, "big") for size in array.shape)
    return bytes([0, 0, 8, array.ndim]) + shape + array.tobytes()


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_idx__written_and_read(tmp_path: Path, ending: str) -> None:
    array = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    raw = idx_bytes(array)
    path = tmp_path / f"file{ending}"
    path.write_bytes(gzip.compress(raw) if ending else raw)
    assert np.array_equal(read_idx(path), array)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "not an IDX file"),
        (b"\0\0\x0d\x01\0\0\0\1", "not an IDX file"),
        (idx_bytes(np.zeros((4, 4), np.uint8))[:-3], r"claims shape \(4, 4\) but holds 13 bytes"),
        (b"\0\0\x08\x02\xff\xff\xff\xff\xff\xff\xff\xff", "claims shape"),
    ],
)
def test_idx__broken__named(tmp_path: Path, raw: bytes, message: str) -> None:
    path = tmp_path / "broken"
    path.write_bytes(raw)
    with pytest.raises(InputError, match=message):
        read_idx(path)


def test_idx__truncated_gzip__named(tmp_path: Path) -> None:
    path = tmp_path / "broken.gz"
    path.write_bytes(gzip.compress(idx_bytes(np.zeros((50, 50), np.uint8)))[:-9])
    with pytest.raises(InputError, match="cannot be read"):
        read_idx(path)


def test_load_task__missing_files__say_where(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="train-images-idx3-ubyte does not exist"):
        load_task("mnist-even-odd", tmp_path)
    with pytest.raises(InputError, match="Unknown task 'mnist'"):
        load_task("mnist", tmp_path)


def test_cifar10__records__channels_last_and_animals(tmp_path: Path) -> None:
    folder = tmp_path / "cifar-10-batches-bin"
    folder.mkdir()
    pixels = np.arange(2 * 3072, dtype=np.uint32).astype(np.uint8).reshape(2, 3, 32, 32)
    records = np.concatenate([np.array([[3], [9]], np.uint8), pixels.reshape(2, -1)], axis=1)
    records.tofile(folder / "test_batch.bin")
    X, y = load_task("cifar10-animals", tmp_path, train=False)
    assert X.shape == (2, 32, 32, 3)
    assert X[1, 5, 7, 2] == pixels[1, 2, 5, 7]
    assert y.tolist() == [1, 0]
    (folder / "test_batch.bin").write_bytes(b"short")
    with pytest.raises(InputError, match="not whole CIFAR-10 records"):
        load_task("cifar10-animals", tmp_path, train=False)


def test_digits__splits__disjoint_and_complete() -> None:
    train, test = (load_task("digits-even-odd", train=part) for part in (True, False))
    assert len(train[0]) + len(test[0]) == 1797
    assert np.array_equal(test[0], (load_digits().images[::5] * 15).astype(np.uint8))
    assert train[0].dtype == np.uint8
    assert 0.4 < test[1].mean() < 0.6


def test_make_pu__exact_counts_and_disjoint_sets() -> None:
    X = np.arange(100)[:, None]
    labels = (np.arange(100) < 60).astype(int)
    sample = make_pu(X, labels, n_positive=20, n_unlabeled=30, alpha=0.3, random_state=0)
    assert sample.y.tolist() == [1] * 20 + [0] * 30
    assert sample.truth[:20].all()
    assert sample.truth[20:].sum() == 9
    drawn = sample.X[:, 0].tolist()
    assert len(set(drawn)) == 50
    assert not set(drawn) & set(sample.rest.tolist())
    assert len(sample.rest) == 50
    assert np.array_equal(sample.truth, labels[sample.X[:, 0]])


def test_make_pu__not_enough__both_numbers_named() -> None:
    with pytest.raises(InputError, match="25 positives are needed, but y has 10"):
        make_pu(np.zeros((20, 1)), [1] * 10 + [0] * 10, n_positive=20, n_unlabeled=10, alpha=0.5)


@pytest.mark.skipif(DATA is None, reason="VQPU_DATA_DIR is not set")
@pytest.mark.parametrize(
    ("task", "shape", "n_positive"),
    [
        ("mnist-even-odd", (60_000, 28, 28), 29_492),
        ("fashion-last5", (60_000, 28, 28), 30_000),
        ("cifar10-animals", (50_000, 32, 32, 3), 30_000),
        ("afhq-cats", (9_892, 64, 64, 3), 5_153),
    ],
)
def test_real_data__shapes_and_counts(task: str, shape: tuple[int, ...], n_positive: int) -> None:
    X, y = load_task(task, DATA)
    assert X.shape == shape
    assert X.dtype == np.uint8
    assert int(y.sum()) == n_positive
    assert task in TASKS
