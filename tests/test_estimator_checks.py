"""scikit-learn's own contract: every check, no expected failures."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.support import fast_classifier
from vqpu import (
    CVIRClassifier,
    DistPUClassifier,
    NaivePUClassifier,
    NNPUClassifier,
    OracleClassifier,
    TEDnClassifier,
    UPUClassifier,
    VPUClassifier,
)

FAST: dict[str, Any] = {"max_steps": 60, "vector_dim": 8, "n_vectors": 4}
FASTER: dict[str, Any] = {**FAST, "n_members": 1}  # these train in two stages, or mix batches


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        fast_classifier(random_state=None),
        fast_classifier(random_state=None, decision="nearest-center"),
        NaivePUClassifier(**FAST),
        OracleClassifier(**FAST),
        CVIRClassifier(**FASTER),
        DistPUClassifier(**FASTER),
        NNPUClassifier(**FASTER),
        TEDnClassifier(**FASTER),
        UPUClassifier(**FASTER),
        VPUClassifier(**FASTER),
    ]
)
def test_common_checks(estimator: Any, check: Any) -> None:
    check(estimator)
