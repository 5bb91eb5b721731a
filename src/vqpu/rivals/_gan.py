"""What the two GANs share: the players, their turns, and classifiers that can draw samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from vqpu.base._inference import encode_in_chunks
from vqpu.base._parameters import check_choice, check_integer, check_real, draw_seed
from vqpu.base._seeding import Stream, numpy_generator, torch_generator
from vqpu.base._source import ArraySource, Layout
from vqpu.estimators._encoder import EncoderSpec, blank_ensemble, blank_moment
from vqpu.nn import (
    NORMS,
    Augmentation,
    Discriminator,
    EncoderEnsemble,
    Generator,
    evaluating,
    fold_batch_norm,
)
from vqpu.rivals._channel import NoisyLogit, blank_noisy_logit, draw_fields
from vqpu.rivals._classifier import NetworkClassifier
from vqpu.rivals._logit import LogitRule, PooledLogit
from vqpu.rivals._training import LogitTraining
from vqpu.training import Changing, CheckResult, RowMaker, WeightAverage, descend, holdout_auc

# Adam's decay rates, as usual for GANs: more momentum lets the players circle each other.
_BETAS = (0.5, 0.999)
_GENERATOR_AVERAGE = 0.999
_RATE, _RATE_BEHIND = 2e-4, 4e-4  # a DCGAN's; behind a channel (observer-tries)
_IMAGE_NOISE = 0.7  # of half the range of a channel: no stroke is lost in it, all texture is


class GAN:
    """Generator, discriminator, the average of the generator, and the discriminator's turns.

    Parameters
    ----------
    generator : Generator
    discriminator : Discriminator
    average : WeightAverage
        Of the generator; samples are drawn from it.
    learning_rate : float
        Of both players' Adam.
    seed : int
        Of the noise, with the step.
    device : torch.device
    precision : {"float32", "bfloat16"}
        What both players compute in while they are trained; weights are float32.
    """

    def __init__(
        self,
        generator: Generator,
        discriminator: Discriminator,
        average: WeightAverage[Generator],
        *,
        learning_rate: float,
        seed: int,
        device: torch.device,
        precision: str,
    ) -> None:
        self.generator, self.discriminator, self.average = generator, discriminator, average
        self._seed, self._device, self._is_half = seed, device, precision == "bfloat16"
        self.generator_optimizer, self._discriminator_optimizer = (
            torch.optim.Adam(player.parameters(), lr=learning_rate, betas=_BETAS, fused=True)
            for player in (generator, discriminator)
        )

    def changing(self) -> Changing:
        """Return what its turns change, the generator's optimiser apart."""
        modules = {
            "generator": self.generator,
            "discriminator": self.discriminator,
            "generator_average": self.average.averaged,
        }
        return Changing(modules, {"discriminator_optimizer": self._discriminator_optimizer})

    def generate(self, step: int, count: int) -> Tensor:
        """Return the samples that the generator makes at a step, with their gradient."""
        noise = torch.randn(
            max(count, 2),  # batch norm needs two
            self.generator.latent_dim,
            generator=torch_generator(self._seed, Stream.NOISE, step),
        )
        with self._autocast():
            samples: Tensor = self.generator(noise.to(self._device))
        return samples

    def discriminate(self, x: Tensor) -> Tensor:
        """Return the discriminator's logits, shape (n,)."""
        with self._autocast():
            logits: Tensor = self.discriminator(x)
        return logits.float()

    def teach_discriminator(
        self, loss_of: Callable[..., Tensor], sets: list[Tensor], step: int
    ) -> dict[str, float]:
        """Take the discriminator's step.

        Parameters
        ----------
        loss_of : callable
            Takes the logits of every set, returns the loss.
        sets : list of Tensor
            Samples, in the order that ``loss_of`` wants them; no gradient goes back to them.
        step : int
        """
        # One pass over all sets: nothing in the discriminator looks across samples.
        logits = self.discriminate(torch.cat([part.detach().double() for part in sets]))
        loss = loss_of(*torch.split(logits, [len(part) for part in sets]))
        return descend(self._discriminator_optimizer, loss, {"discriminator_loss": loss}, step)

    def _autocast(self) -> torch.autocast:
        return torch.autocast(self._device.type, torch.bfloat16, enabled=self._is_half)


