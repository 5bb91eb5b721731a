"""P3MixClassifier: doubtful unlabelled samples are mixed with positives near the border."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from vqpu.base._parameters import check_integer, check_real
from vqpu.base._seeding import Stream, torch_generator
from vqpu.errors import ParameterError
from vqpu.rivals._classifier import LogisticClassifier
from vqpu.rivals._distpu import mean_entropy
from vqpu.rivals._logit import PooledLogit
from vqpu.rivals._mixup import Mix, draw_mix
from vqpu.rivals._recipes import (
    Learner,
    MemberObjective,
    NetworkObjective,
    Recipe,
    misordered_share,
)
from vqpu.rivals._training import WARMUP, LogitTraining, Trained
from vqpu.training import Changing, Feed, History

_CONCENTRATION = 0.5  # of the Beta distribution of mixup


def corrected_targets(scores: Tensor, upper: float) -> Tensor:
    """Return the targets of unlabelled samples: 1 if the score is at least ``upper``, else 0.

    The correction of P3Mix-C.

    Parameters
    ----------
    scores : Tensor of shape (n_u,)
        The teacher's probabilities of being positive.
    upper : float
    """
    return (scores >= upper).to(scores)


def marginal_negatives(scores: Tensor, lower: float, upper: float) -> Tensor:
    """Return which unlabelled samples are pseudo-negatives in doubt: lower <= score < upper.

    Parameters
    ----------
    scores : Tensor of shape (n_u,)
    lower, upper : float
    """
    return (scores >= lower) & (scores < upper)


def nearest_the_border(logits: Tensor, count: int) -> Tensor:
    """Return the places of the positives of largest entropy, the candidates for doubtful samples.

    Entropy falls with the distance of the logit from 0. Of equal ones the first are taken.

    Parameters
    ----------
    logits : Tensor of shape (n_p,)
    count : int
    """
    return torch.sort(logits.abs(), stable=True).indices[:count]


def mixed_loss(
    logits: Tensor,
    targets: Tensor,
    n_positive: int,
    unlabeled_weight: float,
    entropy_weight: float,
) -> Tensor:
    r"""Return the loss of a mixed batch.

    .. math:: \frac{1}{n_p} \sum_P H(\tilde y, f(\tilde x))
        + \frac{w}{n_u} \sum_U H(\tilde y, f(\tilde x)) + \beta\, \overline{H(f(\tilde x))}

    H of two arguments is the cross entropy, of one the entropy of the prediction.

    Parameters
    ----------
    logits, targets : Tensor of shape (n,)
        Of mixed samples; those whose first partner is a labelled positive come first.
    n_positive : int
    unlabeled_weight, entropy_weight : float
        w and beta.
    """
    losses = binary_cross_entropy_with_logits(logits, targets, reduction="none")
    both = losses[:n_positive].mean() + unlabeled_weight * losses[n_positive:].mean()
    return both + entropy_weight * mean_entropy(logits)


class _P3MixRecipe(Recipe):
    """The main stage: what the samples are mixed with, and by whom that is judged.

    Parameters
    ----------
    training : LogitTraining
    lower, upper : float
    n_candidates : int
    unlabeled_weight, entropy_weight : float
    """

    def __init__(
        self,
        training: LogitTraining,
        *,
        lower: float,
        upper: float,
        n_candidates: int,
        unlabeled_weight: float,
        entropy_weight: float,
    ) -> None:
        self._training = training
        self.lower, self.upper = lower, upper
        self.unlabeled_weight, self.entropy_weight = unlabeled_weight, entropy_weight
        self._sets = [
            training.context.split.training_sets(member).positive
            for member in range(training.context.split.n_members)
        ]
        self._count = min(n_candidates, *map(len, self._sets))
        # What a checkpoint holds: the candidates of every member.
        self.candidates = torch.zeros(len(self._sets), self._count, dtype=torch.int64)

    def make_objective(self, learner: Learner) -> NetworkObjective:
        return _P3MixObjective(learner, self)

    def judge(self, positive: Tensor, unlabeled: Tensor) -> Tensor:
        return misordered_share(positive, unlabeled)

    def choose(self, averaged: PooledLogit) -> None:
        """Choose the positives nearest the border, of each member among those it is trained on."""
        for member, positive in enumerate(self._sets):
            logits = torch.from_numpy(self._training.logits(averaged, positive)[:, member])
            places = nearest_the_border(logits, self._count)
            self.candidates[member] = torch.from_numpy(positive)[places]


class _P3MixObjective(MemberObjective):
    """The loss of each member's batch, every sample mixed with its partner."""

    def __init__(self, learner: Learner, recipe: _P3MixRecipe) -> None:
        super().__init__(learner)
        self._recipe = recipe
        self._epoch = self.feeds[0].batches.steps_per_epoch

    def loss(self, step: int) -> tuple[Tensor, dict[str, Tensor]]:
        if step % self._epoch == 0:
            self._recipe.choose(self.average.averaged)
        return super().loss(step)

    def member_loss(self, member: int, feed: Feed, step: int) -> Tensor:
        recipe = self._recipe
        x, n_positive = feed.take(step)
        with torch.no_grad():
            teacher = self.average.averaged
            scores = torch.sigmoid(teacher.forward_member(x[n_positive:], member))
        targets = torch.ones(len(x), dtype=scores.dtype, device=scores.device)
        targets[n_positive:] = corrected_targets(scores, recipe.upper)
        mix = _towards_first(draw_mix(len(x), _CONCENTRATION, feed.seed, step))
        order = mix.order.to(x.device)
        partners, partner_targets = x[order], targets[order]
        is_doubtful = torch.zeros(len(x), dtype=torch.bool, device=x.device)
        is_doubtful[n_positive:] = marginal_negatives(scores, recipe.lower, recipe.upper)
        if is_doubtful.any():
            count = int(is_doubtful.sum())
            partners[is_doubtful] = self._draw_candidates(member, feed, step, count).to(x)
            partner_targets[is_doubtful] = 1.0
        mixed = self.network.forward_mixed(mix, x, partners, member)
        mixed_targets = mix.blend(targets, partner_targets)
        return mixed_loss(
            mixed, mixed_targets, n_positive, recipe.unlabeled_weight, recipe.entropy_weight
        )

    def changing(self) -> Changing:
        return super().changing()._replace(tensors={"candidates": self._recipe.candidates})

    def _draw_candidates(self, member: int, feed: Feed, step: int, count: int) -> Tensor:
        """Return that many positives near the border, drawn with replacement, augmented."""
        generator = torch_generator(feed.seed, Stream.MIXUP, step)
        candidates = self._recipe.candidates[member]
        drawn = torch.randint(len(candidates), (count,), generator=generator)
        return feed.augmentation(feed.source.batch(candidates[drawn].numpy()), generator)


