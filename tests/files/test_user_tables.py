"""Tables: what is encoded how, what is refused, and that a schema lasts."""

from __future__ import annotations

import json
import sys
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vqpu.base.columns import Wishes, encode_batch
from vqpu.base.columns._frames import encode_frame, fit_frame
from vqpu.errors import (
    ColumnWarning,
    InputError,
    MissingDependencyError,
    ParameterError,
    RowNumberWarning,
)
from vqpu.files import Column, ColumnPlan, Notes, iter_table, read_table, read_tables
from vqpu.files.readers._csvfile import CsvFile
from vqpu.files.readers._schema import plan_of_schema

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

from pyarrow import csv, feather, parquet  # noqa: E402

ENDINGS = [".csv", ".tsv", ".parquet", ".feather"]
ENDINGS_OF_ALL = [*ENDINGS, ".csv.gz", ".csv.zst", ".jsonl", ".jsonl.gz", ".xlsx"]


def write(path: Path, table: Any) -> Path:
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    elif path.suffix == ".feather":
        feather.write_feather(table, path)
    else:
        options = csv.WriteOptions(delimiter="\t" if path.suffix == ".tsv" else ",")
        csv.write_csv(table, path, options)
    return path


def save(frame: Any, path: Path) -> Path:
    """Write a data frame in the format of the path's ending."""
    name = path.name
    if name.endswith(".xlsx"):
        frame.to_excel(path, index=False)
    elif ".jsonl" in name:
        frame.to_json(path, orient="records", lines=True)
    elif name.endswith(".zst"):
        with pa.CompressedOutputStream(str(path), "zstd") as file:
            csv.write_csv(pa.Table.from_pandas(frame), file)
    elif name.endswith(".gz"):
        frame.to_csv(path, index=False)
    else:
        write(path, pa.Table.from_pandas(frame))
    return path


def example(n: int = 200, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        "key": [f"row-{i}" for i in range(n)],
        "age": rng.integers(0, 99, n),
        "colour": rng.choice(["red", "green", "blue, light"], n),
        "height": rng.normal(size=n),
        "smokes": rng.integers(0, 2, n).astype(bool),
        "class": rng.choice(["yes", "no"], n),
    }


def by_pandas(data: dict[str, Any]) -> Any:
    """The same encoding by pandas: codes in the order of how frequent values are."""
    frame = pd.DataFrame(data)[["age", "colour", "height", "smokes"]]
    counts = frame["colour"].value_counts()
    order = sorted(counts.index, key=lambda value: (-counts[value], value))
    codes = frame["colour"].map({value: code for code, value in enumerate(order)})
    return np.column_stack([frame["age"], codes, frame["height"], frame["smokes"]]).astype(float)


@pytest.mark.parametrize("ending", ENDINGS)
def test_one_table__equals_pandas(ending: str, tmp_path: Path) -> None:
    data = example()
    path = write(tmp_path / f"t{ending}", pa.table(data))
    read = read_table(
        path, label="class", positive="yes", id_column="key", cache_dir=tmp_path / "cache"
    )
    np.testing.assert_array_equal(read.X, by_pandas(data))
    np.testing.assert_array_equal(read.y, np.asarray(data["class"]) == "yes")
    assert list(read.names) == data["key"]
    assert read.plan is not None
    assert read.plan.feature_names == ["age", "colour", "height", "smokes"]
    assert read.plan.categories == {1: 4}
    assert read.words == ("no", "yes")
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.parametrize("ending", ENDINGS)
def test_stream__any_format_and_column_order__as_in_training(ending: str, tmp_path: Path) -> None:
    data = example()
    train = write(tmp_path / "train.parquet", pa.table(data))
    plan = read_table(train, label="class", positive="yes", drop=["key"], cache_dir=tmp_path).plan
    assert plan is not None
    turned = {name: data[name] for name in reversed(data)} | {"unknown": data["age"]}
    path = write(tmp_path / f"new{ending}", pa.table(turned))
    chunks = list(iter_table(path, plan, id_column="key", label="class", positive="no"))
    np.testing.assert_array_equal(np.concatenate([chunk.X for chunk in chunks]), by_pandas(data))
    assert [name for chunk in chunks for name in chunk.names] == data["key"]
    y = np.concatenate([chunk.y for chunk in chunks if chunk.y is not None])
    np.testing.assert_array_equal(y, np.asarray(data["class"]) == "no")


def test_two_tables__one_plan(tmp_path: Path) -> None:
    first, second = example(30), example(50, seed=1)
    first["colour"] = ["red"] * 30
    for data in (first, second):
        del data["class"], data["key"]
    p = write(tmp_path / "p.csv", pa.table(first))
    u = write(tmp_path / "u.feather", pa.table(second))
    read = read_tables(p, u, cache_dir=tmp_path / "cache")
    both = {name: [*first[name], *second[name]] for name in first}
    np.testing.assert_array_equal(read.X, by_pandas(both))
    assert read.y.tolist() == [1] * 30 + [0] * 50
    assert list(read.names) == list(range(80))


