"""The one list of methods: exports, loading, comparison, experiments and help texts come from it.

A line names a class and where it lives; the class itself is imported when it is asked for.
"""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple


class Method(NamedTuple):
    """An estimator of this library.

    Attributes
    ----------
    name : str
        What a user types.
    class_name : str
        Also the name in model files. A name, once here, stays: files live longer than code.
    module : str
    is_saved : bool
        Whether it can be saved; a wrapper of a user's own estimator cannot.
    is_compared : bool
        Whether it learns from PU labels with nothing but its defaults, so that it can stand beside
        the others.
    """

    name: str
    class_name: str
    module: str
    is_saved: bool = True
    is_compared: bool = True

    def load_class(self) -> type[Any]:
        """Import the class."""
        found: type[Any] = getattr(importlib.import_module(self.module), self.class_name)
        return found


METHODS = (
    Method("vq", "VQKMeansClassifier", "vqpu.vq._classifier"),
    Method("naive", "NaivePUClassifier", "vqpu.rivals._naive"),
    Method("nnpu", "NNPUClassifier", "vqpu.rivals._nnpu"),
    Method("upu", "UPUClassifier", "vqpu.rivals._upu"),
    Method("distpu", "DistPUClassifier", "vqpu.rivals._distpu"),
    Method("vpu", "VPUClassifier", "vqpu.rivals._vpu"),
    Method("cvir", "CVIRClassifier", "vqpu.rivals._tedn"),
    Method("tedn", "TEDnClassifier", "vqpu.rivals._tedn"),
    Method("robustpu", "RobustPUClassifier", "vqpu.rivals._robustpu"),
    Method("p3mix", "P3MixClassifier", "vqpu.rivals._p3mix"),
    Method("ncpu", "NcPUClassifier", "vqpu.rivals._ncpu"),
    Method("observer-gan", "ObserverGANClassifier", "vqpu.rivals._observer_gan"),
    Method("d-gan", "DGANClassifier", "vqpu.rivals._dgan"),
    Method("oracle", "OracleClassifier", "vqpu.rivals._oracle", is_compared=False),
    Method("vqvae", "VQVAE", "vqpu.rivals._vqvae", is_compared=False),
    Method("elkan-noto", "ElkanNotoClassifier", "vqpu.rivals._elkan_noto", is_saved=False),
    Method("bagging", "BaggingPUClassifier", "vqpu.rivals._bagging", is_saved=False),
)


def compared_methods() -> list[str]:
    """Return the short names of all methods that can stand side by side."""
    return [method.name for method in METHODS if method.is_compared]


def find_method(name: str) -> Method | None:
    """Return the method with a short name or with the name of a class, None if there is none.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> find_method("tedn") == find_method("TEDnClassifier")
    True
    """
    found = (method for method in METHODS if name in (method.name, method.class_name))
    return next(found, None)
