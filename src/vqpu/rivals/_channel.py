"""A classifier behind a noisy channel: it cannot tell generated from real samples by their texture.

A generator's samples differ from real ones in small ways that tell nothing of the class. A
classifier that learns positives against generated samples learns those first, and calls every real
sample positive. Noise on both, and random shifts and mirroring of both, hide them.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from vqpu.base._seeding import Stream, torch_generator
from vqpu.nn import Augmentation, EncoderEnsemble
from vqpu.rivals._logit import PooledLogit

_N_PAIRS = 2  # of noise fields at prediction, each with its negative: four draws


class NoisyLogit(PooledLogit):
    """A logit of samples that have gone through Gaussian noise.

    In training every sample is augmented and meets new noise. In prediction the logit is the mean
    over a few fixed fields of noise, the same for every sample, so that an answer depends on the
    sample alone. A field and its negative go together: what the logit owes to the noise itself, to
    first order, cancels.

    Parameters
    ----------
    encoder : EncoderEnsemble
        Of one member.
    vector_dim : int
        p.
    sigma : Tensor of shape (channels, 1, 1) or (n_features,)
        Standard deviation of the noise, in the units of normalised samples.
    fields : Tensor of shape (n_pairs, *sample_shape)
        Standard normal numbers.
    augmentation : Augmentation or None
        Of samples before the noise, in training alone.
    """

    def __init__(
        self,
        encoder: EncoderEnsemble,
        vector_dim: int,
        sigma: Tensor,
        fields: Tensor,
        augmentation: Augmentation | None = None,
    ) -> None:
        super().__init__(encoder, vector_dim)
        self._augmentation = augmentation or Augmentation()
        self.sigma: Tensor
        self.fields: Tensor
        self.register_buffer("sigma", sigma)
        self.register_buffer("fields", fields)

    def forward(self, x: Tensor) -> Tensor:
        """Return the mean logit over the fixed fields of noise, shape (n, 1)."""
        normal = self.encoder.normalizer(x)
        noise = self.sigma * self.fields
        logits = [
            self._logits(self.encoder.forward_normal(normal + field, 0))
            for field in torch.cat([noise, -noise])
        ]
        return torch.stack(logits, dim=1).mean(dim=1, keepdim=True)

    def forward_member(self, x: Tensor, member: int) -> Tensor:
        """Return the logits of augmented samples behind new noise, shape (n,).

        They are drawn as dropout is, from torch's own generator, which is seeded at every step.
        """
        normal = self.encoder.normalizer(self._augmentation(x, None))
        noisy = torch.addcmul(normal, self.sigma, torch.randn_like(normal))
        return self._logits(self.encoder.forward_normal(noisy, member))


def draw_fields(sample_shape: tuple[int, ...], seed: int) -> Tensor:
    """Return the noise that every sample meets in prediction, shape (n_pairs, *sample_shape).

    Parameters
    ----------
    sample_shape : tuple of int
    seed : int
    """
    generator = torch_generator(seed, Stream.CHANNEL)
    return torch.randn(_N_PAIRS, *sample_shape, generator=generator)


def blank_noisy_logit(
    encoder: EncoderEnsemble, vector_dim: int, sample_shape: tuple[int, ...]
) -> NoisyLogit:
    """Build a network to be filled with saved weights.

    Parameters
    ----------
    encoder : EncoderEnsemble
    vector_dim : int
    sample_shape : tuple of int
    """
    normalizer: nn.Module = encoder.normalizer
    mean = normalizer.get_buffer("mean")
    sigma = torch.empty(mean.shape, dtype=torch.float32)
    return NoisyLogit(encoder, vector_dim, sigma, torch.empty(_N_PAIRS, *sample_shape))