def test_many_batches__rows_in_order(tmp_path: Path) -> None:
    n = 150_000
    table = pa.table({f"c{i}": np.arange(n) / 2 + i for i in range(20)})
    table = table.append_column("y", pa.array(np.arange(n) % 2))
    for ending in ENDINGS:
        path = write(tmp_path / f"t{ending}", table)
        read = read_table(path, label="y", positive=1, cache_dir=tmp_path)
        np.testing.assert_array_equal(read.X[:, 3], np.arange(n) / 2 + 3)
        assert read.plan is not None
        sizes = [chunk.X.size for chunk in iter_table(path, read.plan)]
        assert max(sizes) <= 1 << 20
        assert sum(sizes) == 20 * n


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
def test_large_part__of_a_large_file__read(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vqpu.files.readers._tablefiles._MOST_UNPACKED", 1000)
    path = write(tmp_path / f"t{ending}", pa.table(example()))
    data = read_table(path, label="class", positive="yes", drop=["key"], cache_dir=tmp_path)
    assert len(data.X) == 200


@pytest.mark.parametrize(
    ("labels", "positive"),
    [
        ([1, 0, None, 1], 1),
        ([1, 0, None, 1], "1"),
        ([1.0, 0.0, None, 1.0], 1),
        ([True, False, None, True], True),
        ([True, False, None, True], "true"),
        (["a", "b", None, "a"], "a"),
        (pa.array(["a", "b", None, "a"]).dictionary_encode(), "a"),
    ],
)
def test_label_column__any_type__none_is_unlabelled(
    labels: Any, positive: Any, tmp_path: Path
) -> None:
    path = write(tmp_path / "t.parquet", pa.table({"x": [1.0, 2.0, 3.0, 4.0], "l": labels}))
    assert read_table(path, label="l", positive=positive, cache_dir=tmp_path).y.tolist() == [
        1,
        0,
        0,
        1,
    ]


def test_csv_label__blank_for_unlabelled(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,l\n1,\n2,1\n3,\n")
    assert read_table(tmp_path / "t.csv", label="l", positive=1, cache_dir=tmp_path).y.tolist() == [
        0,
        1,
        0,
    ]


def test_csv_numbers__whole_first_then_not__read(tmp_path: Path) -> None:
    lines = [f"{i},{i % 2}" for i in range(700_000)] + ["0.5,1"]  # beyond the first block
    (tmp_path / "t.csv").write_text("x,l\n" + "\n".join(lines))
    read = read_table(tmp_path / "t.csv", label="l", positive=1, cache_dir=tmp_path)
    assert read.X[-2:, 0].tolist() == [699_999.0, 0.5]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([1, 2], pa.uint8()), [1, 2]),
        (pa.array([1.5, 2], pa.float32()), [1.5, 2]),
        (pa.array([1.5, 2], pa.float16()), [1.5, 2]),
        (pa.array([Decimal("1.25"), Decimal("2")]), [1.25, 2]),
        (pa.array([7, 9]).dictionary_encode(), [7, 9]),
        (pa.array([True, False]), [1, 0]),
    ],
)
def test_number_types__their_values(values: Any, expected: list[float], tmp_path: Path) -> None:
    path = write(tmp_path / "t.feather", pa.table({"x": values, "l": [1, 0]}))
    assert read_table(
        path, label="l", positive=1, cache_dir=tmp_path
    ).X[:, 0].tolist() == expected  # fmt: skip


@pytest.mark.parametrize("text", [pa.string(), pa.large_string(), pa.string_view()])
@pytest.mark.parametrize("ending", [".parquet", ".feather"])
def test_text_types__categories(text: Any, ending: str, tmp_path: Path) -> None:
    column = pa.array(["b", "a", "b"], text)
    path = write(tmp_path / f"t{ending}", pa.table({"x": column, "l": [1, 0, 0]}))
    read = read_table(path, label="l", positive=1, cache_dir=tmp_path)
    assert read.X.tolist() == [[0], [1], [0]]


NEW_TYPES: list[tuple[Any, str, list[Any]]] = [
    (pa.array([0, 31, None], pa.date32()), "date", [[0, 1970, 1, 1, 3], [31, 1970, 2, 1, 6]]),
    (
        pa.array([0, 5_400_000, None], pa.timestamp("ms", "UTC")),
        "date",
        [[0, 1970, 1, 1, 3, 0], [0.0625, 1970, 1, 1, 3, 1.5]],
    ),
    (pa.array([3600, 7200, None], pa.time32("s")), "number", [[1], [2]]),
    (pa.array([86_400, 43_200, None], pa.duration("s")), "number", [[1], [0.5]]),
    (pa.array([[1.0, 2.0], [3.0, None], None]), "vector", [[1, 2], [3, np.nan]]),
    (pa.array([[1, 2], [3, 4], None], pa.list_(pa.int16(), 2)), "vector", [[1, 2], [3, 4]]),
    (pa.array(["a", "b", None], pa.large_string()), "category", [[0], [1]]),
    (pa.array([True, False, None]), "boolean", [[1], [0]]),
    (pa.array([1, 2, None], pa.int64()), "number", [[1], [2]]),
    (pa.array([1.0, 2.0, float("nan")]), "number", [[1], [2]]),
    (pa.array([Decimal("1.5"), Decimal("2"), None]), "number", [[1.5], [2]]),
    (pa.array([7, 9, None]).dictionary_encode(), "number", [[7], [9]]),
    (pa.array(["1", "2", None]).dictionary_encode(), "category", [[0], [1]]),
]


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
@pytest.mark.parametrize(
    ("values", "kind", "expected"), NEW_TYPES, ids=lambda part: getattr(part, "type", None)
)
def test_types__their_values__and_missing_ones(
    values: Any, kind: str, expected: list[Any], ending: str, tmp_path: Path
) -> None:
    path = write(tmp_path / f"t{ending}", pa.table({"d": values, "l": [1, 0, 0]}))
    read = read_table(path, label="l", positive=1, cache_dir=tmp_path)
    assert read.plan is not None
    assert read.plan.columns[0].kind == kind
    np.testing.assert_array_equal(read.X[:2], expected)
    assert np.isnan(read.X[2]).all()
    (chunk,) = iter_table(path, read.plan)
    np.testing.assert_array_equal(chunk.X, read.X)


WRITTEN_OTHERWISE = {
    "day": ("2021-04-{:02}", "{}. April", r"was a date such as 2026-12-31, but none of its 10"),
    "german": ("{}.4.2021", "2021-04-{:02}", r"was a date such as 31\.12\.2026, .* '2021-04-01'"),
    "moment": ("2021-04-{:02} 10:00", "{}. April", "was a date with its time such as 2026-12-31 1"),
    "size": ("{}", "{} kg", "was a number, but none of its 10 cells can be read, such as '1 kg'"),
    "clock": ("{:02}:30", "{} am", "was a time of the day such as 18:30, .* such as '1 am'"),
    "even": ("{}", "{}", "was a boolean, but none of its 10 cells .* as 'ja', 'nein'"),
    "constant": ("2021-04-{:02}", "19.11.2026", "was a date such as 2026-12-31, .* '19.11.2026'"),
}


