"""Rounds: train encoder and codebook, cluster; train again with what was learnt of U."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from vqpu.base._seeding import Stream, derive_seed, seed_torch, torch_generator
from vqpu.base._split import Split
from vqpu.estimators._encoder import make_ensemble
from vqpu.priors._mixture import Mixture, fit_mixture
from vqpu.priors._posterior import (
    RAISED_BY,
    best_bin_alpha,
    log_odds_of_share,
    positive_probability,
    share_of_log_odds,
)
from vqpu.training import (
    FitContext,
    RowMaker,
    Stage,
    StoppingRule,
    TrainingResult,
    WeightAverage,
    make_feeds,
    plan_budget,
    run_stage,
)
from vqpu.vq._check import Checker, encode_together, fold_network
from vqpu.vq._clusters import find_clusters
from vqpu.vq._decision_rule import DecisionRule, HeldOut, fit_decision_rule
from vqpu.vq._known_labels import InUse, fit_known_rule
from vqpu.vq._network import VQNetwork, draw_codebook
from vqpu.vq._objective import VQObjective, make_optimizer
from vqpu.vq._settings import VQSettings
from vqpu.vq._tree_network import TreeNetwork

Floats = NDArray[np.float64]

# Labelled positives with which best bin and the mixture count alike.
_POSITIVES_OF_EVEN_WEIGHT = 50
RAISED_FOR_TREES = 2.0  # standard errors of alpha in the fit of the border; see results/margins


class FitResult(NamedTuple):
    """What a finished round leaves.

    Attributes
    ----------
    training : TrainingResult
        Its state is the averaged network of the best check.
    network : VQNetwork or TreeNetwork
        The same with batch norm folded.
    decision_rule : DecisionRule
    mixture : Mixture
        Of the held-out projections.
    held_out : HeldOut
    positive_share : float
        Share of the unlabelled samples that is called positive.
    projections, log_odds : tuple of two ndarray
        s(x) and the score of labelled positives and of unlabelled samples, each by a member that
        was kept from the sample.
    unlabeled_log_odds : ndarray of shape (n_u,)
        Of all unlabelled samples, by a member that was kept from the sample where there is one.
    """

    training: TrainingResult
    network: VQNetwork | TreeNetwork
    decision_rule: DecisionRule
    mixture: Mixture
    held_out: HeldOut
    positive_share: float
    projections: tuple[Floats, ...]
    log_odds: tuple[Floats, ...]
    unlabeled_log_odds: Floats

    def ended_by_user(self) -> FitResult:
        """Return this round as the last one: the user ended the next."""
        return self._replace(training=self.training._replace(interrupted=True))


class Round(NamedTuple):
    """Who is drawn where in a round.

    Attributes
    ----------
    number : int
        From 1.
    split : Split
    shares : ndarray of shape (n_samples,) or None
        For soft rounds, how far an unlabelled sample is drawn towards the positives' anchor.
    """

    number: int
    split: Split
    shares: Floats | None = None

    def following(self, kind: str, log_odds: Floats) -> Round | None:
        """Return the next round, None if there should be none.

        Parameters
        ----------
        kind : {"leave-out", "soft"}
        log_odds : ndarray of shape (n_u,)
            Scores of all unlabelled samples after this round.
        """
        if kind == "leave-out":
            split = self.split.leaving_out(log_odds > 0)
            return None if split is None else Round(self.number + 1, split)
        if not (log_odds > 0).any():
            return None
        shares = np.zeros(len(self.split.is_positive))
        shares[self.split.is_unlabeled] = positive_probability(log_odds)
        return Round(self.number + 1, self.split, shares)

    def identity(self) -> dict[str, str]:
        """Return what says which round it is, for its checkpoints."""
        if self.shares is not None:
            return {"shares": hashlib.sha256(self.shares.tobytes()).hexdigest()}
        if self.number == 1:
            return {}
        left_out = self.split.is_left_out.tobytes()
        return {"samples left out": hashlib.sha256(left_out).hexdigest()}


TrainRound = Callable[[Round, TrainingResult | None], TrainingResult]


def run_rounds(
    context: FitContext, settings: VQSettings, train_round: TrainRound
) -> list[FitResult]:
    """Train; train again with what was learnt of the unlabelled samples; and so on.

    Parameters
    ----------
    context : FitContext
    settings : VQSettings
    train_round : callable
        Trains networks, or trees, in one round; it is given the outcome of the round before.
    """
    finished: list[FitResult] = []
    this: Round | None = Round(1, context.split)
    while this is not None and len(finished) < settings.n_rounds:
        before = finished[-1].training if finished else None
        try:
            training = train_round(this, before)
            first = finished[0] if finished else None
            result = _conclude(context, settings, this.split, training, first)
        except KeyboardInterrupt:
            if not (finished and context.keeps_best):
                raise
            return [*finished[:-1], finished[-1].ended_by_user()]
        if training.interrupted:  # a finished round knows more than half of the next
            return [*finished[:-1], finished[-1].ended_by_user()] if finished else [result]
        finished.append(result)
        log_odds = context.ranks.agreed_array(result.unlabeled_log_odds)
        this = this.following(settings.variant.rounds, log_odds)
    return finished


def train_networks(
    context: FitContext, settings: VQSettings, this: Round, before: TrainingResult | None
) -> TrainingResult:
    """Train networks for one round; its history goes on from that of the round before.

    Parameters
    ----------
    context : FitContext
    settings : VQSettings
    this : Round
    before : TrainingResult or None
    """
    return run_stage(context, make_stage(context, settings, this, before)).following(before)


def make_stage(
    context: FitContext, settings: VQSettings, this: Round, before: TrainingResult | None
) -> Stage:
    """Build all that a round of networks trains and checks with.

    Parameters
    ----------
    context : FitContext
    settings : VQSettings
    this : Round
    before : TrainingResult or None
    """
    variant, objective = settings.variant, make_objective(context, settings, this)
    steps_per_epoch = objective.feeds[0].batches.steps_per_epoch
    last_row = None if before is None else before.history[-1]
    averaged = VQNetwork(
        objective.average.averaged, objective.network.codebook, variant.encoding
    ).eval()
    rows = RowMaker(steps_per_epoch, last_row, {"round": this.number})
    checker = Checker(context, this.split, averaged, variant, rows, this.shares)
    return Stage(
        title_of(this, settings),
        objective,
        make_optimizer(
            objective.network,
            variant.optimizer,
            settings.learning_rate,
            variant.codebook_update,
            variant.codebook_rate,
        ),
        StoppingRule(variant.stopping_signal, settings.patience),
        averaged,
        checker.check,
        plan_budget(
            steps_per_epoch,
            max_steps=settings.max_steps,
            max_epochs=settings.max_epochs,
            check_every=variant.check_every,
            schedule=variant.schedule,
        ),
        folder=None if this.number == 1 else f"round-{this.number}",
        identity=this.identity(),
        seconds_before=0.0 if last_row is None else last_row["seconds"],
    )


def title_of(this: Round, settings: VQSettings) -> str:
    """Return what is being trained, for the progress shown.

    Parameters
    ----------
    this : Round
    settings : VQSettings
    """
    may_follow = this.number < settings.n_rounds and (
        settings.variant.rounds == "soft" or not (this.split.kept_from < 0).any()
    )
    return "VQ K-means" + (f", round {this.number}" if this.number > 1 or may_follow else "")


def make_objective(context: FitContext, settings: VQSettings, this: Round) -> VQObjective:
    """Build network, codebook, feeds and weight average of a round.

    Parameters
    ----------
    context : FitContext
    settings : VQSettings
    this : Round
    """
    seed, device, variant = context.seed, context.device, settings.variant
    seed_torch(device, seed, Stream.INITIAL_WEIGHTS)
    encoder = make_ensemble(settings.spec, context.moments)
    codebook = draw_codebook(
        settings.codebook_size,
        settings.vector_dim,
        encoding=variant.encoding,
        anchor_mean=variant.anchor_mean,
        moving_anchors=variant.anchors == "moving",
        generator=torch_generator(seed, Stream.CODEBOOK),
    )
    network = VQNetwork(encoder, codebook, variant.encoding).to(device)
    feeds = make_feeds(
        context.source,
        this.split,
        batch_size=settings.batch_size,
        augmentation=settings.augmentation,
        seed=seed,
        device=device,
        ranks=context.ranks,
    )
    return VQObjective(
        network,
        WeightAverage(network.encoder, variant.weight_average),
        feeds,
        codebook_update=variant.codebook_update,
        codebook_rate=variant.codebook_rate,
        shares=None if this.shares is None else torch.from_numpy(this.shares),
    )


def _best_bin(positive: Floats, unlabeled: Floats) -> InUse:  # noqa: ARG001
    """Leave alpha to best bin."""
    return InUse(None, RAISED_BY)


def _share_in_use(
    settings: VQSettings,
    first: FitResult | None,
    believed: float,
    positive: Floats,
    unlabeled: Floats,
) -> InUse:
    """Return the alpha that the border is fitted with.

    Tables, which trees are for, overlap more often than not: the mixture's mean is then nearer than
    best bin, the more so the more positives were kept apart. What networks are for stands apart.
    """
    if settings.shares is not None:
        return InUse(believed, 0.0)
    if settings.trees is None:
        # Of several members those that learnt a sample's label taught, by the places they drew
        # others to, the one that was kept from it. Later rounds so place held-out positives above
        # hidden ones, and best bin finds too few of these (results/forms).
        if first is not None and settings.spec.n_members > 1:
            return InUse(first.decision_rule.projection_posterior.alpha, RAISED_BY)
        return InUse(None, RAISED_BY)
    weight = len(positive) / (len(positive) + _POSITIVES_OF_EVEN_WEIGHT)
    best_bin = log_odds_of_share(best_bin_alpha(positive, unlabeled))
    between = weight * log_odds_of_share(believed) + (1 - weight) * best_bin
    return InUse(share_of_log_odds(between), RAISED_FOR_TREES)


def _conclude(
    context: FitContext,
    settings: VQSettings,
    split: Split,
    training: TrainingResult,
    first: FitResult | None,
) -> FitResult:
    """Cluster all unlabelled samples with the chosen network, fit the rule on held-out ones.

    What the first round's scores say of alpha holds for all: only there are unlabelled samples
    drawn to one place, whatever was found of them before.
    """
    network = fold_network(training.state) if settings.trees is None else training.state
    samples = split.every_set()
    positive, unlabeled = (encode_together(context, network.encode, part) for part in samples)
    clusters = find_clusters(
        unlabeled.representation,
        positive.representation,
        n_starts=settings.variant.n_init,
        seed=derive_seed(context.seed, Stream.TWO_MEANS),
    )
    every = HeldOut(split, samples, positive, unlabeled)
    held_out = every.among(split.judged_sets())
    of_positives, of_unlabeled = held_out.projections()
    shares = settings.shares if first is None else first.mixture.shares
    mixture = fit_mixture(of_positives, of_unlabeled, shares)
    # What later rounds believe of alpha is too narrow: the first one's mean is the estimate.
    believed = mixture if first is None else first.mixture
    share_of = partial(_share_in_use, settings, first, believed.shares.interval().value)
    decision = settings.variant.decision
    if split.known is None:
        in_use = share_of(of_positives, of_unlabeled)
        rule = fit_decision_rule(decision, clusters, held_out, *in_use)
    else:
        known = np.flatnonzero(split.known.is_negative)
        negative = encode_together(context, network.encode, known)
        # A review empties a part of U: what is left says nothing of the share before it.
        is_emptied = split.known.is_confirmed is not None and settings.shares is None
        share_before = _best_bin if is_emptied else share_of
        rule = fit_known_rule(decision, clusters, every, negative, share_before)
    return FitResult(
        training,
        network,
        rule,
        mixture,
        held_out,
        float((rule.log_odds(unlabeled) > 0).mean()),
        (of_positives, of_unlabeled),
        rule.held_out_log_odds(held_out),
        rule.among_unlabeled().held_out_log_odds(every)[1],
    )
