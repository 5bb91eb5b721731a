"""Rounds: training again with what was learnt of the unlabelled samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import vqpu
from tests.support import fast_classifier
from vqpu import VQKMeansClassifier, diagnose
from vqpu.base._split import Split, split_holdout
from vqpu.errors import CheckpointError, InterruptedWarning
from vqpu.persistence._checkpoints import CheckpointFolder
from vqpu.priors._posterior import best_bin_alpha

Blobs = tuple[NDArray[np.float64], NDArray[np.int64]]
ROUNDS = {"n_members": 2, "max_steps": 40, "patience": 9}


def assert_same_answers(
    first: VQKMeansClassifier, second: VQKMeansClassifier, X: NDArray[np.float64]
) -> None:
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))


@pytest.fixture(scope="module")
def once(blobs: Blobs) -> VQKMeansClassifier:
    return fast_classifier(**ROUNDS, n_rounds=1).fit(*blobs)


@pytest.fixture(scope="module")
def twice(blobs: Blobs) -> VQKMeansClassifier:
    return fast_classifier(**ROUNDS, n_rounds=2).fit(*blobs)


@pytest.fixture
def split() -> Split:
    """10 labelled positives, then 40 unlabelled samples, shared out to five members."""
    return split_holdout(np.arange(50) < 10, 0.15, n_members=5, seed=0)


def test_leaving_out__nobody_is_trained_on_what_looks_positive_and_all_are_judged(
    split: Split,
) -> None:
    following = split.leaving_out(np.arange(40) < 15)
    assert following is not None
    trained = [following.training_sets(member) for member in range(5)]
    assert set().union(*(part.unlabeled for part in trained)) == set(range(25, 50))
    assert set().union(*(part.positive for part in trained)) == set(range(10))
    np.testing.assert_array_equal(following.judged_sets().unlabeled, np.arange(10, 50))
    again = following.leaving_out(np.arange(40) < 5)
    assert again is not None
    assert again.is_left_out.sum() == 5  # not 15: they may come back


def test_leaving_out__one_member_would_have_too_few__there_is_no_next_round(
    split: Split,
) -> None:
    judged_by_0 = split.kept_from[10:] == 0  # 8 of 40
    others = np.flatnonzero(~judged_by_0)
    looks_positive = np.ones(40, dtype=bool)
    looks_positive[[*np.flatnonzero(judged_by_0), *others[:7]]] = False
    assert split.leaving_out(looks_positive) is None  # member 0 would have 7
    looks_positive[others[7]] = False
    assert split.leaving_out(looks_positive) is not None


def test_leaving_out__too_small_a_share_is_left__there_is_no_next_round() -> None:
    split = split_holdout(np.arange(1010) < 10, 0.15, n_members=5, seed=0)
    assert split.leaving_out(np.arange(1000) < 981) is None  # about 15 a member, of 1,000
    assert split.leaving_out(np.arange(1000) < 960) is not None


@pytest.mark.parametrize("n_positive_looking", [0, 33, 40])
def test_leaving_out__nobody_or_too_many__there_is_no_next_round(
    split: Split, n_positive_looking: int
) -> None:
    assert split.leaving_out(np.arange(40) < n_positive_looking) is None


@pytest.mark.parametrize(("share", "n_members"), [(0.4, 1), (0.15, 2), (0.0, 5)])
def test_leaving_out__somebody_was_seen_by_all__there_is_no_next_round(
    share: float, n_members: int
) -> None:
    split = split_holdout(np.arange(50) < 10, share, n_members, seed=0)
    assert split.leaving_out(np.arange(40) < 15) is None


def test_two_rounds__one_history_that_counts_on(
    once: VQKMeansClassifier, twice: VQKMeansClassifier
) -> None:
    assert (once.n_rounds_, twice.n_rounds_) == (1, 2)
    assert twice.history_.column("round") == [1, 1, 2, 2]
    assert twice.history_.column("step") == [20, 40, 60, 80]
    assert np.all(np.diff(twice.history_.column("seconds")) > 0)
    assert np.all(np.diff(twice.history_.column("epoch")) > 0)
    for name in ("loss", "holdout_loss", "center_distance"):
        assert twice.history_.column(name)[:2] == once.history_.column(name)
    assert twice.best_check_ >= 2
    assert (twice.n_steps_, twice.stop_reason_) == (80, "max_steps")
    # The paper's limit speaks of the first round.
    assert twice.theoretical_alpha_ == once.theoretical_alpha_


def test_two_rounds__several_members__alpha_is_that_of_the_first() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3)) + np.repeat([1.0, 1.0, 0.0], 80)[:, None]
    y = np.repeat([1, 0, 0], 80)
    once, twice = (
        fast_classifier(**{**ROUNDS, "n_rounds": n_rounds}).fit(X, y) for n_rounds in (1, 2)
    )
    assert (twice.n_members_, twice.n_rounds_) == (2, 2)
    assert twice.alpha_ == once.alpha_
    # Best bin of the second round has found another.
    positive, unlabeled = twice.holdout_projections_
    assert best_bin_alpha(positive, unlabeled) != twice.alpha_


def test_evidence__members_that_taught_each_other__known(
    once: VQKMeansClassifier, twice: VQKMeansClassifier, blobs: Blobs
) -> None:
    assert once.evidence_ is not None
    assert twice.evidence_ is not None
    assert not once.evidence_.is_taught
    assert twice.evidence_.is_taught
    alone = fast_classifier(max_steps=60, n_members=1, n_rounds=2).fit(*blobs)
    assert alone.n_rounds_ == 2
    assert alone.evidence_ is not None
    assert not alone.evidence_.is_taught


def test_two_rounds__hidden_positives_are_no_longer_held_back(
    once: VQKMeansClassifier, twice: VQKMeansClassifier
) -> None:
    called = [model.holdout_log_odds_[1] > 0 for model in (once, twice)]
    places = [model.holdout_projections_[1] for model in (once, twice)]
    assert np.median(places[1][called[1]]) > np.median(places[0][called[0]]) + 0.03
    # They speak for their own place between the anchors in the signal that stops.
    assert min(twice.history_.column("holdout_loss")[2:]) < min(
        once.history_.column("holdout_loss")
    )


def test_leave_out__draws_hidden_positives_apart_and_needs_all_samples_shared_out(
    blobs: Blobs,
) -> None:
    fits = [(5, 1), (5, 2), (2, 2)]
    five_once, five_twice, two = (
        fast_classifier(
            **{**ROUNDS, "n_members": n_members}, n_rounds=n_rounds, rounds="leave-out"
        ).fit(*blobs)
        for n_members, n_rounds in fits
    )
    assert (five_twice.n_rounds_, two.n_rounds_) == (2, 1)
    places = [
        np.median(model.holdout_projections_[1][model.holdout_log_odds_[1] > 0])
        for model in (five_once, five_twice)
    ]
    assert places[1] > places[0] + 0.1


def test_one_member__trains_soft_rounds_as_well(blobs: Blobs) -> None:
    assert fast_classifier(n_members=1, n_rounds=2).fit(*blobs).n_rounds_ == 2


@pytest.mark.parametrize("step", [60, 80])  # before and after its first check
def test_interrupt_in_round_2__the_finished_round_is_kept(
    step: int, blobs: Blobs, once: VQKMeansClassifier
) -> None:
    def interrupt(check: Any) -> None:
        if check.row["step"] == step:
            raise KeyboardInterrupt

    with pytest.warns(InterruptedWarning, match="the best check up to step 40"):
        kept = fast_classifier(**ROUNDS, n_rounds=2).fit(
            *blobs, callback=interrupt, on_interrupt="keep-best"
        )
    assert (kept.n_rounds_, kept.stop_reason_) == (1, "interrupted")
    assert_same_answers(once, kept, X=blobs[0])
    with pytest.raises(KeyboardInterrupt):
        fast_classifier(**ROUNDS, n_rounds=2).fit(*blobs, callback=interrupt)


@pytest.mark.parametrize("last_step", [40, 60, 80])
def test_stopped_in_any_round__goes_on_there_and_ends_the_same(
    last_step: int, blobs: Blobs, twice: VQKMeansClassifier, tmp_path: Path
) -> None:
    steps = []

    def stop(check: Any) -> None:
        steps.append(check.row["step"])
        if check.row["step"] == last_step:
            raise RuntimeError("the machine stopped")

    model = fast_classifier(**ROUNDS, n_rounds=2)
    with pytest.raises(RuntimeError, match="the machine stopped"):
        model.fit(*blobs, callback=stop, checkpoint_dir=tmp_path)
    last_step, n_before = 0, len(steps)
    model.fit(*blobs, callback=stop, checkpoint_dir=tmp_path)
    assert steps[n_before] == steps[n_before - 1]  # the check that was lost, and none before
    assert_same_answers(twice, model, X=blobs[0])
    for name in ("round", "step", "loss", "alpha"):
        assert model.history_.column(name) == twice.history_.column(name)


def test_finished_rounds__started_again__train_no_more(blobs: Blobs, tmp_path: Path) -> None:
    def refuse(check: Any) -> None:
        raise AssertionError(f"step {check.row['step']} was trained again")

    first = fast_classifier(**ROUNDS, n_rounds=2).fit(*blobs, checkpoint_dir=tmp_path)
    again = fast_classifier(**ROUNDS, n_rounds=2)
    again.fit(*blobs, callback=refuse, checkpoint_dir=tmp_path)
    assert_same_answers(first, again, X=blobs[0])
    assert (tmp_path / "round-2" / "step-000000040").is_dir()


def test_checkpoints_of_round_2__of_other_samples__are_refused(tmp_path: Path) -> None:
    folder = CheckpointFolder(tmp_path, {"seed": 0})
    these, those = {"samples left out": "these"}, {"samples left out": "those"}
    folder.of_stage("round-2", these).write(1, {}, {})
    assert folder.of_stage("round-2", these).newest() is not None
    with pytest.raises(CheckpointError, match="samples left out is"):
        folder.of_stage("round-2", those).newest()


def test_saved_model__of_two_rounds__comes_back_and_tells(
    blobs: Blobs, twice: VQKMeansClassifier, tmp_path: Path
) -> None:
    twice.save(tmp_path / "model")
    loaded = vqpu.load(tmp_path / "model")
    assert (loaded.n_rounds, loaded.n_rounds_) == (2, 2)
    assert_same_answers(twice, loaded, X=blobs[0])
    assert diagnose(loaded) == diagnose(twice)
