"""Decoders: from few numbers back to samples. The generators of GANs are built of them."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn
from torch.nn.functional import embedding

from vqpu.nn._codebook import Codebook, nearest_code
from vqpu.nn._encoders import EncoderEnsemble, count_halvings

_NARROWEST, _WIDEST = 64, 256
_HIDDEN = 256


def grid_sizes(height: int, width: int) -> list[tuple[int, int]]:
    """Return the sizes of an image on its way up, from the encoder's grid to its own size."""
    sizes = [(height, width)]
    for _ in range(count_halvings(height, width)):
        rows, columns = sizes[0]
        sizes.insert(0, (-(-rows // 2), -(-columns // 2)))
    return sizes


class Upsampler(nn.Module):
    """Doubles a feature map until it is an image.

    Parameters
    ----------
    sample_shape : tuple (channels, height, width)
        Height and width are at least 8.

    Attributes
    ----------
    input_shape : tuple (channels, rows, columns)
        Of the feature map to begin with.
    """

    def __init__(self, sample_shape: tuple[int, ...]) -> None:
        super().__init__()
        channels, height, width = sample_shape
        self.sizes = grid_sizes(height, width)
        n = len(self.sizes) - 1
        widths = [min(_NARROWEST << (n - 1 - index), _WIDEST) for index in range(n)]
        self.input_shape = (widths[0], *self.sizes[0])
        self.steps = nn.ModuleList()
        for index, width_in in enumerate(widths):
            is_last = index == n - 1
            width_out = channels if is_last else widths[index + 1]
            doubling = nn.ConvTranspose2d(width_in, width_out, 4, 2, 1, bias=is_last)
            after = [] if is_last else [nn.BatchNorm2d(width_out), nn.ReLU(inplace=True)]
            self.steps.append(nn.Sequential(doubling, *after))

    def forward(self, x: Tensor) -> Tensor:
        """Turn (n, *input_shape) into (n, *sample_shape)."""
        for step, (rows, columns) in zip(self.steps, self.sizes[1:], strict=True):
            x = step(x)[:, :, :rows, :columns]  # an odd size is one less than a double
        return x


class ConvDecoder(nn.Module):
    """From the K vectors of a :class:`ConvEncoder` to the image.

    Parameters
    ----------
    sample_shape : tuple (channels, height, width)
    vector_dim : int
        p.
    """

    def __init__(self, sample_shape: tuple[int, ...], vector_dim: int) -> None:
        super().__init__()
        self.upsampler = Upsampler(sample_shape)
        width = self.upsampler.input_shape[0]
        self.mix = nn.Sequential(
            nn.Conv2d(vector_dim, width, 3, 1, 1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
        )

    def forward(self, vectors: Tensor) -> Tensor:
        """Turn (n, K, p) into (n, channels, height, width)."""
        _, rows, columns = self.upsampler.input_shape
        grid = vectors.transpose(1, 2).reshape(len(vectors), -1, rows, columns)
        image: Tensor = self.upsampler(self.mix(grid))
        return image


class MLPDecoder(nn.Module):
    """From numbers to a vector, by two hidden layers.

    Parameters
    ----------
    sample_shape : tuple (n_features,)
    n_inputs : int
    """

    def __init__(self, sample_shape: tuple[int, ...], n_inputs: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for width in (n_inputs, _HIDDEN):
            layers += [nn.Linear(width, _HIDDEN), nn.BatchNorm1d(_HIDDEN), nn.ReLU(inplace=True)]
        self.layers = nn.Sequential(*layers, nn.Linear(_HIDDEN, sample_shape[0]))

    def forward(self, x: Tensor) -> Tensor:
        """Turn (n, ...) with ``n_inputs`` numbers a row into (n, n_features)."""
        decoded: Tensor = self.layers(x.flatten(1))
        return decoded


class Autoencoder(nn.Module):
    """Encoder, codebook and decoder.

    Parameters
    ----------
    encoder : EncoderEnsemble
        Of one member.
    codebook : Codebook
    decoder : Module
        Takes (n, K, p), gives samples in normalised units.
    """

    def __init__(self, encoder: EncoderEnsemble, codebook: Codebook, decoder: nn.Module) -> None:
        super().__init__()
        self.encoder, self.codebook, self.decoder = encoder, codebook, decoder

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the code indices of raw samples, shape (n, K), and the size of their vectors.

        The latter, shape (n,), is finite if and only if all vectors are: an index never tells.
        """
        vectors = self.encoder(x)
        return nearest_code(vectors, self.codebook.vectors), vectors.abs().amax((1, 2))

    def decode(self, codes: Tensor) -> Tensor:
        """Return samples in the scale of the data, in double precision, from code indices."""
        normalizer: Any = self.encoder.normalizer
        normal: Tensor = self.decoder(embedding(codes, self.codebook.vectors))
        samples: Tensor = normal.double() * normalizer.std + normalizer.mean
        return samples