def written(name: str, n: int = 10) -> tuple[list[str], list[str]]:
    if name == "even":
        return ["true", "false"] * (n // 2), ["ja", "nein"] * (n // 2)
    before, now, _ = WRITTEN_OTHERWISE[name]
    numbers = range(1, n + 1)
    return [before.format(number) for number in numbers], [now.format(number) for number in numbers]


def plan_of(table: Any, tmp_path: Path) -> ColumnPlan:
    labels = pa.array(["a", "b"] * (len(table) // 2))
    path = write(tmp_path / "trained.csv", table.append_column("l", labels))
    plan = read_table(path, label="l", positive="a", cache_dir=tmp_path).plan
    assert plan is not None
    return plan


@pytest.mark.parametrize("name", WRITTEN_OTHERWISE)
def test_column_written_otherwise__refused_when_no_cell_can_be_read(
    name: str, tmp_path: Path
) -> None:
    days, others = written(name)
    message = WRITTEN_OTHERWISE[name][2]
    plan = plan_of(pa.table({name: days}), tmp_path)

    def read(cells: list[str], notes: Notes) -> list[Any]:
        table = write(tmp_path / "new.csv", pa.table({name: cells}))
        return list(iter_table(table, plan, notes=notes))

    with pytest.raises(InputError, match=f"{name!r} {message}"):
        read(others, Notes())
    of_frame = Notes()
    encode_frame(plan, pd.DataFrame({name: others}), of_frame)
    with pytest.raises(InputError, match=f"{name!r} {message}"):
        of_frame.check_readable(plan)
    for cells in ([*others, days[-1]], others[:9]):  # one can be read; too few to tell
        notes = Notes()
        (chunk,) = read(cells, notes)
        assert np.isnan(chunk.X[: len(cells) - 1]).all()
        assert notes.counts == {plan.columns[0].kind: {name: len(others[: len(cells)])}}
    part = iter_table(tmp_path / "new.csv", plan, first_row=0)
    assert sum(len(chunk.X) for chunk in part) == 9, "a part says nothing of the whole"


@pytest.mark.filterwarnings("ignore::vqpu.errors.ColumnWarning")
def test_column_of_marks__counted_not_refused(tmp_path: Path) -> None:
    cells = ["?", "ERR", "unknown"] * 10 + [str(number) for number in range(30)]
    plan = plan_of(pa.table({"sensor": cells}), tmp_path)
    notes = Notes()
    path = write(tmp_path / "day.csv", pa.table({"sensor": cells[:30]}))
    assert np.isnan(
        np.concatenate([chunk.X for chunk in iter_table(path, plan, notes=notes)])
    ).all()
    assert notes.counts == {"number": {"sensor": 30}}


def test_column_read_in_a_later_chunk__not_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(pa.table({"size": [str(number) for number in range(10)]}), tmp_path)
    monkeypatch.setattr("vqpu.files.readers._tablefiles._MOST_ROWS", 20)
    cells = [f"{number} kg" for number in range(30)] + ["1"]
    path = write(tmp_path / "new.csv", pa.table({"size": cells}))
    notes = Notes()
    chunks = list(iter_table(path, plan, notes=notes))
    assert len(chunks) > 1
    assert notes.counts == {"number": {"size": 30}}


def test_parts__column_read_in_one_of_them__not_refused() -> None:
    column = Column("size", "number")
    plan = ColumnPlan((column,), ())
    lost, read = Notes(), Notes()
    lost.add_lost(column, 20, [f"{number} kg" for number in range(20)], is_any_read=False)
    read.add_lost(column, 1, ["?"], is_any_read=True)
    whole = Notes()
    whole.add_plain(json.loads(json.dumps(lost.to_plain())))
    with pytest.raises(InputError, match="'size' was a number, but none of its 20 cells"):
        whole.check_readable(plan)
    whole.add_plain(json.loads(json.dumps(read.to_plain())))
    whole.check_readable(plan)
    assert whole.counts == {"number": {"size": 21}}


def test_labels__positive_but_for_capitals_or_spaces__counted_as_unlabelled_with_a_note(
    tmp_path: Path,
) -> None:
    labels = ["yes", "Yes", "yes ", "no", "maybe yes", None] * 5
    path = write(tmp_path / "t.csv", pa.table({"x": np.arange(30.0) % 7, "l": labels}))
    with pytest.warns(ColumnWarning, match="'l' that are the positive value but for cap.*10"):
        data = read_table(path, label="l", positive="yes", cache_dir=tmp_path)
    assert data.y.sum() == 5


def test_csv__marks_that_may_separate_thousands__noted_not_guessed(tmp_path: Path) -> None:
    rows = [f"{i % 9 + 1}.{i:03};{i % 7}.5;{i % 2}" for i in range(20)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["income;weight;l", "879;1;1", *rows]) + "\n")
    with pytest.warns(ColumnWarning, match="'income' that have three digits behind.*: 20, such"):
        data = read_table(path, label="l", positive="1", cache_dir=tmp_path)
    assert data.X[1, 0] == 1.0
    path.write_text("\n".join(["income;l", "0.879;1", *(f"1.{i:03};{i % 2}" for i in range(20))]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_table(path, label="l", positive="1", cache_dir=tmp_path)


def test_ids__repeated__counted(tmp_path: Path) -> None:
    ids = [f"c{i % 18}" for i in range(20)]
    table = pa.table({"x": np.arange(20.0) % 7, "id": ids, "l": [0, 1] * 10})
    path = write(tmp_path / "t.csv", table)
    with pytest.warns(ColumnWarning, match="'id' that name a row that another names too.*: 2"):
        read_table(path, label="l", positive=1, id_column="id", cache_dir=tmp_path)


def test_lists_all_of_another_length__refused(tmp_path: Path) -> None:
    lists = pa.table({"v": [[1.0, 2.0]] * 10, "l": [0, 1] * 5})
    path = write(tmp_path / "t.parquet", lists)
    plan = read_table(path, label="l", positive=1, cache_dir=tmp_path).plan
    assert plan is not None
    other = write(tmp_path / "other.parquet", pa.table({"v": [[1.0, 2.0, 3.0]] * 10}))
    with pytest.raises(InputError, match="'v' was a list, 2 numbers, but none of its 10 cells"):
        list(iter_table(other, plan))


@pytest.mark.parametrize("ending", ENDINGS_OF_ALL)
def test_reader__mixed_columns__same_numbers_from_every_format(ending: str, tmp_path: Path) -> None:
    n, rng = 300, np.random.default_rng(0)
    data = {
        "x": np.where(np.arange(n) % 7 == 0, np.nan, rng.normal(size=n).round(3)),
        "size": [("?" if i % 10 == 0 else str(i % 4)) for i in range(n)],
        "pet": rng.choice(["cat", "dog", "eel"], n),
        "day": [f"2021-{i % 12 + 1:02}-{i % 28 + 1:02}" for i in range(n)],
        "german": [f"{i % 28 + 1}.{i % 12 + 1}.2021" for i in range(n)],
        "clock": [f"{i % 24:02}:30" for i in range(n)],
        "yes": rng.integers(0, 2, n).astype(bool),
        "remark": [f"remark {i % 50} of a customer about the {i % 3}" for i in range(n)],
        "same": ["x"] * n,
        "key": [f"{i:03}" for i in range(n)],
        "class": np.where(np.arange(n) % 3 == 0, "yes", "no"),
    }
    frame = pd.DataFrame(data)
    path = save(frame, tmp_path / f"t{ending}")
    with pytest.warns(
        ColumnWarning, match=r"1 of 9 columns: 'same' \(it is constant\).*: 30, such"
    ):
        read = read_table(
            path, label="class", positive="yes", id_column="key", cache_dir=tmp_path / "cache"
        )
    assert read.plan is not None
    assert [column.kind for column in read.plan.columns] == [
        "number", "number", "category", "date", "date", "number", "boolean", "text",
    ]  # fmt: skip
    assert list(read.names) == data["key"]
    np.testing.assert_array_equal(read.X[:, 0], data["x"])
    np.testing.assert_array_equal(np.isnan(read.X[:, 1]), np.arange(n) % 10 == 0)
    np.testing.assert_array_equal(read.X[:, 5], np.arange(n) % 12 + 1)  # month of "day"
    np.testing.assert_array_equal(read.X[:, 3:8], read.X[:, 8:13])  # both say one day
    np.testing.assert_array_equal(read.X[:, 13], np.arange(n) % 24 + 0.5)
    notes = Notes()
    again = np.concatenate([chunk.X for chunk in iter_table(path, read.plan, notes=notes)])
    np.testing.assert_array_equal(again, read.X)
    assert notes.counts == {"number": {"size": 30}}


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"d": [{"a": 1}, {"a": 2}]}, r"1 of 2 columns among 2 rows cannot.*'d' is of type struct<"),
    ({"d": [b"a", b"b"]}, r"'d' is of type binary \(convert it, or leave it out with --drop\)"),
    ({"d": [[1.0], [1.0, 2.0]]}, "'d' holds lists of different lengths"),
    ({"d": [["a"], ["b"]]}, "'d' is of type list<"),
    ({"d": [2**60 + 1, 1]}, "'d' holds integers that no float64 can hold"),
]


@pytest.mark.parametrize(("column", "message"), REFUSED)
def test_column__cannot_be_used__refused_by_name_unless_dropped(
    column: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "t.parquet", pa.table({"x": [1, 2], **column, "l": [1, 0]}))
    with pytest.raises(InputError, match=message):
        read_table(path, label="l", positive=1, cache_dir=tmp_path)
    read = read_table(path, label="l", positive=1, drop=["d"], cache_dir=tmp_path)
    assert read.X.tolist() == [[1], [2]]


def test_columns__several_problems__one_message_with_each_option(tmp_path: Path) -> None:
    table = pa.table({
        "__index_level_0__": [3, 1], "x": [1.0, 2.0], "s": [{"a": 1}] * 2, "b": [b"x"] * 2,
        "big": [2**60 + 1, 5], "l": [1, 0],
    })  # fmt: skip
    path = write(tmp_path / "t.parquet", table)
    with pytest.raises(InputError, match="4 of 5 columns among 2 rows cannot be used") as error:
        read_table(path, label="l", positive=1, cache_dir=tmp_path)
    text = str(error.value)
    for part in ("'__index_level_0__' looks like", "'s' is of type struct", "--id", "--number"):
        assert part in text


def test_missing_refused__all_columns_in_one_message_with_counts(tmp_path: Path) -> None:
    text = "x,d,p,l\n" + "1,2,cat,1\n,oops,,0\n3,4,dog,0\ninf,5,dog,0\n6,7,cat,0\n" * 20
    (tmp_path / "t.csv").write_text(text)
    message = (
        "'x' has 20 missing and 20 infinite values .*'d' has 20 unreadable values "
        ".*'p' has 20 missing values .*--missing keep"
    )
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / "t.csv", label="l", positive=1, missing="refuse", cache_dir=tmp_path)
    with pytest.raises(ParameterError, match="Unknown missing 'guess'"):
        read_table(tmp_path / "t.csv", label="l", positive=1, missing="guess")


