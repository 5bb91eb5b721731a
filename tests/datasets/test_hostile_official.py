from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile_official import CASES, refusal


def tree(folder: Path) -> dict[str, int]:
    """All files but those of the cache, which is where things may be written."""
    return {
        str(path.relative_to(folder)): path.lstat().st_size
        for path in folder.rglob("*")
        if not path.is_dir() and (folder / "cache") not in path.parents
    }


@pytest.mark.parametrize("name", CASES)
def test_hostile_file__one_sentence_and_nothing_written_outside_the_cache(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    CASES[name].build(data_dir)
    before = tree(tmp_path)
    said = refusal(CASES[name], data_dir)
    assert re.search(CASES[name].message, said), said
    assert str(data_dir) in said
    assert said.endswith(".")
    assert "\n" not in said
    assert tree(tmp_path) == before


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_hostile_files__all_in_one_process__at_most_300_megabytes(tmp_path: Path) -> None:
    for name, case in CASES.items():
        (tmp_path / name).mkdir()
        case.build(tmp_path / name)
    done = subprocess.run(
        [sys.executable, "-m", "tests.hostile_official", str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parent.parent.parent,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
    )
    result = json.loads(done.stdout)
    assert all(re.search(case.message, result["said"][name]) for name, case in CASES.items())
    assert result["peak_kilobytes"] < 300_000
