"""Past one process: scoring in parts on Ray, a scorer for other engines, and training in ranks.

Importing this package loads neither Ray nor torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

_HOMES = {
    "Scorer": "vqpu.distributed._scorer",
    "check_parts": "vqpu.distributed._parts_folder",
    "fit": "vqpu.distributed._fitting",
    "joined_ranks": "vqpu.training",
    "score": "vqpu.distributed._ray_scoring",
}

__all__ = list(_HOMES)

if TYPE_CHECKING:
    from vqpu.distributed._fitting import fit as fit
    from vqpu.distributed._parts_folder import check_parts as check_parts
    from vqpu.distributed._ray_scoring import score as score
    from vqpu.distributed._scorer import Scorer as Scorer
    from vqpu.training import joined_ranks as joined_ranks


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'vqpu.distributed' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
