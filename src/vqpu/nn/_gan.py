"""Generator and discriminator, for images and for vectors."""

from __future__ import annotations

import math

from torch import Tensor, nn
from torch.nn.utils.parametrizations import spectral_norm

from vqpu.nn._decoders import MLPDecoder, Upsampler
from vqpu.nn._encoders import InputNormalizer, halving_convolutions

_HIDDEN = 256
_SLOPE = 0.2


class Generator(nn.Module):
    """Noise in, samples in the scale of the data out, in double precision.

    Images are kept between the least and the largest value of each channel by a tanh.

    Parameters
    ----------
    sample_shape : tuple (channels, height, width) or (n_features,)
        Images are at least 8 x 8.
    latent_dim : int
        Numbers of noise for each sample.
    offset, scale : Tensor of shape (channels, 1, 1) or (n_features,)
        In double precision; samples are ``offset + scale * output``. For images they are the
        middle and half the width of the range, for vectors mean and standard deviation.
    """

    def __init__(
        self, sample_shape: tuple[int, ...], latent_dim: int, offset: Tensor, scale: Tensor
    ) -> None:
        super().__init__()
        self.latent_dim = latent_dim
        self.offset: Tensor
        self.scale: Tensor
        self.register_buffer("offset", offset)
        self.register_buffer("scale", scale)
        self.body = (
            _image_body(sample_shape, latent_dim)
            if len(sample_shape) == 3
            else MLPDecoder(sample_shape, latent_dim)
        )

    def forward(self, noise: Tensor) -> Tensor:
        """Turn (n, latent_dim) into ``(n, *sample_shape)``; n is at least 2 while training."""
        samples: Tensor = self.offset + self.scale * self.body(noise).double()
        return samples


def _image_body(sample_shape: tuple[int, ...], latent_dim: int) -> nn.Module:
    upsampler = Upsampler(sample_shape)
    return nn.Sequential(
        nn.Linear(latent_dim, math.prod(upsampler.input_shape), bias=False),
        nn.Unflatten(1, upsampler.input_shape),
        nn.BatchNorm2d(upsampler.input_shape[0]),
        nn.ReLU(inplace=True),
        upsampler,
        nn.Tanh(),
    )


class Discriminator(nn.Module):
    """Samples in the scale of the data in, one logit each out.

    There is no batch norm: a batch that mixes sets must not tell them apart by its statistics.

    Parameters
    ----------
    sample_shape : tuple (channels, height, width) or (n_features,)
    normalizer : InputNormalizer
    spectral : bool
        Whether every layer has spectral norm.
    """

    def __init__(
        self, sample_shape: tuple[int, ...], normalizer: InputNormalizer, *, spectral: bool
    ) -> None:
        super().__init__()
        self.normalizer = normalizer
        layers = _convolutions(sample_shape) if len(sample_shape) == 3 else _linears(sample_shape)
        if spectral:
            layers = [_normed(layer) for layer in layers]
        self.layers = nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        """Turn ``(n, *sample_shape)`` into (n,)."""
        logits: Tensor = self.layers(self.normalizer(x)).squeeze(1)
        return logits


def _normed(layer: nn.Module) -> nn.Module:
    return spectral_norm(layer) if isinstance(layer, (nn.Conv2d, nn.Linear)) else layer


def _convolutions(sample_shape: tuple[int, ...]) -> list[nn.Module]:
    layers, width = halving_convolutions(sample_shape)
    return [*layers, nn.Linear(width, 1)]


def _linears(sample_shape: tuple[int, ...]) -> list[nn.Module]:
    layers: list[nn.Module] = []
    for width in (sample_shape[0], _HIDDEN):
        layers += [nn.Linear(width, _HIDDEN), nn.LeakyReLU(_SLOPE, inplace=True)]
    return [*layers, nn.Linear(_HIDDEN, 1)]
