"""How one of several processes tells the one that launched them why it refuses."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vqpu.errors import VqpuError

REFUSAL = "VQPU_REFUSAL"


@contextmanager
def told_refusals() -> Iterator[None]:
    """Let the process that launched this one say why it refuses; a restart does not try again."""
    place = os.environ.get(REFUSAL)
    if place is None:
        yield
        return
    path = Path(place)
    if path.stat().st_size:
        raise SystemExit(1)
    try:
        yield
    except VqpuError as error:
        path.write_text(str(error), "utf-8")
        raise SystemExit(1) from error
