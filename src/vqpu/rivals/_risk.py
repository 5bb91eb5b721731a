"""Losses on (logits of P, logits of U), member by member, and the class prior they need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from vqpu.base._parameters import check_real
from vqpu.priors._posterior import best_bin_alpha
from vqpu.rivals._logistic import (
    LogisticNetworkClassifier,
    Material,
    NetworkObjective,
    PooledLogit,
    Recipe,
)
from vqpu.training import TrainingResult, WeightAverage
from vqpu.training._feed import Feed

Risk = Callable[[Tensor, Tensor], Tensor]  # logits of P, logits of U -> scalar

_PRIOR_STAGE = 2


class MemberObjective(NetworkObjective):
    """Mean over the members of a loss on each one's own batch.

    The losses here are not sums over samples, so members must not share one.
    """

    def loss(self, step: int) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the mean of the members' losses."""
        losses = [self.member_loss(member, feed, step) for member, feed in enumerate(self.feeds)]
        loss = torch.stack(losses).mean()
        return loss, {"loss": loss}

    def member_loss(self, member: int, feed: Feed, step: int) -> Tensor:
        """Return the loss of one member on its batch of step ``step``."""
        raise NotImplementedError


class RiskObjective(MemberObjective):
    """A loss on the logits of P and of U.

    Parameters
    ----------
    network, average, feeds
        As in :class:`NetworkObjective`.
    risk : callable
        Logits of P and of U in, scalar out.
    """

    def __init__(
        self,
        network: PooledLogit,
        average: WeightAverage[PooledLogit],
        feeds: list[Feed],
        risk: Risk,
    ) -> None:
        super().__init__(network, average, feeds)
        self._risk = risk

    def member_loss(self, member: int, feed: Feed, step: int) -> Tensor:
        """Return the risk of one member's batch."""
        x, n_positive = feed.take(step)
        logits = self.network.forward_member(x, member)
        return self._risk(logits[:n_positive], logits[n_positive:])


class RiskRecipe(Recipe):
    """Minimise one function of the logits of P and of U, judge by one.

    Parameters
    ----------
    risk : callable
        What a step descends.
    judged_by : callable
        What held-out samples are judged by.
    """

    def __init__(self, risk: Risk, judged_by: Risk) -> None:
        self._risk, self._judged_by = risk, judged_by

    def make_objective(
        self,
        network: PooledLogit,
        average: WeightAverage[PooledLogit],
        feeds: list[Feed],
        max_steps: int,  # noqa: ARG002
    ) -> NetworkObjective:
        """Return the risk as the loop minimises it."""
        return RiskObjective(network, average, feeds, self._risk)

    def judge(self, positive: Tensor, unlabeled: Tensor) -> Tensor:
        """Return the held-out risk."""
        return self._judged_by(positive, unlabeled)


def estimate_alpha(material: Material, outcome: TrainingResult) -> float:
    """Return the share of positives in U by best bin estimation, never quite 0 or 1.

    On all held-out samples, by the chosen network. Where nothing could be held out the samples were
    trained on, and the share comes out too small.

    Parameters
    ----------
    material : Material
    outcome : TrainingResult
        Of a network that puts P above U.
    """
    sets = material.split.judged_sets()
    return best_bin_alpha(*material.unseen_logits(outcome.state, sets))


@dataclass(kw_only=True, eq=False, repr=False)
class PriorNetworkClassifier(LogisticNetworkClassifier):
    """Base of classifiers that need alpha, given or estimated."""

    alpha: float | None = None
    _saved: ClassVar[tuple[str, ...]] = ("alpha_",)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_real("alpha", self.alpha, 0, 1, open_low=True, optional=True)

    def _resolve_alpha(self, material: Material) -> float:
        """Return the given alpha, or that of a naive network's held-out logits.

        That network has the same settings, budget and hold-out, and is thrown away.
        """
        if self.alpha is not None:
            return float(self.alpha)
        return estimate_alpha(material, self._train(material, Recipe(), stage=_PRIOR_STAGE))
