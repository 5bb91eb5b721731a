"""Tables: what is encoded how, what is refused, and that a schema lasts."""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vqpu.errors import (
    BrokenRowWarning,
    InputError,
    MissingDependencyError,
    ParameterError,
    RowNumberWarning,
)
from vqpu.files import Column, TableSchema, iter_table, read_table, read_tables

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

from pyarrow import csv, feather, parquet  # noqa: E402

ENDINGS = [".csv", ".tsv", ".parquet", ".feather"]


def write(path: Path, table: Any) -> Path:
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
    elif path.suffix == ".feather":
        feather.write_feather(table, path)
    else:
        options = csv.WriteOptions(delimiter="\t" if path.suffix == ".tsv" else ",")
        csv.write_csv(table, path, options)
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


def dummies(data: dict[str, Any]) -> Any:
    """The same encoding by pandas."""
    frame = pd.DataFrame(data)[["age", "colour", "height", "smokes"]]
    one_hot = pd.get_dummies(frame["colour"])
    return np.column_stack([frame["age"], one_hot, frame["height"], frame["smokes"]]).astype(float)


@pytest.mark.parametrize("ending", ENDINGS)
def test_one_table__equals_pandas_dummies(ending: str, tmp_path: Path) -> None:
    data = example()
    path = write(tmp_path / f"t{ending}", pa.table(data))
    read = read_table(
        path, label="class", positive="yes", id_column="key", cache_dir=tmp_path / "cache"
    )
    np.testing.assert_array_equal(read.X, dummies(data))
    np.testing.assert_array_equal(read.y, np.asarray(data["class"]) == "yes")
    assert list(read.names) == data["key"]
    assert read.schema is not None
    assert read.schema.feature_names == [
        "age", "colour=blue, light", "colour=green", "colour=red", "height", "smokes",
    ]  # fmt: skip
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.parametrize("ending", ENDINGS)
def test_stream__any_format_and_column_order__as_in_training(ending: str, tmp_path: Path) -> None:
    data = example()
    train = write(tmp_path / "train.parquet", pa.table(data))
    schema = read_table(
        train, label="class", positive="yes", drop=["key"], cache_dir=tmp_path
    ).schema
    assert schema is not None
    turned = {name: data[name] for name in reversed(data)} | {"unknown": data["age"]}
    path = write(tmp_path / f"new{ending}", pa.table(turned))
    chunks = list(iter_table(path, schema, id_column="key", label="class", positive="no"))
    np.testing.assert_array_equal(np.concatenate([chunk.X for chunk in chunks]), dummies(data))
    assert [name for chunk in chunks for name in chunk.names] == data["key"]
    y = np.concatenate([chunk.y for chunk in chunks if chunk.y is not None])
    np.testing.assert_array_equal(y, np.asarray(data["class"]) == "no")


def test_two_tables__one_schema(tmp_path: Path) -> None:
    first, second = example(30), example(50, seed=1)
    first["colour"] = ["red"] * 30
    for data in (first, second):
        del data["class"], data["key"]
    p = write(tmp_path / "p.csv", pa.table(first))
    u = write(tmp_path / "u.feather", pa.table(second))
    read = read_tables(p, u, cache_dir=tmp_path / "cache")
    both = {name: [*first[name], *second[name]] for name in first}
    np.testing.assert_array_equal(read.X, dummies(both))
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
        assert read.schema is not None
        sizes = [chunk.X.size for chunk in iter_table(path, read.schema)]
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
    assert read.X.tolist() == [[0, 1], [1, 0], [0, 1]]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"d": pa.array([1, 2], pa.date32())}, r"'d \(date32\[day\]\)'.*drop="),
    ({"d": pa.array([1, 2], pa.timestamp("ms"))}, r"timestamp\[ms\]"),
    ({"d": [[1], [2]]}, "list<"),
    ({"d": [{"a": 1}, {"a": 2}]}, "struct<"),
    ({"d": [b"a", b"b"]}, "binary"),
    ({"d": [None, None]}, r"'d \(null\)'"),
    ({"d": [1.0, None]}, r"missing in 1 of 2 columns among 2 rows: 'd \(1\)'"),
    ({"d": [float("nan"), 1.0]}, r"'d \(1\)'"),
    ({"d": ["a", None]}, r"'d \(1\)'"),
    ({"d": [True, None]}, r"'d \(1\)'"),
    ({"d": [float("inf"), 1.0]}, "Column 'd' holds infinite values"),
    ({"d": [2**60 + 1, 1]}, "Column 'd' holds integers that no float64 can hold"),
    ({"d": ["x" * 2000, "y"]}, "text of 2000 bytes, too long for a category"),
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,d,l\n1,2020-01-31,1\n2,2020-02-01,0\n", "date32"),
        ("x,d,l\n1,,1\n2,a,0\n", r"'d \(1\)'"),
        ("x,d,l\n1,NA,1\n2,3,0\n", r"'d \(1\)'"),
        ("x,d,l\n1,1152921504606846977,1\n2,3,0\n", "Column 'd' holds integers"),
        ("x,d,x\n1,2,3\n", "same name: 'x'"),
        ("x,d\n1,2\n", "lacks the column 'l'. It has 'x', 'd'"),
        ("x,d,l\n1,2\n", "Expected 3 columns, got 2"),
        ("x,d,l\n", "has no rows"),
        ("x,d,l\n1,2,0\n", "no row with the positive value '1'. Its labels are '0'"),
        ("x,l\n1,no\n2,\n", r"value '1'. Its labels are 'no', \(empty\)\."),
        ("x,d,l\n1,2,1\n", "needs unlabelled samples too"),
        ("l\n1\n0\n", "no column left to learn from"),
    ],
)
def test_csv__unfit__refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        read_table(tmp_path / "t.csv", label="l", positive=1, cache_dir=tmp_path)