def test_wishes__go_before_the_guess(tmp_path: Path) -> None:
    n = 200
    table = pa.table({
        "code": np.arange(n) % 5, "word": ["few", "3", "4"] * 66 + ["5", "x"],
        "note": ["a", "b"] * (n // 2), "other": np.arange(n) % 3, "l": np.arange(n) % 2,
    })  # fmt: skip
    for ending in (".csv", ".parquet"):
        path = write(tmp_path / f"t{ending}", table)
        with pytest.warns(ColumnWarning, match=r"'word' that are no numbers .*: 67, such as 'few'"):
            read = read_table(
                path, label="l", positive=1, category=["code"], text=["note"], number=["word"],
                columns=["code", "word", "note"], cache_dir=tmp_path / "cache",
            )  # fmt: skip
        assert read.plan is not None
        kinds = {column.name: column.kind for column in read.plan.columns}
        assert kinds == {"code": "category", "word": "number", "note": "text"}
        assert read.plan.columns[0].values == ("0", "1", "2", "3", "4")
        assert np.isnan(read.X[:, 1]).sum() == 67
    for wishes, message in (
        ({"category": ["code"], "text": ["code"]}, "two things: 'code'"),
        ({"drop": ["code"], "number": ["code"]}, "two things: 'code'"),
        ({"category": ["l"]}, "two things: 'l'"),
        ({"category": ["cod"]}, "lacks the column 'cod'. Did you mean 'code'"),
        ({"columns": "code"}, r"columns must be a list.*use \['code'\]"),
    ):
        with pytest.raises(InputError, match=message):
            read_table(path, label="l", positive=1, cache_dir=tmp_path, **wishes)


@pytest.mark.filterwarnings("ignore::vqpu.errors.ColumnWarning")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,d,x\n1,2,3\n", "same name: 'x'"),
        ("x,d\n1,2\n", "lacks the column 'l'. It has 'x', 'd'"),
        ("x,d,l\n1,2\n", "Expected 3 columns, got 2"),
        ("x,d,l\n", "has no rows"),
        ("x,d,l\n1,2,0\n2,3,0\n", "no row with the positive value '1'. Its labels are '0'"),
        ("x,l\n1,no\n2,\n", r"value '1'. Its labels are 'no', \(empty\)\."),
        ("x,d,l\n1,2,1\n3,4,1\n", "needs unlabelled samples too"),
        ("l\n1\n0\n", "no column left to learn from"),
        ("x,l\n1,1\n1,0\n", "no column left to learn from.*'x: it is constant'"),
        ("x,d,l\n1,1152921504606846977,1\n2,3,0\n", "'d' holds integers"),
    ],
)
def test_csv__unfit__refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / "t.csv", label="l", positive=1, cache_dir=tmp_path)


