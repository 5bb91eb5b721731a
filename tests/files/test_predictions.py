"""The parts below the commands: shards, sorting, ranking, input formats, and flat memory."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support import fast_classifier
from vqpu.base.columns._rows import with_plan
from vqpu.errors import InputError, UnusableSampleError, UsageError
from vqpu.files import Broken, Chunk, Column, ColumnPlan, KeptColumn
from vqpu.files._evaluation import evaluate
from vqpu.files._input_format import INPUT_FILE, InputFormat
from vqpu.files._input_streams import Shard, read_ahead
from vqpu.files._models import open_model
from vqpu.files._ranking import rank
from vqpu.files._scoring import Predictions, predictions_of, sorted_by_score
from vqpu.files._writers import write_predictions


class Identity:
    """A model whose score is the first feature."""

    classes_ = np.array(["no", "yes"])

    def decision_function(self, X: Any, /) -> Any:
        return np.asarray(X, dtype=np.float64)[:, 0]


def made(*parts: list[float], y: list[list[int]] | None = None) -> list[Predictions]:
    """Predictions with the given scores, names counted through."""
    chunks, start = [], 0
    for index, scores in enumerate(parts):
        labels = None if y is None else np.array(y[index], np.int8)
        names = range(start, start + len(scores))
        chunks.append(Chunk(np.array(scores).reshape(-1, 1), names, labels))
        start += len(scores)
    return list(predictions_of(Identity(), chunks))


def test_predictions__labels_and_probabilities_follow_from_scores() -> None:
    (found,) = made([0.0, np.log(3), -2000.0])
    assert found.labels.tolist() == ["no", "yes", "no"]
    np.testing.assert_allclose(found.probabilities, [0.5, 0.75, 0.0], atol=1e-15)
    assert np.isfinite(found.probabilities).all()


def test_predictions__empty_chunk__model_is_not_asked() -> None:
    (found,) = predictions_of(Identity(), [Chunk(np.empty((0, 1)), [])])
    assert len(found) == 0


def test_read_ahead__error_of_the_stream__after_what_came_before() -> None:
    def stream() -> Iterator[int]:
        yield from (1, 2, 3)
        raise InputError("the fourth is broken")

    seen: list[int] = []
    with pytest.raises(InputError, match="the fourth is broken"):
        seen.extend(read_ahead(stream()))  # extend keeps what came before the error
    assert seen == [1, 2, 3]


def test_read_ahead__reader_stops_when_nobody_asks__few_items_ahead() -> None:
    taken = []

    def stream() -> Iterator[int]:
        for item in range(1000):
            taken.append(item)
            yield item

    items = read_ahead(stream())
    assert next(items) == 0
    items.close()  # type: ignore[attr-defined]
    assert len(taken) <= 2
    assert not any(thread.name.startswith("vqpu-reader") for thread in threading.enumerate())


@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_shards__over_chunks__every_sample_once_in_its_place(count: int) -> None:
    X = np.arange(20).reshape(-1, 1)
    cuts = [0, 1, 6, 6, 13, 20]
    seen = []
    for number in range(1, count + 1):
        chunks = iter(Chunk(X[a:b], range(a, b)) for a, b in pairwise(cuts))
        names = [name for chunk in Shard(number, count).take(chunks) for name in chunk.names]
        assert names == list(range(20))[number - 1 :: count]
        seen += names
    assert sorted(seen) == list(range(20))


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "a/b", "-1/2", "1/2/3", "1/0", ""])
def test_shard__nonsense__refused(text: str) -> None:
    with pytest.raises(UsageError, match="shard must be i/n"):
        Shard.parse(text)


@pytest.mark.parametrize("rows_in_memory", [1, 3, 100])
def test_sorting__parts_on_disk__as_sorted_in_memory(rows_in_memory: int, tmp_path: Path) -> None:
    scores = np.random.default_rng(0).integers(-3, 3, 23).astype(float).tolist()
    parts = made(scores[:10], [], scores[10:])
    found = list(sorted_by_score(parts, tmp_path, rows_in_memory))
    names = [name for part in found for name in part.names]
    assert names == sorted(range(23), key=lambda row: -scores[row]), "ties stay in order"
    assert {len(part) for part in found[:-1]} <= {rows_in_memory}
    assert not list(tmp_path.iterdir())


def test_rank__best_first__ties_by_order__labelled_left_out() -> None:
    parts = made([1.0, 5.0, 2.0], [5.0, 4.0], y=[[0, 0, 1], [0, 1]])
    ranked = rank(parts, 2)
    assert list(ranked.best.names) == [1, 3]
    assert (ranked.n_seen, ranked.n_labeled) == (3, 2)
    assert list(rank(parts, 99).best.names) == [1, 3, 0]
    with pytest.raises(InputError, match=r"1 samples are labelled positive already\. Pass"):
        rank(made([1.0], y=[[1]]), 1)


def test_evaluate__one_kind_only__refused() -> None:
    with pytest.raises(InputError, match="Of 2 samples 2 have the positive value"):
        evaluate(made([1.0, -1.0], y=[[1, 1]]))


def test_evaluate__by_hand() -> None:
    # Called positive: samples 0, 1, 3; labels: 0, 1, 2.
    parts = made([1.0, 2.0], [-1.0, 3.0, -2.0], y=[[1, 1], [1, 0, 0]])
    truth = evaluate(parts)
    assert truth["accuracy"] == 3 / 5
    assert truth["f1"] == pytest.approx(2 / 3)
    found = evaluate(parts, scenario="case-control", alpha=0.5)
    assert found["recall"] == pytest.approx(2 / 3)
    assert found["precision"] == pytest.approx(0.5 * (2 / 3) / (1 / 2))


FORMATS = [
    InputFormat("images", (16, 16, 3), "uint8", "RGB"),
    InputFormat("array", (3, 8, 8), "float32"),
    InputFormat(
        "table",
        (3,),
        "float64",
        label="y",
        positive="1",
        id_column="key",
        negative="0",
    ),
]


@pytest.mark.parametrize("input_format", FORMATS, ids=lambda input_format: input_format.kind)
def test_input_format__through_json__the_same(input_format: InputFormat) -> None:
    assert InputFormat.from_json(input_format.to_json()) == input_format


def test_input_format__of_before__its_schema_is_a_plan() -> None:
    plain = json.loads(FORMATS[2].to_json())
    del plain["negative"]
    plain["schema"] = {"format": 1, "columns": [{"name": "a", "kind": "number"}]}
    found = InputFormat.from_json(json.dumps(plain).encode())
    assert found.plan == ColumnPlan((Column("a", "number"),))
    assert found.words() == ("not 1", "1")


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "odd"},
        {"sample_shape": [0]},
        {"sample_shape": "3"},
        {"sample_shape": []},
        {"dtype": 3},
        {"label": 3},
        {"image_mode": "CMYK", "kind": "images"},
        {"more": 1},
        {"schema": [1]},
    ],
)
def test_input_format__changed__refused(change: dict[str, Any]) -> None:
    plain = json.loads(FORMATS[2].to_json()) | change
    with pytest.raises(InputError, match=r"input\.json|table schema"):
        InputFormat.from_json(json.dumps(plain).encode())


@pytest.mark.parametrize(
    ("positive", "negative", "words"),
    [
        ("yes", "no", ("no", "yes")),
        ("yes", None, ("not yes", "yes")),
        ("1", "0", (0, 1)),
        ("1", None, ("not 1", "1")),
        (None, None, None),
    ],
)
def test_words__those_of_the_table(positive: Any, negative: Any, words: Any) -> None:
    made = InputFormat("table", (3,), "float64", positive=positive, negative=negative)
    assert made.words() == words


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b'{"format": 9}', b'{"format": 1}', b"\xff"])
def test_input_format__nonsense__refused(text: bytes) -> None:
    with pytest.raises(InputError, match=r"input\.json"):
        InputFormat.from_json(text)


def test_write__empty_shard__columns_all_the_same(tmp_path: Path) -> None:
    assert write_predictions(tmp_path / "a.csv", "id", []) == 0
    assert (tmp_path / "a.csv").read_text() == "id,label,score,probability,reason\n"
    parquet = pytest.importorskip("pyarrow.parquet")
    write_predictions(tmp_path / "a.parquet", "id", [])
    table = parquet.read_table(tmp_path / "a.parquet")
    assert table.column_names == ["id", "label", "score", "probability", "reason"]


def test_write__names_that_need_care__read_back(tmp_path: Path) -> None:
    import csv

    names = ['a,"b".png', "two\nlines", "grün"]
    parts = [Predictions(names, np.array(["no"] * 3), np.array([0.1, 1e-300, -5]), np.full(3, 0.5))]
    write_predictions(tmp_path / "a.csv", "path", parts)
    with open(tmp_path / "a.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["path"] for row in rows] == names
    assert [float(row["score"]) for row in rows] == [0.1, 1e-300, -5]


def test_write__numbers__same_values_with_and_without_pyarrow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    scores = [0.1, -1234.5678901234567, 3.0, 1e-5, 2.5e-300, -1e22, 0.30000000000000004]
    part = Predictions(range(7), np.arange(7) % 2, np.array(scores), np.full(7, 0.25))
    write_predictions(tmp_path / "fast.csv", "id", [part, part])
    monkeypatch.setattr("vqpu.files._writers._has_pyarrow", lambda: False)
    write_predictions(tmp_path / "slow.csv", "id", [part, part])
    fast, slow = ((tmp_path / f"{name}.csv").read_text().split("\n") for name in ("fast", "slow"))
    assert fast[0] == slow[0] == "id,label,score,probability,reason"
    assert len(fast) == len(slow) == 16
    for one, other in zip(fast[1:-1], slow[1:-1], strict=True):
        assert one.endswith(",")
        assert [float(x) for x in one[:-1].split(",")] == [float(x) for x in other[:-1].split(",")]


def test_write__name_that_is_no_unicode__refused_in_csv_kept_in_jsonl(tmp_path: Path) -> None:
    name = b"caf\xe9.png".decode("utf-8", "surrogateescape")
    parts = [Predictions([name], np.array([1]), np.zeros(1), np.full(1, 0.5))]
    for ending in ("csv", "parquet"):
        with pytest.raises(InputError, match=r"the name 'caf\\udce9\.png', which is not Unicode"):
            write_predictions(tmp_path / f"a.{ending}", "path", parts)
    assert not list(tmp_path.iterdir())
    write_predictions(tmp_path / "a.jsonl", "path", parts)
    assert json.loads((tmp_path / "a.jsonl").read_text())["path"] == name


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_write__stream_fails_halfway__one_error_and_no_file(ending: str, tmp_path: Path) -> None:
    def stream() -> Iterator[Predictions]:
        yield Predictions(range(2), np.arange(2), np.zeros(2), np.full(2, 0.5))
        raise InputError("Row 2 is broken.")

    with pytest.raises(InputError, match="Row 2"):
        write_predictions(tmp_path / f"a.{ending}", "id", stream())
    gc.collect()  # a writer that was not closed complains here
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_write__permissions__those_of_the_umask_or_of_the_old_file(
    ending: str, tmp_path: Path
) -> None:
    parts = [Predictions(range(2), np.arange(2), np.zeros(2), np.full(2, 0.5))]
    path = tmp_path / f"a.{ending}"
    before = os.umask(0o077)
    try:
        write_predictions(path, "id", parts)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    write_predictions(path, "id", parts)
    assert path.stat().st_mode & 0o777 == 0o640


class Picky(Identity):
    """A model that cannot judge a score above 100."""

    def decision_function(self, X: Any, /) -> Any:
        scores = super().decision_function(X)
        if (scores > 100).any():
            raise UnusableSampleError("Sample 0 has no finite encoding. Look at it.")
        return scores


def test_samples_that_cannot_be_judged__in_their_places_with_a_reason(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    X = np.array([[1.0], [999.0], [-2.0], [3.0]])
    broken = (Broken("b", "torn"), Broken("f", "empty"))
    kept = {"when": KeptColumn([*"012345"], pa.string())}
    chunk = Chunk(X, ["a", "c", "d", "e"], None, broken, kept, (1, 5))
    parts = list(predictions_of(Picky(), [chunk], ("nein", "ja")))
    assert parts[0].n_broken == 3
    reasons = [None, "torn", "Sample 0 has no finite encoding", None, None, "empty"]
    for ending in ("csv", "jsonl", "parquet"):
        write_predictions(tmp_path / f"a.{ending}", "path", parts, ["when"])
    rows = parquet.read_table(tmp_path / "a.parquet").to_pylist()
    assert rows == [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert [row["path"] for row in rows] == [*"abcdef"]
    assert [row["reason"] for row in rows] == reasons
    assert [row["score"] for row in rows] == [1, None, None, -2, 3, None]
    assert [row["label"] for row in rows] == ["ja", None, None, "nein", "ja", None]
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert lines[2] == "b,,,,torn,1"
    (ordered,) = sorted_by_score(parts, tmp_path)
    assert list(ordered.names) == [*"eadbcf"]
    assert ordered.kept["when"].values == [*"403125"]
    ranked = rank(parts, 9)
    assert (list(ranked.best.names), ranked.n_broken) == ([*"ead"], 3)


def test_kept_columns__types_of_the_input_in_parquet__taken_headers(
    tmp_path: Path,
) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    kept = {
        "": KeptColumn([2**64 - 1, None], pa.uint64()),
        "day": KeptColumn(["1970-01-02", None], pa.date32()),
        "price": KeptColumn(["1.50", "2.25"], pa.decimal128(5, 2)),
        "label": KeptColumn([True, None], pa.bool_()),
    }
    chunk = Chunk(np.array([[1.0], [2.0]]), kept[""].values, kept=kept)
    parts = list(sorted_by_score(predictions_of(Identity(), [chunk]), tmp_path))
    write_predictions(tmp_path / "a.parquet", "id", parts, ["day", "price", "label"])
    table = parquet.read_table(tmp_path / "a.parquet")
    assert table.column_names[-3:] == ["day", "price", "input_label"]
    types = {name: table.schema.field(name).type for name in ("id", "day", "price", "input_label")}
    assert list(types.values()) == [pa.uint64(), pa.date32(), pa.decimal128(5, 2), pa.bool_()]
    assert table.column("id").to_pylist() == [None, 2**64 - 1]


def test_open_model__saved_in_python__takes_arrays(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)) + 6 * (np.arange(60) % 2)[:, None]
    fast_classifier().fit(X, np.where(np.arange(60) % 4 == 1, "p", "a")).save(tmp_path / "m")
    model = open_model(tmp_path / "m")
    assert model.input_format == InputFormat("array", (5,), "float64")


N_COLUMNS = 128
PROGRAM = """
import json, sys
from pathlib import Path
from vqpu.files._prediction import predict_file

