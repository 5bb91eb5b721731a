"""Known negatives and confirmed positives: who is trained on them, and what they change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import vqpu
from vqpu import VQKMeansClassifier, stack_pu
from vqpu.base._labels import KnownLabels
from vqpu.base._split import BalancedBatches, split_holdout, weight_of_negatives
from vqpu.errors import InputError
from vqpu.priors._posterior import RAISED_BY
from vqpu.vq._known_labels import InUse, LabeledScores, fit_correction
from vqpu.vq._rounds import Round
from vqpu.vq._tree_rounds import _task

N_POSITIVE, N_HIDDEN, N_NEGATIVE = 60, 60, 100


def make_data(seed: int = 0) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]:
    rng = np.random.default_rng(seed)
    hidden, negative = rng.normal(1.2, 1, (N_HIDDEN, 3)), rng.normal(-1, 1, (N_NEGATIVE, 3))
    X, y = stack_pu(rng.normal(1.2, 1, (N_POSITIVE, 3)), np.vstack([hidden, negative]))
    return X, y, np.arange(len(y)) >= N_POSITIVE + N_HIDDEN


def rows(first: int, stop: int, n: int = N_POSITIVE + N_HIDDEN + N_NEGATIVE) -> NDArray[np.bool_]:
    return (np.arange(n) >= first) & (np.arange(n) < stop)


def small(encoder: str, **parameters: Any) -> VQKMeansClassifier:
    sizes: dict[str, Any] = {"codebook_size": 16, "vector_dim": 8, "n_vectors": 4, "max_steps": 40}
    model = VQKMeansClassifier(encoder=encoder, random_state=0, n_rounds=2, **sizes)
    return model.set_params(**parameters)


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (np.zeros(7, bool), "one value for each of the 220 samples"),
        (np.zeros(220, int), "mask of True and False"),
        (rows(0, 3), "marks 3 samples that y calls positive"),
        (rows(60, 220), "none is unlabelled"),
    ],
)
def test_known_negatives__not_a_mask_of_unlabelled_rows__refused(mask: Any, message: str) -> None:
    X, y, _ = make_data()
    with pytest.raises(InputError, match=message):
        small("trees").fit(X, y, known_negatives=mask)


def test_confirmed_positives__not_labelled_or_all_of_them__refused() -> None:
    X, y, _ = make_data()
    with pytest.raises(InputError, match="y does not call positive"):
        small("trees").fit(X, y, confirmed_positives=rows(60, 62))
    with pytest.raises(InputError, match="every labelled positive"):
        small("trees").fit(X, y, confirmed_positives=rows(0, 60))


def test_weight__by_hand__that_of_a_labelled_positive_and_at_most_half() -> None:
    assert weight_of_negatives(200, 50) == 0.25
    assert weight_of_negatives(50, 200) == 0.5
    assert weight_of_negatives(50, 0) == 0.0


def test_batches__known_negatives__take_their_share_of_the_unlabelled_half() -> None:
    negative = np.arange(200, 220)
    batches = BalancedBatches(np.arange(80), np.arange(80, 200), 64, 0, negative)
    for step in range(5):
        batch = batches[step]
        assert len(batch.unlabeled) == 32
        assert np.isin(batch.unlabeled, negative).sum() == 8  # a quarter of 32
    assert set(np.concatenate([batches[s].unlabeled[-8:] for s in range(5)])) == set(negative)


def test_batches__none_known__as_without_the_argument() -> None:
    plain = BalancedBatches(np.arange(80), np.arange(80, 200), 64, 0)
    empty = BalancedBatches(np.arange(80), np.arange(80, 200), 64, 0, np.empty(0, np.int64))
    for one, other in zip(plain[3], empty[3], strict=True):
        assert np.array_equal(one, other)


def test_tree_task__known_negatives__target_zero_and_weight_of_a_labelled_positive() -> None:
    is_positive, is_negative = rows(0, 20, 100), rows(90, 100, 100)
    split = split_holdout(is_positive, 0.0, 1, 0, known=KnownLabels(is_negative))
    shares = np.full(100, 0.5)
    shares[is_negative] = 0.0
    task = _task(Round(2, split, shares), 0, 0)
    assert np.array_equal(task.rows, np.arange(100))
    assert (task.target[is_negative] == 0).all()
    assert (task.target[rows(20, 90, 100)] == 0.5).all()
    assert task.weight[is_negative] == pytest.approx(task.weight[0])
    assert task.weight[is_positive].sum() == pytest.approx(50.0)
    assert task.weight[~is_positive].sum() == pytest.approx(50.0)


def test_split__known_negatives__shared_out_and_never_unlabelled() -> None:
    is_positive, is_negative = rows(0, 20, 100), rows(90, 100, 100)
    split = split_holdout(is_positive, 0.15, 5, 0, known=KnownLabels(is_negative))
    assert not (split.is_unlabeled & is_negative).any()
    assert sorted(split.kept_from[is_negative]) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    for member in range(5):
        trained = split.training_negatives(member)
        assert len(trained) == 8
        assert not np.isin(trained, np.concatenate(split.training_sets(member))).any()
    assert split.n_holdout == (20, 70)


def test_correction__labels_as_the_scores_say__stays_near_identity() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 2, 4000)
    said = rng.random(4000) < 1 / (1 + np.exp(-scores))
    scale, shift = fit_correction(LabeledScores(scores, said, np.ones(4000)))
    assert scale == pytest.approx(1.0, abs=0.1)
    assert shift == pytest.approx(0.0, abs=0.15)


@pytest.mark.parametrize("chosen", [slice(None), "doubtful"])
def test_correction__border_one_too_low__moved_whatever_was_looked_at(chosen: Any) -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 2, 4000)
    said = rng.random(4000) < 1 / (1 + np.exp(-(scores - 1)))
    looked_at = np.abs(scores) < 1 if chosen == "doubtful" else chosen
    found = LabeledScores(scores[looked_at], said[looked_at], np.ones(len(scores[looked_at])))
    scale, shift = fit_correction(found)
    assert -shift / scale == pytest.approx(1.0, abs=0.2)


@pytest.mark.parametrize(
    ("encoder", "n_members"), [("trees", 1), ("trees", 5), ("mlp", 1), ("mlp", 5)]
)
def test_fit__known_negatives__not_among_the_unlabelled(encoder: str, n_members: int) -> None:
    X, y, is_negative = make_data()
    known = is_negative & rows(190, 220)
    model = small(encoder, n_members=n_members).fit(X, y, known_negatives=known)
    n_left = 130 if n_members == 5 else 20
    assert len(model.holdout_projections_[1]) == n_left
    called = model.predict(X[(y == 0) & ~known]).mean()
    assert model.positive_share_ == pytest.approx(called)
    assert 0 < model.alpha_ < 1
    again = small(encoder, n_members=n_members).fit(X, y, known_negatives=known)
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    plain = small(encoder, n_members=n_members).fit(X, y)
    assert not np.array_equal(plain.decision_function(X), model.decision_function(X))


def test_fit__reviewed_top_of_the_list__alpha_of_the_rest_not_of_an_emptied_top() -> None:
    X, y, is_negative = make_data()
    first = small("trees").fit(X, y)
    order = np.argsort(-first.decision_function(X[60:]))[:40] + 60
    decided = np.isin(np.arange(220), order)
    labels = np.where(decided & ~is_negative, 1, y)
    model = small("trees").fit(
        X,
        labels,
        known_negatives=decided & is_negative,
        confirmed_positives=decided & ~is_negative & (y == 0),
    )
    left = (labels == 0) & ~(decided & is_negative)
    truth = float((~is_negative)[left].mean())
    assert model.alpha_ == pytest.approx(truth, abs=0.12)


def test_fit__only_a_review_empties_a_part_of_u(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def best_bin(*scores: Any) -> InUse:
        asked.append(len(scores))
        return InUse(None, RAISED_BY)

    monkeypatch.setattr("vqpu.vq._rounds._best_bin", best_bin)
    X, y, is_negative = make_data()
    known = is_negative & rows(190, 220)
    small("trees").fit(X, y, known_negatives=known)
    assert not asked
    found = ~is_negative & (y == 0) & rows(60, 100)
    reviewed = np.where(found, 1, y)
    small("trees").fit(X, reviewed, known_negatives=known, confirmed_positives=found)
    assert asked


def test_fit__known_negatives__saved_and_resumed_bit_for_bit(tmp_path: Path) -> None:
    X, y, _ = make_data()
    known = rows(190, 220)
    model = small("trees").fit(X, y, known_negatives=known, checkpoint_dir=tmp_path / "c")
    again = small("trees").fit(X, y, known_negatives=known, checkpoint_dir=tmp_path / "c")
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    model.save(tmp_path / "m")
    loaded = vqpu.load(tmp_path / "m")
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))
    with pytest.raises(vqpu.errors.CheckpointError):
        small("trees").fit(X, y, known_negatives=rows(200, 220), checkpoint_dir=tmp_path / "c")


def test_fit__in_a_pipeline__mask_is_passed_on() -> None:
    X, y, _ = make_data()
    known = rows(190, 220)
    pipeline = make_pipeline(StandardScaler(), small("trees"))
    pipeline.fit(X, y, vqkmeansclassifier__known_negatives=known)
    scaled = StandardScaler().fit(X, y).transform(X)
    alone = small("trees").fit(scaled, y, known_negatives=known)
    assert np.array_equal(pipeline.decision_function(X), alone.decision_function(scaled))