@contextmanager
def fixed(*modules: nn.Module) -> Iterator[None]:
    """Let gradients through modules but not into them, in evaluation mode, inside the block."""
    trained = [part for module in modules for part in module.parameters() if part.requires_grad]
    with ExitStack() as modes:
        for module in modules:
            modes.enter_context(evaluating(module))
        for parameter in trained:
            parameter.requires_grad_(False)
        try:
            yield
        finally:
            for parameter in trained:
                parameter.requires_grad_(True)


def generator_scale(source: ArraySource, encoder: EncoderEnsemble) -> tuple[Tensor, Tensor]:
    """Return offset and scale of a generator's output.

    The middle and half the width of each channel's range for images, mean and standard deviation
    for vectors; a constant column stays constant.
    """
    low, high = source.extremes()
    if source.is_image:
        middle, half = (low + high) / 2, (high - low) / 2
        return torch.from_numpy(middle).view(-1, 1, 1), torch.from_numpy(half).view(-1, 1, 1)
    normalizer: Any = encoder.normalizer
    varies = torch.from_numpy(high > low).to(normalizer.std.device)
    return normalizer.mean.clone(), normalizer.std * varies


def make_gan(
    training: LogitTraining,
    encoder: EncoderEnsemble,
    *,
    latent_dim: int,
    learning_rate: float,
    spectral: bool,
) -> GAN:
    """Build the players.

    Parameters
    ----------
    training : LogitTraining
    encoder : EncoderEnsemble
        Whose normaliser the discriminator shares.
    latent_dim : int
    learning_rate : float
    spectral : bool
        Whether the discriminator has spectral norm.
    """
    source, device = training.context.source, training.context.device
    offset, scale = generator_scale(source, encoder)
    generator = Generator(source.sample_shape, latent_dim, offset.cpu(), scale.cpu()).to(device)
    normalizer: Any = encoder.normalizer
    return GAN(
        generator,
        Discriminator(source.sample_shape, normalizer, spectral=spectral).to(device),
        WeightAverage(generator, _GENERATOR_AVERAGE),
        learning_rate=learning_rate,
        seed=training.context.seed,
        device=device,
        precision=training.settings.spec.precision,
    )


def gan_checker(
    training: LogitTraining, averaged: PooledLogit, steps_per_epoch: int
) -> Callable[[int, dict[str, float]], CheckResult]:
    """Return what checks a classifier against generated negatives, on held-out samples.

    Parameters
    ----------
    training : LogitTraining
    averaged : PooledLogit
    steps_per_epoch : int
    """
    context, rows = training.context, RowMaker(steps_per_epoch)

    def check(step: int, terms: dict[str, float]) -> CheckResult:
        positive, unlabeled = training.unseen_logits(averaged, context.sample.judged)
        measured = {
            "holdout_auc": holdout_auc(positive, unlabeled),
            "positive_share": float((unlabeled > 0).mean()),
        }
        row = rows(step, terms, measured)
        if context.callback is None:  # the row is all that is needed
            return CheckResult(row, 0, averaged, context.device)
        return CheckResult(row, 0, fold_batch_norm(averaged), context.device, LogitRule())

    return check


