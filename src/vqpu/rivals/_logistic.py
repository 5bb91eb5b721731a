"""A network that ends in one logit, trained on two balanced sets: the base of every rival here.

A rival states a :class:`Recipe`: what is minimised and how a check is judged. The rest (encoders,
batches, members, hold-out, loop, stopping) is shared.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from vqpu.base._labels import PULabels
from vqpu.base._parameters import draw_seed
from vqpu.base._seeding import Stream, choose_device, derive_seed, preserved_torch_state, seed_torch
from vqpu.base._source import ArraySource
from vqpu.estimators._network import NetworkClassifier
from vqpu.nn import EncoderEnsemble, fold_batch_norm
from vqpu.rivals._check import Callback, NetworkCheck, network_logits
from vqpu.training import (
    Sets,
    Split,
    StoppingRule,
    TrainingResult,
    WeightAverage,
    draw_check_sample,
    progress_reporter,
    split_holdout,
    train_with_checks,
)
from vqpu.training._feed import Feed, encode_batches

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


class PooledLogit(nn.Module):
    """Encoder, mean over each member's K vectors, one linear layer.

    Parameters
    ----------
    encoder : EncoderEnsemble
    vector_dim : int
        p.
    """

    def __init__(self, encoder: EncoderEnsemble, vector_dim: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(vector_dim, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return a logit per sample and member, shape (n, n_members)."""
        by_member = self.encoder(x).unflatten(1, (len(self.encoder.members), -1))
        return self._logits(by_member)

    def forward_member(self, x: Tensor, member: int) -> Tensor:
        """Return the logits of one member, shape (n,)."""
        return self._logits(self.encoder.forward_member(x, member))

    def _logits(self, vectors: Tensor) -> Tensor:
        logits: Tensor = self.head(vectors.mean(dim=-2)).squeeze(-1)
        return logits


class Material(NamedTuple):
    """The samples of a fit and who may see which.

    Attributes
    ----------
    source : ArraySource
    split : Split
    judged : Sets
        What a check looks at.
    seed : int
    device : torch.device
    callback : callable or None
        Called at every check of every stage.
    """

    source: ArraySource
    split: Split
    judged: Sets
    seed: int
    device: torch.device
    callback: Callback | None = None

    def logits(self, network: nn.Module, indices: Indices | None = None) -> Floats:
        """Return the logits of every member for some samples or all, shape (n, n_members)."""
        return network_logits(network, self.source, indices, self.device)

    def unseen_logits(self, network: nn.Module, sets: Sets) -> tuple[Floats, Floats]:
        """Return the logits of both sets, each by the member that was kept from the sample."""
        positive, unlabeled = (self.split.unseen(self.logits(network, part), part) for part in sets)
        return positive, unlabeled

    def training_seed(self, stage: int) -> int:
        """Return the seed of a stage's weights and batches; 0 is the main one."""
        return self.seed if stage == 0 else derive_seed(self.seed, Stream.WARMUP, stage)


def balanced_cross_entropy(logits: Tensor, n_positive: int) -> Tensor:
    """Return the mean of two cross entropies, that of the positives and that of the rest.

    Parameters
    ----------
    logits : Tensor of shape (n,)
        Those of positives first.
    n_positive : int
    """
    positive, other = logits[:n_positive], logits[n_positive:]
    first = binary_cross_entropy_with_logits(positive, torch.ones_like(positive))
    second = binary_cross_entropy_with_logits(other, torch.zeros_like(other))
    return (first + second) / 2


