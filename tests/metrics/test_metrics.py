"""Scores: computed by hand, by loops, on simulated data with known truth, and on bad input."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, brier_score_loss

from tests.reference import scores as reference
from vqpu import VqpuError, make_pu
from vqpu.errors import InputError
from vqpu.metrics import (
    alpha_error,
    expected_calibration_error,
    lee_liu_score,
    proxy_accuracy,
    proxy_auc,
    pu_average_precision_score,
    pu_f1_score,
    pu_precision_score,
    pu_recall_score,
    pu_roc_auc_score,
    pu_zero_one_risk,
    score_with_truth,
)

SCENARIOS = ["case-control", "single-set"]

# P: 4 samples, 3 called positive. U: 6 samples, 2 called positive.
Y = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
CALLED = [1, 1, 1, 0, 1, 1, 0, 0, 0, 0]
# r = 3/4. Case-control: q = 2/6, pi = alpha = 1/3. Single-set: q = 5/10, and alpha = 1/3 of six
# are two hidden positives, so pi = 6/10.
BY_HAND: list[tuple[Callable[..., float], dict[str, float]]] = [
    (lee_liu_score, {"case-control": (9 / 16) * 3, "single-set": (9 / 16) * 2}),
    (pu_precision_score, {"case-control": 0.75, "single-set": 0.9}),
    # 2 pi r / (pi + q)
    (pu_f1_score, {"case-control": 0.5 / (2 / 3), "single-set": 0.9 / 1.1}),
    # pi (1 - r) + q - pi r
    (pu_zero_one_risk, {"case-control": 1 / 12 + 1 / 12, "single-set": 0.15 + 0.05}),
    # 2 pi r + 1 - q
    (proxy_accuracy, {"case-control": 0.5 + 2 / 3, "single-set": 0.9 + 0.5}),
]


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize(
    ("score", "expected"), BY_HAND, ids=lambda value: getattr(value, "__name__", "")
)
def test_predictions__by_hand(
    score: Callable[..., float], expected: dict[str, float], scenario: str
) -> None:
    given: dict[str, Any] = {"scenario": scenario}
    if score is lee_liu_score:
        assert score(Y, CALLED, **given) == pytest.approx(expected[scenario])
        return
    assert score(Y, CALLED, alpha=1 / 3, **given) == pytest.approx(expected[scenario])
    prior = 1 / 3 if scenario == "case-control" else 0.6
    assert score(Y, CALLED, class_prior=prior, **given) == pytest.approx(expected[scenario])


def test_recall__by_hand() -> None:
    assert pu_recall_score(Y, CALLED) == 0.75


def test_risk__impossible_false_positives__counted_as_none_if_asked() -> None:
    # r = 1, q = 1/3, pi = 1/2: false positives are estimated at -1/6, false negatives at 0.
    labels, called = [1, 1, 0, 0, 0], [1, 1, 1, 0, 0]
    given: dict[str, Any] = {"scenario": "case-control", "class_prior": 0.5}
    assert pu_zero_one_risk(labels, called, **given) == pytest.approx(-1 / 6)
    assert pu_zero_one_risk(labels, called, non_negative=True, **given) == 0


def test_ranking__by_hand() -> None:
    # P above all of U but one: 4 + 3 of 8 pairs.
    labels, scores = [1, 1, 0, 0, 0, 0], [9.0, 4.0, 5.0, 3.0, 2.0, 1.0]
    assert proxy_auc(labels, scores) == 7 / 8
    apart = pu_roc_auc_score(labels, scores, scenario="case-control", class_prior=0.2)
    assert apart == pytest.approx((7 / 8 - 0.1) / 0.8)
    # Six samples of which three are positive: one of the four in U, alpha = 1/4.
    single = pu_roc_auc_score(labels, scores, scenario="single-set", class_prior=0.5)
    assert single == pytest.approx((7 / 8 - 1 / 8) / (3 / 4))


def test_average_precision__by_hand() -> None:
    labels, scores = [1, 1, 0, 0, 0, 0], [9.0, 4.0, 5.0, 3.0, 2.0, 1.0]
    # Case-control, pi = .2. At 9: r = 1/2, q = 0, precision held to 1. At 4: r = 1, q = 1/4.
    apart = pu_average_precision_score(labels, scores, scenario="case-control", class_prior=0.2)
    assert apart == pytest.approx(0.5 * 1 + 0.5 * 0.8)
    # Single-set, pi = .4. At 9: .4 * .5 / (1/6) held to 1. At 4: .4 / (3/6).
    single = pu_average_precision_score(labels, scores, scenario="single-set", class_prior=0.4)
    assert single == pytest.approx(0.5 * 1 + 0.5 * 0.8)


def test_average_precision__all_positives_labelled__that_of_scikit_learn() -> None:
    rng = np.random.default_rng(4)
    truth = np.repeat([1, 0], [40, 60])
    scores = np.round(rng.normal(size=100) + truth, 1)
    ours = pu_average_precision_score(truth, scores, scenario="single-set", alpha=0.0)
    assert ours == pytest.approx(average_precision_score(truth, scores))


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("seed", range(5))
def test_scores__random_data__as_the_loops(scenario: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([1, 0], [9, 22])).tolist()
    called = rng.integers(0, 2, 31).tolist()
    ranks = rng.integers(0, 12, 31).astype(float).tolist()  # with ties
    alpha = 0.3
    given: dict[str, Any] = {"scenario": scenario, "alpha": alpha}
    cells = reference.confusion(y, called, scenario, alpha)
    tp, fp, fn, tn = (cells[key] for key in ("tp", "fp", "fn", "tn"))
    pi = reference.prior_of(y, scenario, alpha)
    recall = tp / (tp + fn)
    pauc = reference.auc(y, ranks)
    ap = reference.average_precision(y, ranks, scenario, alpha)
    assert pu_recall_score(y, called) == pytest.approx(recall)
    assert pu_precision_score(y, called, **given) == pytest.approx(tp / (tp + fp))
    assert pu_f1_score(y, called, **given) == pytest.approx(2 * tp / (2 * tp + fp + fn))
    assert pu_zero_one_risk(y, called, **given) == pytest.approx(fp + fn)
    nonneg = pu_zero_one_risk(y, called, non_negative=True, **given)
    assert nonneg == pytest.approx(max(fp, 0) + fn)
    assert proxy_accuracy(y, called, **given) == pytest.approx(tp + tn + pi)
    lee_liu = lee_liu_score(y, called, scenario=scenario)
    assert lee_liu == pytest.approx(recall**2 / (tp + fp))
    assert proxy_auc(y, ranks) == pytest.approx(pauc)
    auc = pu_roc_auc_score(y, ranks, **given)
    assert auc == pytest.approx((pauc - alpha / 2) / (1 - alpha))
    assert pu_average_precision_score(y, ranks, **given) == pytest.approx(ap)


def test_labels__any_two_values__the_same_scores() -> None:
    given: dict[str, Any] = {"scenario": "single-set", "alpha": 1 / 3}
    expected = pu_f1_score(Y, CALLED, **given)
    for low, high in ((-1, 1), (False, True), ("other", "wanted"), (3.0, 7.5)):
        labels, called = (np.where(np.array(part) == 1, high, low) for part in (Y, CALLED))
        assert pu_f1_score(labels, called, **given) == expected
    as_objects = [np.array(part, dtype=object) for part in (Y, CALLED)]
    assert pu_f1_score(*as_objects, **given) == expected
    strings = np.array(["other", "wanted"], dtype=object)
    assert pu_f1_score(strings[Y], strings[CALLED], **given) == expected
    backwards = np.array(["u", "p"])  # the larger, "u", would mark the positives
    with pytest.raises(InputError, match="the larger of the two, 'u', would mark the labelled"):
        pu_f1_score(backwards[Y], backwards[CALLED], **given)


def test_degenerate_answers__defined_or_refused() -> None:
    nothing, everything = [0] * 10, [1] * 10
    for scenario in SCENARIOS:
        given: dict[str, Any] = {"scenario": scenario, "alpha": 1 / 3}
        assert pu_precision_score(Y, nothing, **given) == 0
        assert pu_f1_score(Y, nothing, **given) == 0
        assert lee_liu_score(Y, nothing, scenario=scenario) == 0
        prior = 1 / 3 if scenario == "case-control" else 0.6
        assert pu_zero_one_risk(Y, nothing, **given) == pytest.approx(prior)
        assert pu_zero_one_risk(Y, everything, **given) == pytest.approx(1 - prior)
        assert pu_precision_score(Y, everything, **given) == pytest.approx(prior)
    with pytest.raises(VqpuError, match="share of 1 of the labelled positives is"):
        pu_precision_score(Y, Y, scenario="case-control", alpha=0.3)


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("prior", [0.2, 0.6])
def test_simulation__both_scenarios__near_the_truth(scenario: str, prior: float) -> None:
    rng = np.random.default_rng(11)
    n = 60_000
    truth = (rng.random(2 * n) < 0.5).astype(int)
    X = rng.normal(size=2 * n) + 1.5 * (truth - 0.5)
    sizes: dict[str, Any] = {"n_samples": n, "class_prior": prior, "label_frequency": 0.5}
    if scenario == "case-control":
        sizes = {"n_positive": n // 4, "n_unlabeled": n // 2, "alpha": prior}
    sample = make_pu(X, truth, scenario=scenario, random_state=0, **sizes)
    called = (sample.X > 0.3).astype(int)
    population = sample.scenario.population_mask(sample.y == 1)
    chances = 1 / (1 + np.exp(-1.5 * sample.X - math.log(prior / (1 - prior))))
    found = score_with_truth(
        sample.truth[population], called[population], chances[population], alpha=sample.alpha,
        alpha_estimate=sample.alpha,
    )  # fmt: skip
    given: dict[str, Any] = {"scenario": scenario, "class_prior": sample.class_prior}
    risk = pu_zero_one_risk(sample.y, called, **given)
    assert risk == pytest.approx(1 - found.accuracy, abs=0.02)
    assert pu_f1_score(sample.y, called, **given) == pytest.approx(found.f1, abs=0.02)
    assert pu_roc_auc_score(sample.y, sample.X, **given) == pytest.approx(found.auc, abs=0.02)
    ap = pu_average_precision_score(sample.y, sample.X, **given)
    assert ap == pytest.approx(found.average_precision, abs=0.03)
    assert found.calibration_error < 0.01
    assert found.alpha_error == 0
    # The other scenario's formula is not near: the scenario matters.
    other = {"case-control": "single-set", "single-set": "case-control"}[scenario]
    wrong = pu_zero_one_risk(sample.y, called, scenario=other, alpha=sample.alpha)
    assert abs(wrong - (1 - found.accuracy)) > 0.01


@pytest.mark.parametrize(("labeling", "sign"), [("sar-easy", 1), ("sar-hard", -1)])
def test_simulation__labels_that_depend_on_x__mislead(labeling: str, sign: int) -> None:
    # What the docstrings say: recall speaks of all positives only if labels are given at random.
    rng = np.random.default_rng(3)
    truth = np.repeat([1, 0], [20_000, 20_000])
    X = rng.normal(size=40_000) + 1.5 * (truth - 0.5)
    sample = make_pu(
        X, truth, n_positive=5000, n_unlabeled=10_000, alpha=0.5, labeling=labeling, random_state=0
    )
    called = (sample.X > 0).astype(int)
    hidden = (sample.y == 0) & (sample.truth == 1)
    assert sign * (pu_recall_score(sample.y, called) - called[hidden].mean()) > 0.05


def test_truth__by_hand() -> None:
    truth, called = [1, 1, 1, 0, 0], [1, 1, 0, 1, 0]
    chances = [0.9, 0.8, 0.4, 0.6, 0.1]
    found = score_with_truth(truth, called, chances, alpha=0.5, alpha_estimate=0.42)
    assert found.accuracy == pytest.approx(3 / 5)
    assert found.balanced_accuracy == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert found.f1 == pytest.approx(4 / 6)
    assert found.auc == pytest.approx(5 / 6)
    assert found.average_precision == pytest.approx((1 + 1 + 3 / 4) / 3)
    assert found.brier == pytest.approx((0.01 + 0.04 + 0.36 + 0.36 + 0.01) / 5)
    assert found.brier == pytest.approx(brier_score_loss(truth, chances))
    # 15 bins: every probability is alone in its bin.
    assert found.calibration_error == pytest.approx((0.1 + 0.2 + 0.6 + 0.6 + 0.1) / 5)
    assert found.alpha_error == pytest.approx(0.08)
    ranked = score_with_truth(truth, called, chances, scores=[5, 4, 3, -2, -9])
    assert ranked.auc == 1
    assert ranked.alpha_error is None


@pytest.mark.parametrize("n_bins", [1, 4, 15])
def test_calibration_error__as_the_loop(n_bins: int) -> None:
    rng = np.random.default_rng(2)
    chances = np.append(rng.random(60), [0.0, 0.25, 0.5, 1.0])
    truth = (rng.random(64) < 0.5).astype(int)
    ours = expected_calibration_error(truth, chances, n_bins=n_bins)
    assert ours == pytest.approx(
        reference.calibration_error(truth.tolist(), chances.tolist(), n_bins)
    )


CC: dict[str, Any] = {"scenario": "case-control"}
NAN = float("nan")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pu_f1_score(Y, CALLED, class_prior=0.5, scenario="both"), "Unknown scenario"),
        (lambda: lee_liu_score(Y, CALLED, scenario=None), "Unknown scenario None"),  # type: ignore[arg-type]
        (lambda: pu_f1_score(Y, CALLED, **CC), "either class_prior, .* or alpha"),
        (lambda: pu_f1_score(Y, CALLED, alpha=0.1, class_prior=0.1, **CC), "either class_prior"),
        (lambda: pu_f1_score(Y, CALLED, class_prior=0, **CC), "leaves one class empty"),
        (lambda: pu_f1_score(Y, CALLED, class_prior=1, **CC), "leaves one class empty"),
        (lambda: pu_f1_score(Y, CALLED, class_prior=NAN, **CC), "class_prior must be a number"),
        (
            lambda: pu_f1_score(Y, CALLED, class_prior=0.2, scenario="single-set"),
            "4 labelled positives among 10 samples are a share of 0.4 already",
        ),
        (lambda: pu_recall_score([1] * 10, CALLED), "only one class"),
        (lambda: pu_recall_score([*Y[:-1], 2], CALLED), "Only binary classification"),
        (lambda: pu_recall_score([*Y[:-1], NAN], CALLED), "y_pu holds NaN or infinity"),
        (lambda: pu_recall_score(np.array(["p", *Y[1:]], object), CALLED), r"\['int', 'str'\]"),
        (lambda: pu_recall_score(np.array([None, *Y[1:]]), CALLED), "type .*NoneType"),
        (lambda: pu_recall_score(np.array([NAN, *Y[1:]], object), CALLED), "y_pu holds NaN"),
        (lambda: pu_recall_score([1j] * 10, CALLED), "y_pu must hold numbers alone"),
        (lambda: pu_recall_score([[1, 0]], CALLED), r"must have shape \(n_samples,\)"),
        (lambda: pu_recall_score([], []), "y_pu is empty"),
        (lambda: pu_recall_score(Y, CALLED[:-1]), "predictions has 9 values for 10 labels"),
        (lambda: pu_recall_score(Y, np.linspace(0, 1, 10)), "what predict returns, not scores"),
        (lambda: pu_recall_score(Y, [*CALLED[:-1], NAN]), "Got .*nan.* at position 9"),
        (lambda: pu_recall_score(Y, np.where(CALLED, 1, -1)), "Got .*-1.* at position 3"),
        (lambda: pu_recall_score(Y, ["yes"] * 10), "Got .*yes.* at position 0"),
        (lambda: proxy_auc(Y, [NAN, *range(9)]), "scores must be finite. Got nan at position 0"),
        (lambda: proxy_auc(Y, [math.inf, *range(9)]), "scores must be finite"),
        (lambda: proxy_auc(Y, ["a"] * 10), "scores must hold numbers"),
        (lambda: proxy_auc(Y, np.zeros((10, 2))), r"Take one column, such as predict_proba"),
        (lambda: proxy_auc(Y, [[1], [1, 2]]), "scores must be an array of shape"),
        (lambda: score_with_truth([1] * 10, CALLED, [0.5] * 10), "y_true must hold two values"),
        (lambda: score_with_truth(range(10), CALLED, [0.5] * 10), "Got 10 values instead"),
        (lambda: score_with_truth(Y, CALLED, [1.5] * 10), r"probabilities must be in \[0, 1\]"),
        (lambda: score_with_truth(Y, CALLED, [NAN] * 10), "probabilities must be finite"),
        (lambda: score_with_truth(Y, CALLED, [0.5] * 10, scores=[NAN] * 10), "scores must be fin"),
        (lambda: score_with_truth(Y, CALLED, [0.5] * 10, alpha=0.5), "both or not at all"),
        (lambda: alpha_error(0.5, NAN), "alpha_estimate must be a number"),
        (lambda: alpha_error(-0.5, 0.5), "alpha must be a number"),
        (lambda: expected_calibration_error(Y, [0.5] * 10, n_bins=0), "n_bins must be an integer"),
    ],
)
def test_bad_input__one_sentence(call: Callable[[], float], message: str) -> None:
    with pytest.raises(VqpuError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
