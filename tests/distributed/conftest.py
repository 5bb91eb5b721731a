from __future__ import annotations

from pathlib import Path

import pytest

from tests.distributed.scored import make_table_model


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table and a model of it."""
    folder = tmp_path_factory.mktemp("tables")
    make_table_model(folder)
    return folder
