from __future__ import annotations

import gzip
import os
import shutil
import tarfile
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from tests.hostile_official import idx_bytes, image_bytes, member, mnist, tar_bytes
from vqpu.datasets import TASKS, check_dataset, is_present, load_task, read_idx
from vqpu.datasets._cifar import read_cifar_batch
from vqpu.datasets._places import data_directory
from vqpu.errors import CacheError, InputError, ParameterError
from vqpu.files.readers import _imagecache
from vqpu.files.readers._decode import ImageFile, ImageRule
from vqpu.files.readers._spool import cache_directory


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("VQPU_DATA_DIR", raising=False)


def test_data_directory__argument_then_environment_then_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert data_directory() == tmp_path / "cache" / "vqpu"
    monkeypatch.setenv("VQPU_DATA_DIR", str(tmp_path / "named"))
    assert data_directory() == tmp_path / "named"
    assert data_directory(tmp_path / "given") == tmp_path / "given"
    monkeypatch.setenv("VQPU_DATA_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data_directory() == cache_directory() == tmp_path / ".cache" / "vqpu"


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_idx__written_and_read(tmp_path: Path, ending: str) -> None:
    array = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    raw = idx_bytes(array)
    path = tmp_path / f"file{ending}"
    path.write_bytes(gzip.compress(raw) if ending else raw)
    assert np.array_equal(read_idx(path), array)


def test_mnist__found_by_environment__even_classes_positive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = np.arange(3 * 784, dtype=np.uint32).astype(np.uint8).reshape(3, 28, 28)
    mnist(idx_bytes(images), idx_bytes(np.array([4, 7, 0], np.uint8)))(tmp_path)
    monkeypatch.setenv("VQPU_DATA_DIR", str(tmp_path))
    X, y = load_task("mnist-even-odd")
    assert np.array_equal(X, images)
    assert y.tolist() == [1, 0, 1]
    assert y.dtype == np.int64


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (
            "mnist-even-odd",
            "train-images-idx3-ubyte does not exist, gzipped or not. Run 'vqpu data",
        ),
        ("fashion-last5", "Run 'vqpu data fetch fashion-mnist'"),
        ("cifar10-animals", "cifar-10-binary.tar.gz exists. Run 'vqpu data fetch cifar10'"),
        ("afhq-cats", "afhq.zip exists. Put the official AFHQ"),
        ("mnist", "Unknown task 'mnist'"),
    ],
)
def test_load_task__missing__says_what_to_do(task: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        load_task(task, tmp_path)


def test_load_task__size__for_photographs_alone(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="size is for photographs"):
        load_task("mnist-even-odd", tmp_path, size=32)
    with pytest.raises(ParameterError, match="size"):
        load_task("afhq-cats", tmp_path, size=0)


def test_tasks__positive_classes() -> None:
    assert TASKS["fashion-last5"].positive == (5, 6, 7, 8, 9)
    assert TASKS["cifar10-animals"].positive == (2, 3, 4, 5, 6, 7)
    assert TASKS["mnist-even-odd"].positive == (0, 2, 4, 6, 8)


def cifar_records(seed: int) -> NDArray[np.uint8]:
    """A batch whose pixels differ by record, channel and place, cheap to make."""
    row = np.random.default_rng(seed).integers(0, 256, 3072, dtype=np.uint8)
    number = np.arange(10_000, dtype=np.uint32)[:, None]
    pixels = (row + number).astype(np.uint8)
    return np.concatenate([(number % 10).astype(np.uint8), pixels], axis=1)


def test_cifar10__test_batch__channels_last_and_animals(tmp_path: Path) -> None:
    records = cifar_records(0)
    (tmp_path / "cifar-10-batches-bin").mkdir()
    records.tofile(tmp_path / "cifar-10-batches-bin/test_batch.bin")
    X, y = load_task("cifar10-animals", tmp_path, train=False)
    assert X.shape == (10_000, 32, 32, 3)
    assert X.flags.c_contiguous
    # Record: one class byte, then 1024 red, 1024 green and 1024 blue bytes, row by row.
    assert X[9_871, 5, 7, 2] == records[9_871, 1 + 2 * 1024 + 5 * 32 + 7]
    assert np.array_equal(X[123].transpose(2, 0, 1).reshape(-1), records[123, 1:])
    assert y[:10].tolist() == [0, 0, 1, 1, 1, 1, 1, 1, 0, 0]
    batch = read_cifar_batch(tmp_path / "cifar-10-batches-bin/test_batch.bin")
    assert np.array_equal(batch.images, X.transpose(0, 3, 1, 2))


def test_cifar10__archive__same_as_folder_in_any_order(tmp_path: Path) -> None:
    folder = tmp_path / "folder/cifar-10-batches-bin"
    folder.mkdir(parents=True)
    members = [member("./cifar-10-batches-bin/readme.html", b"hello")]
    members.append(member("cifar-10-batches-bin", type=tarfile.DIRTYPE))
    for number in (3, 1, 5, 2, 4):
        raw = np.full(30_730_000, number, np.uint8).tobytes()
        (folder / f"data_batch_{number}.bin").write_bytes(raw)
        members.append(member(f"cifar-10-batches-bin/data_batch_{number}.bin", raw))
    archive = tmp_path / "archive/cifar-10-binary.tar.gz"
    archive.parent.mkdir()
    archive.write_bytes(gzip.compress(tar_bytes(*members), 1))
    from_folder, from_archive = (
        load_task("cifar10-animals", tmp_path / place) for place in ("folder", "archive")
    )
    assert np.array_equal(from_folder[0], from_archive[0])
    assert np.array_equal(from_folder[1], from_archive[1])
    assert from_archive[0][::10_000, 0, 0, 0].tolist() == [1, 2, 3, 4, 5]
    assert not is_present("cifar10", tmp_path)
    assert is_present("cifar10", tmp_path / "archive")


def make_afhq(folder: Path, n: int = 3) -> None:
    rng = np.random.default_rng(0)
    for split in ("train", "val"):
        for kind in ("dog", "cat"):
            place = folder / "afhq" / split / kind
            place.mkdir(parents=True)
            for number in range(n):
                pixels = rng.integers(0, 256, (128, 128, 3), dtype=np.uint8)
                Image.fromarray(pixels).save(place / f"{number}.png")
            (place / ".hidden").write_text("passed over")


def cache_files() -> list[Path]:
    return sorted((cache_directory() / "images").glob("?" * 64))


def test_afhq__folder__area_means_and_cats_first(tmp_path: Path) -> None:
    make_afhq(tmp_path)
    X, y = load_task("afhq-cats", tmp_path)
    assert isinstance(X, np.memmap)
    assert not X.flags.writeable
    assert (X.shape, X.dtype) == ((6, 64, 64, 3), np.uint8)
    assert y.tolist() == [1, 1, 1, 0, 0, 0]
    whole = np.asarray(Image.open(tmp_path / "afhq/train/cat/1.png")).astype(float)
    means = whole.reshape(64, 2, 64, 2, 3).mean(axis=(1, 3))
    assert np.abs(X[1] - means).max() <= 1  # rows and columns are rounded one after the other
    assert load_task("afhq-cats", tmp_path, size=16)[0].shape == (6, 16, 16, 3)
    assert len(cache_files()) == 2


@pytest.mark.parametrize("top", ["afhq/", ""])
def test_afhq__archive__same_images_and_same_cache(tmp_path: Path, top: str) -> None:
    make_afhq(tmp_path)
    from_folder = load_task("afhq-cats", tmp_path, train=False)
    with zipfile.ZipFile(tmp_path / "afhq.zip", "w") as archive:
        archive.writestr(f"{top}val/wild/x.jpg", b"of another kind, never read")
        for path in sorted((tmp_path / "afhq").rglob("*")):
            archive.write(path, top + path.relative_to(tmp_path / "afhq").as_posix())
    shutil.rmtree(tmp_path / "afhq")
    from_archive = load_task("afhq-cats", tmp_path, train=False)
    assert np.array_equal(from_folder[0], from_archive[0])
    assert from_archive[1].tolist() == [1, 1, 1, 0, 0, 0]
    assert len(cache_files()) == 1


def test_image_cache__there__nothing_decoded_until_an_image_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_afhq(tmp_path)
    first = load_task("afhq-cats", tmp_path)[0]
    decoded: list[ImageRule] = []

    def count(raw: BinaryIO, rule: ImageRule) -> NDArray[Any]:
        decoded.append(rule)
        return np.zeros(rule.shape, np.uint8)

    monkeypatch.setattr(_imagecache, "decode_image", count)
    assert np.array_equal(load_task("afhq-cats", tmp_path)[0], first)
    assert decoded == []
    (tmp_path / "afhq/train/dog/2.png").write_bytes(image_bytes((128, 128)))
    assert not load_task("afhq-cats", tmp_path)[0].any()
    assert len(decoded) == 6
    assert len(cache_files()) == 2


def test_image_cache__damaged__made_again(tmp_path: Path) -> None:
    make_afhq(tmp_path)
    first = np.array(load_task("afhq-cats", tmp_path)[0])
    for change in (lambda path: os.truncate(path, 999), lambda path: path.write_bytes(b"junk")):
        change(cache_files()[0] / "pixels.u8")
        assert np.array_equal(load_task("afhq-cats", tmp_path)[0], first)


def test_image_cache__no_place__said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_afhq(tmp_path)
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(CacheError, match=r"image cache .* cannot be used: Not a directory"):
        load_task("afhq-cats", tmp_path)


def test_image_cache__image_changes_meanwhile__said(tmp_path: Path) -> None:
    answers = iter([image_bytes(), image_bytes((9, 9))])
    file = ImageFile("a", lambda: BytesIO(next(answers)), lambda: ())
    with pytest.raises(InputError, match="a changed while it was read"):
        _imagecache.cached_images([file], ImageRule(8), tmp_path, lambda *_: None)
    assert list(tmp_path.iterdir()) == []


def test_check_dataset__digits__sound() -> None:
    found = list(check_dataset("digits"))
    assert [finding.text.split(":")[0] for finding in found] == ["train", "test"]
    assert all(finding.sound for finding in found)
    assert is_present("digits")


def test_check_dataset__other_files__each_fault_named(tmp_path: Path) -> None:
    mnist()(tmp_path)
    faults = [finding.text for finding in check_dataset("mnist", tmp_path)]
    assert len(faults) == 4
    assert faults[0].endswith("t10k-images-idx3-ubyte does not exist.")
    assert "is not the official file: its sha256 is " in faults[2]
    for name in ("images-idx3", "labels-idx1"):
        source = tmp_path / f"mnist/train-{name}-ubyte"
        shutil.copy(source, tmp_path / f"mnist/t10k-{name}-ubyte")
    last = list(check_dataset("mnist", tmp_path))[-1]
    assert not last.sound
    assert last.text.startswith("test: class counts (10, 0, 0, ")


def test_check_dataset__afhq__counts_compared(tmp_path: Path) -> None:
    make_afhq(tmp_path)
    texts = [finding.text for finding in check_dataset("afhq", tmp_path)]
    assert "no digest of it is known" in texts[0]
    assert texts[1] == "train: class counts (3, 3), expected (5153, 4739)."
    with pytest.raises(InputError, match="Unknown data set 'imagenet'"):
        list(check_dataset("imagenet", tmp_path))