def test_too_many_categories__refused_unless_allowed(tmp_path: Path) -> None:
    table = pa.table({"x": [f"v{i:02}" for i in range(65)], "l": [1] + [0] * 64})
    path = write(tmp_path / "t.parquet", table)
    with pytest.raises(InputError, match=r"'x' has more than 64 distinct texts.*drop"):
        read_table(path, label="l", positive=1, cache_dir=tmp_path)
    read = read_table(path, label="l", positive=1, max_categories=65, cache_dir=tmp_path)
    np.testing.assert_array_equal(read.X, np.eye(65))


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ({"x": [1.0]}, "having or lacking 'c'"),
        ({"x": [1.0], "c": ["a"], "z": [1]}, "having or lacking 'z'"),
        ({"x": ["1"], "c": ["a"]}, "'x' is a number in the first table but a category"),
    ],
)
def test_two_tables__different__refused(
    second: dict[str, Any], message: str, tmp_path: Path
) -> None:
    p = write(tmp_path / "p.parquet", pa.table({"x": [1.0], "c": ["a"]}))
    u = write(tmp_path / "u.parquet", pa.table(second))
    with pytest.raises(InputError, match=message):
        read_tables(p, u, cache_dir=tmp_path)


SCHEMA = TableSchema(
    (Column("n", "number"), Column("b", "boolean"), Column("c", "category", ("x", "é")))
)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": None}, "lacks the column 'n'. It has 'b', 'c'"),
        ({"n": ["1", "2"]}, "'n' is of type string, but was a number in training"),
        ({"b": [1, 0]}, "'b' is of type int64, but was a boolean"),
        ({"c": ["x", "new"]}, "'c' has values that training never saw: 'new'. Known"),
        ({"c": pa.array(["x", "new"]).dictionary_encode()}, "never saw: 'new'"),
        ({"c": ["x", None]}, "'c' has missing values"),
        ({"n": [1.0, float("nan")]}, "'n' has missing values"),
        ({"n": [1.0, float("inf")]}, "'n' holds infinite"),
    ],
)
def test_encode__table_does_not_fit__refused(change: dict[str, Any], message: str) -> None:
    columns = {"n": [1.0, 2.0], "b": [True, False], "c": ["x", "é"]} | change
    batch = pa.record_batch({name: value for name, value in columns.items() if value is not None})
    with pytest.raises(InputError, match=message):
        SCHEMA.encode(batch)


def test_encode__by_hand() -> None:
    batch = pa.record_batch({"c": ["é", "x"], "b": [True, False], "n": [3, 4]})
    assert SCHEMA.encode(batch).tolist() == [[3, 1, 0, 1], [4, 0, 1, 0]]


def test_stream__csv_category_of_digits__read_as_text(tmp_path: Path) -> None:
    schema = TableSchema((Column("c", "category", ("01", "2")),))
    (tmp_path / "t.csv").write_text("c\n2\n01\n")
    (chunk,) = iter_table(tmp_path / "t.csv", schema)
    assert chunk.X.tolist() == [[0, 1], [1, 0]]


