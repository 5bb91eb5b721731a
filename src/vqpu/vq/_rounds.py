"""Rounds: train encoder and codebook, cluster; train again without what looks positive."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.base._seeding import Stream, derive_seed, seed_torch, torch_generator
from vqpu.base._split import Split
from vqpu.estimators._encoder import EncoderSpec, make_ensemble
from vqpu.nn import Augmentation
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
from vqpu.vq._check import Checker, fold_network
from vqpu.vq._clusters import find_clusters
from vqpu.vq._decision_rule import DecisionRule, HeldOut, fit_decision_rule
from vqpu.vq._network import VQNetwork, draw_codebook
from vqpu.vq._objective import VQObjective, make_optimizer
from vqpu.vq._variant import Variant

Floats = NDArray[np.float64]


class VQSettings(NamedTuple):
    """The classifier's parameters, resolved for the data of a fit."""

    spec: EncoderSpec
    variant: Variant
    codebook_size: int
    vector_dim: int
    augmentation: Augmentation
    batch_size: int
    learning_rate: float
    max_steps: int
    max_epochs: int | None
    patience: int
    n_rounds: int


class FitResult(NamedTuple):
    """What a finished round leaves.

    Attributes
    ----------
    training : TrainingResult
        Its state is the averaged network of the best check.
    network : VQNetwork
        The same with batch norm folded.
    decision_rule : DecisionRule
    positive_share : float
        Share of the unlabelled samples that is called positive.
    projections, log_odds : tuple of two ndarray
        s(x) and the score of labelled positives and of unlabelled samples, each by a member that
        was kept from the sample.
    """

    training: TrainingResult
    network: VQNetwork
    decision_rule: DecisionRule
    positive_share: float
    projections: tuple[Floats, ...]
    log_odds: tuple[Floats, ...]

    def ended_by_user(self) -> FitResult:
        """Return this round as the last one: the user ended the next."""
        return self._replace(training=self.training._replace(interrupted=True))


def run_rounds(context: FitContext, settings: VQSettings) -> list[FitResult]:
    """Train; train again without the unlabelled samples that look positive; and so on.

    Parameters
    ----------
    context : FitContext
    settings : VQSettings
    """
    finished: list[FitResult] = []
    split: Split | None = context.split
    while split is not None and len(finished) < settings.n_rounds:
        before = finished[-1].training if finished else None
        try:
            training = _train_round(context, settings, split, before, len(finished) + 1)
            this = _conclude(context, settings.variant, split, training)
        except KeyboardInterrupt:
            if not (finished and context.keeps_best):
                raise
            return [*finished[:-1], finished[-1].ended_by_user()]
        if training.interrupted:  # a finished round knows more than half of the next
            return [*finished[:-1], finished[-1].ended_by_user()] if finished else [this]
        finished.append(this)
        split = split.leaving_out(this.log_odds[1] > 0)
    return finished


def _train_round(
    context: FitContext,
    settings: VQSettings,
    split: Split,
    before: TrainingResult | None,
    number: int,
) -> TrainingResult:
    """Train one round; its history goes on from that of the round before."""
    variant, objective = settings.variant, make_objective(context, settings, split)
    steps_per_epoch = objective.feeds[0].batches.steps_per_epoch
    last_row = None if before is None else before.history[-1]
    averaged = VQNetwork(
        objective.average.averaged, objective.network.codebook, variant.encoding
    ).eval()
    rows = RowMaker(steps_per_epoch, last_row, {"round": number})
    checker = Checker(context, split, averaged, variant, rows)
    may_follow = number < settings.n_rounds and split.n_members > 1
    stage = Stage(
        "VQ K-means" + (f", round {number}" if number > 1 or may_follow else ""),
        objective,
        make_optimizer(
            objective.network,
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
        folder=None if number == 1 else f"round-{number}",
        identity={} if number == 1 else _identity(split),
        seconds_before=0.0 if last_row is None else last_row["seconds"],
    )
    return run_stage(context, stage).following(before)


def _identity(split: Split) -> dict[str, str]:
    return {"samples left out": hashlib.sha256(split.is_left_out.tobytes()).hexdigest()}


def make_objective(context: FitContext, settings: VQSettings, split: Split) -> VQObjective:
    """Build network, codebook, feeds and weight average of a round.

    Parameters
    ----------
    context : FitContext
    settings : VQSettings
    split : Split
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
        split,
        batch_size=settings.batch_size,
        augmentation=settings.augmentation,
        seed=seed,
        device=device,
    )
    return VQObjective(
        network,
        WeightAverage(network.encoder, variant.weight_average),
        feeds,
        codebook_update=variant.codebook_update,
        codebook_rate=variant.codebook_rate,
    )


def _conclude(
    context: FitContext, variant: Variant, split: Split, training: TrainingResult
) -> FitResult:
    """Cluster all unlabelled samples with the chosen network, fit the rule on held-out ones."""
    network = fold_network(training.state)
    samples = [np.flatnonzero(mask) for mask in (split.is_positive, ~split.is_positive)]
    positive, unlabeled = (network.encode(context.source, part, context.device) for part in samples)
    clusters = find_clusters(
        unlabeled.representation,
        positive.representation,
        n_starts=variant.n_init,
        seed=derive_seed(context.seed, Stream.TWO_MEANS),
    )
    indices = split.judged_sets()
    encoded = zip((positive, unlabeled), samples, indices, strict=True)
    parts = (part.at(np.searchsorted(every, wanted)) for part, every, wanted in encoded)
    held_out = HeldOut(split, indices, *parts)
    rule = fit_decision_rule(variant.decision, clusters, held_out)
    share = float((rule.log_odds(unlabeled) > 0).mean())
    projections = tuple(held_out.projections())
    return FitResult(training, network, rule, share, projections, rule.held_out_log_odds(held_out))
