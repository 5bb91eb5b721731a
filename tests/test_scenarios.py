from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vqpu.errors import ParameterError
from vqpu.scenarios import (
    Proportions,
    Scenario,
    single_set_alpha,
    single_set_class_prior,
    single_set_label_frequency,
)


def test_single_set__by_hand() -> None:
    # 100 samples, 40 positive, 20 of them labelled: 80 remain in U, 20 of them positive.
    assert single_set_alpha(0.4, 0.5) == pytest.approx(20 / 80)
    assert single_set_class_prior(0.25, 0.5) == pytest.approx(0.4)
    assert single_set_label_frequency(0.4, 0.25) == pytest.approx(0.5)
    shares = Proportions.from_alpha(0.25, scenario="single-set", n_positive=20, n_unlabeled=80)
    assert shares == Proportions(Scenario.SINGLE_SET, 0.25, 0.4, 0.5, 0.2)


def test_case_control__by_hand() -> None:
    # 20 drawn as positives; of 80 drawn from the population 20 are positive.
    shares = Proportions.from_alpha(0.25, scenario="case-control", n_positive=20, n_unlabeled=80)
    assert shares == Proportions(Scenario.CASE_CONTROL, 0.25, 0.25, 0.5, 0.2)


@pytest.mark.parametrize("scenario", ["case-control", "single-set"])
@pytest.mark.parametrize("alpha", [0.0, 0.13, 0.5, 0.99, 1.0])
@pytest.mark.parametrize(("n_positive", "n_unlabeled"), [(1, 1), (30, 70), (500, 10)])
def test_proportions__from_alpha_and_back__the_same(
    scenario: str, alpha: float, n_positive: int, n_unlabeled: int
) -> None:
    sizes = {"n_positive": n_positive, "n_unlabeled": n_unlabeled}
    shares = Proportions.from_alpha(alpha, scenario=scenario, **sizes)
    again = Proportions.from_class_prior(shares.class_prior, scenario=scenario, **sizes)
    assert again.alpha == pytest.approx(alpha)
    assert again.label_frequency == pytest.approx(shares.label_frequency)
    if scenario == "single-set":
        c, pi = shares.label_frequency, shares.class_prior
        assert c * pi == pytest.approx(shares.labeled_share)
        if alpha < 1:
            assert single_set_alpha(pi, c) == pytest.approx(alpha)
            assert single_set_label_frequency(pi, alpha) == pytest.approx(c)
        if alpha > 0:
            assert single_set_class_prior(alpha, c) == pytest.approx(pi)


def test_population__u_alone_or_all() -> None:
    is_labeled = np.array([True, False, False])
    assert Scenario.CASE_CONTROL.population_mask(is_labeled).tolist() == [False, True, True]
    assert Scenario.SINGLE_SET.population_mask(is_labeled).tolist() == [True, True, True]


SIZES: dict[str, Any] = {"scenario": "single-set", "n_positive": 30, "n_unlabeled": 70}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Scenario.parse("single"), "Unknown scenario 'single'. Valid values are"),
        (lambda: Scenario.parse(None), "Unknown scenario None"),
        (lambda: Proportions.from_alpha(1.5, **SIZES), r"alpha must be a number in \[0, 1\]"),
        (lambda: Proportions.from_alpha(float("nan"), **SIZES), "alpha must be a number"),
        (lambda: Proportions.from_alpha(0.5, **(SIZES | {"n_positive": 0})), "n_positive must be"),
        (
            lambda: Proportions.from_class_prior(0.2, **SIZES),
            "class_prior=0.2 is impossible in the single-set scenario, where 30 labelled positives "
            "among 100 samples are a share of 0.3 already",
        ),
        (lambda: Proportions.from_class_prior(-0.1, **SIZES), "class_prior must be a number"),
        (lambda: single_set_alpha(1.0, 1.0), "leaves no unlabelled sample"),
        (lambda: single_set_class_prior(0.0, 1.0), "does not determine it"),
        (lambda: single_set_label_frequency(0.2, 0.3), "class_prior must be at least alpha"),
        (lambda: single_set_label_frequency(0.2, 1.0), r"alpha must be a number in \[0, 1\)"),
        (lambda: single_set_label_frequency(0.0, 0.0), r"class_prior must be a number in \(0, 1\]"),
    ],
)
def test_impossible__one_sentence(call: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
