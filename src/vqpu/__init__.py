"""Learning from labelled positives and unlabelled data, without negatives.

``vqpu`` implements "Learning A Disentangling Representation For PU Learning" as a
scikit-learn estimator. Names are imported on first use, so ``import vqpu`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOMES = {
    "VQKMeansClassifier": "vqpu.vq._classifier",
    "Variant": "vqpu.vq._variant",
    "VqpuError": "vqpu.errors",
    "VqpuWarning": "vqpu.errors",
    "diagnose": "vqpu.report._diagnosis",
    "diagnose_drift": "vqpu.report._diagnosis",
    "load": "vqpu.persistence._loading",
    "make_pu": "vqpu.datasets",
    "stack_pu": "vqpu.base._stacking",
}

_PACKAGES = ("errors", "files", "metrics", "priors", "rivals", "scenarios", "vq")

__all__ = ["__version__", *_HOMES, *_PACKAGES]

if TYPE_CHECKING:
    from vqpu import errors as errors
    from vqpu import files as files
    from vqpu import metrics as metrics
    from vqpu import priors as priors
    from vqpu import rivals as rivals
    from vqpu import scenarios as scenarios
    from vqpu import vq as vq
    from vqpu.base._stacking import stack_pu as stack_pu
    from vqpu.datasets import make_pu as make_pu
    from vqpu.errors import VqpuError as VqpuError
    from vqpu.errors import VqpuWarning as VqpuWarning
    from vqpu.persistence._loading import load as load
    from vqpu.report._diagnosis import diagnose as diagnose
    from vqpu.report._diagnosis import diagnose_drift as diagnose_drift
    from vqpu.vq._classifier import VQKMeansClassifier as VQKMeansClassifier
    from vqpu.vq._variant import Variant as Variant


def __getattr__(name: str) -> object:
    if name in _PACKAGES:
        return importlib.import_module(f"vqpu.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'vqpu' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
