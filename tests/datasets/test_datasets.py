from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from vqpu import make_pu
from vqpu.datasets import load_task
from vqpu.errors import InputError


def test_digits__splits__disjoint_and_complete() -> None:
    train, test = (load_task("digits-even-odd", train=part) for part in (True, False))
    assert len(train[0]) + len(test[0]) == 1797
    assert np.array_equal(test[0], (load_digits().images[::5] * 15).astype(np.uint8))
    assert train[0].dtype == np.uint8
    assert 0.4 < test[1].mean() < 0.6


def test_make_pu__exact_counts_and_disjoint_sets() -> None:
    X = np.arange(100)[:, None]
    labels = (np.arange(100) < 60).astype(int)
    sample = make_pu(X, labels, n_positive=20, n_unlabeled=30, alpha=0.3, random_state=0)
    assert sample.y.tolist() == [1] * 20 + [0] * 30
    assert sample.truth[:20].all()
    assert sample.truth[20:].sum() == 9
    drawn = sample.X[:, 0].tolist()
    assert len(set(drawn)) == 50
    assert not set(drawn) & set(sample.rest.tolist())
    assert len(sample.rest) == 50
    assert np.array_equal(sample.truth, labels[sample.X[:, 0]])


def test_make_pu__not_enough__both_numbers_named() -> None:
    with pytest.raises(InputError, match="25 positives are needed, but y has 10"):
        make_pu(np.zeros((20, 1)), [1] * 10 + [0] * 10, n_positive=20, n_unlabeled=10, alpha=0.5)
