"""The rivals' callback observes: with it and without it the same network is trained."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from vqpu.base._source import ArraySource
from vqpu.rivals import (
    DGANClassifier,
    DistPUClassifier,
    NaivePUClassifier,
    NcPUClassifier,
    NNPUClassifier,
    ObserverGANClassifier,
    OracleClassifier,
    P3MixClassifier,
    RobustPUClassifier,
    TEDnClassifier,
    VPUClassifier,
)
from vqpu.training import CheckResult

Blobs = tuple[NDArray[Any], NDArray[Any]]

SHORT: dict[str, Any] = {"max_steps": 12, "check_every": 6, "batch_size": 32, "random_state": 0}
RIVALS: dict[str, Any] = {
    "naive": lambda: NaivePUClassifier(n_members=2, **SHORT),
    "oracle": lambda: OracleClassifier(class_prior=0.3, n_members=1, **SHORT),
    "nnpu": lambda: NNPUClassifier(n_members=1, **SHORT),
    "distpu": lambda: DistPUClassifier(alpha=0.5, n_members=1, **SHORT),
    "vpu": lambda: VPUClassifier(n_members=1, **SHORT),
    "robustpu": lambda: RobustPUClassifier(alpha=0.5, n_members=1, **SHORT),
    "p3mix": lambda: P3MixClassifier(n_members=1, **SHORT),
    "ncpu": lambda: NcPUClassifier(n_members=2, **SHORT),
    "tedn": lambda: TEDnClassifier(n_members=1, **SHORT),
    "observer-gan": lambda: ObserverGANClassifier(**SHORT),
    "d-gan": lambda: DGANClassifier(gan_steps=4, **SHORT),
}


class Observer:
    """Looks at every sample at every check."""

    def __init__(self, X: NDArray[Any]) -> None:
        self._source = ArraySource(np.asarray(X))
        self.checks: list[tuple[int, dict[str, Any], NDArray[np.float64]]] = []

    def __call__(self, check: CheckResult) -> None:
        if check.decision_rule is None:  # of a generator
            assert check.stage == 3
            return
        self.checks.append((check.stage, check.row, check.log_odds(self._source)))


@pytest.mark.parametrize("name", RIVALS)
def test_callback__any_rival__training_is_bit_identical(blobs: Blobs, name: str) -> None:
    X, y = blobs
    observer = Observer(X)
    alone = RIVALS[name]().fit(X, y)
    watched = RIVALS[name]().fit(X, y, callback=observer)
    assert alone.decision_function(X).tobytes() == watched.decision_function(X).tobytes()
    first, second = (model.network_.state_dict() for model in (alone, watched))
    assert all(first[key].numpy().tobytes() == second[key].numpy().tobytes() for key in first)
    main = [row for stage, row, _ in observer.checks if stage == 0]
    assert main == watched.history_.rows
    assert [row["epoch"] for row in main] == sorted(row["epoch"] for row in main)


@pytest.mark.parametrize("name", [name for name in RIVALS if name != "vpu"])
def test_check__chosen_one__scores_are_those_of_the_classifier(blobs: Blobs, name: str) -> None:
    X, y = blobs
    observer = Observer(X)
    model = RIVALS[name]().fit(X, y, callback=observer)
    scores = [scores for stage, _, scores in observer.checks if stage == 0][model.best_check_]
    assert scores.tobytes() == model.decision_function(X).tobytes()


def test_check__vpu__border_at_half_the_largest_phi_it_saw(blobs: Blobs) -> None:
    X, y = blobs
    observer = Observer(X)
    model = RIVALS["vpu"]().fit(X, y, callback=observer)
    scores = observer.checks[model.best_check_][2]
    shift = scores - model.decision_function(X)
    # The check looked at fewer samples, so its largest phi is at most that of all of them.
    assert np.ptp(shift) < 1e-9
    assert shift[0] >= 0


@pytest.mark.parametrize(("name", "stages"), [("tedn", [1, 0]), ("nnpu", [2, 0]), ("naive", [0])])
def test_stages__told_apart(blobs: Blobs, name: str, stages: list[int]) -> None:
    observer = Observer(blobs[0])
    RIVALS[name]().fit(*blobs, callback=observer)
    assert list(dict.fromkeys(stage for stage, _, _ in observer.checks)) == stages
