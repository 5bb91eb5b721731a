"""NcPUClassifier: samples of one predicted class are drawn together, prototypes label U."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, normalize

from vqpu.base._parameters import check_real
from vqpu.base._seeding import Stream, torch_generator
from vqpu.rivals._classifier import LogisticClassifier
from vqpu.rivals._recipes import (
    Learner,
    MemberObjective,
    NetworkObjective,
    Recipe,
    misordered_share,
)
from vqpu.rivals._training import WARMUP, LogitTraining, Trained
from vqpu.training import Changing, Feed, History

_PROTOTYPE_DECAY = 0.99
_THRESHOLD_DECAY = 0.99
_SMALLEST_GAP = 1e-4  # of 1 - cos: the slope of the root is infinite at 0


def alignment_loss(online: Tensor, target: Tensor, is_positive: Tensor) -> Tensor:
    r"""Return the noise-robust non-contrastive loss.

    .. math:: \frac{1}{|S|} \sum_{(i, j) \in S} 2 \sqrt{1 - \cos(q_i, k_j)},
        \qquad S = \{(i, j) : \hat y_i = \hat y_j\}

    The usual loss is :math:`2 - 2 \cos`; under the root pairs that are alike already weigh most, so
    pairs that the predicted classes join wrongly weigh least.

    Parameters
    ----------
    online, target : Tensor of shape (n, p)
        q, with gradient, and k, without: vectors of two views of the same samples.
    is_positive : Tensor of bool, shape (n,)
        Predicted classes.
    """
    cosines = normalize(online, dim=1) @ normalize(target, dim=1).T
    is_pair = is_positive.unsqueeze(0) == is_positive.unsqueeze(1)
    return 2 * (1 - cosines).clamp_min(_SMALLEST_GAP).sqrt()[is_pair].mean()


def phantom_targets(soft: Tensor, negative: Tensor, threshold: Tensor | float) -> Tensor:
    """Return the targets of unlabelled samples in one step.

    0 where the probability of being negative is above the threshold, else the soft label. Soft
    labels themselves stay as they are: a sample that falls below the threshold later has its own
    back.

    Parameters
    ----------
    soft : Tensor of shape (n_u,)
        Soft labels, the share of the positive class.
    negative : Tensor of shape (n_u,)
        Probabilities of being negative.
    threshold : Tensor or float
    """
    return torch.where(negative > threshold, torch.zeros_like(soft), soft)


def nearer_to_positive(vectors: Tensor, prototypes: Tensor) -> Tensor:
    """Return 1 for vectors whose direction is nearer to the positive prototype, else 0.

    Parameters
    ----------
    vectors : Tensor of shape (n, p)
    prototypes : Tensor of shape (2, p)
        Of negatives and of positives.
    """
    cosines = normalize(vectors, dim=1) @ normalize(prototypes, dim=1).T
    return (cosines[:, 1] > cosines[:, 0]).to(vectors)


class Memory(NamedTuple):
    """What is carried from step to step, of every member.

    Attributes
    ----------
    prototypes : Tensor of shape (n_members, 2, p)
        Moving averages of the target's directions, of negatives and of positives.
    soft : Tensor of shape (n_samples, n_members)
        Soft labels.
    threshold : Tensor of shape (n_members,)
        Moving average of how sure the target is of unlabelled samples.
    """

    prototypes: Tensor
    soft: Tensor
    threshold: Tensor

    def update_prototypes(self, member: int, vectors: Tensor, is_positive: Tensor) -> None:
        """Move both prototypes towards the mean direction of what is predicted to be theirs."""
        directions = normalize(vectors, dim=1)
        for side, mask in enumerate((~is_positive, is_positive)):
            if mask.any():
                old, new = self.prototypes[member, side], directions[mask].mean(0).cpu()
                decay = _PROTOTYPE_DECAY if old.any() else 0.0
                old.copy_(decay * old + (1 - decay) * new)

    def update_threshold(self, member: int, scores: Tensor) -> Tensor:
        """Take in how sure the target is of a batch of U and return the threshold."""
        sure = torch.maximum(scores, 1 - scores).mean().cpu()
        self.threshold[member].lerp_(sure, 1 - _THRESHOLD_DECAY)
        return self.threshold[member].to(scores)

    def update_soft(self, member: int, samples: Tensor, votes: Tensor, decay: float) -> Tensor:
        """Move the soft labels of samples towards votes of 0 or 1 and return them."""
        soft = decay * self.soft[samples, member] + (1 - decay) * votes.cpu()
        self.soft[samples, member] = soft
        return soft.to(votes)


class _NcPURecipe(Recipe):
    """The main stage.

    Parameters
    ----------
    memory : Memory
    alignment_weight : float
    label_decay : float
    """

    def __init__(self, memory: Memory, alignment_weight: float, label_decay: float) -> None:
        self.memory = memory
        self.alignment_weight, self.label_decay = alignment_weight, label_decay

    def make_objective(self, learner: Learner) -> NetworkObjective:
        return _NcPUObjective(learner, self)

    def judge(self, positive: Tensor, unlabeled: Tensor) -> Tensor:
        return misordered_share(positive, unlabeled)

    def notes(self) -> dict[str, float]:
        """Return above which probability of being negative U counts as such."""
        return {"threshold": float(self.memory.threshold.mean())}


class _NcPUObjective(MemberObjective):
    """Cross entropy by soft labels, and alignment with the averaged network's second view."""

    def __init__(self, learner: Learner, recipe: _NcPURecipe) -> None:
        super().__init__(learner)
        self._recipe = recipe

    def member_loss(self, member: int, feed: Feed, step: int) -> Tensor:
        memory = self._recipe.memory
        x, n_positive = feed.take(step)
        target, scores = self._look(member, self._second_view(feed, step))
        is_positive = scores > 0.5
        is_positive[:n_positive] = True
        memory.update_prototypes(member, target, is_positive)
        votes = nearer_to_positive(target[n_positive:], memory.prototypes[member].to(target))
        samples = torch.from_numpy(feed.batches[step].unlabeled)
        soft = memory.update_soft(member, samples, votes, self._recipe.label_decay)
        threshold = memory.update_threshold(member, scores[n_positive:])
        targets = torch.ones_like(scores)
        targets[n_positive:] = phantom_targets(soft, 1 - scores[n_positive:], threshold)

        online = self.network.pool_member(x, member)
        logits = self.network.head(online).squeeze(-1)
        losses = binary_cross_entropy_with_logits(logits, targets, reduction="none")
        balanced = (losses[:n_positive].mean() + losses[n_positive:].mean()) / 2
        alignment = alignment_loss(online, target, is_positive)
        return balanced + self._recipe.alignment_weight * alignment

    def changing(self) -> Changing:
        return super().changing()._replace(tensors=self._recipe.memory._asdict())

    @torch.no_grad()
    def _look(self, member: int, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the target's vectors and its probabilities of being positive."""
        averaged = self.average.averaged
        vectors = averaged.pool_member(x, member)
        return vectors, torch.sigmoid(averaged.head(vectors).squeeze(-1))

    def _second_view(self, feed: Feed, step: int) -> Tensor:
        """Return the samples of a step, changed in another way than the network gets them."""
        batch = feed.batches[step]
        x = torch.cat([feed.source.batch(part) for part in batch if len(part)])
        generator = torch_generator(feed.seed, Stream.SECOND_VIEW, step)
        return feed.augmentation(x, generator).to(feed.device)


@dataclass(kw_only=True, eq=False, repr=False)
class NcPUClassifier(LogisticClassifier):
    r"""NcPU: noise-robust alignment and revocable negatives (Zhao et al. 2026); needs no prior.

    The moving average of the network, the target, looks at a second view of every batch. Its
    predictions say which pairs of samples are of one class; the network's vectors are drawn to the
    target's within a class by a loss in which doubtful pairs weigh little
    (``alignment_loss``). Two prototypes, moving averages of the directions of each class, vote
    on every unlabelled sample, and the votes add up to soft labels,

    .. math:: s \leftarrow \beta s + (1 - \beta) [\cos(k, c_+) > \cos(k, c_-)].

    An unlabelled sample whose probability of being negative is above a threshold, the moving
    average of how sure the target is, has target 0 in this step and its soft label in all others
    (``phantom_targets``). Threshold of the answer 1/2.

    From the paper: the target, the loss under the root, prototypes, soft labels, the threshold that
    adapts, labels that come back. Our choice: a warm-up of P against U, whose scores the soft
    labels begin with; the vectors of the encoder itself, without a projector or predictor behind
    it; views by this package's augmentation (of tables both views are the same but for dropout);
    batches hold as many of P as of U; no entropy term. The main stage trains to its end, as the
    authors' 1,300 epochs do: the order of held-out P and U is settled long before the border is
    (results/rival-forms). The warm-up stops by its held-out loss.

    Parameters
    ----------
    warmup : float in (0, 1], default=0.25
        Steps of the warm-up, as a share of ``max_steps`` and in addition to them.
    alignment_weight : float, default=0.1
        Weight of the alignment loss.
    label_decay : float in [0, 1), default=0.9
        beta, the share of a soft label that is kept at every visit.
    **parameters
        As in :class:`vqpu.rivals.NaivePUClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    history_, warmup_history_ : History
    network_ : torch.nn.Module

    References
    ----------
    Zhao, Tu, Zheng, Wang, Wang, Feagin, Jiao: "Noisy-Pair Robust Representation Alignment for
    Positive-Unlabeled Learning", ICLR 2026.
    """

    _title = "NcPU"
    _saved: ClassVar[tuple[str, ...]] = (*LogisticClassifier._saved, "warmup_history_")

    warmup: float = 0.25
    alignment_weight: float = 0.1
    label_decay: float = 0.9

    warmup_history_: History = field(init=False)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_real("alignment_weight", self.alignment_weight, 0)
        check_real("label_decay", self.label_decay, 0, 1)

    def _train(self, training: LogitTraining) -> Trained:
        warmup = training.run(Recipe(), patience=self.patience, stage=WARMUP, share=self.warmup)
        self.warmup_history_ = warmup.history
        n_members = training.context.split.n_members
        scores = torch.sigmoid(torch.from_numpy(training.logits(warmup.state)))
        memory = Memory(
            torch.zeros(n_members, 2, training.settings.spec.output_dim),
            scores.float(),
            torch.full((n_members,), 0.5),
        )
        recipe = _NcPURecipe(memory, self.alignment_weight, self.label_decay)
        result = training.run(recipe, patience=self.patience, start=warmup.state, to_the_end=True)
        return Trained(result, result.state)
