"""Class-prior estimators: the share of positives among unlabelled samples."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

_HOMES = {
    "PRIOR_METHODS": "vqpu.priors._estimate",
    "PriorEstimate": "vqpu.priors._estimate",
    "balanced_scores": "vqpu.priors._scores",
    "cross_fit_scores": "vqpu.priors._scores",
    "estimate_prior": "vqpu.priors._estimate",
}

__all__ = list(_HOMES)

if TYPE_CHECKING:
    from vqpu.priors._estimate import PRIOR_METHODS as PRIOR_METHODS
    from vqpu.priors._estimate import PriorEstimate as PriorEstimate
    from vqpu.priors._estimate import estimate_prior as estimate_prior
    from vqpu.priors._scores import balanced_scores as balanced_scores
    from vqpu.priors._scores import cross_fit_scores as cross_fit_scores


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'vqpu.priors' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
