from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

from vqpu import VqpuError, make_pu
from vqpu.datasets import PUSample

X = np.arange(1000)[:, None]
TRUTH = (np.arange(1000) % 3 == 0).astype(int)

rng = np.random.default_rng(0)
CLOUD_TRUTH = np.repeat([1, 0], [4000, 4000])
CLOUD = rng.normal(size=(8000, 2)) + 2 * CLOUD_TRUTH[:, None]


def test_case_control__draw__never_changes() -> None:
    # Committed records were made of such draws: these bytes must stay.
    sample = make_pu(X, TRUTH, n_positive=50, n_unlabeled=200, alpha=0.35, random_state=7)
    assert sample.X[:6, 0].tolist() == [900, 819, 636, 789, 228, 633]
    assert sample.X[50:56, 0].tolist() == [795, 876, 259, 349, 711, 14]
    parts = (sample.X, sample.y, sample.truth, sample.rest)
    raw = b"".join(np.ascontiguousarray(part, np.int64).tobytes() for part in parts)
    digest = "7bdcdf12773e32f6ced9e4234d6b8faa6001516f6e13333c856b7450e07c1836"
    assert hashlib.sha256(raw).hexdigest() == digest


def check_exact(sample: PUSample, n_positive: int, n_unlabeled: int, n_hidden: int) -> None:
    drawn = sample.X[:, 0]
    assert sample.y.tolist() == [1] * n_positive + [0] * n_unlabeled
    assert sample.truth[:n_positive].all()
    assert sample.truth[n_positive:].sum() == n_hidden
    assert np.array_equal(sample.truth, TRUTH[drawn])
    assert len(set(drawn.tolist())) == len(drawn)
    assert sorted([*drawn.tolist(), *sample.rest.tolist()]) == list(range(1000))