def test_schema__json_round_trip() -> None:
    again = TableSchema.from_dict(json.loads(json.dumps(SCHEMA.to_dict())))
    assert again == SCHEMA
    assert again.feature_names == ["n", "b", "c=x", "c=é"]
    assert again.n_features == 4


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
def test_schema__bad_data__refused(data: Any) -> None:
    with pytest.raises(InputError, match="table schema"):
        TableSchema.from_dict(data)


def test_ids__unfit__refused(tmp_path: Path) -> None:
    table = pa.table({"x": [1, 2], "l": [1, 0], "f": [1.5, 2.5], "i": ["a", None]})
    path = write(tmp_path / "t.parquet", table)
    for column, message in (("f", "type double"), ("i", "1 missing"), ("none", "lacks the column")):
        with pytest.raises(InputError, match=message):
            read_table(
                path,
                label="l",
                positive=1,
                id_column=column,
                drop={"f", "i"} - {column},
                cache_dir=tmp_path,
            )


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
    with pytest.warns(RowNumberWarning, match=r"Whole numbers rise .* in 'key', as.*--id.*--drop"):
        data = read_table(path, label="y", positive=1)
    assert data.X.shape == (60, 4)  # nothing is silently left out
    read_table(path, label="y", positive=1, id_column="key")
    read_table(path, label="y", positive=1, drop=["key"])


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


def test_ids__of_64_bits_without_a_sign__are_text(tmp_path: Path) -> None:
    keys = pa.array([2**64 - 1, 5, 0, 2**63], pa.uint64())
    table = pa.table({"key": keys, "x": [1.0, 2.0, 4.0, None], "y": [1, 0, 0, 0]})
    path = write(tmp_path / "data.parquet", table)
    with pytest.warns(BrokenRowWarning, match=r"\(9223372036854775808: missing"):
        data = read_table(path, label="y", positive=1, id_column="key", on_broken="skip")
    assert data.names == ["18446744073709551615", "5", "0"]


def test_broken_row__id_zero_is_an_id(tmp_path: Path) -> None:
    table = pa.table({"key": [7, 0, 8, 9], "x": [1.0, None, 4.0, 3.0], "y": [1, 0, 0, 0]})
    path = write(tmp_path / "data.parquet", table)
    with pytest.warns(BrokenRowWarning, match=r"\(0: missing"):
        data = read_table(path, label="y", positive=1, id_column="key", on_broken="skip")
    assert data.broken[0].name == 0


INCOMPLETE = {
    "key": ["a", "b", "c", "d", "e", "f"],
    "age": [30.0, None, 31.0, float("nan"), 29.0, float("inf")],
    "pet": ["cat", "dog", None, "cat", "dog", "cat"],
    "l": [1, 1, 0, 0, 0, 0],
}
BROKEN = [
    ("b", "missing value in 'age'"),
    ("c", "missing value in 'pet'"),
    ("d", "missing value in 'age'"),
    ("f", "infinite value in 'age'"),
]


