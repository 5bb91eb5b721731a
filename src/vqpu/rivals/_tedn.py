"""TEDnClassifier and CVIRClassifier: leave the likely positives of U out, and train on the rest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from vqpu.base._parameters import check_choice, check_real
from vqpu.base._split import BalancedBatches
from vqpu.estimators._validation import check_parameters
from vqpu.priors._posterior import best_bin_alpha
from vqpu.rivals._classifier import LogisticClassifier
from vqpu.rivals._logit import Floats, Indices, PooledLogit, balanced_cross_entropy
from vqpu.rivals._recipes import CrossEntropyObjective, Learner, NetworkObjective, Recipe
from vqpu.rivals._training import WARMUP, LogitTraining, Trained
from vqpu.training import OPTIMIZERS, Changing, Feed, History

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
    training : LogitTraining
    alpha : float
        The share to leave out. Checks are judged with it throughout, so that they compare.
    estimates : bool
        Whether to estimate the share anew before every selection, by BBE (TED^n).
    """

    def __init__(self, training: LogitTraining, alpha: float, *, estimates: bool) -> None:
        self._training, self._estimates, self._judged_alpha = training, estimates, alpha
        split = training.context.split
        # What a checkpoint holds: the share, and who is trained on by each member.
        self.alpha = torch.tensor(alpha, dtype=torch.float64)
        self.is_kept = torch.zeros(split.n_members, len(split.is_positive), dtype=torch.bool)

    def make_objective(self, learner: Learner) -> NetworkObjective:
        """Return the cross entropy with a selection at every epoch's first step."""
        return _SelectingObjective(learner, self)

    def judge(self, positive: Tensor, unlabeled: Tensor) -> Tensor:
        """Return the held-out loss, without the share that was found at the beginning."""
        return cvir_loss(positive, unlabeled, self._judged_alpha)

    def notes(self) -> dict[str, float]:
        """Return the share that is left out at present."""
        return {"alpha": float(self.alpha)}

    def select(self, averaged: PooledLogit) -> None:
        """Choose what each member, of what it is trained on, calls negative."""
        training, split = self._training, self._training.context.split
        if self._estimates:
            judged = training.context.sample.judged
            self.alpha.fill_(best_bin_alpha(*training.unseen_logits(averaged, judged)))
        unlabeled = np.flatnonzero(~split.is_positive)
        logits = training.logits(averaged, unlabeled)
        self.is_kept.fill_(False)
        for member in range(split.n_members):
            trained = split.training_sets(member).unlabeled
            own_logits = logits[np.searchsorted(unlabeled, trained), member]
            kept = trained[least_positive(own_logits, float(self.alpha))]
            self.is_kept[member, torch.from_numpy(kept)] = True

    def feeds_of_kept(self, feeds: list[Feed]) -> list[Feed]:
        """Return feeds whose U is what was chosen last."""
        split, batch_size = self._training.context.split, self._training.settings.batch_size
        chosen = []
        for member, feed in enumerate(feeds):
            positive = split.training_sets(member).positive
            kept = np.flatnonzero(self.is_kept[member].numpy())
            batches = BalancedBatches(positive, kept, batch_size, feed.seed)
            chosen.append(feed._replace(batches=batches))
        return chosen


class _SelectingObjective(CrossEntropyObjective):
    """Cross entropy on feeds that are chosen anew every epoch."""

    def __init__(self, learner: Learner, recipe: CVIRRecipe) -> None:
        super().__init__(learner)
        self._recipe, self._all_feeds = recipe, self.feeds
        self._epoch = max(self.feeds[0].batches.steps_per_epoch, _SHORTEST_EPOCH)
        self._has_chosen = False

    def loss(self, step: int) -> tuple[Tensor, dict[str, Tensor]]:
        is_first = step % self._epoch == 0
        if is_first:
            self._recipe.select(self.average.averaged)
        if is_first or not self._has_chosen:  # training that is resumed begins inside an epoch
            self.feeds = self._recipe.feeds_of_kept(self._all_feeds)
            self._has_chosen = True
        return super().loss(step)

    def changing(self) -> Changing:
        memories = {"alpha": self._recipe.alpha, "is_kept": self._recipe.is_kept}
        return super().changing()._replace(tensors=memories)


