"""DistPUClassifier: the mean prediction on U shall be the class prior."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, softplus

from vqpu.base._parameters import check_choice, check_real
from vqpu.base._source import ArraySource
from vqpu.errors import ParameterError
from vqpu.rivals._classifier import LogisticClassifier
from vqpu.rivals._logit import PooledLogit
from vqpu.rivals._mixup import draw_mix
from vqpu.rivals._recipes import Learner, MemberObjective, NetworkObjective, RiskRecipe
from vqpu.rivals._training import WARMUP, LogitSettings, LogitTraining, MakeOptimizer, Trained
from vqpu.training import Changing, Feed, History

_CONCENTRATION = 6.0  # of the Beta distribution of mixup, as in the authors' code
_WARMUP_ENTROPY_WEIGHT = 0.002  # likewise
_MAIN_RATE = 0.1  # of the warm-up's learning rate, likewise
_MAIN_DECAY = 0.2  # of the warm-up's weight decay, likewise
_LARGEST_LOGIT = 10.0  # likewise
# The authors' rate of the main stage falls from 1 to .7 along a cosine: here its mean throughout.
_MEAN_OF_FALL = 0.85


class Weights(NamedTuple):
    """Weights of the terms besides the label distribution's, and what that is divided by."""

    entropy: float
    mixup: float
    mixed_entropy: float
    divisor: float = 1.0


def label_distribution_loss(positive: Tensor, unlabeled: Tensor, alpha: float) -> Tensor:
    r"""Return how far the mean scores are from the known shares (Zhao et al. 2022).

    .. math:: 2 \alpha \left| \frac{1}{n_p} \sum_P \sigma(f(x)) - 1 \right|
        + \left| \frac{1}{n_u} \sum_U \sigma(f(x)) - \alpha \right|

    Never less than the error of the scores, :math:`\alpha` times the mean of 1 - score over
    positives plus :math:`1 - \alpha` times the mean score over negatives.

    Parameters
    ----------
    positive, unlabeled : Tensor of shape (n_p,) and (n_u,)
        Logits f(x).
    alpha : float
        Share of positives in U.
    """
    of_positives = (torch.sigmoid(positive).mean() - 1).abs()
    return 2 * alpha * of_positives + (torch.sigmoid(unlabeled).mean() - alpha).abs()


def mean_entropy(logits: Tensor) -> Tensor:
    r"""Return the mean of :math:`-s \log s - (1 - s) \log(1 - s)`, s being the scores.

    Parameters
    ----------
    logits : Tensor of shape (n,)
    """
    scores = torch.sigmoid(logits)
    return (scores * softplus(-logits) + (1 - scores) * softplus(logits)).mean()


def warmup_loss(positive: Tensor, unlabeled: Tensor, alpha: float, divisor: float = 1.0) -> Tensor:
    """Return the loss of the warm-up: label distribution and a little entropy on U.

    Parameters
    ----------
    positive, unlabeled : Tensor of shape (n_p,) and (n_u,)
        Logits.
    alpha : float
    divisor : float
        Of the label distribution term: 2 alpha for the authors' scale.
    """
    entropy = _WARMUP_ENTROPY_WEIGHT * mean_entropy(unlabeled)
    return label_distribution_loss(positive, unlabeled, alpha) / divisor + entropy