@dataclass(kw_only=True, eq=False, repr=False)
class GANClassifier(NetworkClassifier):
    """Base of classifiers that learn from positives against generated negatives.

    There is one network and one GAN, as in the papers: ``n_members`` is no parameter.
    """

    latent_dim: int = 64
    gan_learning_rate: float | None = None
    batch_size: int | None = 128  # a GAN needs its steps however few the images are
    max_steps: int | None = 4000
    optimizer: str = "adam"  # as every network of a GAN in the papers
    noise: float | None = None
    norm: str = "auto"

    generator_: Generator = field(init=False)
    _layout: Layout = field(init=False)

    _saved: ClassVar[tuple[str, ...]] = (*NetworkClassifier._saved, "generator_", "_layout")

    def sample(self, n: int, random_state: Any = None) -> NDArray[Any]:
        """Draw generated negatives.

        Parameters
        ----------
        n : int
            How many.
        random_state : int, RandomState, Generator or None
            Seed of the noise.

        Returns
        -------
        samples : ndarray of shape (n, d), (n, h, w), (n, h, w, c) or (n, c, h, w)
            In the scale and the layout of the samples given to ``fit``, as floats.
        """
        check_is_fitted(self)
        check_integer("n", n, 1)
        noise = numpy_generator(draw_seed(random_state), Stream.NOISE)
        latent = noise.standard_normal((n, self.generator_.latent_dim), dtype=np.float32)
        (samples,) = encode_in_chunks(
            lambda z: (self.generator_(z),), ArraySource(latent), None, self._device
        )
        return self._layout.restore(samples)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("batch_size", self.batch_size, 2)
        check_integer("max_steps", self.max_steps, 1)
        check_integer("latent_dim", self.latent_dim, 1)
        check_real("gan_learning_rate", self.gan_learning_rate, 0, open_low=True, optional=True)
        check_real("noise", self.noise, 0, optional=True)
        check_choice("norm", self.norm, ("auto", *NORMS))

    def _noise_of(self, shape: tuple[int, ...]) -> float:
        """Return the channel's noise for samples of a shape; 0: there is no channel."""
        if self.noise is None:
            return _IMAGE_NOISE if len(shape) == 3 else 0.0
        return float(self.noise)

    def _gan_rate(self, shape: tuple[int, ...]) -> float:
        """Return the players' learning rate for samples of a shape."""
        if self.gan_learning_rate is None:
            return _RATE_BEHIND if self._noise_of(shape) > 0 else _RATE
        return self.gan_learning_rate

    def _spec(self, shape: tuple[int, ...], dropout: float, n_members: int) -> EncoderSpec:
        spec = super()._spec(shape, dropout, n_members)
        is_noisy = self._noise_of(shape) > 0
        if is_noisy and self.encoder == "auto" and len(shape) == 3:
            spec = spec._replace(encoder="dcgan")
        if self.norm != "auto":
            return spec._replace(norm=self.norm)
        return spec._replace(norm="none" if is_noisy else "batch")

    def _make_classifier(self, training: LogitTraining) -> PooledLogit:
        """Build the network that learns P against generated samples, behind its channel."""
        source, seed = training.context.source, training.context.seed
        plain = training.make_network(seed)
        noise = self._noise_of(source.sample_shape)
        if noise == 0:
            return plain
        normalizer: Any = plain.encoder.normalizer
        _, scale = generator_scale(source, plain.encoder)
        sigma = (noise * scale.to(normalizer.std.device) / normalizer.std).float()
        fields = draw_fields(source.sample_shape, seed).to(sigma.device)
        augmentation = training.settings.augmentation
        network = NoisyLogit(plain.encoder, self.vector_dim, sigma, fields, augmentation)
        return network.to(sigma.device)

    def _batches_of(self, training: LogitTraining) -> LogitTraining:
        """Return the training as batches are drawn for it: plain where the channel augments them.

        A generator of augmented samples has much more to learn.
        """
        if self._noise_of(training.context.source.sample_shape) == 0:
            return training
        return training._replace(settings=training.settings._replace(augmentation=Augmentation()))

    def _blank_modules(self) -> dict[str, nn.Module]:
        blank = blank_moment(self.input_shape_)
        generator = Generator(self.input_shape_, self.latent_dim, blank, blank.clone())
        return {**self._blank_classifier(), "generator_": generator}

    def _blank_classifier(self) -> dict[str, nn.Module]:
        if self._noise_of(self.input_shape_) == 0:
            return super()._blank_modules()
        encoder = blank_ensemble(self._spec(self.input_shape_, self._dropout, self.n_members_))
        return {"network_": blank_noisy_logit(encoder, self.vector_dim, self.input_shape_)}

    def _attach(self, modules: Mapping[str, Any], device: torch.device) -> None:
        super()._attach(modules, device)
        if "generator_" in modules:  # a fit has set it before
            self.generator_ = modules["generator_"]
