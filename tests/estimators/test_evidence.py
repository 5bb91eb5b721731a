"""Evidence: what is seen of samples and scores, on data whose truth is plain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from vqpu.base._source import ArraySource
from vqpu.base._split import Sets
from vqpu.estimators._evidence import (
    _agreement,
    _filled_column,
    _some_of_both,
    telling_columns,
    twins,
)
from vqpu.estimators._likeness import compare_positives, told_by_category, weighted_auc


def both(positive: NDArray[Any], unlabeled: NDArray[Any]) -> tuple[ArraySource, Sets]:
    n, total = len(positive), len(positive) + len(unlabeled)
    return ArraySource(np.concatenate([positive, unlabeled])), Sets(
        np.arange(n), np.arange(n, total)
    )


@pytest.fixture
def normal() -> np.random.Generator:
    return np.random.default_rng(0)


def test_likeness__hidden_positives_alike__near_one_half(normal: np.random.Generator) -> None:
    unlabeled = np.vstack([normal.normal(2, 1, (200, 3)), normal.normal(-2, 1, (400, 3))])
    source, indices = both(normal.normal(2, 1, (150, 3)), unlabeled)
    probability = (np.arange(600) < 200).astype(np.float64)
    found = compare_positives(source, indices, probability)
    assert found is not None
    assert abs(found.auc - 0.5) < 0.08
    assert found[1:] == ((), ())


def test_likeness__positives_moved__near_one(normal: np.random.Generator) -> None:
    unlabeled = np.vstack([normal.normal(2, 1, (200, 3)), normal.normal(-2, 1, (400, 3))])
    source, indices = both(normal.normal(5, 1, (150, 3)), unlabeled)
    found = compare_positives(source, indices, (np.arange(600) < 200).astype(np.float64))
    assert found is not None
    assert found.auc > 0.9


def test_likeness__images__looked_at_coarsely(normal: np.random.Generator) -> None:
    dark = normal.integers(0, 100, (200, 8, 8)).astype(np.uint8)
    source, indices = both(dark[:60] + 80, dark[60:])
    found = compare_positives(source, indices, np.ones(140))
    assert found is not None
    assert found.auc > 0.9


def test_likeness__too_few__none(normal: np.random.Generator) -> None:
    source, indices = both(normal.normal(size=(4, 3)), normal.normal(size=(50, 3)))
    assert compare_positives(source, indices, np.ones(50)) is None


def test_likeness__more_than_are_compared__drawn_by_their_weight(
    normal: np.random.Generator,
) -> None:
    unlabeled = np.vstack([normal.normal(2, 1, (300, 3)), normal.normal(-2, 1, (5_700, 3))])
    source, indices = both(normal.normal(2, 1, (200, 3)), unlabeled)
    found = compare_positives(source, indices, np.where(np.arange(6_000) < 300, 0.99, 1e-4))
    assert found is not None
    assert abs(found.auc - 0.5) < 0.1


def test_compare_positives__chosen_by_a_column__it_is_named_with_examples(
    normal: np.random.Generator,
) -> None:
    hidden = np.column_stack([normal.normal(2, 1, 200), normal.normal(size=(200, 2))])
    labeled = np.column_stack([normal.normal(2, 1, 150), normal.normal(size=(150, 2))])
    labeled[:, 2] = np.abs(labeled[:, 2])  # none below 0 is labelled
    unlabeled = np.vstack([hidden, normal.normal(-4, 1, (300, 3))])
    source, indices = both(labeled, unlabeled)
    found = compare_positives(source, indices, (np.arange(500) < 200).astype(np.float64))
    assert found is not None
    assert found.columns == (2,)
    assert len(found.samples) == 5
    rows = source.array[list(found.samples)]
    assert (rows[:, 2] < 0).all()
    assert {*found.samples} <= {*range(150, 350)}


def test_compare_positives__other_categories__named() -> None:
    rng = np.random.default_rng(0)
    codes = np.concatenate([np.repeat([0.0, 1.0], [50, 10]), rng.integers(0, 3, 120)])
    source = ArraySource(np.column_stack([codes, rng.normal(size=180)]), {0: 3})
    indices = Sets(np.arange(60), np.arange(60, 180))
    found = compare_positives(source, indices, np.ones(120))
    assert found is not None
    assert found.columns == (0,)


def test_weighted_auc__by_hand() -> None:
    values, target = np.array([1.0, 2.0, 2.0, 3.0]), np.array([0.0, 1.0, 0.0, 1.0])
    assert weighted_auc(values, target, np.ones(4)) == pytest.approx((1.5 + 2) / 4)
    # The positive at 2 weighs three times as much.
    weight = np.array([1.0, 3.0, 1.0, 1.0])
    assert weighted_auc(values, target, weight) == pytest.approx((3 * 1.5 + 2) / 8)


def test_twins__copies_of_p_in_u__counted(normal: np.random.Generator) -> None:
    positive, unlabeled = normal.normal(size=(40, 3)), normal.normal(size=(100, 3))
    source, indices = both(positive, np.vstack([unlabeled, positive[:10]]))
    assert twins(source, indices) == pytest.approx(0.25)


def test_twins__a_table_of_few_values__no_more_than_u_has_itself() -> None:
    rng = np.random.default_rng(0)
    source, indices = both(
        rng.integers(0, 2, (100, 3)).astype(float), rng.integers(0, 2, (300, 3)).astype(float)
    )
    assert abs(twins(source, indices)) < 0.05


def told(source: ArraySource, indices: Sets) -> tuple[int | None, float, float]:
    return telling_columns(_some_of_both(source, indices), source.categories)


def test_filled_column__more_often_in_labelled_rows__named_with_both_shares() -> None:
    rows = np.zeros((8, 3))
    rows[:, 1] = [1, 1, 1, np.nan, np.nan, np.nan, np.nan, np.nan]
    rows[:, 2] = [np.nan, 1, 1, 1, 1, 1, 1, 1]
    found = _filled_column(_some_of_both(ArraySource(rows), Sets(np.arange(4), np.arange(4, 8))))
    assert found == (1, (0.75, 0.0))
    whole = _some_of_both(ArraySource(np.zeros((4, 1))), Sets(np.arange(2), np.arange(2, 4)))
    assert _filled_column(whole) == (None, (0.0, 0.0))


def test_telling_columns__a_number_of_rows__found(normal: np.random.Generator) -> None:
    positive, unlabeled = normal.normal(size=(40, 3)), normal.normal(size=(100, 3))
    positive[:, 1], unlabeled[:, 1] = np.arange(40), 40 + np.arange(100)
    column, best, other = told(*both(positive, unlabeled))
    assert (column, best) == (1, 1.0)
    assert other < 0.7


def test_telling_columns__category__no_value_in_common() -> None:
    rows = np.array([[0.0], [0.0], [1.0], [1.0], [1.0], [2.0]])
    source = ArraySource(rows, {0: 3})
    column, best, _ = told(source, Sets(np.arange(2), np.arange(2, 6)))
    assert (column, best) == (0, 1.0)  # no value in common


def test_telling_columns__missing_values__a_value_of_their_own() -> None:
    rows = np.array([[np.nan], [np.nan], [1.0], [2.0], [3.0]])
    assert told(ArraySource(rows), Sets(np.arange(2), np.arange(2, 5)))[1] == 1.0


def test_agreement__scores_that_overflow__none_and_not_nan() -> None:
    scores = np.array([[1e300, 1.0], [-1e300, 2.0], [1e300, 4.0]])
    assert _agreement(scores) == 0.0


def test_told_by_category__hundreds_of_categories_of_few__chance(
    normal: np.random.Generator,
) -> None:
    codes, target = normal.integers(0, 300, 608).astype(float), np.repeat([1.0, 0.0], [8, 600])
    assert told_by_category(codes, target, np.ones(608)) < 0.7


def test_told_by_category__given_away__told() -> None:
    codes = np.repeat([1.0, 0.0, 2.0], [8, 300, 300])
    target = np.repeat([1.0, 0.0], [8, 600])
    assert told_by_category(codes, target, np.ones(608)) > 0.99
