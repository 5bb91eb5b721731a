"""Names in a file of scores: text stays text, whole numbers are numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from vqpu.review._items import read_scores


@pytest.mark.parametrize(
    ("names", "kept"),
    [
        (["007", "012"], ["007", "012"]),
        (["1.10", "1.1"], ["1.10", "1.1"]),
        (["7", "12"], [7, 12]),
        (["a", "7"], ["a", "7"]),
    ],
)
def test_read_scores__names__as_they_were_written(
    names: list[str], kept: list[object], tmp_path: Path
) -> None:
    pytest.importorskip("pyarrow")
    lines = [f"{name},{score}" for name, score in zip(names, (0.5, -0.5), strict=True)]
    (tmp_path / "scores.csv").write_text("\n".join(["id,score", *lines]) + "\n")
    found = read_scores(tmp_path / "scores.csv", "id", None, None)
    assert found.names.to_pylist() == kept
