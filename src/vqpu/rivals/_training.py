"""Training of a network that ends in one logit, on two balanced sets: what the rivals share."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import nn

from vqpu.base._seeding import Stream, derive_seed, seed_torch
from vqpu.base._split import Sets
from vqpu.estimators._encoder import EncoderSpec, make_ensemble
from vqpu.nn import Augmentation, fold_batch_norm
from vqpu.priors._posterior import best_bin_alpha
from vqpu.rivals._logit import Floats, Indices, LogitRule, PooledLogit, network_logits
from vqpu.rivals._recipes import Learner, Recipe
from vqpu.training import (
    OPTIMIZERS,
    CheckResult,
    Feed,
    FitContext,
    FixedBudget,
    RowMaker,
    Stage,
    StoppingRule,
    TrainingResult,
    WeightAverage,
    make_feeds,
    plan_budget,
    run_stage,
)

MakeOptimizer = Callable[[PooledLogit, float], torch.optim.Optimizer]

# The stages of a rival's fit: the number is a check's ``stage``, the name its checkpoints' folder.
MAIN, WARMUP, PRIOR = 0, 1, 2
_FOLDERS = {MAIN: None, WARMUP: "warm-up", PRIOR: "prior"}


class LogitSettings(NamedTuple):
    """A rival's parameters, resolved for the data of a fit."""

    title: str
    spec: EncoderSpec
    augmentation: Augmentation
    batch_size: int
    learning_rate: float
    optimizer: str
    schedule: str
    weight_average: float
    max_steps: int
    max_epochs: int | None
    check_every: int | None
    is_natural: bool = False  # batches have P's share of all samples instead of one half


class Trained(NamedTuple):
    """What a rival's training leaves.

    Attributes
    ----------
    result : TrainingResult
        Of the stage that the decision comes from.
    network : PooledLogit
        Averaged, of the best check.
    rule : LogitRule
    """

    result: TrainingResult
    network: PooledLogit
    rule: LogitRule = LogitRule()


