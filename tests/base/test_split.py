from __future__ import annotations

import numpy as np
import pytest

from vqpu.base._split import BalancedBatches, PlainBatches


def test_batches__one_epoch__every_unlabelled_sample_once() -> None:
    batches = BalancedBatches(np.arange(30), np.arange(100, 160), batch_size=20, seed=0)
    assert batches.steps_per_epoch == 6
    drawn = np.concatenate([batches[step].unlabeled for step in range(6)])
    assert sorted(drawn) == list(range(100, 160))
    positives = np.concatenate([batches[step].positive for step in range(6)])
    assert sorted(positives) == sorted([*range(30), *range(30)])


def test_batches__set_smaller_than_half_a_batch__taken_whole() -> None:
    batches = BalancedBatches(np.arange(3), np.arange(10, 60), batch_size=20, seed=0)
    assert sorted(batches[5].positive) == [0, 1, 2]
    assert len(batches[5].unlabeled) == 10


def test_batches__any_step_asked_first__same_batch() -> None:
    first = BalancedBatches(np.arange(17), np.arange(20, 71), batch_size=10, seed=3)
    second = BalancedBatches(np.arange(17), np.arange(20, 71), batch_size=10, seed=3)
    in_order = [first[step] for step in range(40)]
    for step in (39, 7, 0, 21):
        assert np.array_equal(second[step].positive, in_order[step].positive)
        assert np.array_equal(second[step].unlabeled, in_order[step].unlabeled)


def test_batches__rounds__different_orders() -> None:
    batches = BalancedBatches(np.arange(8), np.arange(8), batch_size=16, seed=0)
    assert not np.array_equal(batches[0].unlabeled, batches[1].unlabeled)
    assert not np.array_equal(batches[0].unlabeled, batches[0].positive)


def test_plain_batches__one_set_alone__once_an_epoch() -> None:
    batches = PlainBatches(np.arange(10, 40), batch_size=10, seed=0)
    assert batches.steps_per_epoch == 3
    assert sorted(np.concatenate([batches[step].positive for step in range(3)])) == [*range(10, 40)]
    assert len(batches[0].unlabeled) == 0


@pytest.mark.parametrize(
    ("n_positive", "n_unlabeled", "expected"),
    [(10, 30, (4, 12)), (1, 999, (1, 15)), (5, 5, (5, 5)), (50, 50, (8, 8))],
)
def test_natural_batches__each_set_has_its_share_of_a_batch(
    n_positive: int, n_unlabeled: int, expected: tuple[int, int]
) -> None:
    unlabeled = np.arange(n_positive, n_positive + n_unlabeled)
    batches = BalancedBatches(np.arange(n_positive), unlabeled, 16, 0, is_natural=True)
    batch = batches[3]
    assert (len(batch.positive), len(batch.unlabeled)) == expected
    assert set(batch.unlabeled) <= set(unlabeled)