def _sgd(network: PooledLogit, learning_rate: float) -> torch.optim.Optimizer:
    # The loss is the mean over members, so each encoder's gradient is an n-th of its own. Adam
    # does not mind; here the rate makes up for it, and the decay, which has no such factor,
    # for the rate.
    n_members = len(network.encoder.members)
    encoders: dict[str, Any] = {
        "params": network.encoder.parameters(),
        "lr": learning_rate * n_members,
        "weight_decay": _WEIGHT_DECAY / n_members,
    }
    groups = [encoders, {"params": network.head.parameters()}]
    return torch.optim.SGD(groups, learning_rate, _MOMENTUM, weight_decay=_WEIGHT_DECAY)


class Alternated(NamedTuple):
    """What warm-up and selection leave."""

    trained: Trained
    alpha: float
    warmup_history: History


def alternate(
    training: LogitTraining,
    alpha: float | None,
    *,
    estimates: bool,
    warmup: float,
    optimizer: str,
    patience: int,
) -> Alternated:
    """Warm up on P against U, then train without what looks positive, chosen every epoch.

    Parameters
    ----------
    training : LogitTraining
    alpha : float or None
        None: best bin estimation after the warm-up.
    estimates : bool
        Whether alpha is estimated anew before every selection, and at the end.
    warmup : float
        Its share of the steps.
    optimizer : {"auto", "adam", "muon", "sgd"}
    patience : int
    """
    make_optimizer = _sgd if optimizer == "sgd" else None
    first = training.run(
        Recipe(), patience=patience, stage=WARMUP, share=warmup, make_optimizer=make_optimizer
    )
    if alpha is None:
        alpha = training.estimate_alpha(first.state)
    recipe = CVIRRecipe(training, alpha, estimates=estimates)
    result = training.run(
        recipe, patience=patience, start=first.state, make_optimizer=make_optimizer
    )
    if estimates:
        alpha = training.estimate_alpha(result.state)
    return Alternated(Trained(result, result.state), alpha, first.history)


def _check_parameters(estimator: LogisticClassifier) -> None:
    """Check what both methods have; SGD is the authors', so it is theirs alone."""
    parameters = estimator.get_params(deep=False)
    check_choice("optimizer", parameters.pop("optimizer"), ("auto", *OPTIMIZERS, "sgd"))
    check_parameters(parameters)


@dataclass(kw_only=True, eq=False, repr=False)
class CVIRClassifier(LogisticClassifier):
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
    optimizer : {"auto", "adam", "muon", "sgd"}, default="auto"
        "sgd" has momentum 0.9 and weight decay 0.0005, as the authors have; then say
        ``learning_rate`` as well (theirs: 0.1).
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

    _title = "CVIR"
    _saved: ClassVar[tuple[str, ...]] = (*LogisticClassifier._saved, "alpha_", "warmup_history_")

    warmup: float = 0.25
    alpha: float | None = None

    alpha_: float = field(init=False)
    warmup_history_: History = field(init=False)

    def _check_parameters(self) -> None:
        _check_parameters(self)
        check_real("alpha", self.alpha, 0, 1, open_low=True, optional=True)

    def _train(self, training: LogitTraining) -> Trained:
        trained, self.alpha_, self.warmup_history_ = alternate(
            training,
            None if self.alpha is None else float(self.alpha),
            estimates=False,
            warmup=self.warmup,
            optimizer=self.optimizer,
            patience=self.patience,
        )
        return trained


@dataclass(kw_only=True, eq=False, repr=False)
class TEDnClassifier(LogisticClassifier):
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
    optimizer : {"auto", "adam", "muon", "sgd"}, default="auto"
        "sgd" has momentum 0.9 and weight decay 0.0005, as the authors have; then say
        ``learning_rate`` as well (theirs: 0.1).
    **parameters
        As in :class:`vqpu.rivals.NaivePUClassifier`.

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
    _saved: ClassVar[tuple[str, ...]] = (*LogisticClassifier._saved, "alpha_", "warmup_history_")

    warmup: float = 0.25

    alpha_: float = field(init=False)
    warmup_history_: History = field(init=False)

    def _check_parameters(self) -> None:
        _check_parameters(self)

    def _train(self, training: LogitTraining) -> Trained:
        trained, self.alpha_, self.warmup_history_ = alternate(
            training,
            None,
            estimates=True,
            warmup=self.warmup,
            optimizer=self.optimizer,
            patience=self.patience,
        )
        return trained
