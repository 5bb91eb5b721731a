"""Tables in stores: the same rows as from files, and one sentence where there are none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from tests.command_line import write_table
from vqpu.errors import InputError
from vqpu.files import kind_of, read_table
from vqpu.files.readers._samples import table_parts
from vqpu.files.readers._stores import StoredFile, is_stored, status_of
from vqpu.files.readers._tablefiles import open_table, stream

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


@pytest.fixture
def memory(folder: Path) -> Iterator[str]:
    """The same folder in a store that pyarrow does not know and fsspec does."""
    store = fsspec.filesystem("memory")
    for path in folder.iterdir():
        store.pipe(f"/bucket/some sales/{path.name}", path.read_bytes())
    yield "memory://bucket/some%20sales"
    store.rm("/bucket", recursive=True)


def rows_of(path: str | Path) -> list[dict[str, Any]]:
    table = open_table(path)
    batches = stream(table, table.schema.names, 10)
    return [row for batch in batches for row in batch.to_pylist()]


def test_folder_in_a_store__as_on_disk(folder: Path, memory: str) -> None:
    expected = rows_of(folder)
    assert len(expected) == 100
    for address in (folder.as_uri(), f"{folder.as_uri()}/", memory, f"{memory}/*.parquet"):
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
    fsspec.filesystem("memory").pipe(f"/csv/{name}", (tmp_path / name).read_bytes())
    assert len(expected) == 50
    assert rows_of((tmp_path / name).as_uri()) == expected
    assert rows_of(f"memory://csv/{name}") == expected


def test_training_on_a_store__the_same_samples(folder: Path, memory: str) -> None:
    options: dict[str, Any] = {"label": "known", "positive": "yes", "id_column": "key"}
    here, there = read_table(folder, **options), read_table(memory, **options)
    np.testing.assert_array_equal(np.asarray(there.X), np.asarray(here.X))
    np.testing.assert_array_equal(there.y, here.y)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("memory://bucket/none.parquet", "memory://bucket/none.parquet does not exist."),
        ("memory://bucket/none/*.parquet", "does not exist"),
        ("memory://bucket", "is no folder of tables alone"),
        ("memory://bucket/some%20sales/_job.json", "of those only .parquet, .csv, .tsv are"),
        ("nonsense://bucket/a.csv", "nonsense is a store which pyarrow or fsspec knows"),
        ("file://host/a.csv", "cannot be read"),
        ("s3://", "cannot be read"),
        ("gs://", "cannot be read"),
    ],
)
def test_address__wrong__one_sentence(memory: str, address: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        kind_of(address)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_store_that_lets_nobody_in__one_sentence() -> None:
    address = "s3://key:secret@bucket/a.parquet?scheme=http&endpoint_override=127.0.0.1:1"
    with pytest.raises(InputError, match="that it lets this user in") as error:
        kind_of(f"{address}&region=us-east-1")
    assert "secret" not in str(error.value)


def test_table_that_cannot_be_decoded__one_sentence(memory: str, folder: Path) -> None:
    store = fsspec.filesystem("memory")
    store.pipe("/bucket/torn.parquet", (folder / NAMES[0]).read_bytes()[:-50])
    with pytest.raises(InputError, match=r"memory://bucket/torn.parquet cannot be read as parquet"):
        rows_of("memory://bucket/torn.parquet")
    store.pipe("/bucket/table.xlsx", b"x")
    with pytest.raises(InputError, match=r"expected one of .parquet, .csv, .tsv"):
        open_table("memory://bucket/table.xlsx")


def test_paths_of_this_machine__no_addresses(tmp_path: Path) -> None:
    assert not is_stored(tmp_path)
    assert not is_stored("a:b.csv")
    assert StoredFile("s3://bucket/a%20b.csv.gz").suffixes == [".csv", ".gz"]
