"""Decisions as a table: CSV, Parquet or JSON lines by the ending, whole or not at all."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from vqpu.errors import MissingDependencyError, UsageError
from vqpu.files._decisions import Decision, read_decisions
from vqpu.persistence._targets import check_target, writing

ENDINGS = (".csv", ".parquet", ".jsonl")
_MARKS = (b"item", b"answer", b"probability")


def export_decisions(decisions: str | Path, out: str | Path) -> int:
    """Write the decisions that count, one an item, and return how many they are.

    Parameters
    ----------
    decisions : path
        File of ``vqpu review``; it is only read.
    out : path
    """
    source, target = Path(decisions), Path(out)
    if target.exists() and source.exists() and target.samefile(source):
        raise UsageError(f"{out} is the file of decisions itself. Choose another --out.")
    check_target(target, ENDINGS, marks=_MARKS)
    found = read_decisions(source)
    content = _MAKERS[target.suffix.lower()](found)
    with writing(target) as file:
        file.write(content)
    return len(found)


def _csv(decisions: list[Decision]) -> bytes:
    text = io.StringIO(newline="")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(Decision._fields)
    rows.writerows(decisions)
    return text.getvalue().encode("utf-8", "surrogateescape")


def _jsonl(decisions: list[Decision]) -> bytes:
    return b"".join(json.dumps(one._asdict()).encode() + b"\n" for one in decisions)


def _parquet(decisions: list[Decision]) -> bytes:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise MissingDependencyError(
            "Writing Parquet needs pyarrow: pip install 'vqpu[review]'."
        ) from None
    columns = {name: [getattr(one, name) for one in decisions] for name in Decision._fields}
    if not all(isinstance(item, int) for item in columns["item"]):
        columns["item"] = [str(item) for item in columns["item"]]
    numbers = {"weight": pa.float64(), "probability": pa.float64()}
    table = pa.table({name: pa.array(v, numbers.get(name)) for name, v in columns.items()})
    buffer = io.BytesIO()
    parquet.write_table(table, buffer)
    return buffer.getvalue()


_MAKERS = {".csv": _csv, ".jsonl": _jsonl, ".parquet": _parquet}
