from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from tests.reference import wrapped as reference
from vqpu.errors import InputError, VqpuError, VqpuWarning
from vqpu.rivals import BaggingPUClassifier, ElkanNotoClassifier
from vqpu.rivals._bagging import out_of_bag_scores
from vqpu.rivals._elkan_noto import positive_probability

Blobs = tuple[NDArray[Any], NDArray[Any]]


class Told(LogisticRegression):  # type: ignore[misc]
    """Says that a sample is labelled with the probability in its first column."""

    def predict_proba(self, X: NDArray[Any]) -> NDArray[Any]:
        return np.column_stack([1 - X[:, 0], X[:, 0]])


def test_elkan_noto__hand_computed() -> None:
    g = np.array([0.1, 0.2, 0.25, 0.4, 0.5])
    single = positive_probability(g, 0.4, "single-set")
    np.testing.assert_allclose(single, [0.25, 0.5, 0.625, 1, 1], atol=1e-8)
    # (1 - c) / c = 1.5; odds 1/9, 1/4, 1/3, 2/3, 1
    control = positive_probability(g, 0.4, "case-control")
    np.testing.assert_allclose(control, [1 / 6, 0.375, 0.5, 1, 1], atol=1e-8)


@pytest.mark.parametrize("scenario", ["single-set", "case-control"])
def test_elkan_noto__random_probabilities__as_the_reference(scenario: str) -> None:
    rng = np.random.default_rng(0)
    g, held_out = rng.uniform(0.01, 0.9, 50), rng.uniform(0.3, 0.7, 20)
    slow = getattr(reference, f"elkan_noto_{scenario.replace('-', '_')}")(g, held_out)
    fast = positive_probability(g, float(held_out.mean()), scenario)
    np.testing.assert_allclose(fast, slow, atol=1e-8)


@pytest.mark.parametrize(("scenario", "border"), [("single-set", 0.3), ("case-control", 3 / 7)])
def test_elkan_noto__c_and_border__from_held_out_positives(scenario: str, border: float) -> None:
    X = np.column_stack([np.tile([0.5, 0.7, 0.1, 0.2], 20), np.arange(80.0)])
    y = np.tile([1, 1, 0, 0], 20)
    X[y == 1, 0] = 0.6  # whichever are held out, c is .6
    model = ElkanNotoClassifier(Told(), scenario=scenario, random_state=0).fit(X, y)
    assert model.label_frequency_ == pytest.approx(0.6)
    assert model.n_holdout_ == (8, 8)
    # c / 2 or c / (2 - c)
    at = np.array([[border - 0.01, 0], [border + 0.01, 0]])
    assert model.predict(at).tolist() == [0, 1]
    np.testing.assert_allclose(model.labeled_probability(at), at[:, 0])


def test_elkan_noto__held_out_positives__were_not_trained_on() -> None:
    class Remembering(DecisionTreeClassifier):  # type: ignore[misc]
        def fit(self, X: NDArray[Any], y: NDArray[Any]) -> Any:
            self.seen_ = set(X[:, 0].tolist())
            return super().fit(X, y)

        def predict_proba(self, X: NDArray[Any]) -> NDArray[Any]:
            unseen = np.array([0.9 if value not in self.seen_ else 0.1 for value in X[:, 0]])
            return np.column_stack([1 - unseen, unseen])

    X, y = np.arange(100.0)[:, None], np.repeat([1, 0], 50)
    model = ElkanNotoClassifier(Remembering(), random_state=0).fit(X, y)
    assert model.label_frequency_ == pytest.approx(0.9)


def test_elkan_noto__probabilities_of_zero__refused() -> None:
    X, y = np.zeros((40, 2)), np.repeat([1, 0], 20)
    X[:, 1] = np.arange(40)
    with pytest.raises(InputError, match="c is 0"):
        ElkanNotoClassifier(Told()).fit(X, y)
    with pytest.raises(InputError, match="outside"):
        ElkanNotoClassifier(Told()).fit(X + 2, y)


