"""DGANClassifier: a GAN that makes negatives, then a classifier of positives against them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from vqpu.base._parameters import check_integer
from vqpu.base._seeding import Stream, derive_seed
from vqpu.base._split import PlainBatches
from vqpu.nn import dgan_discriminator_loss, towards_one
from vqpu.rivals._gan import GAN, GANClassifier, fixed, gan_checker, make_gan
from vqpu.rivals._logit import PooledLogit, balanced_cross_entropy
from vqpu.rivals._training import LogitTraining, Trained
from vqpu.training import (
    Changing,
    CheckResult,
    Feed,
    FixedBudget,
    History,
    RowMaker,
    Stage,
    StoppingRule,
    TrainingResult,
    WeightAverage,
    plan_budget,
    run_stage,
)

_GENERATOR_STAGE = 3


def _stopping(*, has_channel: bool, patience: int) -> StoppingRule | FixedBudget:
    """Return how long the classifier trains."""
    return FixedBudget() if has_channel else StoppingRule("holdout-auc", patience)


@dataclass(kw_only=True, eq=False, repr=False)
class DGANClassifier(GANClassifier):
    r"""D-GAN: a generator learns the negatives from P and U, a classifier learns P against them.

    In the first stage the discriminator takes unlabelled samples for real, and labelled positives
    as well as generated samples for fake, so the generator is rewarded where unlabelled samples
    are and positives are not. In the second stage a classifier learns labelled positives against
    generated samples; it calls positive what is likelier under P than under the generator, a
    border that assumes as many positives as negatives.

    Parameters
    ----------
    gan_steps : int, default=4000
        Steps of the first stage.
    latent_dim : int, default=64
        Numbers of noise that a generated sample is made of.
    gan_learning_rate : float or None, default=None
        As in :class:`vqpu.rivals.ObserverGANClassifier`.
    noise, norm, encoder : float or None, str, str or callable, default=None, "auto", "auto"
        The channel of the second stage's classifier, and what is behind it, as in
        :class:`vqpu.rivals.ObserverGANClassifier`; ``noise=0`` is the literal form.
    learning_rate : float, default=0.001
        Of the second stage's classifier.
    max_steps : int, default=4000
        Bound on the steps of the second stage.
    max_epochs : int or None, default=None
        Bound on its passes over the labelled positives, if any.
    patience : int, default=20
        Checks of the second stage without improvement after which it stops, where there is no
        channel.
    batch_size : int, default=128
        Half labelled positives, half unlabelled samples; as many are generated.
    augment : {"auto", "none", "shift", "flip", "flip+shift"}, default="auto"
        As in :class:`vqpu.rivals.ObserverGANClassifier`.
    n_vectors, vector_dim, dropout, optimizer, schedule
    weight_average, check_every, holdout, random_state, device, verbose
        As in :class:`vqpu.VQKMeansClassifier`, of the second stage's classifier; batches serve the
        first stage too.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    network_ : torch.nn.Module
        The averaged classifier of the best check.
    generator_ : torch.nn.Module
        The averaged generator.
    gan_history_ : History
        A row a check of the first stage: the losses of both players.
    history_ : History
        A row a check of the second stage: loss, AUC of held-out P against held-out U, share of U
        called positive.

    Notes
    -----
    With :math:`H(q, 1) = -\log \sigma(q)` and :math:`H(q, 0) = -\log(1 - \sigma(q))`:

    - discriminator: :math:`E_U[H(D, 1)] + E_P[H(D, 0)] + E_z[H(D(G(z)), 0)]`, with spectral norm
      and without batch norm,
    - generator: :math:`E_z[H(D(G(z)), 1)]`,
    - classifier: :math:`(E_P[H(C, 1)] + E_z[H(C(G(z)), 0)]) / 2`, new noise at every step.

    The first stage takes a fixed number of steps. Without a channel the classifier gets worse as
    it goes on, and the second stage stops by the AUC of held-out positives against held-out
    unlabelled samples, which under SCAR grows with the AUC against negatives: comparisons with the
    D-GAN have used a labelled validation set there, and here no label exists but those of P.
    Behind a channel it does not get worse, and trains to the end (results/gan-forms).

    Where facts about the paper's form are missing, the choice here: one step of each player in
    turn, the three terms of the discriminator's loss weigh the same, a DCGAN's generator,
    negatives drawn from its weight average.

    References
    ----------
    Chiaroni, Khodabandelou, Rahal, Hueber, Dufaux: "Counter-examples generation from a positive
    unlabeled image dataset", 2020.
    """

    _title = "D-GAN"
    _saved: ClassVar[tuple[str, ...]] = (*GANClassifier._saved, "gan_history_")

    gan_steps: int = 4000
    patience: int = 20  # the AUC is flat at first, before the border has settled

    gan_history_: History = field(init=False)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("gan_steps", self.gan_steps, 1)

    def _train(self, training: LogitTraining) -> Trained:
        network = self._make_classifier(training)
        gan = make_gan(
            training,
            network.encoder,
            latent_dim=self.latent_dim,
            learning_rate=self._gan_rate(training.context.source.sample_shape),
            spectral=True,
        )
        first = self._train_gan(gan, training)
        gan.generator = self.generator_ = first.state
        self.gan_history_, self._layout = first.history, training.context.source.layout
        result = self._train_classifier(network, gan, training)
        return Trained(result, result.state)

    def _train_gan(self, gan: GAN, training: LogitTraining) -> TrainingResult:
        (feed,) = self._batches_of(training).make_feeds(training.context.seed)
        rows, device = RowMaker(feed.batches.steps_per_epoch), training.context.device

        def check(step: int, terms: dict[str, float]) -> CheckResult:
            row = rows(step, terms, {})
            return CheckResult(row, _GENERATOR_STAGE, gan.average.averaged, device)

        budget = plan_budget(
            feed.batches.steps_per_epoch,
            max_steps=self.gan_steps,
            max_epochs=None,
            check_every=max(self.gan_steps // 20, 1),
            schedule="constant",
        )
        stage = Stage(
            f"{self._title}, generator",
            _Generated(gan, feed),
            gan.generator_optimizer,
            FixedBudget(),
            gan.average.averaged,
            check,
            budget,
            folder="generator",
            is_final=False,
        )
        return run_stage(training.context, stage)

    def _train_classifier(
        self, network: PooledLogit, gan: GAN, training: LogitTraining
    ) -> TrainingResult:
        feed = self._positive_feed(training)
        noise = self._noise_of(training.context.source.sample_shape)
        average = WeightAverage(network, self.weight_average)
        steps_per_epoch = feed.batches.steps_per_epoch
        stage = Stage(
            f"{self._title}, classifier",
            # Noise goes on where the first stage ended.
            _AgainstGenerated(network, average, gan, feed, first_noise=self.gan_steps),
            training.make_optimizer(network, self.learning_rate),
            _stopping(has_channel=noise > 0, patience=self.patience),
            average.averaged,
            gan_checker(training, average.averaged, steps_per_epoch),
            plan_budget(
                steps_per_epoch,
                max_steps=training.settings.max_steps,
                max_epochs=self.max_epochs,
                check_every=self.check_every,
                schedule=self.schedule,
            ),
        )
        return run_stage(training.context, stage)

    def _positive_feed(self, training: LogitTraining) -> Feed:
        context, settings = training.context, self._batches_of(training).settings
        seed = derive_seed(context.seed, Stream.SECOND_STAGE)
        positive = context.split.training_sets(0).positive
        batches = PlainBatches(positive, max(1, settings.batch_size // 2), seed)
        return Feed(context.source, batches, settings.augmentation, seed, context.device)


class _Generated:
    """The generator's loss of the first stage; the discriminator takes its turn before."""

    def __init__(self, gan: GAN, feed: Feed) -> None:
        self._gan, self._feed = gan, feed

    def loss(self, step: int) -> tuple[Tensor, dict[str, Tensor]]:
        x, n_positive = self._feed.take(step)
        positive, unlabeled = x[:n_positive], x[n_positive:]
        generated = self._gan.generate(step, len(unlabeled))
        terms = self._gan.teach_discriminator(
            dgan_discriminator_loss, [unlabeled, positive, generated], step
        )
        with fixed(self._gan.discriminator):
            loss = towards_one(self._gan.discriminate(generated))
        named = {name: torch.tensor(value) for name, value in terms.items()}
        return loss, {"generator_loss": loss, **named}

    def after_step(self, step: int) -> None:
        self._gan.average.update(step + 1)

    def changing(self) -> Changing:
        return self._gan.changing()


class _AgainstGenerated:
    """Balanced cross entropy of labelled positives against samples of a finished generator."""

    def __init__(
        self,
        network: PooledLogit,
        average: WeightAverage[PooledLogit],
        gan: GAN,
        feed: Feed,
        *,
        first_noise: int,
    ) -> None:
        self._network, self._average, self._gan, self._feed = network, average, gan, feed
        self._first_noise = first_noise

    def loss(self, step: int) -> tuple[Tensor, dict[str, Tensor]]:
        positive, n_positive = self._feed.take(step)
        with torch.no_grad():
            generated = self._gan.generate(self._first_noise + step, n_positive)
        both = torch.cat([positive.double(), generated])
        loss = balanced_cross_entropy(self._network.forward_member(both, 0), n_positive)
        return loss, {"loss": loss}

    def after_step(self, step: int) -> None:
        self._average.update(step + 1)

    def changing(self) -> Changing:
        return Changing({"network": self._network, "average": self._average.averaged})
