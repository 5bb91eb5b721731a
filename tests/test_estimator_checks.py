"""scikit-learn's own contract: every check, no expected failures."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests.support import fast_classifier
from vqpu import VQKMeansClassifier
from vqpu.rivals import (
    VQVAE,
    BaggingPUClassifier,
    CVIRClassifier,
    DGANClassifier,
    DistPUClassifier,
    ElkanNotoClassifier,
    NaivePUClassifier,
    NcPUClassifier,
    NNPUClassifier,
    ObserverGANClassifier,
    OracleClassifier,
    P3MixClassifier,
    RobustPUClassifier,
    TEDnClassifier,
    UPUClassifier,
    VPUClassifier,
)

ENOUGH = 40  # steps, for the one check that asks how well was learnt
FAST: dict[str, Any] = {"max_steps": 6, "vector_dim": 8, "n_vectors": 4}
SHORT: dict[str, Any] = {"random_state": None, "max_steps": 6, "check_every": 3}
FASTER: dict[str, Any] = {**FAST, "n_members": 1}  # these train in two stages, or mix batches


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(  # type: ignore[untyped-decorator]
    [
        fast_classifier(**SHORT),
        fast_classifier(
            random_state=None, max_steps=40, n_members=2, n_rounds=2, decision="nearest-center"
        ),
        VQKMeansClassifier(encoder="trees", max_steps=30, n_members=2),
        NaivePUClassifier(**FAST, n_members=1),
        OracleClassifier(**FAST, n_members=1),
        ObserverGANClassifier(**FAST, latent_dim=4),
        DGANClassifier(**FAST, latent_dim=4, gan_steps=6),
        ElkanNotoClassifier(),
        ElkanNotoClassifier(scenario="single-set"),
        BaggingPUClassifier(n_estimators=20),
        VQVAE(**FAST, codebook_size=16),
        CVIRClassifier(**FASTER),
        DistPUClassifier(**FASTER),
        NcPUClassifier(**FASTER),
        NNPUClassifier(**FASTER),
        P3MixClassifier(**FASTER),
        RobustPUClassifier(**FASTER),
        TEDnClassifier(**FASTER),
        UPUClassifier(**FASTER),
        VPUClassifier(**FASTER),
    ]
)
def test_common_checks(estimator: Any, check: Any) -> None:
    if check.func.__name__ == "check_classifiers_train" and "max_steps" in estimator.get_params():
        estimator.set_params(max_steps=max(ENOUGH, estimator.max_steps))
    check(estimator)
