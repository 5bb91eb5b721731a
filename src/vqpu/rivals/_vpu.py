"""VPUClassifier: the variational principle, without a class prior."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from vqpu.base._parameters import check_real
from vqpu.rivals._classifier import LogisticClassifier
from vqpu.rivals._logit import LogitRule, PooledLogit
from vqpu.rivals._mixup import draw_mix
from vqpu.rivals._recipes import Learner, MemberObjective, NetworkObjective, Recipe
from vqpu.rivals._training import LogitTraining, Trained
from vqpu.training import Feed

_CONCENTRATION = 0.3  # of the Beta distribution of mixup, as in the authors' code


def variational_loss(positive: Tensor, unlabeled: Tensor) -> Tensor:
    r"""Return the variational loss (Chen et al. 2020).

    .. math:: \log \frac{1}{n_u} \sum_U \phi(x) - \frac{1}{n_p} \sum_P \log \phi(x),
        \qquad \phi = \sigma(f)

    Least where phi is proportional to p(y=1 | x): up to a constant it is the divergence of P from
    what phi makes of U.

    Parameters
    ----------
    positive, unlabeled : Tensor of shape (n_p,) and (n_u,)
        Logits f(x).
    """
    log_mean = torch.logsumexp(logsigmoid(unlabeled), dim=0) - math.log(len(unlabeled))
    return log_mean - logsigmoid(positive).mean()


def mixup_consistency(mixed: Tensor, unlabeled: Tensor, share: float) -> Tensor:
    r"""Return the mixup term (Chen et al. 2020).

    .. math:: \frac{1}{n} \sum \left( \log(\lambda \phi(x_u) + (1 - \lambda) \cdot 1)
        - \log \phi(\lambda x_u + (1 - \lambda) x_p) \right)^2

    As in the authors' code the gradient goes through both parts.

    Parameters
    ----------
    mixed : Tensor of shape (n,)
        Logits of the mixed samples.
    unlabeled : Tensor of shape (n,)
        Logits of their unlabelled halves.
    share : float
        lambda.
    """
    # In logarithms, so that a vanishing phi stays finite.
    weight = torch.tensor(share, dtype=mixed.dtype, device=mixed.device)
    target = torch.logaddexp(weight.log() + logsigmoid(unlabeled), torch.log1p(-weight))
    return (target - logsigmoid(mixed)).square().mean()


class _VPUObjective(MemberObjective):
    """Variational loss and mixup term of each member."""

    def __init__(self, learner: Learner, mixup_weight: float) -> None:
        super().__init__(learner)
        self._mixup_weight = mixup_weight

    def member_loss(self, member: int, feed: Feed, step: int) -> Tensor:
        x, n_positive = feed.take(step)
        logits = self.network.forward_member(x, member)
        unlabeled = logits[n_positive:]
        mix = draw_mix(n_positive, _CONCENTRATION, feed.seed, step)
        partners = x[mix.partners(len(unlabeled)).to(x.device)]
        others = x[n_positive:]
        if len(others) == 1:  # batch norm cannot train on one
            others, partners = torch.cat([others, others]), torch.cat([partners, partners])
        mixed = self.network.forward_mixed(mix, others, partners, member)[: len(unlabeled)]
        consistency = mixup_consistency(mixed, unlabeled, mix.share)
        return variational_loss(logits[:n_positive], unlabeled) + self._mixup_weight * consistency


class _VPURecipe(Recipe):
    def __init__(self, mixup_weight: float) -> None:
        self._mixup_weight = mixup_weight

    def make_objective(self, learner: Learner) -> NetworkObjective:
        return _VPUObjective(learner, self._mixup_weight)

    def judge(self, positive: Tensor, unlabeled: Tensor) -> Tensor:
        return variational_loss(positive, unlabeled)


@dataclass(kw_only=True, eq=False, repr=False)
class VPUClassifier(LogisticClassifier):
    """Classifier by the variational principle for PU learning (Chen et al. 2020); needs no prior.

    phi(x) = sigmoid(f(x)) becomes proportional to p(y=1 | x), and the mixup term draws it to 1
    somewhere. As in the paper a sample is positive if phi is above half its largest value on the
    training samples, and training stops by the held-out variational loss.

    Parameters
    ----------
    mixup_weight : float, default=0.03
        Weight of the mixup term (lambda of the paper, its authors' 0.03); lambda of each batch is
        drawn from Beta(0.3, 0.3).
    **parameters
        As in :class:`vqpu.rivals.NaivePUClassifier`.

    Attributes
    ----------
    largest_phi_ : float
        The largest phi on the training samples.
    classes_ : ndarray of shape (2,)
    history_ : History
    network_ : torch.nn.Module

    Notes
    -----
    ``decision_function`` is the logit of phi, shifted to be 0 where phi is half of
    ``largest_phi_``; if that is 1 nothing is shifted, and phi estimates p(y=1 | x).
    """

    _title = "VPU"
    _saved: ClassVar[tuple[str, ...]] = (*LogisticClassifier._saved, "largest_phi_")

    mixup_weight: float = 0.03

    largest_phi_: float = field(init=False)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_real("mixup_weight", self.mixup_weight, 0)

    def _train(self, training: LogitTraining) -> Trained:
        def rule_of_check(averaged: PooledLogit) -> LogitRule:
            # By what a check looks at: all training samples would cost more than the steps between.
            judged = training.context.sample.judged
            logits = [training.logits(averaged, part).mean(axis=1) for part in judged]
            return _rule_of(_phi(max(float(part.max()) for part in logits)))

        recipe = _VPURecipe(self.mixup_weight)
        result = training.run(recipe, patience=self.patience, rule_of=rule_of_check)
        self.largest_phi_ = _phi(float(training.logits(result.state).mean(axis=1).max()))
        return Trained(result, result.state, _rule_of(self.largest_phi_))


def _phi(logit: float) -> float:
    return math.exp(-math.log1p(math.exp(-max(logit, -700.0))))


def _rule_of(largest_phi: float) -> LogitRule:
    # The logit of half the largest phi, -log(2 / phi - 1), is subtracted.
    return LogitRule(math.log(2 / largest_phi - 1))
