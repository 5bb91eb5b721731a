"""ARCHITECTURE.md's walk of a fit: the way from ``fit`` to the loss stays short."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import pytest

import vqpu
from tests.support import fast_classifier
from vqpu.nn import equation_1

SOURCE = Path(vqpu.__file__).parent


def test_way_from_fit_to_the_loss__five_files(blobs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ways: set[tuple[str, ...]] = set()

    def spy(*tensors: Any) -> Any:
        files = (Path(frame.filename) for frame in traceback.extract_stack())
        ours = (file.relative_to(SOURCE) for file in files if SOURCE in file.parents)
        ways.add(tuple(dict.fromkeys(map(Path.as_posix, ours))))
        return equation_1(*tensors)

    monkeypatch.setattr("vqpu.vq._objective.equation_1", spy)
    fast_classifier(max_steps=2).fit(*blobs)
    assert ways == {
        (
            "vq/_classifier.py",
            "vq/_rounds.py",
            "training/_stage.py",
            "training/_loop.py",
            "vq/_objective.py",
        )
    }
