"""ObserverGANClassifier: a GAN on U, and an observer that keeps it out of P."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from vqpu.base._parameters import check_real
from vqpu.nn import discriminator_loss, observed_generator_loss
from vqpu.rivals._gan import GAN, GANClassifier, fixed, gan_checker, make_gan
from vqpu.rivals._logit import PooledLogit, balanced_cross_entropy
from vqpu.rivals._training import LogitTraining, Trained
from vqpu.training import (
    Changing,
    Feed,
    FixedBudget,
    Stage,
    WeightAverage,
    descend,
    plan_budget,
    run_stage,
)


@dataclass(kw_only=True, eq=False, repr=False)
class ObserverGANClassifier(GANClassifier):
    r"""Observer-GAN: the observer learns positives from negatives that a GAN makes.

    Discriminator and generator are an ordinary GAN on the unlabelled samples. A third network, the
    observer, learns labelled positives against generated samples; the generator is penalised
    where the observer calls its output positive, which keeps it out of the positives. The observer
    is the classifier; it calls positive what is likelier under P than under the generator, a
    border that assumes as many positives as negatives.

    Parameters
    ----------
    observer_weight : float, default=1.0
        Weight of the observer's penalty in the generator's loss; 0 leaves a plain GAN on U.
    latent_dim : int, default=64
        Numbers of noise that a generated sample is made of.
    gan_learning_rate : float or None, default=None
        Of generator and discriminator (Adam, decay rates 0.5 and 0.999), constant. None: 0.0004
        behind a channel, and a DCGAN's 0.0002 without.
    noise : float or None, default=None
        Standard deviation of the Gaussian noise on whatever the observer sees, as a share of half
        the range of an image's channel, of a column's standard deviation for vectors. None: 0.7
        for images, none for vectors. 0 is the literal form, without a channel.
    encoder : str or callable, default="auto"
        Of the observer. "auto" is "dcgan" for images behind a channel: the convolutions of the
        discriminator, and one vector of the whole image, as the mean over places that other
        encoders end in sees texture first. Else as in :class:`vqpu.VQKMeansClassifier`.
    norm : {"auto", "batch", "layer", "none"}, default="auto"
        What "conv" and "mlp" normalise after every hidden layer: over the batch, over one sample,
        or nothing. "auto" is "none" behind a channel and "batch" without.
    learning_rate : float, default=0.001
        Of the observer.
    max_steps : int, default=4000
        Steps of all three networks.
    holdout : float, default=0.15
        Share of both sets that is never trained on. ``history_`` judges the observer on it;
        nothing is chosen by it.
    batch_size : int, default=128
        Half labelled positives, half unlabelled samples; as many are generated.
    augment : {"auto", "none", "shift", "flip", "flip+shift"}, default="auto"
        What is done to images before the noise of a channel, to generated ones too; the GAN learns
        them as they are. Without a channel it is done to all real samples, and to no generated one.
    n_vectors, vector_dim, dropout, optimizer, schedule
    weight_average, max_epochs, check_every, random_state, device, verbose
        As in :class:`vqpu.VQKMeansClassifier`, of the observer. A batch is half labelled positives
        and half unlabelled samples, with as many generated ones.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    network_ : torch.nn.Module
        The averaged observer.
    generator_ : torch.nn.Module
        The averaged generator.
    history_ : History
        A row a check: losses, AUC of held-out P against held-out U, share of U called positive.

    Notes
    -----
    With sigma the logistic function, :math:`H(q, 1) = -\log \sigma(q)` and
    :math:`H(q, 0) = -\log(1 - \sigma(q))`, every step takes three turns:

    - discriminator: :math:`E_U[H(D, 1)] + E_z[H(D(G(z)), 0)]`,
    - generator: :math:`E_z[H(D(G(z)), 1)] + \lambda E_z[H(O(G(z)), 0)]`,
    - observer: :math:`(E_P[H(O, 1)] + E_z[H(O(G(z)), 0)]) / 2`.

    It stops after a fixed number of steps, as its paper does: the method has no signal to stop
    by, and converges late. The paper reports the mean over the last epochs; here the answer is
    that of averaged weights at the end.

    The channel (shifts, noise and no batch norm in the observer) is no part of the paper. Without
    it the observer tells generated from real samples, by their texture and by the statistics of a
    batch, and calls every real image positive. In prediction the logit is the mean over four fixed
    fields of noise.

    Where facts about the paper's form are missing, the choice here: one step of each network in
    turn, on the same generated samples; the weight of the penalty is 1; the observer has the
    encoder of the other methods here; the generator is a DCGAN's; the discriminator has no batch
    norm, and no spectral norm either, which would make it flatter than the observer: on Gaussians
    in the plane the observer then pinned the generator to a point. The penalty is measured by the
    observer in evaluation mode, so that neither dropout nor the statistics of a batch of generated
    samples alone disturb it.

    References
    ----------
    Zamzam, Akrami, Leahy: "Learning From Positive And Unlabeled Data Using Observer-GAN", 2023.
    """

    _title = "Observer-GAN"

    observer_weight: float = 1.0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_real("observer_weight", self.observer_weight, 0)

    def _train(self, training: LogitTraining) -> Trained:
        context, objective = training.context, self._make_objective(training)
        observer, generator = objective.average.averaged, objective.gan.average.averaged
        steps_per_epoch = objective.feed.batches.steps_per_epoch
        stage = Stage(
            self._title,
            objective,
            training.make_optimizer(objective.observer, self.learning_rate),
            FixedBudget(),
            # Both are kept of a check, so that they belong together however training ends.
            nn.ModuleDict({"observer": observer, "generator": generator}),
            gan_checker(training, observer, steps_per_epoch),
            plan_budget(
                steps_per_epoch,
                max_steps=training.settings.max_steps,
                max_epochs=self.max_epochs,
                check_every=self.check_every,
                schedule=self.schedule,
            ),
        )
        result = run_stage(context, stage)
        self.generator_, self._layout = result.state["generator"], context.source.layout
        return Trained(result, result.state["observer"])

    def _make_objective(self, training: LogitTraining) -> _Observed:
        observer = self._make_classifier(training)
        gan = make_gan(
            training,
            observer.encoder,
            latent_dim=self.latent_dim,
            learning_rate=self._gan_rate(training.context.source.sample_shape),
            spectral=False,
        )
        average = WeightAverage(observer, self.weight_average)
        (feed,) = self._batches_of(training).make_feeds(training.context.seed)
        return _Observed(observer, average, gan, feed, self.observer_weight)


class _Observed:
    """The observer's loss; its GAN takes two turns of its own before."""

    def __init__(
        self,
        observer: PooledLogit,
        average: WeightAverage[PooledLogit],
        gan: GAN,
        feed: Feed,
        observer_weight: float,
    ) -> None:
        self.observer, self.average, self.gan, self.feed = observer, average, gan, feed
        self._weight = observer_weight

    def loss(self, step: int) -> tuple[Tensor, dict[str, Tensor]]:
        x, n_positive = self.feed.take(step)
        positive, unlabeled = x[:n_positive], x[n_positive:]
        generated = self.gan.generate(step, len(unlabeled))
        terms = self.gan.teach_discriminator(discriminator_loss, [unlabeled, generated], step)
        terms |= self._teach_generator(generated, step)
        loss = self._observe(positive.double(), generated.detach(), step)
        return loss, {"loss": loss, **{name: torch.tensor(v) for name, v in terms.items()}}

    def after_step(self, step: int) -> None:
        self.average.update(step + 1)
        self.gan.average.update(step + 1)

    def changing(self) -> Changing:
        modules, optimizers, _ = self.gan.changing()
        own = {"observer": self.observer, "average": self.average.averaged}
        generators = {"generator_optimizer": self.gan.generator_optimizer}
        return Changing({**own, **modules}, {**generators, **optimizers})

    def _observe(self, positive: Tensor, generated: Tensor, step: int) -> Tensor:  # noqa: ARG002
        """Return the observer's loss."""
        both = torch.cat([positive, generated])
        return balanced_cross_entropy(self.observer.forward_member(both, 0), len(positive))

    def _teach_generator(self, generated: Tensor, step: int) -> dict[str, float]:
        gan = self.gan
        with fixed(gan.discriminator, self.observer):
            discriminated = gan.discriminate(generated)
            observed = self.observer.forward_member(generated, 0)
            loss = observed_generator_loss(discriminated, observed, self._weight)
        return descend(gan.generator_optimizer, loss, {"generator_loss": loss}, step)