def weight_by_number(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array[:, 0] / 1000


@pytest.mark.parametrize("scenario", ["case-control", "single-set"])
@pytest.mark.parametrize(
    "labeling",
    ["scar", "sar-easy", "sar-hard", weight_by_number, X[:, 0]],
    ids=["scar", "sar-easy", "sar-hard", "function", "weights"],
)
def test_counts__exact_and_disjoint__whatever_is_asked(scenario: str, labeling: Any) -> None:
    # A second column, so that the class means differ.
    sample = make_pu(
        np.column_stack([X, X[:, 0] * TRUTH]),
        TRUTH,
        n_positive=50,
        n_unlabeled=200,
        alpha=0.35,
        scenario=scenario,
        labeling=labeling,
        random_state=1,
    )
    check_exact(sample, 50, 200, 70)
    assert sample.scenario == scenario
    assert sample.alpha == 0.35
    assert sample.class_prior == pytest.approx(0.35 if scenario == "case-control" else 120 / 250)
    assert sample.label_frequency == pytest.approx(50 / 120)


def test_single_set__by_sample__same_as_by_sets() -> None:
    by_sample = make_pu(
        X,
        TRUTH,
        n_samples=250,
        class_prior=0.48,
        label_frequency=50 / 120,
        scenario="single-set",
        random_state=3,
    )
    check_exact(by_sample, 50, 200, 70)
    by_sets = make_pu(
        X,
        TRUTH,
        n_positive=50,
        n_unlabeled=200,
        alpha=0.35,
        scenario="single-set",
        random_state=3,
    )
    assert np.array_equal(by_sample.X, by_sets.X)
    assert by_sample[4:] == by_sets[4:]


def cloud_means(scenario: str, labeling: Any) -> tuple[float, float]:
    """Mean of the labelled and of the hidden positives; 4 in expectation for all positives."""
    sample = make_pu(
        CLOUD,
        CLOUD_TRUTH,
        n_positive=1500,
        n_unlabeled=3000,
        alpha=0.5,
        scenario=scenario,
        labeling=labeling,
        random_state=0,
    )
    total = sample.X.sum(axis=1)
    hidden = (sample.y == 0) & (sample.truth == 1)
    return float(total[sample.y == 1].mean()), float(total[hidden].mean())


def test_labeling__at_random__labelled_look_like_hidden() -> None:
    for scenario in ("case-control", "single-set"):
        labeled, hidden = cloud_means(scenario, "scar")
        assert labeled == pytest.approx(4, abs=0.12)
        assert hidden == pytest.approx(4, abs=0.12)


@pytest.mark.parametrize(("labeling", "sign"), [("sar-easy", 1), ("sar-hard", -1)])
def test_labeling__depending_on_x__biases_p_and_what_remains(labeling: str, sign: int) -> None:
    labeled, hidden = cloud_means("case-control", labeling)
    assert sign * (labeled - 4) > 0.4
    assert hidden == pytest.approx(4, abs=0.12)  # U is an unbiased draw
    labeled, hidden = cloud_means("single-set", labeling)
    assert sign * (labeled - 4) > 0.3
    assert sign * (hidden - 4) < -0.3  # what was preferred is gone from U


def test_labeling__propensities__draw_in_proportion() -> None:
    # One label a draw: positives 0, 1, 2 with weights 1, 2, 5, the fourth never.
    weights = [1.0, 2.0, 5.0, 0.0, 9.0]
    counts = np.zeros(5)
    for seed in range(4000):
        sample = make_pu(
            np.arange(5)[:, None],
            [1, 1, 1, 1, 0],
            n_positive=1,
            n_unlabeled=1,
            alpha=0,
            labeling=weights,
            random_state=seed,
        )
        counts[sample.X[0, 0]] += 1
    assert counts[3:].tolist() == [0, 0]
    assert counts[:3] / 4000 == pytest.approx([1 / 8, 2 / 8, 5 / 8], abs=0.03)


SETS: dict[str, Any] = {"n_positive": 50, "n_unlabeled": 200, "alpha": 0.35}
SAMPLE: dict[str, Any] = {"n_samples": 250, "class_prior": 0.4, "label_frequency": 0.5}
SINGLE: dict[str, Any] = {"scenario": "single-set"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (SETS | {"scenario": "both"}, "Unknown scenario 'both'"),
        (SAMPLE, "'case-control' needs all of n_positive, n_unlabeled and alpha"),
        (SETS | {"class_prior": 0.4}, "and none of the other sizes"),
        (SETS | SINGLE | {"class_prior": 0.4}, "but not of both"),
        (SETS | SAMPLE | SINGLE, "but not of both"),
        (SINGLE, "Got .*None, None, None.* instead"),
        (SETS | {"alpha": None}, "needs all of"),
        (SETS | {"n_positive": 0}, "n_positive must be an integer >= 1"),
        (SETS | {"alpha": float("nan")}, "alpha must be a number"),
        (SAMPLE | SINGLE | {"class_prior": 0.0}, r"class_prior must be a number in \(0, 1\]"),
        (SAMPLE | SINGLE | {"label_frequency": 0.001}, "give 0 labelled positives among 250"),
        (SETS | {"n_positive": 300}, "370 positives are needed, but y has 334"),
        (SETS | {"n_unlabeled": 900, "alpha": 0.1}, "810 negatives are needed, but y has 666"),
        (SAMPLE | SINGLE | {"n_samples": 900}, "360 positives are needed, but y has 334"),
        (SETS | {"labeling": "mar"}, "Unknown labeling 'mar'"),
        (SETS | {"labeling": [1.0, 2.0]}, r"shape \(2,\), expected \(1000,\)"),
        (SETS | {"labeling": -X[:, 0]}, "negative, NaN or infinite"),
        (SETS | {"labeling": X[:, 0] * np.nan}, "negative, NaN or infinite"),
        (SETS | {"labeling": None}, r"propensities of shape \(\)"),
        (SETS | {"labeling": object()}, "must be a name, a function of X or an array"),
        (
            SETS | {"labeling": (X[:, 0] < 30) * 1.0},
            "50 positives with a labelling propensity above 0 are needed, but there are",
        ),
    ],
)
def test_bad_request__one_sentence(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(VqpuError, match=message):
        make_pu(X, TRUTH, **arguments)


@pytest.mark.parametrize(
    ("data", "truth", "labeling", "message"),
    [
        (X, TRUTH[:-1], "scar", r"X has 1000 samples and y has shape \(999,\)"),
        (X, np.arange(1000) % 3, "scar", "1 for positives and one other value for negatives"),
        (X, np.where(TRUTH == 1, 1, np.nan), "scar", "y holds NaN or infinity"),
        (X.astype(str), TRUTH, "sar-easy", "needs numbers, but X has dtype"),
        (X * np.nan, TRUTH, "sar-easy", "needs finite X"),
        (np.zeros((1000, 1)), TRUTH, "sar-hard", "needs finite X in which positives differ"),
    ],
)
def test_bad_data__one_sentence(data: Any, truth: Any, labeling: str, message: str) -> None:
    with pytest.raises(VqpuError, match=message):
        make_pu(data, truth, labeling=labeling, **SETS)