class _DistPUObjective(MemberObjective):
    """All four terms of each member.

    The targets of mixed samples of U are their scores when they were last trained on, at first
    those of the warm-up: scores of the same step would be drawn up by the positives that they are
    mixed with, and the next ones with them, until all are 1.
    """

    def __init__(self, learner: Learner, *, alpha: float, weights: Weights, scores: Tensor) -> None:
        super().__init__(learner)
        self._alpha, self._weights, self._max_steps = alpha, weights, learner.max_steps
        self._scores = scores

    def member_loss(self, member: int, feed: Feed, step: int) -> Tensor:
        x, n_positive = feed.take(step)
        logits = _clamped(self.network.forward_member(x, member))
        positive, unlabeled = logits[:n_positive], logits[n_positive:]
        targets = torch.cat(
            [torch.ones_like(positive), self._exchange(member, feed, step, unlabeled)]
        )
        mix = draw_mix(len(x), _CONCENTRATION, feed.seed, step)
        order = mix.order.to(x.device)
        mixed = _clamped(self.network.forward_mixed(mix, x, x[order], member))
        mixed_targets = mix.blend(targets, targets[order])
        rise = 1 - math.cos(math.pi / 2 * step / self._max_steps)
        return (
            label_distribution_loss(positive, unlabeled, self._alpha) / self._weights.divisor
            + rise * self._weights.entropy * mean_entropy(unlabeled)
            + self._weights.mixup * binary_cross_entropy_with_logits(mixed, mixed_targets)
            + self._weights.mixed_entropy * mean_entropy(mixed)
        )

    def changing(self) -> Changing:
        """Return what the steps change: network, average and the last scores of U."""
        return super().changing()._replace(tensors={"scores": self._scores})

    def _exchange(self, member: int, feed: Feed, step: int, unlabeled: Tensor) -> Tensor:
        """Return the last scores of a batch of U and keep the new ones."""
        samples = torch.from_numpy(feed.batches[step].unlabeled)
        last = self._scores[samples, member].to(unlabeled)
        self._scores[samples, member] = torch.sigmoid(unlabeled.detach()).to(self._scores)
        return last


def _clamped(logits: Tensor) -> Tensor:
    return logits.clamp(-_LARGEST_LOGIT, _LARGEST_LOGIT)


class _DistPURecipe(RiskRecipe):
    """The main stage; the warm-up is a plain :class:`RiskRecipe`.

    Parameters
    ----------
    alpha : float
    weights : Weights
    scores : Tensor of shape (n_samples, n_members)
        Of the warm-up.
    """

    def __init__(self, alpha: float, weights: Weights, scores: Tensor) -> None:
        risk = partial(label_distribution_loss, alpha=alpha)
        super().__init__(risk, risk)
        self._alpha, self._weights, self._scores = alpha, weights, scores

    def make_objective(self, learner: Learner) -> NetworkObjective:
        return _DistPUObjective(
            learner, alpha=self._alpha, weights=self._weights, scores=self._scores
        )


