"""Several encoders side by side, each kept from a part of the samples of its own."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from tests.support import fast_classifier
from vqpu import VQKMeansClassifier
from vqpu.base._source import ArraySource
from vqpu.base._split import draw_check_sample, split_holdout
from vqpu.estimators._sizes import (
    count_members,
    resolve_batch_size,
    resolve_dropout,
    resolve_max_steps,
)
from vqpu.nn import EncoderEnsemble
from vqpu.rivals import NaivePUClassifier
from vqpu.vq._network import VQNetwork
from vqpu.vq._settings import resolve_settings

Blobs = tuple[NDArray[np.float64], NDArray[np.int64]]
pytestmark = pytest.mark.filterwarnings("ignore::vqpu.VqpuWarning")


@pytest.fixture
def whole_numbers(blobs: Blobs) -> Blobs:
    """Data whose sums are exact, so that a new order of rows leaves the normaliser as it was."""
    return np.round(100 * blobs[0]), blobs[1]


def members_of(model: VQKMeansClassifier) -> nn.ModuleList:
    assert isinstance(model.network_, VQNetwork)
    return model.network_.encoder.members


def is_labeled(n_positive: int, n_unlabeled: int) -> NDArray[np.bool_]:
    return np.arange(n_positive + n_unlabeled) < n_positive


def test_split__every_sample_is_kept_from_one_member_and_trained_by_the_others() -> None:
    split = split_holdout(is_labeled(20, 43), 0.15, n_members=5, seed=0)
    assert split.n_holdout == (20, 43)
    for member in range(5):
        trained = np.concatenate(split.training_sets(member))
        kept = np.flatnonzero(split.kept_from == member)
        assert set(trained) | set(kept) == set(range(63))
        assert not set(trained) & set(kept)
        assert 8 + 4 <= len(kept) <= 9 + 4


@pytest.mark.parametrize(("n_positive", "share"), [(3, 0.15), (20, 0.0)])
def test_split__too_few_or_none_wanted_keeps_nothing_apart(n_positive: int, share: float) -> None:
    split = split_holdout(is_labeled(n_positive, 43), share, n_members=5, seed=0)
    assert split.n_holdout == (0, 0)
    assert len(split.training_sets(2).unlabeled) == 43
    assert len(split.judged_sets().positive) == n_positive


def test_unseen__takes_the_word_of_the_member_that_was_kept_from_the_sample() -> None:
    split = split_holdout(is_labeled(4, 8), 0.15, n_members=2, seed=0)._replace(
        kept_from=np.array([0, 1, -1] * 4)
    )
    said = np.array([[1.0, 3.0], [1.0, 3.0], [1.0, 3.0]])
    np.testing.assert_array_equal(split.unseen(said, np.array([0, 1, 2])), [1.0, 3.0, 2.0])
    np.testing.assert_array_equal(split.unseen(said, np.array([10, 9, 11])), [3.0, 1.0, 2.0])


def test_check_sample__one_member_judges_what_it_was_kept_from() -> None:
    split = split_holdout(is_labeled(1000, 9000), 0.4, n_members=1, seed=0)
    clustered, judged = draw_check_sample(split, seed=0)
    assert (split.kept_from[judged.unlabeled] == 0).all()
    assert (split.kept_from[clustered.unlabeled] == -1).all()
    assert [len(part) for part in (*clustered, *judged)] == [256, 512, 400, 1024]


def test_ensemble__puts_the_members_vectors_side_by_side() -> None:
    members = [nn.Sequential(nn.Linear(3, 4), nn.Unflatten(1, (2, 2))) for _ in range(3)]
    ensemble = EncoderEnsemble(nn.Identity(), members)
    x = torch.randn(5, 3)
    together = ensemble(x)
    assert together.shape == (5, 6, 2)
    torch.testing.assert_close(together[:, 2:4], members[1](x))
    torch.testing.assert_close(ensemble.forward_member(x, 2), together[:, 4:])


def test_fit__a_member_does_not_depend_on_what_it_is_kept_from(whole_numbers: Blobs) -> None:
    X, y = whole_numbers
    first = fast_classifier(n_members=3).fit(X, y)
    kept_from = split_holdout(y == 1, 0.15, n_members=3, seed=0).kept_from
    changed = X.copy()
    for label in (0, 1):
        part = np.flatnonzero((kept_from == 1) & (y == label))
        changed[part] = X[part[::-1]]
    second = fast_classifier(n_members=3).fit(changed, y)
    same = [
        all(torch.equal(a, b) for a, b in zip(old.parameters(), new.parameters(), strict=True))
        for old, new in zip(members_of(first), members_of(second), strict=True)
    ]
    assert first.history_[-1]["holdout_loss"] != second.history_[-1]["holdout_loss"]
    assert first.best_check_ == second.best_check_
    assert same == [False, True, False]


def test_fit__members_answer_together_and_a_sample_alone_as_in_company(blobs: Blobs) -> None:
    X, y = blobs
    model = fast_classifier(n_members=3).fit(X, y)  # a fifth of the samples for each
    assert model.n_holdout_ == (round(0.6 * (y == 1).sum()), round(0.6 * (y == 0).sum()))
    assert model.transform(X).shape == (len(X), 3 * 4)
    encodings = model.encode(X)
    assert encodings.member_projections.shape == (len(X), 3)
    np.testing.assert_array_equal(encodings.projection, encodings.member_projections.mean(axis=1))
    scores = model.decision_function(X)
    alone = [model.decision_function(X[i : i + 1])[0] for i in range(0, len(X), 17)]
    np.testing.assert_array_equal(scores[::17], alone)


def test_nearest_center__answers_with_several_members(blobs: Blobs) -> None:
    X, y = blobs
    model = fast_classifier(n_members=2, decision="nearest-center").fit(X, y)
    codes = model.transform(X).astype(np.float64)
    distances = [np.linalg.norm(codes - center, axis=1) for center in model.cluster_centers_]
    clear = np.abs(distances[0] - distances[1]) > 1e-6
    np.testing.assert_array_equal(
        model.predict(X)[clear], (distances[1] < distances[0]).astype(np.int64)[clear]
    )


def images(n: int) -> ArraySource:
    return ArraySource(np.broadcast_to(np.zeros((1, 8, 8)), (n, 8, 8)))


def rows(n: int) -> ArraySource:
    return ArraySource(np.zeros((n, 1)))


def test_batches_and_steps__grow_with_the_number_of_images_alone() -> None:
    sizes = (30, 1_000, 1_732, 3_000, 30_000)
    assert [resolve_batch_size(None, images(n)) for n in sizes] == [32, 32, 64, 128, 128]
    assert [resolve_max_steps(None, None, images(n)) for n in (30, 900, 2_000, 7_700)] == [
        1_350, 1_350, 3_000, 4_000,
    ]  # fmt: skip
    # Up to eight processes take equal parts of both halves.
    assert all(resolve_batch_size(None, images(n)) % 16 == 0 for n in range(30, 4_000, 10))
    assert resolve_batch_size(None, rows(30)) == 128
    assert resolve_max_steps(None, None, rows(30)) == 4_000


def test_batches_and_steps__as_asked_for() -> None:
    few = images(30)
    assert resolve_batch_size(64, few) == 64
    assert resolve_max_steps(7, 60, few) == 7
    assert resolve_max_steps(None, 60, few) == 4_000  # the user counts in epochs


def test_members_and_dropout__fall_evenly_with_the_number_of_samples() -> None:
    members = [count_members(None, images(n)) for n in (30, 1_200, 1_800, 2_500, 4_000, 5_000)]
    assert members == [5, 5, 4, 3, 2, 1]
    assert [count_members(None, rows(n)) for n in (30, 12_000, 70_000)] == [5, 5, 1]
    default = VQKMeansClassifier(encoder="network")
    assert [resolve_settings(default, part).n_rounds for part in (rows(99), images(99))] == [3, 2]
    assert [resolve_dropout(None, rows(n)) for n in (99, 3_000, 9_000)] == [0.5, 0.375, 0.25]
    dropped = [resolve_dropout(None, images(n)) for n in (99, 2_449, 2_450, 9_000)]
    assert dropped == pytest.approx([0.1, 0.05, 0.05, 0.0], abs=1e-4)


def test_members__five_for_few_samples(blobs: Blobs) -> None:
    few = fast_classifier(n_members=None, max_steps=2).fit(*blobs)
    assert len(members_of(few)) == 5
    naive = NaivePUClassifier(max_steps=2, random_state=0).fit(*blobs)
    assert len(naive.network_.encoder.members) == 5
    assert naive.decision_function(blobs[0]).shape == (len(blobs[0]),)