def test_category_of_thousands__one_column_of_codes__rare_ones_pooled(tmp_path: Path) -> None:
    n = 20_000
    rng = np.random.default_rng(0)
    values = np.array([f"v{i:04}" for i in rng.integers(0, 5000, n)])
    values[:3] = ["once", "twice", "twice"]
    path = write(tmp_path / "t.parquet", pa.table({"c": values, "l": np.arange(n) % 2}))
    read = read_table(path, label="l", positive=1, cache_dir=tmp_path / "cache")
    assert read.plan is not None
    (column,) = read.plan.columns
    counts = pd.Series(values).value_counts()
    assert len(column.values) == (counts >= 5).sum()
    assert set(column.values) == set(counts.index[counts >= 5])
    assert read.X.shape == (n, 1)
    other = len(column.values)
    assert read.X[:3, 0].tolist() == [other] * 3
    assert read.plan.categories == {0: other + 1}


@pytest.mark.parametrize("words", [1, 2])
def test_names_of_rows__left_out_and_said__unless_wished_for(words: int, tmp_path: Path) -> None:
    names = [" ".join([f"n{i}"] * words) for i in range(60)]
    table = pa.table({"x": [1.0, 2.0, 4.0] * 20, "name": names, "l": [1, 0] * 30})
    path = write(tmp_path / "t.csv", table)
    with pytest.warns(
        ColumnWarning, match=r"'name' \(it has 60 different values in 60 cells.*--id"
    ):
        read = read_table(path, label="l", positive=1, cache_dir=tmp_path)
    assert read.X.shape == (60, 1)
    read = read_table(path, label="l", positive=1, text=["name"], cache_dir=tmp_path)
    assert read.X.shape == (60, 25)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"x": [1.0]}, "having or lacking 'c'"),
        ({"x": [1.0], "c": ["a"], "z": [1]}, "having or lacking 'z'"),
    ],
)
def test_two_tables__different__refused(
    second: dict[str, Any], message: str, tmp_path: Path
) -> None:
    p = write(tmp_path / "p.parquet", pa.table({"x": [1.0], "c": ["a"]}))
    u = write(tmp_path / "u.parquet", pa.table(second))
    with pytest.raises(InputError, match=message):
        read_tables(p, u, cache_dir=tmp_path)


PLAN = ColumnPlan(
    (Column("n", "number"), Column("b", "boolean"), Column("c", "category", ("x", "é")))
)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": None}, "lacks the column 'n'. It has 'b', 'c'"),
        ({"n": pa.array([1, 2], pa.date32())}, "'n' is of type date32.*was a number in training"),
        ({"b": pa.array([1, 2], pa.date32())}, "'b' is of type date32.* was a boolean"),
        ({"c": [[1], [2]]}, "'c' is of type list<.* was a category"),
    ],
)
def test_encode__table_does_not_fit__refused(change: dict[str, Any], message: str) -> None:
    columns = {"n": [1.0, 2.0], "b": [True, False], "c": ["x", "é"]} | change
    batch = pa.record_batch({name: value for name, value in columns.items() if value is not None})
    with pytest.raises(InputError, match=message):
        encode_batch(PLAN, batch, Notes())


@pytest.mark.parametrize(
    ("change", "row", "counts"),
    [
        ({"n": ["3", " 4.5e0 "]}, [4.5, 0, 1], {}),
        ({"n": ["3", "four"]}, [np.nan, 0, 1], {"number": {"n": 1}}),
        ({"n": [1.0, float("inf")]}, [np.nan, 0, 1], {"infinite": {"n": 1}}),
        ({"n": [1.0, None]}, [np.nan, 0, 1], {}),
        ({"b": [1, 0]}, [2, 0, 1], {}),
        ({"b": ["Yes", "no"]}, [2, 0, 1], {}),
        ({"b": ["yes", "maybe"]}, [2, np.nan, 1], {"boolean": {"b": 1}}),
        ({"b": [1, 2]}, [2, np.nan, 1], {"boolean": {"b": 1}}),
        ({"c": ["x", "new"]}, [2, 0, 2], {"unseen": {"c": 1}}),
        ({"c": pa.array(["x", "new"]).dictionary_encode()}, [2, 0, 2], {"unseen": {"c": 1}}),
        ({"c": pa.array(["x", "new"], pa.string_view())}, [2, 0, 2], {"unseen": {"c": 1}}),
        ({"c": ["x", None]}, [2, 0, np.nan], {}),
        ({"c": [1, 2]}, [2, 0, 2], {"unseen": {"c": 2}}),
        ({"c": pa.nulls(2)}, [2, 0, np.nan], {}),
    ],
)
def test_encode__odd_cells__counted_and_no_row_lost(
    change: dict[str, Any], row: list[float], counts: dict[str, Any]
) -> None:
    columns = {"n": [1.0, 2.0], "b": [True, False], "c": ["x", "é"]} | change
    notes = Notes()
    X = encode_batch(PLAN, pa.record_batch(columns), notes)
    np.testing.assert_array_equal(X[1], row)
    assert notes.counts == counts


def test_encode__by_hand() -> None:
    batch = pa.record_batch({"c": ["é", "x"], "b": [True, False], "n": [3, 4]})
    assert encode_batch(PLAN, batch, Notes()).tolist() == [[3, 1, 1], [4, 0, 0]]


def test_stream__csv_category_of_digits__read_as_text(tmp_path: Path) -> None:
    plan = ColumnPlan((Column("c", "category", ("01", "2")),))
    (tmp_path / "t.csv").write_text("c\n2\n01\n")
    (chunk,) = iter_table(tmp_path / "t.csv", plan)
    assert chunk.X.tolist() == [[1], [0]]


