from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import fit_table, write_table


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decoded files of a test lie in its own folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CSV and the model that the command line makes of it."""
    folder = tmp_path_factory.mktemp("table")
    write_table(folder / "data.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        assert fit_table(folder, folder / "model") == 0
    return folder
