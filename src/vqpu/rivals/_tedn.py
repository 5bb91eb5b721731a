"""TEDnClassifier and CVIRClassifier: leave the likely positives of U out, and train on the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from vqpu.base._parameters import check_choice, check_real
from vqpu.priors._posterior import best_bin_alpha
from vqpu.rivals._logistic import (
    CrossEntropyObjective,
    Fitted,
    Floats,
    Indices,
    LogisticNetworkClassifier,
    Material,
    NetworkObjective,
    PooledLogit,
    Recipe,
    balanced_cross_entropy,
)
from vqpu.rivals._risk import estimate_alpha
from vqpu.training import BalancedBatches, WeightAverage
from vqpu.training._feed import Feed

_MOMENTUM, _WEIGHT_DECAY = 0.9, 5e-4  # the authors', of SGD
_SHORTEST_EPOCH = 20  # steps; with few samples a pass is too short to learn anything new


def least_positive(scores: Floats, alpha: float) -> Indices:
    """Return the places of all but the ``int(alpha n)`` largest scores, in ascending order.

    CVIR's selection (Garg et al. 2021, algorithm 2). Of equal scores the first stay; at least one
    does.

    Parameters
    ----------
    scores : ndarray of shape (n,)
    alpha : float
        Share of positives in U.
    """
    n_kept = max(1, len(scores) - int(alpha * len(scores)))
    return np.sort(np.argsort(scores, kind="stable")[:n_kept])


def cvir_loss(positive: Tensor, unlabeled: Tensor, alpha: float) -> Tensor:
    r"""Return the cross entropy of P against the least positive part of U.

    .. math:: \frac12 \Big( \frac{1}{n_p} \sum_P -\log \sigma(f(x))
        + \frac{1}{|U'|} \sum_{U'} -\log(1 - \sigma(f(x))) \Big)

    U' being U without its ``int(alpha n_u)`` largest logits.

    Parameters
    ----------
    positive, unlabeled : Tensor of shape (n_p,) and (n_u,)
        Logits.
    alpha : float
    """
    kept = torch.from_numpy(least_positive(unlabeled.detach().cpu().double().numpy(), alpha))
    rest = unlabeled[kept.to(unlabeled.device)]
    return balanced_cross_entropy(torch.cat([positive, rest]), len(positive))


class CVIRRecipe(Recipe):
    """P against the least positive of U, chosen anew by the averaged network every epoch.

    Parameters
    ----------
    material : Material
    batch_size : int
    alpha : float
        The share to leave out. Checks are judged with it throughout, so that they compare.
    estimates : bool
        Whether to estimate the share anew before every selection, by BBE (TED^n).
    """

    def __init__(
        self, material: Material, batch_size: int, alpha: float, *, estimates: bool
    ) -> None:
        self._material, self._batch_size, self._estimates = material, batch_size, estimates
        self._judged_alpha = self._alpha = alpha

    def make_objective(
        self,
        network: PooledLogit,
        average: WeightAverage[PooledLogit],
        feeds: list[Feed],
        max_steps: int,  # noqa: ARG002
    ) -> NetworkObjective:
        """Return the cross entropy with a selection at every epoch's first step."""
        return _SelectingObjective(network, average, feeds, self)

    def judge(self, positive: Tensor, unlabeled: Tensor) -> Tensor:
        """Return the held-out loss, without the share that was found at the beginning."""
        return cvir_loss(positive, unlabeled, self._judged_alpha)

    def notes(self) -> dict[str, float]:
        """Return the share that is left out at present."""
        return {"alpha": self._alpha}

    def select(self, averaged: PooledLogit, feeds: list[Feed]) -> list[Feed]:
        """Return feeds whose U is what each member, of what it is trained on, calls negative."""
        material = self._material
        if self._estimates:
            self._alpha = best_bin_alpha(*material.unseen_logits(averaged, material.judged))
        unlabeled = np.flatnonzero(~material.split.is_positive)
        logits = material.logits(averaged, unlabeled)
        return [
            feed._replace(batches=self._batches(member, feed, unlabeled, logits[:, member]))
            for member, feed in enumerate(feeds)
        ]

    def _batches(
        self, member: int, feed: Feed, unlabeled: Indices, logits: Floats
    ) -> BalancedBatches:
        trained = self._material.split.training_sets(member)
        own_logits = logits[np.searchsorted(unlabeled, trained.unlabeled)]
        kept = trained.unlabeled[least_positive(own_logits, self._alpha)]
        return BalancedBatches(trained.positive, kept, self._batch_size, feed.seed)


class _SelectingObjective(CrossEntropyObjective):
    """Cross entropy on feeds that are chosen anew every epoch."""

    def __init__(
        self,
        network: PooledLogit,
        average: WeightAverage[PooledLogit],
        feeds: list[Feed],
        recipe: CVIRRecipe,
    ) -> None:
        super().__init__(network, average, feeds)
        self._recipe, self._all_feeds = recipe, feeds
        self._epoch = max(feeds[0].batches.steps_per_epoch, _SHORTEST_EPOCH)

    def loss(self, step: int) -> tuple[Tensor, dict[str, Tensor]]:
        if step % self._epoch == 0:
            self.feeds = self._recipe.select(self.average.averaged, self._all_feeds)
        return super().loss(step)


