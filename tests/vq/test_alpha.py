"""What is known of alpha, what is estimated, and the borders that follow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone

import vqpu
from vqpu import VQKMeansClassifier, diagnose, stack_pu
from vqpu.errors import (
    DoubtWarning,
    NoHiddenPositivesWarning,
    ParameterError,
    SwappedLabelsWarning,
)

Floats = NDArray[np.float64]


def normal_classes(
    n_positive: int, n_unlabeled: int, alpha: float, *, apart: float = 4.0, seed: int = 0
) -> tuple[Floats, NDArray[Any], NDArray[np.bool_]]:
    """X, y and which of U are positive."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n_unlabeled) < round(alpha * n_unlabeled)
    place = np.where(truth, apart / 2, -apart / 2)[:, None]
    unlabeled = rng.normal(0, 1, (n_unlabeled, 4)) + place / 2
    positive = rng.normal(0, 1, (n_positive, 4)) + apart / 4
    return *stack_pu(positive, unlabeled), truth


@pytest.fixture(scope="module")
def fitted() -> VQKMeansClassifier:
    X, y, _ = normal_classes(150, 400, 0.3)
    return VQKMeansClassifier(random_state=0).fit(X, y)


def test_alpha_interval__holds_the_truth_and_the_estimate(fitted: VQKMeansClassifier) -> None:
    low, high = fitted.alpha_interval_
    assert low <= fitted.alpha_ <= high
    assert low <= 0.3 <= high
    assert high - low < 0.3


def test_alpha__given__moves_the_border_and_is_kept() -> None:
    X, y, _ = normal_classes(150, 400, 0.3, apart=2.0)
    few, many = (VQKMeansClassifier(alpha=alpha, random_state=0).fit(X, y) for alpha in (0.05, 0.6))
    assert (few.alpha_, many.alpha_) == (0.05, 0.6)
    assert few.alpha_interval_ == (0.05, 0.05)
    assert few.positive_share_ < many.positive_share_


def test_alpha__given_as_interval__estimate_lies_within() -> None:
    X, y, _ = normal_classes(150, 400, 0.3)
    model = VQKMeansClassifier(alpha=(0.6, 0.7), random_state=0).fit(X, y)
    assert 0.6 <= model.alpha_interval_[0] <= model.alpha_ <= model.alpha_interval_[1] <= 0.7
    (found,) = [one for one in diagnose(model) if one.name == "alpha"]
    assert found.cause == "contradicted-alpha"


@pytest.mark.parametrize(
    "alpha", [-0.1, 1.1, "half", (0.3, 0.1), (0.1, 0.2, 0.3), float("nan"), (0.1, 2)]
)
def test_alpha__wrong__refused_before_any_work(alpha: Any) -> None:
    with pytest.raises(ParameterError, match="alpha"):
        VQKMeansClassifier(alpha=alpha).fit(np.zeros((4, 2)), [0, 0, 1, 1])


def test_set_alpha__shifts_log_odds_and_nothing_else(fitted: VQKMeansClassifier) -> None:
    X, _, _ = normal_classes(150, 400, 0.3)
    model = clone(fitted).fit(X, normal_classes(150, 400, 0.3)[1])
    before, alpha = model.decision_function(X), model.alpha_
    after = model.set_alpha(0.8).decision_function(X)
    shift = np.log(0.8 / 0.2) - np.log(alpha / (1 - alpha))
    np.testing.assert_allclose(after - before, shift, rtol=1e-9)
    assert (model.alpha_, model.alpha_interval_) == (0.8, (0.8, 0.8))
    assert model.positive_share_ == np.mean(model.holdout_log_odds_[1] > 0)
    model.set_alpha(alpha)
    np.testing.assert_allclose(model.decision_function(X), before, rtol=1e-9)


def test_set_alpha__border_without_alpha__refused(fitted: VQKMeansClassifier) -> None:
    X, y, _ = normal_classes(150, 400, 0.3)
    model = VQKMeansClassifier(decision="balanced", random_state=0).fit(X, y)
    with pytest.raises(ParameterError, match="does not depend on alpha"):
        model.set_alpha(0.5)
    with pytest.raises(ParameterError, match="alpha must be a number"):
        fitted.set_alpha(1.5)


def test_decision__balanced__both_classes_count_alike() -> None:
    X, y, truth = normal_classes(200, 800, 0.9, apart=3.0)
    models = {
        decision: VQKMeansClassifier(decision=decision, random_state=0).fit(X, y)
        for decision in ("posterior", "balanced")
    }
    recall = {
        name: [float((model.predict(X[200:])[truth == kind] == kind).mean()) for kind in (0, 1)]
        for name, model in models.items()
    }
    assert np.mean(recall["balanced"]) > np.mean(recall["posterior"]) + 0.02
    probability = models["balanced"].predict_proba(X)[:, 1]
    assert np.array_equal(probability > 0.5, models["balanced"].predict(X) == 1)


def test_decision__wrong__refused() -> None:
    with pytest.raises(ParameterError, match="decision"):
        VQKMeansClassifier(decision="best").fit(np.zeros((4, 2)), [0, 0, 1, 1])


def test_evidence_and_interval__saved_and_loaded__the_same(
    fitted: VQKMeansClassifier, tmp_path: Path
) -> None:
    fitted.save(tmp_path / "model")
    again = vqpu.load(tmp_path / "model")
    assert again.alpha_interval_ == fitted.alpha_interval_
    assert diagnose(again) == diagnose(fitted)


