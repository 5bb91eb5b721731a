"""Tables in stores: the same rows as from files, and one sentence where there are none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from tests.command_line import write_table
from vqpu.errors import ColumnWarning, InputError, UsageError
from vqpu.files import kind_of, read_table
from vqpu.files.readers._samples import table_parts
from vqpu.files.readers._stores import StoredFile, is_stored, local_path, status_of
from vqpu.files.readers._tablefiles import open_table, stream
from vqpu.persistence._model import check_free
from vqpu.persistence._targets import check_target

NAMES = ["a.parquet", "b 1%.parquet", "_job.json", ".hidden"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two tables with the same columns, one with an odd name, and what writers leave beside."""
    folder = tmp_path / "some sales"
    folder.mkdir()
    for number, name in enumerate(NAMES[:2]):
        write_table(tmp_path / "rows.csv", 50, seed=number)
        table = csv.read_csv(tmp_path / "rows.csv")
        parquet.write_table(table, folder / name, row_group_size=20)
    for name in NAMES[2:]:
        (folder / name).write_text("{}")
    return folder


def rows_of(path: str | Path) -> list[dict[str, Any]]:
    table = open_table(path)
    batches = stream(table, table.schema.names, 10)
    return [row for batch in batches for row in batch.to_pylist()]


def test_folder_in_a_store__as_on_disk(folder: Path) -> None:
    expected, uri = rows_of(folder), folder.as_uri()
    assert len(expected) == 100
    for address in (uri, f"{uri}/", f"{uri}/*.parquet"):
        assert kind_of(address) == "table"
        parts = table_parts(address)
        assert [part.name for part in parts] == NAMES[:2]
        assert rows_of(address) == expected
        assert rows_of(str(parts[1])) == expected[50:]
        assert status_of(str(parts[1]))[0] == (folder / NAMES[1]).stat().st_size


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.csv.gz"])
def test_csv_in_a_store__as_on_disk(tmp_path: Path, name: str) -> None:
    write_table(tmp_path / "rows.csv", 50)
    content = (tmp_path / "rows.csv").read_bytes()
    with pa.output_stream(str(tmp_path / name)) as file:  # packs by the ending
        file.write(content.replace(b",", b"\t") if name.endswith("tsv") else content)
    expected = rows_of(tmp_path / name)
    assert len(expected) == 50
    assert rows_of((tmp_path / name).as_uri()) == expected


def test_training_on_a_store__the_same_samples(folder: Path) -> None:
    options: dict[str, Any] = {"label": "known", "positive": "yes", "id_column": "key"}
    with pytest.warns(ColumnWarning, match="'key' that name a row that another names too"):
        here, there = read_table(folder, **options), read_table(folder.as_uri(), **options)
    np.testing.assert_array_equal(np.asarray(there.X), np.asarray(here.X))
    np.testing.assert_array_equal(there.y, here.y)


def test_star_in_a_name__is_that_name(folder: Path) -> None:
    (folder / NAMES[0]).rename(folder / "a*b.parquet")
    assert [part.name for part in table_parts(folder.as_uri())] == ["a*b.parquet", NAMES[1]]
    assert len(rows_of(folder.as_uri())) == 100
    assert len(rows_of(f"{folder.as_uri()}/a%2Ab.parquet")) == 50


def test_parquet_in_a_store__one_row_group_at_a_time(tmp_path: Path) -> None:
    n = 400_000
    columns = {f"c{i}": np.random.default_rng(i).normal(size=n) for i in range(8)}
    parquet.write_table(pa.table(columns), tmp_path / "rows.parquet", row_group_size=20_000)
    before = pa.total_allocated_bytes()
    table, most = open_table((tmp_path / "rows.parquet").as_uri()), 0
    for _ in stream(table, table.schema.names, 1000):
        most = max(most, pa.total_allocated_bytes() - before)
    assert most < 8 * 8 * n / 4, most  # of all values


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("none.parquet", "none.parquet does not exist."),
        ("none/*.parquet", "does not exist"),
        ("", "is no folder of tables alone"),
        ("some%20sales/_job.json", "of those only .parquet, .csv, .tsv are"),
    ],
)
def test_address__nothing_for_us_there__one_sentence(folder: Path, path: str, message: str) -> None:
    (folder.parent / "other.txt").write_text("x")
    with pytest.raises(InputError) as error:
        kind_of(f"{folder.parent.as_uri()}/{path}")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("address", ["file://host/a.csv", "s3://", "gs://"])
def test_address__no_store_there__one_sentence(address: str) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        kind_of(address)


@pytest.mark.parametrize(
    "address",
    [
        "s3://KEY:secret@bucket/a.csv",
        "s3://KEY:sec/secret@bucket/a.csv",
        "s3://KEY:sec secret@bucket/a.csv",
        "s3://secret@bucket/a.csv",
        "abfs://container:secret@account.dfs.core.windows.net/a.csv",
        "s3://bucket/a.csv?sig=secret",
        "gs://bucket/a.csv?account_key=secret",
        "s3://[secret/a.csv",
        "https://host/secret.csv",
        "nonsense://secret/a.csv",
    ],
)
def test_address__holds_a_password_or_is_none__refused_and_not_shown(address: str) -> None:
    for use in (kind_of, open_table, table_parts, status_of, local_path):
        with pytest.raises(InputError) as error:
            use(address)
        assert "secret" not in str(error.value)
        assert address.partition(":")[0] in str(error.value)


def test_address_of_azure__its_container_is_no_user() -> None:
    place = StoredFile("abfss://container@account.dfs.core.windows.net/a.csv?enable_tls=true")
    assert place.name == "a.csv"


def test_store_that_lets_nobody_in__one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    where = "scheme=http&endpoint_override=127.0.0.1:1&region=us-east-1"
    with pytest.raises(InputError, match="lets this user in"):
        kind_of(f"s3://bucket/a.parquet?{where}")


def test_table_that_cannot_be_decoded__one_sentence(folder: Path) -> None:
    whole = (folder / NAMES[0]).read_bytes()
    (folder / "torn.parquet").write_bytes(whole[:-50])
    with pytest.raises(InputError, match=r"torn.parquet cannot be read as parquet"):
        rows_of(f"{folder.as_uri()}/torn.parquet")
    (folder / "table.xlsx").write_bytes(b"x")
    with pytest.raises(InputError, match=r"expected one of .parquet, .csv, .tsv"):
        open_table(f"{folder.as_uri()}/table.xlsx")


@pytest.mark.parametrize("out", ["s3://KEY:secret@bucket/m", "s3://KEY:secret@bucket/m.onnx"])
def test_result_in_a_store__refused_and_not_shown(
    out: str, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    for check in (check_free, lambda path: check_target(path, (".onnx",), marks=())):
        with pytest.raises(UsageError, match="s3:// is no place for a result") as error:
            check(out)
        assert "secret" not in str(error.value)
    assert not list(tmp_path.iterdir())


def test_paths_of_this_machine__no_addresses(tmp_path: Path) -> None:
    assert local_path(tmp_path) == local_path(tmp_path.as_uri()) == tmp_path
    assert not is_stored(tmp_path)
    assert not is_stored("a:b.csv")
    assert StoredFile("s3://bucket/a%20b.csv.gz").suffixes == [".csv", ".gz"]