def test_out_of_bag__hand_computed() -> None:
    scores = np.array([[0.1, 0.2, 0.3], [0.5, 0.6, 0.7]])
    bags = np.array([[0, 0], [2, 2]])
    answer, counts = out_of_bag_scores(scores, bags)
    np.testing.assert_allclose(answer, [0.5, 0.4, 0.3])
    assert counts.tolist() == [1, 2, 1]


def test_out_of_bag__random_bags__as_the_reference() -> None:
    rng = np.random.default_rng(0)
    scores, bags = rng.random((40, 12)), rng.integers(12, size=(40, 6))
    answer, _ = out_of_bag_scores(scores, bags)
    np.testing.assert_allclose(answer, reference.out_of_bag(scores, bags))


def test_out_of_bag__sample_in_every_bag__said_and_scored_by_all() -> None:
    with pytest.warns(VqpuWarning, match="1 unlabelled samples are in every bag"):
        answer, counts = out_of_bag_scores(np.array([[0.2, 0.4]]), np.array([[0]]))
    assert answer.tolist() == [0.2, 0.4]
    assert counts.tolist() == [0, 1]


def test_bagging__fit__scores_only_out_of_bag() -> None:
    # A tree gives 0 to what its own bag held, so in-bag scores would show.
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.repeat([1, 0], [20, 40])
    model = BaggingPUClassifier(n_estimators=30, random_state=0).fit(X, y)
    assert model.unlabeled_indices_.tolist() == list(range(20, 60))
    inside = 1 / (1 + np.exp(-model.decision_function(X[20:])))
    assert model.oob_scores_.mean() > inside.mean() + 0.05
    assert len(model.estimators_) == 30


def test_bagging__separable_blobs__out_of_bag_scores_find_the_hidden_positives(
    blobs: Blobs, blobs_truth: NDArray[Any]
) -> None:
    model = BaggingPUClassifier(n_estimators=30, random_state=0).fit(*blobs)
    truth = blobs_truth[model.unlabeled_indices_] == 1
    assert np.mean((model.oob_scores_ > 0.5) == truth) > 0.93


def test_bagging__bag_size__is_that_of_p_by_default() -> None:
    model = BaggingPUClassifier(n_estimators=2, random_state=0)
    assert model._draw_bags(120, 60, 0).shape == (2, 60)
    assert model.set_params(bag_size=7)._draw_bags(120, 60, 0).shape == (2, 7)


