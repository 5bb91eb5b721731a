"""Speed of feature extraction as ratios, both sides measured in turn within one run.

usage: python benchmarks/features.py [--rounds 7] [--text DIRECTORY]

Prints one JSON object. A small residual network with random weights is exported to ONNX; the goals:
at least .9 of the samples a second that a bare onnxruntime loop over preprocessed arrays manages,
reading the cache at least 50 times as fast as a sentence encoder (``--text``, a local Hugging Face
directory), and no more memory for ten times as many pictures.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from side_by_side import in_turn

from vqpu.features import extract, open_extractor
from vqpu.features._extractor import n_threads
from vqpu.features._preprocessing import network_pixels

BATCH, SIDE, N_PICTURES, N_TEXTS = 32, 32, 512, 256


def write_network(path: Path) -> None:
    """Write the network of the study of features, untrained."""
    from experiments.backbone import Backbone, export_backbone

    export_backbone(Backbone().eval(), path)


def pixels(n: int) -> NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, 256, (n, SIDE, SIDE, 3), dtype=np.uint8)


def extraction_ratio(path: Path, rounds: int) -> dict[str, float]:
    """Return how many times as long extraction takes as the bare loop."""
    import onnxruntime

    extractor, pictures = open_extractor(path), pixels(N_PICTURES)
    assert extractor.record.image is not None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads()
    session = onnxruntime.InferenceSession(str(path), options)
    normal = network_pixels(pictures, extractor.record.image)

    def bare() -> Any:
        return [
            session.run(None, {"pixels": normal[start : start + BATCH]})
            for start in range(0, N_PICTURES, BATCH)
        ]

    ratio = in_turn(lambda: extract(extractor, pictures), bare, rounds)
    return {"extraction_over_bare_loop": ratio, "speed_of_bare_loop": 1 / ratio}


def cache_ratio(directory: Path, folder: Path) -> dict[str, float]:
    """Return how many times as long the first extraction takes as reading the cache."""
    extractor = open_extractor(directory)
    texts = [
        f"The {number}th of some sentences about the weather in May" for number in range(N_TEXTS)
    ]
    extract(extractor, texts[:BATCH])  # the first batch takes longer
    seconds = []
    for _ in range(2):
        started = time.perf_counter()
        extract(extractor, texts, cache_dir=folder)
        seconds.append(time.perf_counter() - started)
    return {"extraction_over_cache": seconds[0] / seconds[1]}


def peak_of(path: Path, n_pictures: int) -> int:
    """Return the most memory, in MB, of a process that extracts from files of a folder."""
    program = (
        "import sys; sys.path[:0] = sys.argv[3:]\n"
        "from features import stream_peak\nprint(stream_peak(sys.argv[1], int(sys.argv[2])))"
    )
    given = [sys.executable, "-c", program, str(path), str(n_pictures), *sys.path]
    return int(subprocess.run(given, capture_output=True, text=True, check=True).stdout)


def stream_peak(path: str, n_pictures: int) -> int:
    from vqpu.features._extraction import Sample
    from vqpu.files._feature_streams import RawChunk, feature_chunks

    extractor = open_extractor(path)
    one = pixels(1)[0]

    def sample(number: int) -> Sample:
        return Sample(lambda: str(number).encode(), lambda _: one)

    def chunks() -> Any:
        for start in range(0, n_pictures, 256):
            places = range(start, start + 256)
            yield RawChunk([sample(place) for place in places], places)

    with tempfile.TemporaryDirectory() as folder:
        n_seen = sum(
            len(chunk.X) for chunk in feature_chunks(chunks(), extractor, cache_dir=folder)
        )
    assert n_seen >= n_pictures
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--text", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_network(folder / "network.onnx")
        found = extraction_ratio(folder / "network.onnx", given.rounds)
        if given.text is not None:
            found |= cache_ratio(given.text, folder / "cache")
        few, many = (peak_of(folder / "network.onnx", n) for n in (1024, 10_240))
        found |= {"peak_mb_of_1024": few, "peak_mb_of_10240": many}
    print(json.dumps({name: round(value, 3) for name, value in found.items()}))


if __name__ == "__main__":
    main()