folder, n = Path(sys.argv[1]), sys.argv[2]
for sort in (False, True):
    predict_file(folder / "model", folder / f"{n}.parquet", folder / f"{n}.csv", sort=sort)
status = Path("/proc/self/status").read_text()
print(int(status.split("VmHWM:")[1].split()[0]) / 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_predict__four_times_the_rows__same_memory(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, N_COLUMNS)) + 6 * (np.arange(200) % 2)[:, None]
    names = [f"c{column}" for column in range(N_COLUMNS)]
    plan = ColumnPlan(tuple(Column(name, "number") for name in names))
    input_format = InputFormat("table", (N_COLUMNS,), "float64")
    model = fast_classifier().fit(with_plan(X, plan), np.arange(200) % 4 == 1)
    model.save(tmp_path / "model", extras={INPUT_FILE: input_format.to_json()})
    peaks = []
    for n in (40_000, 160_000):
        rows = np.resize(X, (n, N_COLUMNS))
        table = pa.table(dict(zip(names, rows.T, strict=True)))
        parquet.write_table(table, tmp_path / f"{n}.parquet", row_group_size=10_000)
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(tmp_path), str(n)],
            capture_output=True,
            text=True,
            check=True,
        )
        peaks.append(float(done.stdout))
    with open(tmp_path / "160000.csv") as file:
        assert sum(1 for _ in file) == 160_001
    # As one array the larger table would take 117 MB more, a fifth of all that is in use here.
    assert peaks[1] <= 1.1 * peaks[0], peaks