def test_bagging__alpha_and_bag_size__move_the_border_by_what_they_say(blobs: Blobs) -> None:
    X, y = blobs
    n_positive = int((np.asarray(y) == 1).sum())
    scores = {
        (alpha, size): BaggingPUClassifier(
            n_estimators=5, alpha=alpha, bag_size=size, random_state=0
        )
        .fit(X, y)
        .decision_function(X)
        for alpha, size in ((0.5, None), (0.25, None), (0.25, n_positive))
    }
    np.testing.assert_allclose(scores[0.25, None], scores[0.5, None] - np.log(2))
    np.testing.assert_array_equal(scores[0.25, n_positive], scores[0.25, None])
    # With bags half as large as P the border is at a score of 2 / 3.
    half = BaggingPUClassifier(n_estimators=5, bag_size=n_positive // 2, random_state=0).fit(X, y)
    assert half._offset == pytest.approx(np.log((n_positive // 2) / n_positive))


@pytest.mark.parametrize(
    "model",
    [
        ElkanNotoClassifier(random_state=0),
        ElkanNotoClassifier(LogisticRegression(), scenario="single-set", random_state=0),
        BaggingPUClassifier(n_estimators=20, random_state=0),
        BaggingPUClassifier(LinearSVC(), n_estimators=10, random_state=0),
    ],
    ids=str,
)
def test_tables__separable_blobs__hidden_positives_found_and_same_seed_same_answer(
    model: Any, blobs: Blobs
) -> None:
    X, y = blobs
    rng = np.random.default_rng(2)
    fresh = np.vstack([rng.normal(2, 1, (300, 5)), rng.normal(-2, 1, (300, 5))])
    state = np.random.get_state(legacy=False)  # noqa: NPY002
    scores = model.fit(X, y).decision_function(X)
    assert model.score(fresh, np.repeat([1, 0], 300)) > 0.85
    assert np.array_equal(model.fit(X, y).decision_function(X), scores)
    np.testing.assert_array_equal(model.predict(X) == 1, model.predict_proba(X)[:, 1] > 0.5)
    assert repr(np.random.get_state(legacy=False)) == repr(state)  # noqa: NPY002


CASES: dict[str, tuple[Any, str]] = {
    "unknown scenario": (ElkanNotoClassifier(scenario="dream"), "Unknown scenario 'dream'"),
    "holdout of all": (ElkanNotoClassifier(holdout=1.0), "holdout must be a number"),
    "no probabilities": (ElkanNotoClassifier(LinearSVC()), "estimator must be .* predict_proba"),
    "a class": (ElkanNotoClassifier(LogisticRegression), "estimator must be a scikit-learn"),
    "no classifier": (BaggingPUClassifier(3), "estimator must be .* predict. Got 3"),
    "outlier detector": (
        BaggingPUClassifier(IsolationForest(n_estimators=5), n_estimators=2),
        "other values than the classes",
    ),
    "no bags": (BaggingPUClassifier(n_estimators=0), "n_estimators must be an integer >= 1"),
    "no share": (BaggingPUClassifier(alpha=0), "alpha must be"),
    "empty bags": (BaggingPUClassifier(bag_size=0), "bag_size must be an integer >= 1 or None"),
    "negative seed": (BaggingPUClassifier(random_state=-1), "random_state must be"),
}


@pytest.mark.parametrize("name", CASES)
def test_fit__bad_parameter__one_clear_error(name: str, blobs: Blobs) -> None:
    model, message = CASES[name]
    with pytest.raises(VqpuError, match=message):
        model.fit(*blobs)


@pytest.mark.parametrize(
    "model",
    [ElkanNotoClassifier(LogisticRegression()), BaggingPUClassifier(LogisticRegression())],
    ids=str,
)
def test_fit__images_or_nan__refused(model: Any) -> None:
    with pytest.raises(VqpuError, match="dim 3"):
        model.fit(np.zeros((4, 8, 8)), [1, 1, 0, 0])
    with pytest.raises(VqpuError, match="NaN in sample 1"):
        model.fit([[0.0], [np.nan], [1.0], [2.0]], [1, 1, 0, 0])


@pytest.mark.parametrize(
    "model",
    [ElkanNotoClassifier(random_state=0), BaggingPUClassifier(n_estimators=20, random_state=0)],
    ids=str,
)
def test_trees__gaps_and_categories_of_a_data_frame__are_values(model: Any) -> None:
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    truth = np.arange(200) % 2 == 0
    word = np.where(truth, "red", "blue").astype(object)
    word[::7] = None
    number = np.where(rng.random(200) < 0.2, np.nan, rng.normal(size=200) + 2 * truth)
    frame = pandas.DataFrame({"word": word, "number": number, "place": np.arange(200) % 9})
    model.fit(frame, truth & (np.arange(200) % 3 == 0))
    scores = model.decision_function(frame)
    assert np.isfinite(scores).all()
    assert scores[truth].mean() > scores[~truth].mean()
    assert model.__sklearn_tags__().input_tags.allow_nan


def test_elkan_noto__beyond_certainty__still_ranked() -> None:
    X = np.column_stack([np.tile([0.6, 0.6, 0.1, 0.2], 20), np.arange(80.0)])
    model = ElkanNotoClassifier(Told(), random_state=0).fit(X, np.tile([1, 1, 0, 0], 20))
    scores = model.decision_function([[g, 0] for g in (0.5, 0.59, 0.61, 0.7, 0.99, 1.0)])
    assert (np.diff(scores) > 0).all()
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("model", [ElkanNotoClassifier(), BaggingPUClassifier()], ids=str)
def test_failed_fit__not_fitted(model: Any) -> None:
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(VqpuError, match="only one class"):
        model.fit(X, np.ones(20))
    with pytest.raises(NotFittedError):
        model.predict(X)
