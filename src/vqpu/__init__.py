"""Learning from positives and a heap of everything else, without negatives.

``vqpu`` implements "Learning A Disentangling Representation For PU Learning" as a
scikit-learn estimator. Names are imported on first use, so ``import vqpu`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"

_HOMES = {
    "BaggingPUClassifier": "vqpu.rivals",
    "DGANClassifier": "vqpu.rivals",
    "ElkanNotoClassifier": "vqpu.rivals",
    "CVIRClassifier": "vqpu.rivals",
    "DistPUClassifier": "vqpu.rivals",
    "NNPUClassifier": "vqpu.rivals",
    "NaivePUClassifier": "vqpu.rivals",
    "ObserverGANClassifier": "vqpu.rivals",
    "OracleClassifier": "vqpu.rivals",
    "VQVAE": "vqpu.rivals",
    "TEDnClassifier": "vqpu.rivals",
    "UPUClassifier": "vqpu.rivals",
    "VPUClassifier": "vqpu.rivals",
    "VQKMeansClassifier": "vqpu.vq._classifier",
    "VqpuError": "vqpu.errors",
    "VqpuWarning": "vqpu.errors",
    "diagnose": "vqpu.report._diagnosis",
    "load": "vqpu.rivals._loading",
    "make_pu": "vqpu.datasets",
    "stack_pu": "vqpu.base._labels",
}

__all__ = ["__version__", *_HOMES]

if TYPE_CHECKING:
    from vqpu.base._labels import stack_pu as stack_pu
    from vqpu.datasets import make_pu as make_pu
    from vqpu.errors import VqpuError as VqpuError
    from vqpu.errors import VqpuWarning as VqpuWarning
    from vqpu.report._diagnosis import diagnose as diagnose
    from vqpu.rivals import VQVAE as VQVAE
    from vqpu.rivals import BaggingPUClassifier as BaggingPUClassifier
    from vqpu.rivals import CVIRClassifier as CVIRClassifier
    from vqpu.rivals import DGANClassifier as DGANClassifier
    from vqpu.rivals import DistPUClassifier as DistPUClassifier
    from vqpu.rivals import ElkanNotoClassifier as ElkanNotoClassifier
    from vqpu.rivals import NaivePUClassifier as NaivePUClassifier
    from vqpu.rivals import NNPUClassifier as NNPUClassifier
    from vqpu.rivals import ObserverGANClassifier as ObserverGANClassifier
    from vqpu.rivals import OracleClassifier as OracleClassifier
    from vqpu.rivals import TEDnClassifier as TEDnClassifier
    from vqpu.rivals import UPUClassifier as UPUClassifier
    from vqpu.rivals import VPUClassifier as VPUClassifier
    from vqpu.rivals._loading import load as load
    from vqpu.vq._classifier import VQKMeansClassifier as VQKMeansClassifier


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'vqpu' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