def test_rows_with_missing_values__skipped__listed_and_said(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", pa.table(INCOMPLETE))
    with pytest.raises(InputError, match=r"--skip-broken.*in Python on_broken=\"skip\""):
        read_table(path, label="l", positive=1, id_column="key", cache_dir=tmp_path)
    with pytest.warns(BrokenRowWarning, match=r"4 of 6 rows cannot be used \(b: missing value in"):
        read = read_table(
            path, label="l", positive=1, id_column="key", on_broken="skip", cache_dir=tmp_path
        )
    assert read.X.tolist() == [[30, 1, 0], [29, 0, 1]]
    assert (read.y.tolist(), list(read.names)) == ([1, 0], ["a", "e"])
    assert [tuple(row) for row in read.broken] == BROKEN


def test_rows_without_ids__skipped__the_others_keep_their_numbers(tmp_path: Path) -> None:
    p = write(tmp_path / "p.parquet", pa.table({"x": [1.0, None, 3.0]}))
    u = write(tmp_path / "u.feather", pa.table({"x": [None, 5.0]}))
    with pytest.warns(BrokenRowWarning, match="2 of 5 rows"):
        read = read_tables(p, u, on_broken="skip", cache_dir=tmp_path)
    assert (read.X.ravel().tolist(), list(read.names)) == ([1, 3, 5], [0, 2, 4])
    assert read.y.tolist() == [1, 1, 0]
    empty = write(tmp_path / "e.parquet", pa.table({"x": pa.array([None], pa.float64())}))
    with pytest.raises(InputError, match=r"e\.parquet has no rows without missing or infinite"):
        read_tables(p, empty, on_broken="skip", cache_dir=tmp_path)


@pytest.mark.parametrize("ending", ENDINGS)
def test_stream__skipped_rows__missing_and_unknown(ending: str, tmp_path: Path) -> None:
    schema = TableSchema((Column("age", "number"), Column("pet", "category", ("cat", "dog"))))
    data = {**INCOMPLETE, "pet": ["cat", "dog", None, "cat", "eel", "cat"]}
    path = write(tmp_path / f"t{ending}", pa.table(data))
    (chunk,) = iter_table(path, schema, id_column="key", on_broken="skip")
    assert (chunk.X.tolist(), list(chunk.names)) == ([[30, 1, 0]], ["a"])
    reasons = dict(chunk.broken)
    assert reasons == {**dict(BROKEN), "e": "'eel' in 'pet', which training never saw"}
    with pytest.raises(ParameterError, match="Unknown on_broken 'zero'"):
        iter_table(path, schema, on_broken="zero")


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["p", None, "q", "p"], pa.string_view()),
        pa.array(["p", None, "q", "p"]).dictionary_encode(),
        pa.array([1.0, np.inf, 2.0, 1.0]).dictionary_encode(),
        pa.array([1, None, 0, 1]),
        pa.array([True, None, False, True]),
        pa.array([Decimal("1.5"), None, Decimal("2.5"), Decimal("1.5")]),
    ],
    ids=lambda column: str(column.type),
)
def test_skipped_rows__columns_of_any_type(column: Any, tmp_path: Path) -> None:
    table = pa.table({"x": [1.0, 2.0, None, 3.0], "d": column, "l": [1, 0, 0, 0]})
    path = write(tmp_path / "t.feather", table)
    with pytest.warns(BrokenRowWarning, match="2 of 4 rows"):
        read = read_table(path, label="l", positive=1, on_broken="skip", cache_dir=tmp_path)
    assert (read.X[:, 0].tolist(), list(read.names)) == ([1, 3], [0, 3])
    assert read.X[0, 1:].tolist() == read.X[1, 1:].tolist()


def test_skipped_rows__without_an_id__named_by_their_number(tmp_path: Path) -> None:
    table = pa.table({"x": [1.0, None, 2.0], "key": ["a", None, "c"], "l": [1, 0, 0]})
    path = write(tmp_path / "t.parquet", table)
    with pytest.warns(BrokenRowWarning, match="row 1: missing value in 'x'"):
        read = read_table(
            path, label="l", positive=1, id_column="key", on_broken="skip", cache_dir=tmp_path
        )
    assert list(read.names) == ["a", "c"]


def test_skipped_rows__all_positives_among_them__said(tmp_path: Path) -> None:
    path = write(tmp_path / "t.parquet", pa.table({"x": [None, 1.0, 2.0], "l": [1, 0, 0]}))
    with (
        pytest.warns(BrokenRowWarning),
        pytest.raises(InputError, match="without the 1 rows left out, has no row with"),
    ):
        read_table(path, label="l", positive=1, on_broken="skip", cache_dir=tmp_path)


def test_csv__text_in_a_column_of_training_s_numbers__named(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('"the x",y\n1,2\nlarge,3\n')
    schema = TableSchema((Column("the x", "number"), Column("y", "number")))
    with pytest.raises(InputError, match=r"column 'the x'.*large"):
        iter_table(tmp_path / "t.csv", schema)


def test_wrong_name__the_nearest_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "table.csv", pa.table({"x": [1, 2], "label": [1, 0]}))
    with pytest.raises(InputError, match=r"lacks the column 'lable'\. Did you mean 'label'"):
        read_table(path, label="lable", positive=1, cache_dir=tmp_path)
    with pytest.raises(InputError, match=r"does not exist\. Did you mean 'table\.csv'"):
        read_table(tmp_path / "tabel.csv", label="label", positive=1, cache_dir=tmp_path)


def test_csv__late_text_in_a_column_of_numbers__named(tmp_path: Path) -> None:
    lines = [f"{number},{number}.5,{number % 2}" for number in range(60_000)]
    (tmp_path / "t.csv").write_text("\n".join(["n,size,l", *lines, "7,large,0"]) + "\n")
    with pytest.raises(InputError, match=r"column 'size'.*large"):
        read_table(tmp_path / "t.csv", label="l", positive=1, drop=["n"], cache_dir=tmp_path)