class NetworkObjective:
    """What is trained, and its weight average; a subclass adds ``loss``.

    Parameters
    ----------
    network : PooledLogit
    average : WeightAverage
    feeds : list of Feed
        One for each member.
    """

    def __init__(
        self, network: PooledLogit, average: WeightAverage[PooledLogit], feeds: list[Feed]
    ) -> None:
        self.network, self.average, self.feeds = network, average, feeds

    def loss(self, step: int) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of step ``step`` and its named terms."""
        raise NotImplementedError

    def after_step(self, step: int) -> None:
        """Average the weights."""
        self.average.update(step + 1)


class CrossEntropyObjective(NetworkObjective):
    """Balanced cross entropy of one set against the other."""

    def loss(self, step: int) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the cross entropy of all members' batches."""
        logits, n_positive = encode_batches(self.network.forward_member, self.feeds, step)
        loss = balanced_cross_entropy(logits, n_positive)
        return loss, {"loss": loss}


class Recipe:
    """What is minimised and how a check is judged; here P against U, uncorrected."""

    def make_objective(
        self,
        network: PooledLogit,
        average: WeightAverage[PooledLogit],
        feeds: list[Feed],
        max_steps: int,  # noqa: ARG002 - for recipes whose terms change with time
    ) -> NetworkObjective:
        """Return what the loop minimises in at most ``max_steps`` steps."""
        return CrossEntropyObjective(network, average, feeds)

    def judge(self, positive: Tensor, unlabeled: Tensor) -> Tensor:
        """Return how bad a check is, by logits of samples that were not trained on."""
        return balanced_cross_entropy(torch.cat([positive, unlabeled]), len(positive))

    def notes(self) -> dict[str, float]:
        """Return what a row of the history shall tell besides the losses."""
        return {}


class Fitted(NamedTuple):
    """What training leaves.

    Attributes
    ----------
    outcome : TrainingResult
        Of the main stage.
    alpha : float or None
        Share of positives in U, where the method has one.
    warmup : TrainingResult or None
        Of the stage before, where the method has one.
    """

    outcome: TrainingResult
    alpha: float | None = None
    warmup: TrainingResult | None = None


class LogitClassifier(NetworkClassifier):
    """Base of classifiers whose network ends in a logit; a subclass trains it."""

    _title = "cross entropy"
    _offset = 0.0

    def fit(self, X: ArrayLike, y: ArrayLike, *, callback: Callback | None = None) -> Any:
        """Train the network on the two sets that ``y`` marks.

        Parameters
        ----------
        X : array-like of shape (n, d), (n, h, w), (n, h, w, c) or (n, c, h, w)
        y : array-like of shape (n,)
            Two values; the larger marks the positives.
        callback : callable or None
            Called at every check with a `NetworkCheck`; it observes, no more.
        """
        self._check_parameters()
        source, labels = self._check_training_data(X, y)
        seed, self._device = draw_seed(self.random_state), choose_device(self.device)
        n_members = self._count_members(source)
        split = split_holdout(labels.is_positive, self.holdout, n_members, seed)
        judged = draw_check_sample(split, seed).judged
        material = Material(source, split, judged, seed, self._device, callback)
        with preserved_torch_state(self._device):
            fitted = self._fit_network(material)
        self._conclude(fitted, material, labels)
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the logit of being positive; above 0 is positive.

        Parameters
        ----------
        X : array-like of the shape given to ``fit``
        """
        source = self._source_for_prediction(X)
        logits = network_logits(self._folded, source, None, self._device)
        return np.asarray(logits.mean(axis=1) + self._offset)

    def _check_parameters(self) -> None:
        self._check_shared_parameters()

    def _fit_network(self, material: Material) -> Fitted:
        """Train by the method's recipe, after whatever stage it needs before."""
        raise NotImplementedError

    def _conclude(self, fitted: Fitted, material: Material, labels: PULabels) -> None:
        """Set every fitted attribute; a method adds its own."""
        self.network_ = fitted.outcome.state
        self._folded = fold_batch_norm(self.network_)
        self._set_outcome(fitted.outcome)
        self.classes_, self.input_shape_ = labels.classes, material.source.sample_shape
        self.n_holdout_ = material.split.n_holdout
        if fitted.alpha is not None:
            self.alpha_ = fitted.alpha
        if fitted.warmup is not None:
            self.warmup_history_ = fitted.warmup.history

    def _blank_modules(self) -> dict[str, nn.Module]:
        encoder = self._blank_encoder(self.vector_dim)
        return {"network_": PooledLogit(encoder, self.vector_dim)}

    def _make_network(self, material: Material, seed: int) -> PooledLogit:
        seed_torch(self._device, seed, Stream.INITIAL_WEIGHTS)
        encoder = self._make_encoder(material.source, self.vector_dim, material.split.n_members)
        return PooledLogit(encoder, self.vector_dim).to(self._device)

    def _observe(
        self, material: Material, averaged: PooledLogit, row: dict[str, Any], stage: int
    ) -> None:
        """Show a check to the callback, if there is one."""
        if material.callback is not None:
            offset = self._offset_of_check(material, averaged)
            material.callback(NetworkCheck(row, stage, averaged, offset, self._device))

    def _offset_of_check(self, material: Material, averaged: PooledLogit) -> float:  # noqa: ARG002
        """Return what would be added to the logits if training stopped here."""
        return self._offset


