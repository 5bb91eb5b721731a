"""RobustPUClassifier: unlabelled samples count as negatives as far as they are easy ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import softplus

from vqpu.base._parameters import check_integer, check_real
from vqpu.rivals._classifier import LogisticClassifier
from vqpu.rivals._logit import PooledLogit
from vqpu.rivals._nnpu import nnpu_risk, nnpu_step_loss
from vqpu.rivals._recipes import Learner, MemberObjective, NetworkObjective, Recipe, RiskRecipe
from vqpu.rivals._training import WARMUP, LogitTraining, Trained
from vqpu.training import Changing, Feed, History

_FIRST_THRESHOLD, _LAST_THRESHOLD = 0.1, 1.0  # of hardness, as published for images
_POSITIVE_TEMPERATURE = 1.0


def self_paced_weights(hardness: Tensor, threshold: float) -> Tensor:
    r"""Return :math:`v = \max(0, 1 - h / \lambda)` (Zhu et al. 2023, the linear regulariser).

    What minimises :math:`v h + \lambda (v^2 / 2 - v)` over v in [0, 1]: easy samples count most,
    and what is harder than the threshold does not count.

    Parameters
    ----------
    hardness : Tensor of shape (n,)
        At least 0.
    threshold : float
        lambda, above 0.
    """
    return (1 - hardness / threshold).clamp_min(0)


def growing_threshold(iteration: int, n_iterations: int) -> float:
    """Return lambda of an iteration (from 0): it grows evenly, from 0.1 to 1 at the last.

    Parameters
    ----------
    iteration, n_iterations : int
    """
    share = iteration / max(1, n_iterations - 1)
    return _FIRST_THRESHOLD + share * (_LAST_THRESHOLD - _FIRST_THRESHOLD)


def weighted_cross_entropy(logits: Tensor, weights: Tensor, n_positive: int) -> Tensor:
    r"""Return the cross entropy of P against U, a weighted mean over each.

    .. math:: \frac12 \Big( \frac{\sum_P v \log(1 + e^{-f})}{\sum_P v}
        + \frac{\sum_U v \log(1 + e^{f})}{\sum_U v} \Big)

    A set without any weight adds nothing.

    Parameters
    ----------
    logits, weights : Tensor of shape (n,)
        Those of positives first.
    n_positive : int
    """
    signs = torch.ones_like(logits)
    signs[:n_positive] = -1
    losses = weights * softplus(signs * logits)
    tiny = torch.finfo(losses.dtype).tiny
    means = (
        losses[part].sum() / weights[part].sum().clamp_min(tiny)
        for part in (slice(n_positive), slice(n_positive, None))
    )
    total: Tensor = sum(means, start=torch.zeros((), dtype=losses.dtype, device=losses.device))
    return total / 2


class _RobustPURecipe(Recipe):
    """Self-paced cross entropy; the averaged network weighs the samples before every iteration.

    Parameters
    ----------
    training : LogitTraining
    alpha : float
        Checks are judged by the non-negative risk.
    n_iterations : int
    temperature : float
        Of the hardness of U.
    """

    def __init__(
        self, training: LogitTraining, alpha: float, *, n_iterations: int, temperature: float
    ) -> None:
        self._training, self._alpha = training, alpha
        self.n_iterations, self._temperature = n_iterations, temperature
        split = training.context.split
        self._signs = torch.where(torch.from_numpy(split.is_positive), -1.0, 1.0)
        self._temperatures = torch.where(self._signs < 0, _POSITIVE_TEMPERATURE, temperature)
        # What a checkpoint holds: the weight that every sample has for every member.
        self.weights = torch.zeros(len(split.is_positive), split.n_members)

    def make_objective(self, learner: Learner) -> NetworkObjective:
        return _SelfPacedObjective(learner, self)

    def judge(self, positive: Tensor, unlabeled: Tensor) -> Tensor:
        return nnpu_risk(positive, unlabeled, self._alpha)

    def notes(self) -> dict[str, float]:
        """Return how much of U counts as negative at present."""
        return {"unlabeled_weight": float(self.weights[self._signs > 0].mean())}

    def weigh(self, averaged: PooledLogit, iteration: int) -> None:
        """Set the weights by how hard each sample is, taken for what its set says."""
        logits = torch.from_numpy(self._training.logits(averaged)).float()
        scaled = self._signs[:, None] * logits / self._temperatures[:, None]
        threshold = growing_threshold(iteration, self.n_iterations)
        self.weights.copy_(self_paced_weights(softplus(scaled), threshold))


class _SelfPacedObjective(MemberObjective):
    """The weighted cross entropy of each member."""

    def __init__(self, learner: Learner, recipe: _RobustPURecipe) -> None:
        super().__init__(learner)
        self._recipe = recipe
        self._length = -(-learner.max_steps // recipe.n_iterations)

    def loss(self, step: int) -> tuple[Tensor, dict[str, Tensor]]:
        if step % self._length == 0:
            self._recipe.weigh(self.average.averaged, step // self._length)
        return super().loss(step)

    def member_loss(self, member: int, feed: Feed, step: int) -> Tensor:
        batch = feed.batches[step]
        x, n_positive = feed.take(step)
        logits = self.network.forward_member(x, member)
        weights = torch.cat(
            [self._recipe.weights[torch.from_numpy(part), member] for part in batch]
        )
        return weighted_cross_entropy(logits, weights.to(logits), n_positive)

    def changing(self) -> Changing:
        return super().changing()._replace(tensors={"weights": self._recipe.weights})


@dataclass(kw_only=True, eq=False, repr=False)
class RobustPUClassifier(LogisticClassifier):
    r"""Robust-PU: noisy negatives correct themselves, from the easy to the hard (Zhu et al. 2023).

    A warm-up by nnPU; then, in each of a few iterations, the network says how hard every sample is,
    a positive as a positive and an unlabelled one as a negative, and is trained on P against U with
    weights that fall with hardness:

    .. math:: h(x) = \log(1 + e^{-y f(x) / T_y}), \qquad v(x) = \max(0, 1 - h(x) / \lambda_t)

    lambda grows from iteration to iteration, so that easy negatives come first and hidden
    positives, which stay hard, never. Threshold 1/2.

    From the paper: the two stages, hardness by the logistic loss at a temperature (1 for P, 1.3 for
    U), the linear weights, a threshold that grows evenly from 0.1 to 1. Our choice: nnPU has the
    logistic loss, as it is stuck with one class now and then by the sigmoid loss; batches hold as
    many of P as of U, and each set's loss is its own weighted mean; the optimiser goes on from
    iteration to iteration; weights are those of the iteration alone, where the authors also average
    over earlier ones; the averaged network weighs; training stops by the held-out non-negative
    risk.

    Parameters
    ----------
    alpha : float in (0, 1) or None, default=None
        Share of positives in U, for the warm-up and for stopping. None: best bin estimation on the
        held-out logits of a naive network of the same settings, trained before.
    warmup : float in (0, 1], default=0.5
        Steps of the warm-up, as a share of ``max_steps`` and in addition to them.
    n_iterations : int, default=5
        How often samples are weighed anew in the main stage.
    temperature : float, default=1.3
        Of the hardness of unlabelled samples.
    **parameters
        As in :class:`vqpu.rivals.NaivePUClassifier`.

    Attributes
    ----------
    alpha_ : float
        The share that was used.
    classes_ : ndarray of shape (2,)
    history_, warmup_history_ : History
        The former's ``unlabeled_weight`` is the mean weight of unlabelled samples.
    network_ : torch.nn.Module

    References
    ----------
    Zhu, Fok, Choi, Wang, et al.: "Robust Positive-Unlabeled Learning via Noise Negative Sample
    Self-correction", KDD 2023.
    """

    _title = "Robust-PU"
    _saved: ClassVar[tuple[str, ...]] = (*LogisticClassifier._saved, "alpha_", "warmup_history_")

    alpha: float | None = None
    warmup: float = 0.5
    n_iterations: int = 5
    temperature: float = 1.3

    alpha_: float = field(init=False)
    warmup_history_: History = field(init=False)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_real("alpha", self.alpha, 0, 1, open_low=True, optional=True)
        check_integer("n_iterations", self.n_iterations, 1)
        check_real("temperature", self.temperature, 0, open_low=True)

    def _train(self, training: LogitTraining) -> Trained:
        self.alpha_ = alpha = training.resolve_alpha(self.alpha, self.patience)
        first = RiskRecipe(
            partial(nnpu_step_loss, alpha=alpha, beta=0.0, gamma=1.0, loss=softplus),
            partial(nnpu_risk, alpha=alpha),
        )
        warmup = training.run(first, patience=self.patience, stage=WARMUP, share=self.warmup)
        self.warmup_history_ = warmup.history
        recipe = _RobustPURecipe(
            training, alpha, n_iterations=self.n_iterations, temperature=self.temperature
        )
        result = training.run(recipe, patience=self.patience, start=warmup.state)
        return Trained(result, result.state)
