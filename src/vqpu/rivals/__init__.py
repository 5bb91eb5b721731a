"""Other methods behind the same contract, on the same encoders and the same loop.

Their names come from the registry (``vqpu.base._registry``) and are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import Any

from vqpu.base._registry import METHODS

_HOMES = {
    method.class_name: method.module for method in METHODS if method.module.startswith(__name__)
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