@dataclass(kw_only=True, eq=False, repr=False)
class LogisticNetworkClassifier(LogitClassifier):
    """Base of classifiers that put one set against another; here P against U, uncorrected."""

    n_members: int | None = None
    patience: int = 5

    def _fit_network(self, material: Material) -> Fitted:
        return Fitted(self._train(material, Recipe()))

    def _train(
        self,
        material: Material,
        recipe: Recipe,
        *,
        stage: int = 0,
        share: float = 1.0,
        rate: float = 1.0,
        start: PooledLogit | None = None,
    ) -> TrainingResult:
        """Train a network.

        Parameters
        ----------
        material : Material
        recipe : Recipe
        stage : int
            0 is the main one; others draw weights and batches of their own.
        share : float
            Of the steps that the parameters allow.
        rate : float
            Share of the learning rate.
        start : PooledLogit or None
            Whose weights to begin with.
        """
        seed = material.training_seed(stage)
        network = self._make_network(material, seed)
        if start is not None:
            network.load_state_dict(start.state_dict())
        feeds = self._make_feeds(material.source, material.split, seed, self._device)
        max_steps, check_every = self._budget(feeds[0].batches.steps_per_epoch)
        max_steps = max(1, round(share * max_steps))
        average = WeightAverage(network, self.weight_average)
        objective = recipe.make_objective(network, average, feeds, max_steps)
        optimizer = self._make_optimizer(network)
        for group in optimizer.param_groups:
            group["lr"] *= rate
        with progress_reporter(self.verbose, self._title, max_steps) as report:
            return train_with_checks(
                objective,
                optimizer,
                StoppingRule("holdout-loss", self.patience),
                state=average.averaged,
                make_row=self._row_maker(
                    material, recipe, average.averaged, stage, feeds[0].batches.steps_per_epoch
                ),
                report=report,
                schedule=self.schedule,
                max_steps=max_steps,
                check_every=min(check_every, max_steps),
            )

    def _make_optimizer(self, network: PooledLogit) -> torch.optim.Optimizer:
        return torch.optim.Adam(network.parameters(), lr=self.learning_rate, fused=True)

    def _row_maker(
        self,
        material: Material,
        recipe: Recipe,
        averaged: PooledLogit,
        stage: int,
        steps_per_epoch: int,
    ) -> Callable[[int, dict[str, float]], dict[str, Any]]:
        """Return what turns a check into a row of the history."""
        started = time.perf_counter()

        def make_row(step: int, terms: dict[str, float]) -> dict[str, Any]:
            logits = map(torch.from_numpy, material.unseen_logits(averaged, material.judged))
            row = {
                "step": step,
                "epoch": step / steps_per_epoch,
                **terms,
                "holdout_loss": float(recipe.judge(*logits)),
                **recipe.notes(),
                "seconds": time.perf_counter() - started,
            }
            self._observe(material, averaged, row, stage)
            return row

        return make_row
