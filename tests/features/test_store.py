from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from vqpu.errors import CacheError, InputError
from vqpu.features import FunctionExtractor, extract
from vqpu.features._extraction import extract_prepared, prepare, text_sample
from vqpu.features._store import MISSING, VectorStore, stored_features


class Counting:
    """The length of a text and 1; counts the texts that it is given."""

    def __init__(self) -> None:
        self.n_given = 0

    def __call__(self, texts: list[str]) -> list[list[float]]:
        self.n_given += len(texts)
        return [[float(len(text)), 1.0] for text in texts]


@pytest.fixture
def counting() -> Counting:
    return Counting()


@pytest.fixture
def extractor(counting: Counting) -> FunctionExtractor:
    return FunctionExtractor(counting, n_features=2, name="length")


def words(n: int) -> list[str]:
    return [f"{number} " * (1 + number % 7) for number in range(n)]


def test_extract__again__nothing_is_computed(
    tmp_path: Path, counting: Counting, extractor: FunctionExtractor
) -> None:
    first = extract(extractor, words(600), cache_dir=tmp_path)
    assert counting.n_given == 600
    again = extract(extractor, words(600), cache_dir=tmp_path)
    assert counting.n_given == 600
    assert np.array_equal(first, again)
    changed = words(600)
    changed[17] += "other"
    third = extract(extractor, changed, cache_dir=tmp_path)
    assert counting.n_given == 601
    assert third[17, 0] == len(changed[17])
    (stored,) = stored_features(tmp_path)
    assert (stored.record.name, stored.n_vectors) == ("length", 601)


def test_extract__another_version__has_its_own_vectors(
    tmp_path: Path, counting: Counting, extractor: FunctionExtractor
) -> None:
    extract(extractor, words(5), cache_dir=tmp_path)
    newer = FunctionExtractor(counting, n_features=2, name="length", version="2")
    extract(newer, words(5), cache_dir=tmp_path)
    assert counting.n_given == 10


@pytest.mark.parametrize("name", ["vectors.f32", "keys.bin"])
def test_store__cut_off__goes_on_behind_the_whole_rows(
    tmp_path: Path, counting: Counting, extractor: FunctionExtractor, name: str
) -> None:
    expected = extract(extractor, words(300), cache_dir=tmp_path)
    (path,) = tmp_path.glob(f"*/{name}")
    os.truncate(path, path.stat().st_size // 2 + 1)
    assert np.array_equal(extract(extractor, words(300), cache_dir=tmp_path), expected)
    assert 440 <= counting.n_given <= 460
    assert np.array_equal(extract(extractor, words(300), cache_dir=tmp_path), expected)
    assert counting.n_given <= 460


def test_store__changed_byte__the_row_is_extracted_again(
    tmp_path: Path, counting: Counting, extractor: FunctionExtractor
) -> None:
    expected = extract(extractor, words(9), cache_dir=tmp_path)
    (path,) = tmp_path.glob("*/vectors.f32")
    content = bytearray(path.read_bytes())
    content[8 * 4] ^= 64
    path.write_bytes(content)
    assert np.array_equal(extract(extractor, words(9), cache_dir=tmp_path), expected)
    assert counting.n_given == 10


def test_store__many_rows__found_after_the_index_is_sorted_again(
    tmp_path: Path, extractor: FunctionExtractor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vqpu.features._store._MOST_FRESH", 64)
    store = VectorStore(tmp_path, extractor.record)
    digests = [hashlib.sha256(str(number).encode()).digest() for number in range(500)]
    rows = np.arange(1000, dtype=np.float32).reshape(500, 2)
    for start in range(0, 500, 50):
        store.append(digests[start : start + 50], rows[start : start + 50])
        assert store.find(digests[start]) == start
    for opened in (store, VectorStore(tmp_path, extractor.record)):
        places = [opened.find(digest) for digest in digests]
        assert np.array_equal(opened.read(places), rows)
        assert opened.find(hashlib.sha256(b"none").digest()) == MISSING


def test_store__two_processes_at_once__every_row_is_whole(
    tmp_path: Path, extractor: FunctionExtractor
) -> None:
    program = (
        "import hashlib, sys\nimport numpy as np\n"
        "from pathlib import Path\nfrom vqpu.features._record import ExtractorRecord\n"
        "from vqpu.features._store import VectorStore\n"
        "record = ExtractorRecord.model_validate_json(sys.argv[2])\n"
        "store = VectorStore(Path(sys.argv[1]), record)\n"
        "first = int(sys.argv[3])\n"
        "for number in range(first, first + 40):\n"
        "    digest = hashlib.sha256(str(number).encode()).digest()\n"
        "    store.append([digest], np.array([[number, 0]], np.float32))\n"
    )
    given = [sys.executable, "-c", program, str(tmp_path), extractor.record.model_dump_json()]
    running = [subprocess.Popen([*given, str(first)]) for first in (0, 40)]
    assert [process.wait() for process in running] == [0, 0]
    store = VectorStore(tmp_path, extractor.record)
    rows = [store.find(hashlib.sha256(str(n).encode()).digest()) for n in range(80)]
    assert store.read(rows)[:, 0].tolist() == [float(n) for n in range(80)]


def test_store__folder_that_cannot_be_written__one_sentence(
    tmp_path: Path, extractor: FunctionExtractor
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheError, match="cache of features"):
        VectorStore(tmp_path / "file", extractor.record)


def test_function__vectors_that_are_not_finite__count_as_broken() -> None:
    def odd(texts: list[str]) -> NDArray[Any]:
        return np.array([[np.nan if "bad" in text else 1.0] for text in texts])

    extractor = FunctionExtractor(odd, n_features=1)
    samples = [text_sample(text) for text in ("good", "bad", "", "good")]
    found = extract_prepared(prepare(samples, None), extractor, None)
    assert found.broken == {1: "its features are not finite", 2: "it has no text"}
    assert len(found.vectors) == 2


def test_function__wrong_shape__one_sentence() -> None:
    extractor = FunctionExtractor(lambda texts: np.ones((len(texts), 3)), n_features=2, name="f")
    with pytest.raises(InputError, match=r"f must turn 1 samples .* \(1, 2\)\. Got \(1, 3\)"):
        extract(extractor, ["a"])