@dataclass(kw_only=True, eq=False, repr=False)
class _SelectingClassifier(LogisticNetworkClassifier):
    """What both classifiers share: a warm-up of P against U, then the selection."""

    warmup: float = 0.25
    optimizer: str = "adam"
    _saved: ClassVar[tuple[str, ...]] = ("alpha_", "warmup_history_")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("optimizer", self.optimizer, ("adam", "sgd"))
        check_real("warmup", self.warmup, 0, 1, open_low=True, open_high=False)

    def _make_optimizer(self, network: PooledLogit) -> torch.optim.Optimizer:
        if self.optimizer == "adam":
            return super()._make_optimizer(network)
        # The loss is the mean over members, so each encoder's gradient is an n-th of its own. Adam
        # does not mind; here the rate makes up for it, and the decay, which has no such factor,
        # for the rate.
        n_members = len(network.encoder.members)
        encoders: dict[str, Any] = {
            "params": network.encoder.parameters(),
            "lr": self.learning_rate * n_members,
            "weight_decay": _WEIGHT_DECAY / n_members,
        }
        groups = [encoders, {"params": network.head.parameters()}]
        return torch.optim.SGD(groups, self.learning_rate, _MOMENTUM, weight_decay=_WEIGHT_DECAY)

    def _alternate(self, material: Material, alpha: float | None, *, estimates: bool) -> Fitted:
        warmup = self._train(material, Recipe(), stage=1, share=self.warmup)
        if alpha is None:
            alpha = estimate_alpha(material, warmup)
        recipe = CVIRRecipe(material, self.batch_size, alpha, estimates=estimates)
        outcome = self._train(material, recipe, start=warmup.state)
        if estimates:
            alpha = estimate_alpha(material, outcome)
        return Fitted(outcome, alpha, warmup)


@dataclass(kw_only=True, eq=False, repr=False)
class CVIRClassifier(_SelectingClassifier):
    """Conditional value ignoring risk: TED^n with a known alpha (Garg et al. 2021).

    A warm-up of P against U; then, every epoch, U is sorted by the averaged network, its top share
    alpha is left out, and the network is trained on P against the rest, both weighing the same.
    Threshold 1/2. Training stops by the held-out value of this loss.

    Parameters
    ----------
    alpha : float in (0, 1) or None, default=None
        Share of positives in U. None: best bin estimation once, on the held-out logits of the
        warm-up.
    warmup : float in (0, 1], default=0.25
        Steps of the warm-up, as a share of ``max_steps`` and in addition to them.
    optimizer : {"adam", "sgd"}, default="adam"
        "sgd" has momentum 0.9 and weight decay 0.0005, as the authors have; then say
        ``learning_rate`` as well (theirs: 0.1).
    **parameters
        As in :class:`vqpu.NaivePUClassifier`.

    Attributes
    ----------
    alpha_ : float
        The share that was used.
    classes_ : ndarray of shape (2,)
    history_, warmup_history_ : History
    network_ : torch.nn.Module
    """

    _title = "CVIR"

    alpha: float | None = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_real("alpha", self.alpha, 0, 1, open_low=True, optional=True)

    def _fit_network(self, material: Material) -> Fitted:
        alpha = None if self.alpha is None else float(self.alpha)
        return self._alternate(material, alpha, estimates=False)


class TEDnClassifier(_SelectingClassifier):
    """TED^n: alternate between estimating alpha and training without likely positives of U.

    Garg et al. 2021. A warm-up of P against U; then, every epoch: alpha is estimated on held-out P
    and U by best bin estimation (BBE), U is sorted by the averaged network, its top share alpha is
    left out, and the network is trained on P against the rest, both weighing the same (CVIR).
    Threshold 1/2.

    The authors train for a fixed number of epochs (100 of warm-up, then up to 1,000) by SGD and
    draw what they hold out from the test split. Here a part of P and U is held out, the optimiser
    is by default that of all methods of this package, and training stops by the held-out loss,
    with the share that BBE found after the warm-up, so that checks compare.

    Parameters
    ----------
    warmup : float in (0, 1], default=0.25
        Steps of the warm-up, as a share of ``max_steps`` and in addition to them.
    optimizer : {"adam", "sgd"}, default="adam"
        "sgd" has momentum 0.9 and weight decay 0.0005, as the authors have; then say
        ``learning_rate`` as well (theirs: 0.1).
    **parameters
        As in :class:`vqpu.NaivePUClassifier`.

    Attributes
    ----------
    alpha_ : float
        Estimated share of positives in U, by BBE with the final network.
    classes_ : ndarray of shape (2,)
    history_, warmup_history_ : History
        The former's ``alpha`` is the share left out at the time.
    network_ : torch.nn.Module

    See Also
    --------
    CVIRClassifier : the same with a known alpha.
    """

    _title = "TED^n"

    def _fit_network(self, material: Material) -> Fitted:
        return self._alternate(material, None, estimates=True)
