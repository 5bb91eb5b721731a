"""Expected accuracy, recall and AUC: by hand, and the constants against their records."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.studies.doubt_expected import choosing_records, fitted_constants
from experiments.studies.doubt_summary import true_recall
from tests.estimators.test_findings import GOOD
from vqpu.estimators import _expected
from vqpu.estimators._expected import expected_accuracy, expected_auc, expected_recall
from vqpu.priors._mixture import Interval

RECORDS = Path(__file__).resolve().parents[2] / "results" / "doubt"


# Round numbers in place of the fitted ones, which a new draw of the study may move.
BY_HAND = {
    "ACCURACY_SHIFT": (0.8, -0.7, -0.3),
    "ACCURACY_LOW": (-0.02, -0.4, -0.1, -0.5),
    "ACCURACY_HIGH": (0.01, 0.1, 0.2, 0.3),
    "RECALL_SHIFT": (0.02, 0.2, -0.3),
    "RECALL_LOW": (-0.05, -0.1, -1.0, 0.1),
    "RECALL_HIGH": (0.03, 0.1, 0.5, -0.1),
    "AUC_SHIFT": (-0.2, 0.4, -0.1),
    "AUC_LOW": (-0.01, -0.5, -0.4),
    "AUC_HIGH": (0.02, 0.3, -0.1),
}


@pytest.fixture
def constants_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, numbers in BY_HAND.items():
        monkeypatch.setattr(_expected, name, numbers)


@pytest.mark.usefixtures("constants_by_hand")
def test_expected_accuracy__alpha_known__what_the_shares_imply() -> None:
    # 200 positives of recall .95, drawn to 1/2 by five; 30 % are called, 30 % are positive.
    known = GOOD._replace(alpha=Interval(0.3, 0.3, 0.3), agreement=1.0)
    implied = 1 - 0.3 + 0.3 * (2 * 192.5 / 205 - 1)
    found = expected_accuracy(known)
    assert found.value == pytest.approx(implied)
    assert found.low == pytest.approx(implied - 0.02 - 0.1 / 200**0.5)
    assert found.high == pytest.approx(implied + 0.01 + 0.2 / 200**0.5)


@pytest.mark.usefixtures("constants_by_hand")
def test_expected_accuracy__alpha_wide__drawn_to_what_is_usual() -> None:
    wide = GOOD._replace(alpha=Interval(0.3, 0.1, 0.6), agreement=0.9)
    implied = 1 - 0.3 + 0.3 * (2 * 192.5 / 205 - 1)
    assert expected_accuracy(wide).value == pytest.approx(
        implied + 0.5 * (0.8 - 0.7 * implied - 0.3 * 0.9)
    )


def test_expected_accuracy__few_that_disagree__wider() -> None:
    def width(**changes: float) -> float:
        found = expected_accuracy(GOOD._replace(**changes))  # type: ignore[arg-type]
        return found.high - found.low

    assert width(n_positive=10) > width(n_positive=20) > width()
    assert width(agreement=0.5) > width()


def test_expected_accuracy__one_member__as_if_it_agreed_as_is_usual() -> None:
    assert expected_accuracy(GOOD._replace(agreement=None)) == expected_accuracy(
        GOOD._replace(agreement=0.9)
    )


@pytest.mark.usefixtures("constants_by_hand")
def test_expected_recall__by_hand() -> None:
    found = expected_recall(GOOD)  # alpha is .1 wide, members agree by .95
    drawn = 192.5 / 205
    value = drawn + 0.1 * (0.02 + 0.2 * drawn - 0.3 * 0.95)
    assert found.value == pytest.approx(value)
    assert found.low == pytest.approx(value - 0.05 - 0.1 * 0.1 - 1 / 200**0.5 + 0.1 * 0.05)
    high = value + 0.03 + 0.1 * 0.1 + 0.5 / 200**0.5 - 0.1 * 0.05
    assert found.high == pytest.approx(min(high, 1.0))


def test_true_recall__from_both_accuracies() -> None:
    # .8 of positives and .9 of negatives are right.
    values = {"true_alpha": 0.3, "n_unlabeled": 100, "fit_balanced_accuracy": 0.85}
    assert true_recall({**values, "fit_accuracy": 0.3 * 0.8 + 0.7 * 0.9}) == pytest.approx(0.8)
    assert true_recall({**values, "fit_accuracy": 0.87, "n_unlabeled": 60}) is None
    assert true_recall({**values, "fit_accuracy": 0.85, "true_alpha": 0.5}) is None


@pytest.mark.usefixtures("constants_by_hand")
def test_expected_auc__by_hand() -> None:
    found = expected_auc(GOOD)
    # .8 against U with 30 % positives is .93 against negatives; members agree by .95.
    solved = (0.8 - 0.15) / 0.7
    value = 0.97 - 0.2 * 0.04 + 0.4 * (solved - 0.97) - 0.1 * 0.05
    assert found.value == pytest.approx(value)
    assert found.low == pytest.approx(value - 0.01 - 0.5 * 0.04 - 0.4 / 200**0.5)
    assert found.high == pytest.approx(value + 0.02 + 0.3 * 0.04 - 0.1 / 200**0.5)


def test_constants__are_those_that_the_choosing_records_give() -> None:
    for name, numbers in fitted_constants(choosing_records(RECORDS)).items():
        assert getattr(_expected, name) == pytest.approx(numbers, abs=2e-3), name