def test_schema_of_before__encoded_as_then() -> None:
    entries = [
        {"name": "n", "kind": "number"},
        {"name": "b", "kind": "boolean"},
        {"name": "c", "kind": "category", "categories": ["x", "é"]},
    ]
    plan = plan_of_schema(json.loads(json.dumps({"format": 1, "columns": entries})))
    assert plan.feature_names == ["n", "b", "c=x", "c=é"]
    batch = pa.record_batch({"c": ["é", "new"], "b": [True, False], "n": [3, 4]})
    assert encode_batch(plan, batch, Notes()).tolist() == [[3, 1, 0, 1], [4, 0, 0, 0]]


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"format": 2, "columns": []},
        {"format": 1},
        {"format": 1, "columns": []},
        {"format": 1, "columns": [{"name": 1, "kind": "number"}]},
        {"format": 1, "columns": [{"name": "a", "kind": "date"}]},
        {"format": 1, "columns": [{"name": "a", "kind": "number", "extra": 1}]},
        {"format": 1, "columns": [{"name": "a", "kind": "number", "categories": ["x"]}]},
        {"format": 1, "columns": [{"name": "a", "kind": "category"}]},
        {"format": 1, "columns": [{"name": "a", "kind": "category", "categories": []}]},
        {"format": 1, "columns": [{"name": "a", "kind": "category", "categories": ["x", "x"]}]},
        {"format": 1, "columns": [{"name": "a", "kind": "category", "categories": [1]}]},
        {"format": 1, "columns": [{"name": "a", "kind": "number"}] * 2},
    ],
)
def test_schema_of_before__bad_data__refused(data: Any) -> None:
    with pytest.raises(InputError, match=r"table schema|plan names columns twice"):
        plan_of_schema(data)


UNSOUND = [
    Column("a", "magic"),
    Column("a", "number", values=("x",)),
    Column("a", "category"),
    Column("a", "category", values=("x", "x")),
    Column("a", "category", values=(1,)),  # type: ignore[arg-type]
    Column("a", "date", pattern="%H"),
    Column("a", "number", has_time=True),
    Column("a", "vector", width=1 << 40),
    Column("a", "vector", width=0),
    Column("a", "text"),
    Column("a", "text", components=np.zeros((2, 5), np.float32)),
    Column("a", "number", components=np.zeros((2, 4096), np.float32)),
    Column(3, "number"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("column", UNSOUND, ids=lambda column: str(column)[:60])
def test_plan__parts_that_do_not_fit__refused(column: Column) -> None:
    with pytest.raises(InputError, match="does not hold together"):
        ColumnPlan((column,)).check()
    with pytest.raises(InputError, match="does not hold together"):
        ColumnPlan(()).check()


def test_ids__unfit__refused(tmp_path: Path) -> None:
    table = pa.table({"x": [1, 2], "l": [1, 0], "f": [1.5, 2.5], "i": ["a", None]})
    path = write(tmp_path / "t.parquet", table)
    for column, message in (("f", "type double"), ("none", "lacks the column")):
        with pytest.raises(InputError, match=message):
            read_table(
                path,
                label="l",
                positive=1,
                id_column=column,
                drop={"f", "i"} - {column},
                cache_dir=tmp_path,
            )


def test_ids__missing_ones__are_none_and_their_rows_stay(tmp_path: Path) -> None:
    table = pa.table({"x": [1, 2], "l": [1, 0], "i": ["a", None]})
    path = write(tmp_path / "t.parquet", table)
    read = read_table(path, label="l", positive=1, id_column="i", cache_dir=tmp_path)
    assert (list(read.names), len(read.X)) == (["a", None], 2)


def test_drop__given_as_text__refused(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", pa.table({"x": [1, 2], "l": [1, 0]}))
    with pytest.raises(InputError, match=r"drop must be a list.*use \['x'\]"):
        read_table(path, label="l", positive=1, drop="x", cache_dir=tmp_path)


def test_pyarrow_missing__one_sentence_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.csv").write_text("x,l\n1,1\n")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'vqpu\[tables\]'"):
        read_table(tmp_path / "t.csv", label="l", positive=1)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_row_numbers__warned_of_unless_named_or_dropped(ending: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = pa.table({
        "key": np.arange(60) * 3 + 100,  # rises, whole
        "falls": -np.arange(60.0),
        "time": np.sort(rng.random(60)),  # rises, but not by whole numbers
        "x": rng.integers(0, 9, 60),
        "y": np.arange(60) % 3,
    })  # fmt: skip
    path = write(tmp_path / f"data.{ending}", table)
    told = r"Whole numbers rise .* in 'key', as.* repeats in 'falls', where.*--id.*--drop"
    with pytest.warns(RowNumberWarning, match=told):
        data = read_table(path, label="y", positive=1)
    assert data.X.shape == (60, 4)  # nothing is silently left out
    read_table(path, label="y", positive=1, id_column="key", number=["falls"])
    read_table(path, label="y", positive=1, drop=["key", "falls"])


def test_row_numbers__of_two_tables_and_many_batches__warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vqpu.files.readers._tablefiles._BATCH_VALUES", 20)
    paths = [
        write(tmp_path / f"{name}.parquet", pa.table({"n": np.arange(30), "x": [1.0, 2.0] * 15}))
        for name in "pu"
    ]
    with pytest.warns(RowNumberWarning, match="row to row in 'n', as"):
        read_tables(*paths)


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "__index_level_0__"])
def test_saved_index__refused_by_name(name: str, tmp_path: Path) -> None:
    columns = {name: np.random.default_rng(0).permutation(60), "x": [1.0, 2.0, 4.0] * 20}
    path = write(tmp_path / "data.csv", pa.table(columns | {"y": np.arange(60) % 2}))
    with pytest.raises(InputError, match=rf"{name!r} looks like the index of a data frame.*--drop"):
        read_table(path, label="y", positive=1)
    assert read_table(path, label="y", positive=1, drop=[name]).X.shape == (60, 1)
    assert read_table(path, label="y", positive=1, id_column=name).X.shape == (60, 1)


def test_ids__of_any_type__keep_it(tmp_path: Path) -> None:
    keys = {
        "u": (pa.array([2**64 - 1, 5], pa.uint64()), [2**64 - 1, 5]),
        "i": (pa.array([7, None], pa.int32()), [7, None]),
        "t": (pa.array(["007", "é"]).dictionary_encode(), ["007", "é"]),
        "d": (pa.array([0, 1], pa.date32()), ["1970-01-01", "1970-01-02"]),
    }
    table = pa.table({"x": [1.0, 2.0], "y": [1, 0]} | {k: v for k, (v, _) in keys.items()})
    path = write(tmp_path / "data.parquet", table)
    for name, (values, expected) in keys.items():
        (chunk,) = iter_table(path, ColumnPlan((Column("x", "number"),)), id_column=name)
        assert list(chunk.names) == expected
        assert chunk.kept[""].type == (pa.string() if name == "t" else values.type)


def test_kept_columns__carried_along__nested_and_huge_ones_refused(tmp_path: Path) -> None:
    huge = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int32()), ["x" * 200_000])
    table = pa.table(
        {"x": [1.0, 2.0], "n": [None, 1.5], "s": ["a", None], "l": [[1], [2]], "h": huge}
    )
    path = write(tmp_path / "data.parquet", table)
    plan = ColumnPlan((Column("x", "number"),))
    (chunk,) = iter_table(path, plan, keep=["n", "s"])
    assert chunk.kept["n"].values == [None, 1.5]
    assert chunk.kept["s"].values == ["a", None]
    with pytest.raises(InputError, match=r"'l' is of type list.*cannot be kept"):
        list(iter_table(path, plan, keep=["l"]))
    with pytest.raises(InputError, match="'h' holds text of 200000 bytes"):
        list(iter_table(path, plan, keep=["h"]))
    with pytest.raises(InputError, match="lacks the column 'z'"):
        iter_table(path, plan, keep=["z"])
    with pytest.raises(InputError, match=r"lacks the column 'n1'\. It has"):
        iter_table(path, ColumnPlan((Column("n1", "number"), Column("n", "number"))))
    with pytest.raises(InputError, match=r"'n1'\. Did you mean 'n'"):
        iter_table(path, ColumnPlan((Column("n", "number"),)), keep=["n1"])


