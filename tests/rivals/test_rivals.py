from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from vqpu.errors import ParameterError
from vqpu.rivals import NaivePUClassifier, OracleClassifier
from vqpu.rivals._logit import balanced_cross_entropy

Blobs = tuple[NDArray[Any], NDArray[Any]]


def test_cross_entropy__hand_computed__both_sets_weigh_the_same() -> None:
    logits = torch.tensor([0.0, math.log(3.0), math.log(3.0), math.log(3.0)])
    # positive: log 2; others: -log(1/4) each
    expected = (math.log(2) + math.log(4)) / 2
    assert balanced_cross_entropy(logits, 1).item() == pytest.approx(expected)


def test_naive__separable_blobs__finds_the_hidden_positives(
    blobs: Blobs, blobs_truth: NDArray[Any]
) -> None:
    model = NaivePUClassifier(max_steps=200, n_members=1, random_state=0).fit(*blobs)
    assert model.score(blobs[0], blobs_truth) > 0.9
    assert model.stop_reason_ in ("patience", "max_steps")
    assert model.n_holdout_ == (9, 18)  # five members share all samples out


def test_oracle__class_prior__shifts_the_logit(blobs: Blobs, blobs_truth: NDArray[Any]) -> None:
    X = blobs[0]
    even = OracleClassifier(max_steps=40, n_members=1, random_state=0).fit(X, blobs_truth)
    rare = OracleClassifier(max_steps=40, n_members=1, random_state=0, class_prior=0.1).fit(
        X, blobs_truth
    )
    shift = rare.decision_function(X) - even.decision_function(X)
    np.testing.assert_allclose(shift, math.log(0.1 / 0.9), rtol=1e-9)
    with pytest.raises(ParameterError, match="class_prior"):
        OracleClassifier(class_prior=0).fit(X, blobs_truth)