class LogitTraining(NamedTuple):
    """The samples of a fit, who may see which, and how a network is trained on them.

    Attributes
    ----------
    context : FitContext
    settings : LogitSettings
    """

    context: FitContext
    settings: LogitSettings

    def logits(self, network: nn.Module, indices: Indices | None = None) -> Floats:
        """Return the logits of every member for some samples or all, shape (n, n_members)."""
        return network_logits(network, self.context.source, indices, self.context.device)

    def unseen_logits(self, network: nn.Module, sets: Sets) -> tuple[Floats, Floats]:
        """Return the logits of both sets, each by the member that was kept from the sample."""
        split = self.context.split
        positive, unlabeled = (split.unseen(self.logits(network, part), part) for part in sets)
        return positive, unlabeled

    def make_network(self, seed: int) -> PooledLogit:
        """Build a network with new weights."""
        spec, device = self.settings.spec, self.context.device
        seed_torch(device, seed, Stream.INITIAL_WEIGHTS)
        encoder = make_ensemble(spec, self.context.moments)
        return PooledLogit(encoder, spec.output_dim).to(device)

    def make_optimizer(self, network: nn.Module, rate: float) -> torch.optim.Optimizer:
        """Return the optimiser that the settings name."""
        return OPTIMIZERS[self.settings.optimizer](network.parameters(), rate)

    def make_feeds(self, seed: int) -> list[Feed]:
        """Return the batches of every member."""
        return make_feeds(
            self.context.source,
            self.context.split,
            batch_size=self.settings.batch_size,
            augmentation=self.settings.augmentation,
            seed=seed,
            device=self.context.device,
            is_natural=self.settings.is_natural,
        )

    def run(
        self,
        recipe: Recipe,
        *,
        patience: int,
        stage: int = MAIN,
        share: float = 1.0,
        rate: float = 1.0,
        start: PooledLogit | None = None,
        schedule: str | None = None,
        to_the_end: bool = False,
        make_optimizer: MakeOptimizer | None = None,
        rule_of: Callable[[PooledLogit], LogitRule] = lambda _: LogitRule(),
    ) -> TrainingResult:
        """Train a network by a recipe; it stops by the held-out judgement unless told otherwise.

        Parameters
        ----------
        recipe : Recipe
        patience : int
        stage : int
            0 is the main one; others draw weights and batches of their own.
        share : float
            Of the steps that the parameters allow.
        rate : float
            Share of the learning rate.
        start : PooledLogit or None
            Whose weights to begin with.
        schedule : str or None
            Of the learning rate; None: by the settings.
        to_the_end : bool
            Whether to take all steps and keep the last check, whatever it is judged to be.
        make_optimizer : callable or None
            Of the network and the learning rate; None: by the settings.
        rule_of : callable
            How a check's network would decide.
        """
        settings, seed = self.settings, self._seed(stage)
        network, feeds = self.make_network(seed), self.make_feeds(seed)
        if start is not None:
            network.load_state_dict(start.state_dict())
        steps_per_epoch = feeds[0].batches.steps_per_epoch
        budget = plan_budget(
            steps_per_epoch,
            max_steps=settings.max_steps,
            max_epochs=settings.max_epochs,
            check_every=settings.check_every,
            schedule=schedule or settings.schedule,
        )
        max_steps = max(1, round(share * budget.max_steps))
        budget = budget._replace(
            max_steps=max_steps, check_every=min(budget.check_every, max_steps)
        )
        average = WeightAverage(network, settings.weight_average)
        optimizer = (make_optimizer or self.make_optimizer)(network, settings.learning_rate)
        for group in optimizer.param_groups:
            group["lr"] *= rate
        checker = _Checker(self, recipe, average.averaged, RowMaker(steps_per_epoch), rule_of)
        return run_stage(
            self.context,
            Stage(
                settings.title,
                recipe.make_objective(Learner(network, average, feeds, max_steps)),
                optimizer,
                FixedBudget() if to_the_end else StoppingRule("holdout-loss", patience),
                average.averaged,
                lambda step, terms: checker.check(step, terms, stage),
                budget,
                folder=_FOLDERS[stage],
                is_final=stage == MAIN,
            ),
        )

    def estimate_alpha(self, network: nn.Module) -> float:
        """Return the share of positives in U by best bin estimation, never quite 0 or 1.

        On all held-out samples, by a network that puts P above U. Where nothing could be held out
        the samples were trained on, and the share comes out too small.
        """
        return best_bin_alpha(*self.unseen_logits(network, self.context.split.judged_sets()))

    def resolve_alpha(self, alpha: float | None, patience: int) -> float:
        """Return the given alpha, or that of a naive network's held-out logits.

        That network has the same settings, budget and hold-out, and is thrown away.
        """
        if alpha is not None:
            return float(alpha)
        return self.estimate_alpha(self.run(Recipe(), patience=patience, stage=PRIOR).state)

    def _seed(self, stage: int) -> int:
        seed = self.context.seed
        return seed if stage == MAIN else derive_seed(seed, Stream.WARMUP, stage)


class _Checker(NamedTuple):
    """Makes a check of the averaged network."""

    training: LogitTraining
    recipe: Recipe
    averaged: PooledLogit
    rows: RowMaker
    rule_of: Callable[[PooledLogit], LogitRule]

    def check(self, step: int, terms: dict[str, float], stage: int) -> CheckResult:
        context = self.training.context
        unseen = self.training.unseen_logits(self.averaged, context.sample.judged)
        loss = self.recipe.judge(*map(torch.from_numpy, unseen))
        row = self.rows(step, terms, {"holdout_loss": float(loss), **self.recipe.notes()})
        if context.callback is None:  # the row is all that is needed
            return CheckResult(row, stage, self.averaged, context.device)
        folded = fold_batch_norm(self.averaged)
        return CheckResult(row, stage, folded, context.device, self.rule_of(self.averaged))