@pytest.mark.parametrize("ending", ENDINGS)
def test_stream__missing_refused__the_first_row_named(ending: str, tmp_path: Path) -> None:
    path = write(tmp_path / f"t{ending}", pa.table({"x": [1.0, 2.0, None], "p": ["a", "b", "a"]}))
    plan = ColumnPlan((Column("x", "number"), Column("p", "category", ("a", "b"))))
    with pytest.raises(InputError, match=r"Row 2 \(from 0\) of .* has no value in 'x'"):
        list(iter_table(path, plan, missing="refuse"))


def test_csv__text_in_a_column_of_training_s_numbers__counted(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('"the x",y\n1,2\nlarge,3\n')
    plan = ColumnPlan((Column("the x", "number"), Column("y", "number")))
    notes = Notes()
    (chunk,) = iter_table(tmp_path / "t.csv", plan, notes=notes)
    np.testing.assert_array_equal(chunk.X, [[1, 2], [np.nan, 3]])
    assert notes.sentences() == [
        "Cells of 'the x' that are no numbers and count as missing: 1, such as 'large'."
    ]


def test_wrong_name__the_nearest_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "table.csv", pa.table({"x": [1, 2], "label": [1, 0]}))
    with pytest.raises(InputError, match=r"lacks the column 'lable'\. Did you mean 'label'"):
        read_table(path, label="lable", positive=1, cache_dir=tmp_path)
    with pytest.raises(InputError, match=r"does not exist\. Did you mean 'table\.csv'"):
        read_table(tmp_path / "tabel.csv", label="label", positive=1, cache_dir=tmp_path)


def test_csv__late_text_in_a_column_of_numbers__counted_and_all_rows_there(tmp_path: Path) -> None:
    lines = [f"{number},{number}.5,{number % 2}" for number in range(60_000)]
    (tmp_path / "t.csv").write_text("\n".join(["n,size,l", *lines, "7,large,0", "8,9,1"]) + "\n")
    with pytest.warns(ColumnWarning, match=r"'size' that are no numbers .*: 1, such as 'large'"):
        read = read_table(
            tmp_path / "t.csv", label="l", positive=1, drop=["n"], cache_dir=tmp_path / "cache"
        )
    assert read.X.shape == (60_002, 1)
    assert read.X[59_999:, 0].tolist()[::2] == [59_999.5, 9]
    assert np.isnan(read.X[60_000, 0])


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_csv__separator_found_by_itself(separator: str, tmp_path: Path) -> None:
    rows = [["x", "a b, c", "l"], ["1.5", "p", "1"], ["2", "q", "0"], ["3", "p", "0"]]
    lines = [separator.join(f'"{cell}"' for cell in row) for row in rows]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    read = read_table(tmp_path / "t.csv", label="l", positive=1, cache_dir=tmp_path)
    assert read.X.tolist() == [[1.5, 0], [2, 1], [3, 0]]