def findings(model: VQKMeansClassifier) -> dict[str, str]:
    return {one.name: one.level for one in diagnose(model)}


@pytest.mark.parametrize("decision", ["posterior", "balanced"])
def test_findings__advice_of_a_model__not_the_decision_that_it_has(decision: str) -> None:
    X, y, _ = normal_classes(40, 200, 0.4, apart=2.0)
    model = VQKMeansClassifier(decision=decision, n_rounds=1, random_state=0).fit(X, y)
    assert model.evidence_ is not None
    model.evidence_ = model.evidence_._replace(recall=0.3)
    (recall,) = [one for one in diagnose(model) if one.name == "recall"]
    assert recall.cause == "missed"
    assert ("decision=balanced" in recall.sentence) == (decision == "posterior")


def test_findings__twelve_positives__never_ok() -> None:
    X, y, _ = normal_classes(12, 300, 0.2, apart=1.0)
    model = VQKMeansClassifier(random_state=0).fit(X, y)
    assert findings(model)["positives"] == "doubt"
    low, high = model.alpha_interval_
    assert high - low > 0.3


def test_alpha_interval__nothing_kept_apart__says_nothing() -> None:
    X, y, _ = normal_classes(4, 300, 0.3, apart=2.0)
    with pytest.warns(DoubtWarning, match="4 positives are too few") as caught:
        model = VQKMeansClassifier(random_state=0).fit(X, y)
    assert not any(issubclass(one.category, NoHiddenPositivesWarning) for one in caught)
    assert model.alpha_interval_ == (0.0, 1.0)
    assert findings(model)["unseen"] == "failed"


def test_alpha_interval__four_fits_of_one_table__holds_the_truth_and_the_others() -> None:
    X, y, truth = normal_classes(60, 300, 0.2, apart=2.0)
    fits = [VQKMeansClassifier(random_state=seed).fit(X, y) for seed in range(4)]
    for model in fits:
        low, high = model.alpha_interval_
        assert low <= truth.mean() <= high
        assert all(low <= other.alpha_ <= high for other in fits)


@pytest.mark.filterwarnings("ignore::vqpu.errors.NoHiddenPositivesWarning")
def test_findings__no_positive_in_u__said_and_not_called_useless() -> None:
    X, y, truth = normal_classes(150, 400, 0.0, apart=6.0)
    model = VQKMeansClassifier(random_state=0).fit(X, y)
    assert (model.predict(X[150:]) == truth).mean() > 0.95
    (found,) = [one for one in diagnose(model) if one.level != "ok"]
    assert found.level == "doubt"
    assert "right if U holds none" in found.sentence
    assert model.alpha_interval_[0] == 0


def test_findings__all_of_u_positive__failed() -> None:
    X, y, _ = normal_classes(150, 400, 1.0)
    with pytest.warns(DoubtWarning, match="hardly better than chance"):
        model = VQKMeansClassifier(random_state=0).fit(X, y)
    assert findings(model)["told"] == "failed"
    assert model.alpha_interval_[1] > 0.95


def test_findings__a_column_that_gives_the_label_away__named() -> None:
    X, y, _ = normal_classes(100, 300, 0.3)
    leaking = np.column_stack([X, y])
    with pytest.warns(DoubtWarning, match="column 4 alone"):
        VQKMeansClassifier(random_state=0).fit(leaking, y)


def test_labels__larger_value_marks_most_samples__warned() -> None:
    X, y, _ = normal_classes(60, 200, 0.3)
    inside_out = np.where(y == 1, 1, 2)
    model = VQKMeansClassifier(max_steps=20, random_state=0)
    with pytest.warns(SwappedLabelsWarning, match="2, is taken for labelled positives"):
        model.fit(X, inside_out)


def test_labels__usual_values_or_few_positives__no_warning() -> None:
    X, y, _ = normal_classes(60, 200, 0.3)
    VQKMeansClassifier(max_steps=20, random_state=0).fit(X, 1 - y)
    VQKMeansClassifier(max_steps=20, random_state=0).fit(X, np.where(y == 1, 2, 1))


def test_alpha__interval_with_checkpoints__taken_up_again(tmp_path: Path) -> None:
    X, y, _ = normal_classes(60, 200, 0.3)
    model = VQKMeansClassifier(alpha=(0.1, 0.5), max_steps=20, random_state=0)
    first = model.fit(X, y, checkpoint_dir=tmp_path).decision_function(X)
    again = clone(model).fit(X, y, checkpoint_dir=tmp_path)
    np.testing.assert_array_equal(again.decision_function(X), first)


def test_known_negatives__top_of_the_list_confirmed__answers_stay_good() -> None:
    X, y, truth = normal_classes(200, 1000, 0.3)
    top = 200 + np.argsort(-VQKMeansClassifier(random_state=0).fit(X, y).decision_function(X[200:]))
    confirmed = np.zeros(len(X), dtype=bool)
    confirmed[top[:100][truth[top[:100] - 200]]] = True
    wrong = np.zeros(len(X), dtype=bool)
    wrong[top[:100][~truth[top[:100] - 200]]] = True
    model = VQKMeansClassifier(random_state=0).fit(
        X, np.where(confirmed, 1, y), known_negatives=wrong, confirmed_positives=confirmed
    )
    assert (model.predict(X[200:]) == truth).mean() > 0.9
