"""Recipes: what a rival minimises, and how a check is judged."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from vqpu.rivals._logit import PooledLogit, balanced_cross_entropy
from vqpu.training import Changing, Feed, WeightAverage, encode_batches, holdout_auc

Risk = Callable[[Tensor, Tensor], Tensor]  # logits of P, logits of U -> scalar


def misordered_share(positive: Tensor, unlabeled: Tensor) -> Tensor:
    """Return the share of (P, U) pairs in the wrong order, 1 - AUC.

    What to judge a check by where there is no class prior: under SCAR it falls if and only if the
    error of the order of positives and negatives does, whatever the border is.

    Parameters
    ----------
    positive, unlabeled : Tensor of shape (n_p,) and (n_u,)
        Logits.
    """
    arrays = (part.detach().cpu().double().numpy() for part in (positive, unlabeled))
    return torch.tensor(1 - holdout_auc(*arrays), dtype=torch.float64)


class Learner(NamedTuple):
    """A network that is about to be trained.

    Attributes
    ----------
    network : PooledLogit
    average : WeightAverage
        Of its weights.
    feeds : list of Feed
        The batches, one for each member.
    max_steps : int
        Steps that it has at most; for terms of a loss that change with time.
    """

    network: PooledLogit
    average: WeightAverage[PooledLogit]
    feeds: list[Feed]
    max_steps: int


class NetworkObjective:
    """What is trained, and its weight average; a subclass adds ``loss``.

    Parameters
    ----------
    learner : Learner
    """

    def __init__(self, learner: Learner) -> None:
        self.network, self.average, self.feeds = learner[:3]

    def loss(self, step: int) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of step ``step`` and its named terms."""
        raise NotImplementedError

    def after_step(self, step: int) -> None:
        """Average the weights."""
        self.average.update(step + 1)

    def changing(self) -> Changing:
        """Return what the steps change: network and average."""
        return Changing({"network": self.network, "average": self.average.averaged})


class CrossEntropyObjective(NetworkObjective):
    """Balanced cross entropy of one set against the other."""

    def loss(self, step: int) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the cross entropy of all members' batches."""
        logits, n_positive = encode_batches(self.network.forward_member, self.feeds, step)
        loss = balanced_cross_entropy(logits, n_positive)
        return loss, {"loss": loss}


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
    learner : Learner
    risk : callable
        Logits of P and of U in, scalar out.
    """

    def __init__(self, learner: Learner, risk: Risk) -> None:
        super().__init__(learner)
        self._risk = risk

    def member_loss(self, member: int, feed: Feed, step: int) -> Tensor:
        """Return the risk of one member's batch."""
        x, n_positive = feed.take(step)
        logits = self.network.forward_member(x, member)
        return self._risk(logits[:n_positive], logits[n_positive:])


class Recipe:
    """What is minimised and how a check is judged; here P against U, uncorrected."""

    def make_objective(self, learner: Learner) -> NetworkObjective:
        """Return what the loop minimises in at most ``learner.max_steps`` steps."""
        return CrossEntropyObjective(learner)

    def judge(self, positive: Tensor, unlabeled: Tensor) -> Tensor:
        """Return how bad a check is, by logits of samples that were not trained on."""
        return balanced_cross_entropy(torch.cat([positive, unlabeled]), len(positive))

    def notes(self) -> dict[str, float]:
        """Return what a row of the history shall tell besides the losses."""
        return {}


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

    def make_objective(self, learner: Learner) -> NetworkObjective:
        """Return the risk as the loop minimises it."""
        return RiskObjective(learner, self._risk)

    def judge(self, positive: Tensor, unlabeled: Tensor) -> Tensor:
        """Return the held-out risk."""
        return self._judged_by(positive, unlabeled)
