"""Scorers and folds inside scikit-learn's own tools."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import LinearSVC

from vqpu import VqpuError, make_pu
from vqpu.metrics import (
    PU_SCORERS,
    PUStratifiedKFold,
    lee_liu_score,
    make_pu_scorer,
    proxy_accuracy,
    proxy_auc,
    pu_average_precision_score,
    pu_f1_score,
    pu_precision_score,
    pu_recall_score,
    pu_roc_auc_score,
    pu_zero_one_risk,
)

rng = np.random.default_rng(5)
TRUTH = np.repeat([1, 0], [1500, 1500])
X = rng.normal(size=(3000, 2)) + 1.2 * TRUTH[:, None]
SAMPLE = make_pu(
    X,
    TRUTH,
    n_samples=1600,
    class_prior=0.4,
    label_frequency=0.5,
    scenario="single-set",
    random_state=0,
)
FOLDS = PUStratifiedKFold(n_splits=4, shuffle=True, random_state=0)


def test_scorer__equals_its_function() -> None:
    model = LogisticRegression(class_weight="balanced").fit(SAMPLE.X, SAMPLE.y)
    given: dict[str, Any] = {"scenario": "single-set", "class_prior": 0.4}
    called, ranks = model.predict(SAMPLE.X), model.decision_function(SAMPLE.X)
    expected = {
        "proxy_accuracy": proxy_accuracy(SAMPLE.y, called, **given),
        "proxy_auc": proxy_auc(SAMPLE.y, ranks),
        "lee_liu": lee_liu_score(SAMPLE.y, called, scenario="single-set"),
        "precision": pu_precision_score(SAMPLE.y, called, **given),
        "recall": pu_recall_score(SAMPLE.y, called),
        "f1": pu_f1_score(SAMPLE.y, called, **given),
        "roc_auc": pu_roc_auc_score(SAMPLE.y, ranks, **given),
        "average_precision": pu_average_precision_score(SAMPLE.y, ranks, **given),
        "neg_zero_one_risk": -pu_zero_one_risk(SAMPLE.y, called, **given),
        "neg_non_negative_risk": -pu_zero_one_risk(SAMPLE.y, called, non_negative=True, **given),
    }
    assert set(expected) == set(PU_SCORERS)
    for name, value in expected.items():
        assert make_pu_scorer(name, **given)(model, SAMPLE.X, SAMPLE.y) == pytest.approx(value)


@pytest.mark.parametrize("name", PU_SCORERS)
@pytest.mark.parametrize("labels", [(0, 1), ("other", "wanted")], ids=str)
def test_cross_val_score__every_scorer__finite(name: str, labels: tuple[Any, Any]) -> None:
    y = np.array(labels)[SAMPLE.y]
    scorer = make_pu_scorer(name, scenario="single-set", alpha=SAMPLE.alpha)
    for model in (LogisticRegression(class_weight="balanced"), LinearSVC(class_weight="balanced")):
        values = cross_val_score(model, SAMPLE.X, y, scoring=scorer, cv=FOLDS, error_score="raise")
        assert values.shape == (4,)
        assert np.isfinite(values).all()


def test_grid_search__risk__chooses_the_weight_that_the_truth_would() -> None:
    # Weight 1 calls almost nothing positive, 100 almost everything; 4 is near the Bayes border.
    weights = [{0: 1, 1: weight} for weight in (1, 4, 100)]
    scorer = make_pu_scorer("neg_zero_one_risk", scenario="single-set", class_prior=0.4)
    search = GridSearchCV(
        LogisticRegression(),
        {"class_weight": weights},
        scoring={"risk": scorer, "f1": make_pu_scorer("f1", scenario="single-set", alpha=0.25)},
        refit="risk",
        cv=FOLDS,
        error_score="raise",
    ).fit(SAMPLE.X, SAMPLE.y)
    errors = [
        np.mean(LogisticRegression(class_weight=w).fit(SAMPLE.X, SAMPLE.y).predict(X) != TRUTH)
        for w in weights
    ]
    assert search.best_params_["class_weight"] == weights[int(np.argmin(errors))]
    assert search.best_params_["class_weight"] == {0: 1, 1: 4}


def test_folds__keep_the_share_of_labelled_ones() -> None:
    y = np.repeat([1, 0], [21, 80])
    tests = [test for _, test in PUStratifiedKFold(n_splits=5).split(np.zeros((101, 1)), y)]
    assert sorted(np.concatenate(tests).tolist()) == list(range(101))
    for test in tests:
        assert y[test].sum() in (4, 5)
        assert len(test) in (20, 21)


@pytest.mark.parametrize("shuffle", [False, True])
def test_folds__groups__each_in_one_fold_with_labelled_ones_in_all(shuffle: bool) -> None:
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat(np.arange(30), 4))
    y = (rng.random(120) < 0.3).astype(int)
    folds = PUStratifiedKFold(n_splits=4, shuffle=shuffle, random_state=0 if shuffle else None)
    parts = list(folds.split(np.zeros((120, 1)), y, groups=[f"patient {g}" for g in groups]))
    assert sorted(np.concatenate([test for _, test in parts]).tolist()) == list(range(120))
    for train, test in parts:
        assert not set(groups[train]) & set(groups[test])
        assert y[test].mean() == pytest.approx(y.mean(), abs=0.1)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([1, 1, 0, 0, 0, 0, 0], "y has 2 labelled positives, fewer than n_splits=3"),
        ([1, 1, 1, 1, 1, 0, 0], "y has 2 unlabelled samples, fewer than n_splits=3"),
        ([0] * 7, "only one class"),
        ([0, 1, 2, 0, 1, 2, 0], "Only binary classification"),
        ([0, 1, 1, 1, 0, 0, float("nan")], "holds NaN"),
    ],
)
def test_folds__bad_labels__refused_before_the_first(y: list[Any], message: str) -> None:
    with pytest.raises(VqpuError, match=message):
        PUStratifiedKFold(n_splits=3).split(np.zeros((7, 1)), y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "accuracy", "scenario": "single-set"}, "Unknown name 'accuracy'"),
        ({"name": "f1", "scenario": "one"}, "Unknown scenario 'one'"),
        ({"name": "f1", "scenario": "single-set"}, "'f1' needs either class_prior or alpha"),
        (
            {"name": "f1", "scenario": "single-set", "alpha": 0.1, "class_prior": 0.1},
            "'f1' needs either class_prior or alpha",
        ),
        ({"name": "f1", "scenario": "single-set", "class_prior": 0.0}, "class_prior must be"),
        ({"name": "recall", "scenario": "single-set", "alpha": 1.0}, "alpha must be a number"),
    ],
)
def test_scorer__bad_arguments__refused_when_made(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(VqpuError, match=message):
        make_pu_scorer(**arguments)
