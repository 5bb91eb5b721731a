"""Speed of reading as ratios, both sides measured in turn within one run.

usage: python benchmarks/reading.py [--rounds 15]

Prints one JSON object. Synthetic files of the official sizes are written to a temporary folder;
their bytes are in the system's cache when they are read. The goals: at most 1.2 for ``idx`` and
``cifar`` over ``numpy.fromfile``, at least 20 for decoding the images in every epoch over the
cache. ``cifar_channels_last`` is the whole task, which also turns the images to (n, h, w, c).
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from side_by_side import in_turn

from vqpu.datasets import read_idx
from vqpu.datasets._cifar import FOLDER, read_cifar10, read_cifar_batch
from vqpu.files.readers._decode import ImageRule, decode_image, image_on_disk
from vqpu.files.readers._imagecache import cached_images

N_IMAGES = 1000
BATCH = 50


def idx_ratio(folder: Path, rounds: int) -> dict[str, float]:
    path = folder / "train-images-idx3-ubyte"
    header = bytes([0, 0, 8, 3]) + np.array([60_000, 28, 28], ">u4").tobytes()
    pixels = np.random.default_rng(0).integers(0, 256, 60_000 * 784, dtype=np.uint8)
    path.write_bytes(header + pixels.tobytes())
    ratio = in_turn(lambda: read_idx(path), lambda: np.fromfile(path, np.uint8), rounds)
    return {"idx_over_fromfile": ratio}


def cifar_ratios(folder: Path, rounds: int) -> dict[str, float]:
    (folder / FOLDER).mkdir()
    paths = [folder / FOLDER / f"data_batch_{number}.bin" for number in range(1, 6)]
    rng = np.random.default_rng(0)
    for path in paths:
        records = rng.integers(0, 256, (10_000, 3073), dtype=np.uint8)
        records[:, 0] %= 10
        records.tofile(path)

    # All five are held, as a user would: what the allocator does with memory given back between
    # two files would otherwise weigh more than the reading.
    def plain() -> Any:
        return [np.fromfile(path, np.uint8) for path in paths]

    def reader() -> Any:
        return [read_cifar_batch(path) for path in paths]

    return {
        "cifar_over_fromfile": in_turn(reader, plain, rounds),
        "cifar_channels_last_over_fromfile": in_turn(
            lambda: read_cifar10(folder, True), plain, rounds
        ),
    }


def image_ratios(folder: Path, side: int, rounds: int) -> dict[str, float]:
    """Read an epoch: every image once, in random order and batches, 64 pixels a side."""
    rng = np.random.default_rng(0)
    small = rng.integers(0, 256, (N_IMAGES, 16, 16, 3), dtype=np.uint8)
    rule, files = ImageRule(64), []
    for number, pixels in enumerate(small):
        path = folder / f"{side}_{number}.jpg"
        Image.fromarray(pixels).resize((side, side)).save(path, quality=90)
        files.append(image_on_disk(path, rule))
    order = rng.permutation(N_IMAGES).reshape(-1, BATCH)

    def open_cache() -> Any:
        return cached_images(files, rule, folder / "cache", lambda *_: None).pixels

    def decode(raw: BinaryIO) -> NDArray[np.uint8]:
        with raw:
            return decode_image(raw, rule)

    def decode_all() -> None:
        for batch in order:
            np.stack([decode(files[i].open()) for i in batch])

    images = open_cache()

    def from_cache() -> None:
        for batch in order:
            images[batch]

    return {
        f"decoding_{side}px_over_cache": in_turn(decode_all, from_cache, rounds),
        f"decoding_{side}px_over_opening_the_cache": in_turn(decode_all, open_cache, rounds),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    ratios: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ratios |= idx_ratio(folder, rounds)
        ratios |= cifar_ratios(folder, rounds)
        for side in (64, 512):
            ratios |= image_ratios(folder, side, max(1, rounds // 5))
    print(json.dumps({key: round(value, 3) for key, value in ratios.items()}, indent=1))


if __name__ == "__main__":
    main()