@dataclass(kw_only=True, eq=False, repr=False)
class DistPUClassifier(LogisticClassifier):
    r"""Classifier from a label distribution perspective, Dist-PU (Zhao et al. 2022).

    A warm-up on the label distribution term (and the entropy on U, weight 0.002), then

    .. math:: R_{lab} + \mu(t) H(U) + \nu L_{mix} + \gamma H(mixed)

    with all parts of the paper: :math:`R_{lab}` is ``label_distribution_loss``; H the mean
    entropy of scores, whose weight on U rises as :math:`1 - \cos(\pi t / 2T)`; :math:`L_{mix}` the
    cross entropy of mixed samples, lambda from Beta(6, 6), P having target 1 and U its own scores.

    As in the authors' code, the learning rate of the main stage is a tenth of the warm-up's, logits
    of the main stage are clamped to 10, and the targets of samples of U are their scores when they
    were last trained on. Not as there: the warm-up stops by the held-out label distribution term,
    and the answer is that of averaged weights at the end of the main stage, where the authors
    report the best epoch by the test labels; and P is not copied into U, which they do because
    their U is what is left of one sample: here alpha is the share in U as it is.

    The authors' setting is ``batches="natural", optimizer="adam", learning_rate=5e-4,
    weight_decay=5e-3, batch_size=256, warmup=1``, with 60 epochs for each stage.

    Parameters
    ----------
    alpha : float in (0, 1) or None, default=None
        Share of positives in U. None: best bin estimation on the held-out logits of a naive
        network of the same settings, trained before (which doubles the time).
    warmup : float in (0, 1], default=0.5
        Steps of the warm-up, as a share of ``max_steps`` and in addition to them (the authors: 1).
    entropy_weight, mixup_weight, mixed_entropy_weight : float, default=0.004, 5.0, 0.04
        mu, nu and gamma; the authors' values for CIFAR-10.
    batches : {"natural", "balanced"}, default="natural"
        "natural" is the authors': batches have as many labelled positives as their share of all
        samples, :math:`R_{lab}` is divided by 2 alpha, and the main stage takes all of its steps at
        a constant rate (theirs falls to 0.7 of it): its label distribution term is least at the
        beginning, and would stop it there. "balanced" batches hold as many of P as of U, which
        draws the targets of mixed samples up; then the main stage stops by that term too.
    weight_decay : float, default=0.0
        Of Adam (``optimizer="adam"``), in the warm-up; a fifth of it in the main stage.
    **parameters
        As in :class:`vqpu.rivals.NaivePUClassifier`.

    Attributes
    ----------
    alpha_ : float
        The share that was used.
    classes_ : ndarray of shape (2,)
    history_, warmup_history_ : History
    network_ : torch.nn.Module
    """

    _title = "Dist-PU"
    _saved: ClassVar[tuple[str, ...]] = (*LogisticClassifier._saved, "alpha_", "warmup_history_")

    alpha: float | None = None
    warmup: float = 0.5
    entropy_weight: float = 0.004
    mixup_weight: float = 5.0
    mixed_entropy_weight: float = 0.04
    batches: str = "natural"
    weight_decay: float = 0.0

    alpha_: float = field(init=False)
    warmup_history_: History = field(init=False)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_real("alpha", self.alpha, 0, 1, open_low=True, optional=True)
        for name in ("entropy_weight", "mixup_weight", "mixed_entropy_weight", "weight_decay"):
            check_real(name, getattr(self, name), 0)
        check_choice("batches", self.batches, ("natural", "balanced"))
        if self.weight_decay > 0 and self.optimizer != "adam":
            raise ParameterError(
                f"weight_decay is Adam's. Got weight_decay={self.weight_decay} with "
                f"optimizer={self.optimizer!r}: say optimizer='adam', or weight_decay=0."
            )

    def _settings(self, source: ArraySource) -> LogitSettings:
        return super()._settings(source)._replace(is_natural=self.batches == "natural")

    def _train(self, training: LogitTraining) -> Trained:
        self.alpha_ = alpha = training.resolve_alpha(self.alpha, self.patience)
        is_natural = self.batches == "natural"
        divisor = 2 * alpha if is_natural else 1.0
        first = RiskRecipe(
            partial(warmup_loss, alpha=alpha, divisor=divisor),
            partial(label_distribution_loss, alpha=alpha),
        )
        warmup = training.run(
            first,
            patience=self.patience,
            stage=WARMUP,
            share=self.warmup,
            make_optimizer=_decaying(training, self.weight_decay),
        )
        self.warmup_history_ = warmup.history
        weights = Weights(
            self.entropy_weight, self.mixup_weight, self.mixed_entropy_weight, divisor
        )
        scores = torch.sigmoid(torch.from_numpy(training.logits(warmup.state)))
        result = training.run(
            _DistPURecipe(alpha, weights, scores),
            patience=self.patience,
            rate=_MAIN_RATE * (_MEAN_OF_FALL if is_natural else 1.0),
            start=warmup.state,
            schedule="constant" if is_natural else None,
            to_the_end=is_natural,
            make_optimizer=_decaying(training, _MAIN_DECAY * self.weight_decay),
        )
        return Trained(result, result.state)


def _decaying(training: LogitTraining, decay: float) -> MakeOptimizer:
    """Return what makes the optimiser of the settings with weight decay."""

    def make(network: PooledLogit, rate: float) -> torch.optim.Optimizer:
        optimizer = training.make_optimizer(network, rate)
        for group in optimizer.param_groups:
            group["weight_decay"] = decay
        return optimizer

    return make