def _towards_first(mix: Mix) -> Mix:
    """Return the mix in which the first sample weighs at least as much as its partner."""
    return mix._replace(share=max(mix.share, 1 - mix.share))


@dataclass(kw_only=True, eq=False, repr=False)
class P3MixClassifier(LogisticClassifier):
    r"""P3Mix-C: partially positive mixup with label correction (Li et al. 2022); needs no prior.

    A classifier of P against U calls too little positive: its border is moved towards the
    positives. Here every sample is mixed with a partner,

    .. math:: \tilde x = \lambda' x + (1 - \lambda') x', \quad
        \tilde y = \lambda' y + (1 - \lambda') y', \quad
        \lambda' = \max(\lambda, 1 - \lambda), \; \lambda \sim \mathrm{Beta}(.5, .5),

    and the partner of an unlabelled sample in doubt (score between ``lower`` and ``upper``) is a
    labelled positive near the border: the mixed sample lies near the border too, with a target that
    is nearer to the truth, and pushes the border back. An unlabelled sample whose score is at least
    ``upper`` has target 1, all others 0. Threshold 1/2.

    From the paper: partners, correction, mean teacher, the entropy term; bounds, weights and Beta
    are those of PU-Bench (ICLR 2026). Our choice: a warm-up of P against U without mixup, which
    stops by its held-out loss; one lambda a batch; the averaged network is the teacher; candidates
    are chosen every epoch; the main stage trains to its end, as the order of held-out P and U is
    settled long before the border is (results/rival-forms).

    Parameters
    ----------
    warmup : float in (0, 1], default=0.25
        Steps of the warm-up, as a share of ``max_steps`` and in addition to them.
    lower, upper : float in [0, 1], default=0.15, 0.85
        Between which scores an unlabelled sample is in doubt.
    n_candidates : int, default=100
        Positives near the border to draw partners from.
    unlabeled_weight : float, default=0.5
        w, the weight of unlabelled samples; that of labelled positives is 1.
    entropy_weight : float, default=0.05
        beta, the weight of the entropy of predictions.
    **parameters
        As in :class:`vqpu.rivals.NaivePUClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    history_, warmup_history_ : History
    network_ : torch.nn.Module

    References
    ----------
    Li, Li, Feng, Ouyang: "Who Is Your Right Mixup Partner in Positive and Unlabeled Learning",
    ICLR 2022.
    """

    _title = "P3Mix"
    _saved: ClassVar[tuple[str, ...]] = (*LogisticClassifier._saved, "warmup_history_")

    warmup: float = 0.25
    lower: float = 0.15
    upper: float = 0.85
    n_candidates: int = 100
    unlabeled_weight: float = 0.5
    entropy_weight: float = 0.05

    warmup_history_: History = field(init=False)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("lower", "upper"):
            check_real(name, getattr(self, name), 0, 1, open_high=False)
        if self.lower > self.upper:
            raise ParameterError(
                f"lower must not be above upper. Got {self.lower} and {self.upper} instead."
            )
        check_integer("n_candidates", self.n_candidates, 1)
        check_real("unlabeled_weight", self.unlabeled_weight, 0, open_low=True)
        check_real("entropy_weight", self.entropy_weight, 0)

    def _train(self, training: LogitTraining) -> Trained:
        warmup = training.run(Recipe(), patience=self.patience, stage=WARMUP, share=self.warmup)
        self.warmup_history_ = warmup.history
        recipe = _P3MixRecipe(
            training,
            lower=self.lower,
            upper=self.upper,
            n_candidates=self.n_candidates,
            unlabeled_weight=self.unlabeled_weight,
            entropy_weight=self.entropy_weight,
        )
        result = training.run(recipe, patience=self.patience, start=warmup.state, to_the_end=True)
        return Trained(result, result.state)
