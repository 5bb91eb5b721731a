from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.model_selection import cross_val_score

from tests.support import fast_classifier
from vqpu.metrics import PUStratifiedKFold, center_distance_score, center_distance_scorer

Blobs = tuple[NDArray[np.float64], NDArray[np.int64]]


def test_distance__random_codes__that_of_scikit_learns_centres() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 5, (60, 3)) + 20 * (rng.random(60) < 0.4)[:, None]
    lower, upper = KMeans(2, n_init=10, random_state=0).fit(codes).cluster_centers_
    assert center_distance_score(codes) == pytest.approx(float(np.linalg.norm(upper - lower)))


def test_distance__all_alike__zero() -> None:
    assert center_distance_score(np.full((4, 2), 7)) == 0.0


NO_CODES: list[Any] = [[[0.5]], [1, 2], np.empty((0, 2), int), np.empty((3, 0), int), [[-1], [2]]]


@pytest.mark.parametrize("codes", NO_CODES)
def test_distance__no_codes__refused(codes: Any) -> None:
    with pytest.raises(ValueError, match="codes must be whole numbers"):
        center_distance_score(codes)


@pytest.mark.filterwarnings("ignore::vqpu.VqpuWarning")
def test_scorer__in_cross_validation__looks_at_the_unlabelled_alone(blobs: Blobs) -> None:
    X, y = blobs
    model = fast_classifier()
    scores = cross_val_score(
        model, X, y, cv=PUStratifiedKFold(n_splits=2), scoring=center_distance_scorer
    )
    train, test = next(iter(PUStratifiedKFold(n_splits=2).split(X, y)))
    model.fit(X[train], y[train])
    unlabeled = X[test][y[test] == 0]
    assert scores[0] == center_distance_score(model.transform(unlabeled))


@pytest.mark.filterwarnings("ignore::vqpu.VqpuWarning")
def test_scorer__data_frame__columns_are_kept(blobs: Blobs) -> None:
    X, y = blobs
    frame = pd.DataFrame(X, columns=[f"c{place}" for place in range(X.shape[1])])
    model = fast_classifier().fit(frame, y)
    assert center_distance_scorer(model, frame, y) > 0  # a warning about names would be an error