def test_csv__decimal_commas_beside_points_and_marks__are_numbers(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = ["income;version;known"]
    for number in range(200):
        income = f"{rng.uniform(1, 9):.3f}".replace(".", ",")
        if number == 7:
            income = "?"
        if number == 8:
            income = "1.234.567,5"
        lines.append(f"{income};{number % 5}.5;{'yes' if number % 4 == 0 else ''}")
    path = tmp_path / "data.csv"
    path.write_text("\n".join(lines) + "\n")
    with pytest.warns(ColumnWarning, match="'income' that are no numbers.*: 1, such as"):
        data = read_table(path, label="known", positive="yes")
    assert data.plan is not None
    assert data.plan.describe() == {"income": "number", "version": "number"}
    assert np.isnan(data.X[:, 0]).sum() == 1
    assert np.nanmax(data.X[:, 0]) == 1234567.5


def test_csv__decimal_comma__with_semicolons(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x;l\n1,5;1\n2,25;0\n-3;0\n")
    read = read_table(tmp_path / "t.csv", label="l", positive=1, cache_dir=tmp_path)
    assert read.X.ravel().tolist() == [1.5, 2.25, -3]
    (tmp_path / "u.csv").write_text("x;l\n1,5;1\n?;0\n" + "-3,5;0\n" * 20)
    assert read.plan is not None
    (chunk,) = iter_table(tmp_path / "u.csv", read.plan)
    np.testing.assert_array_equal(chunk.X[:3, 0], [1.5, np.nan, -3.5])


def test_csv__decimal_comma_in_quotes__between_commas(tmp_path: Path) -> None:
    rows = "".join(f'"{number},{number:02d}",a,{number % 2}\n' for number in range(10, 60))
    (tmp_path / "t.csv").write_text(f"x,c,l\n{rows}")
    read = read_table(tmp_path / "t.csv", label="l", positive=1, drop=["c"], cache_dir=tmp_path)
    assert read.plan is not None
    assert read.plan.describe() == {"x": "number"}
    np.testing.assert_allclose(read.X[:3, 0], [10.1, 11.11, 12.12])


def test_csv__plan_of_a_frame_with_decimal_commas__read_alike(tmp_path: Path) -> None:
    rates = [f"0,{i % 90 + 100}" if i % 2 else f"{i % 9 + 1},{i % 90 + 100}" for i in range(60)]
    prices = [f"1.{i % 90 + 100},50" if i % 3 else f"{i % 7}" for i in range(60)]
    frame = pd.DataFrame({"rate": rates, "price": prices, "x": [f"{i},5" for i in range(60)]})
    notes = Notes()
    plan = fit_frame(frame)
    assert {column.pattern for column in plan.columns} == {"comma"}
    expected = encode_frame(plan, frame, notes)
    assert expected[1, :2].tolist() == [0.101, 1101.5]
    assert expected[2, 0] == 3.102
    frame.to_csv(tmp_path / "t.csv", sep=";", index=False)
    frame.to_csv(tmp_path / "u.csv", index=False)  # between commas, in quotes
    for name in ("t.csv", "u.csv"):
        for keep in ((), ("rate",)):
            (chunk,) = iter_table(tmp_path / name, plan, keep=keep)
            np.testing.assert_array_equal(chunk.X, expected)


def test_points_for_thousands_beside_decimal_commas__noted_in_files_and_frames(
    tmp_path: Path,
) -> None:
    cells = ["1.659,09", "2.572", "982", "12,5"] * 10
    (tmp_path / "t.csv").write_text("p;l\n" + "".join(f"{cell};1\n{cell};0\n" for cell in cells))
    with pytest.warns(ColumnWarning, match="'p' that have three digits .*: 20, such as '2.572'"):
        read = read_table(tmp_path / "t.csv", label="l", positive=1, cache_dir=tmp_path / "cache")
    assert read.X[:8:2, 0].tolist() == [1659.09, 2.572, 982, 12.5]
    frame = pd.DataFrame({"p": cells, "q": [f"{i},5" for i in range(40)]})
    plan, notes = fit_frame(frame), Notes()
    assert encode_frame(plan, frame, notes)[:4, 0].tolist() == [1659.09, 2.572, 982, 12.5]
    assert notes.counts == {"thousands": {"p": 10}}
    assert read.plan is not None
    (tmp_path / "u.csv").write_text("p;q\n" + "1.808;1\n808;2\n2.500;1\n" * 3)
    notes = Notes()
    list(iter_table(tmp_path / "u.csv", read.plan, notes=notes))
    assert notes.counts == {"thousands": {"p": 6}}


def test_dates__days_that_do_not_exist__missing_with_a_note(tmp_path: Path) -> None:
    plan = plan_of(
        pa.table({"d": [f"{i % 28 + 1}.{i % 12 + 1}.2024" for i in range(60)]}), tmp_path
    )
    notes = Notes()
    table = pd.DataFrame(
        {"d": ["31.02.2024", "29.02.2024", "30.02.2023", "1.2.2024", "01.02.2024"]}
    )
    X = encode_frame(plan, table, notes)
    np.testing.assert_array_equal(X[:, 3], [np.nan, 29, np.nan, 1, 1])
    assert notes.counts == {"date": {"d": 2}}


def test_xlsx__whole_numbers__name_rows(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    frame = pd.DataFrame({"nr": [101, 102, 103], "x": [1.5, 2.5, 0.5], "l": [1, 0, 0]})
    save(frame, tmp_path / "t.xlsx")
    read = read_table(tmp_path / "t.xlsx", label="l", positive=1, id_column="nr")
    assert list(read.names) == ["101", "102", "103"]
    save(frame.assign(nr=[1.5, 2, 3]), tmp_path / "u.xlsx")
    with pytest.raises(InputError, match="id column 'nr' is of type double"):
        read_table(tmp_path / "u.xlsx", label="l", positive=1, id_column="nr")


def test_csv__thousands_in_quotes__are_no_decimal_commas(tmp_path: Path) -> None:
    rows = "".join(f'"{number},000",{number % 2}\n' for number in range(10, 60))
    (tmp_path / "t.csv").write_text(f"x,l\n{rows}")
    assert not CsvFile(tmp_path / "t.csv", (), {})._has_commas


def test_number__not_one_in_the_column__refused(tmp_path: Path) -> None:
    rows = "".join(f"{number},about {number},{number % 2}\n" for number in range(50))
    (tmp_path / "t.csv").write_text(f"y,x,l\n{rows}")
    with pytest.raises(InputError, match=r"'x' holds no number, but text such as 'about "):
        read_table(
            tmp_path / "t.csv", label="l", positive=1, number=["x"], cache_dir=tmp_path / "cache"
        )


def test_folder_of_parts__one_table(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    for part in range(3):
        columns = {"x": np.arange(4.0) + 4 * part, "l": [1, 0, 0, 0]}
        write(folder / f"part-{part}.{'csv' if part == 1 else 'parquet'}", pa.table(columns))
    (folder / "_SUCCESS").write_bytes(b"")
    read = read_table(folder, label="l", positive=1, number=["x"], cache_dir=tmp_path / "cache")
    assert read.X[:, 0].tolist() == [*range(12)]
    some = read_table(
        folder / "part-*.parquet", label="l", positive=1, number=["x"], cache_dir=tmp_path / "cache"
    )
    assert some.X[:, 0].tolist() == [0, 1, 2, 3, 8, 9, 10, 11]
    with pytest.raises(InputError, match=r"rows-\*.csv does not exist"):
        read_table(folder / "rows-*.csv", label="l", positive=1, cache_dir=tmp_path / "cache")
    write(folder / "part-9.parquet", pa.table({"z": [1.0]}))
    with pytest.raises(InputError, match=r"differs from .* in having or lacking 'l', 'x', 'z'"):
        read_table(folder, label="l", positive=1, cache_dir=tmp_path / "cache")


def test_json_lines__keys_that_come_late__are_columns(tmp_path: Path) -> None:
    rows = [{"x": 1, "l": 1}, {"x": 2.5, "l": 0, "late": "a"}, {"l": 0, "x": None, "late": "b"}]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    read = read_table(tmp_path / "t.jsonl", label="l", positive=1, cache_dir=tmp_path)
    np.testing.assert_array_equal(read.X, [[1, np.nan], [2.5, 0], [np.nan, 1]])
    for text, message in (("[1]\n", "Line 1 .* no JSON object"), ("{", "Line 1 of .* is no JSON")):
        (tmp_path / "b.jsonl").write_text(text)
        with pytest.raises(InputError, match=message):
            read_table(tmp_path / "b.jsonl", label="l", positive=1, cache_dir=tmp_path)


def test_excel_missing__one_sentence_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.xlsx").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'vqpu\[excel\]'"):
        read_table(tmp_path / "t.xlsx", label="l", positive=1)


def test_wishes__of_unknown_columns__checked_before_any_row_is_read() -> None:
    with pytest.raises(InputError, match="lacks the column 'b'"):
        Wishes(drop=["b"]).check(["a"])
