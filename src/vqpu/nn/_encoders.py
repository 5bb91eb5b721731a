"""Encoders f_theta: a batch of samples in, K vectors of dimension p per sample out."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

from vqpu.nn._tables import standardized

# Where the image is halved, by the number of halvings that bring its short side to about 8.
# Early halvings keep large images as cheap as small ones and let every vector see the whole image.
_STRIDES = {
    1: (1, 1, 2, 1, 1, 1),
    2: (2, 1, 2, 1, 1, 1),
    3: (2, 2, 2, 1, 1, 1),
    4: (2, 2, 2, 1, 2, 1),
    5: (2, 2, 2, 2, 2, 1),
    6: (2, 2, 2, 2, 2, 2),
}
_CHANNELS = (32, 32, 64, 64, 128)
_NARROWEST, _WIDEST, _SLOPE = 32, 256, 0.2  # of halving convolutions
NORMS = ("batch", "layer", "none")

AnyModule = TypeVar("AnyModule", bound=nn.Module)


def count_halvings(height: int, width: int) -> int:
    """Return how often an image is halved, so that its short side comes to about 8."""
    return min(max(round(math.log2(min(height, width) / 8)), 1), 6)


class InputNormalizer(nn.Module):
    """Shift and scale raw input to zero mean and unit variance.

    Part of the network rather than of the data, so that a saved or exported model takes what
    the user has. Double input is normalised in double precision before it becomes single; NaN in
    vectors, a missing value, is put at the mean.

    Parameters
    ----------
    mean, std : Tensor of shape (channels, 1, 1) or (n_features,)
        Statistics of the training samples, in double precision.
    """

    def __init__(self, mean: Tensor, std: Tensor) -> None:
        super().__init__()
        self.mean: Tensor
        self.std: Tensor
        self.register_buffer("mean", mean)
        self.register_buffer("std", std)

    def forward(self, x: Tensor) -> Tensor:
        if self.mean.dim() == 1:  # vectors may have gaps
            return standardized(x, self.mean, self.std)
        if x.dtype == torch.float64:
            return ((x - self.mean) / self.std).float()
        return (x.float() - self.mean.float()) / self.std.float()


class ConvEncoder(nn.Module):
    """Six convolutional layers; every place of the last feature map is one vector.

    Parameters
    ----------
    input_shape : tuple (channels, height, width)
        Height and width are at least 8.
    vector_dim : int
        p, the dimension of every vector.
    dropout : float
        Share of feature maps dropped after every hidden layer but the first.
    norm : {"batch", "layer", "none"}
        What is normalised after every hidden layer: a feature map over the batch, all maps of one
        sample, or nothing.

    Notes
    -----
    The paper says "six convolutional layers" and no more; see ``_STRIDES`` and ``_CHANNELS``.
    """

    def __init__(
        self,
        input_shape: tuple[int, ...],
        vector_dim: int,
        dropout: float,
        norm: str = "batch",
    ) -> None:
        super().__init__()
        channels, height, width = input_shape
        strides = _STRIDES[count_halvings(height, width)]
        layers: list[nn.Module] = []
        for index, (width_out, stride) in enumerate(zip(_CHANNELS, strides, strict=False)):
            layers += [
                nn.Conv2d(channels, width_out, 3, stride, 1, bias=norm == "none"),
                *_image_norm(norm, width_out),
                nn.ReLU(inplace=True),
            ]
            if dropout > 0 and index > 0:
                layers.append(nn.Dropout2d(dropout))
            channels = width_out
        layers.append(nn.Conv2d(channels, vector_dim, 3, strides[-1], 1))
        self.layers = nn.Sequential(*layers)
        if norm == "none":
            scale_for_relu(self.layers)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, x: Tensor) -> Tensor:
        features = self.layers(x.contiguous(memory_format=torch.channels_last))
        # A view: channels last means that every place already holds its vector side by side.
        vectors: Tensor = features.permute(0, 2, 3, 1).flatten(1, 2)
        return vectors


class VQVAEEncoder(nn.Module):
    """The encoder of the usual VQ-VAE: six convolutional layers, one residual block, no batch norm.

    Two layers of 4 x 4 and stride 2 to 64 and 128 feature maps, one of 3 x 3, a residual block of
    3 x 3 and 1 x 1, one of 1 x 1 to p; every place of the last feature map is one vector. m = 512
    and p = 64, which the paper states, are the defaults of the autoencoder that this is part of.

    Parameters
    ----------
    input_shape : tuple (channels, height, width)
        Height and width are at least 8.
    vector_dim : int
        p, the dimension of every vector.
    """

    def __init__(self, input_shape: tuple[int, ...], vector_dim: int) -> None:
        super().__init__()
        self.down = nn.Sequential(
            nn.Conv2d(input_shape[0], 64, 4, 2, 1),
            nn.ReLU(inplace=True),
            nn.Conv2d(64, 128, 4, 2, 1),
            nn.ReLU(inplace=True),
            nn.Conv2d(128, 128, 3, 1, 1),
        )
        self.residual = nn.Sequential(
            nn.ReLU(),
            nn.Conv2d(128, 32, 3, 1, 1, bias=False),
            nn.ReLU(inplace=True),
            nn.Conv2d(32, 128, 1, bias=False),
        )
        self.last = nn.Conv2d(128, vector_dim, 1)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, x: Tensor) -> Tensor:
        features = self.down(x.contiguous(memory_format=torch.channels_last))
        features = self.last(torch.relu(features + self.residual(features)))
        vectors: Tensor = features.permute(0, 2, 3, 1).flatten(1, 2)
        return vectors


class DCGANEncoder(nn.Module):
    """The convolutions of a DCGAN's discriminator, without any norm: one vector of the whole image.

    Parameters
    ----------
    input_shape : tuple (channels, height, width)
        Height and width are at least 8.
    vector_dim : int
        p, the dimension of the vector.
    """

    def __init__(self, input_shape: tuple[int, ...], vector_dim: int) -> None:
        super().__init__()
        layers, width = halving_convolutions(input_shape)
        self.layers = nn.Sequential(*layers, nn.Linear(width, vector_dim))

    def forward(self, x: Tensor) -> Tensor:
        vectors: Tensor = self.layers(x).unsqueeze(1)
        return vectors


def halving_convolutions(input_shape: tuple[int, ...]) -> tuple[list[nn.Module], int]:
    """Return layers that halve an image to about 4 x 4 and flatten it, and how much they leave.

    Parameters
    ----------
    input_shape : tuple (channels, height, width)
    """
    channels, height, width = input_shape
    layers: list[nn.Module] = []
    for index in range(count_halvings(height, width) + 1):
        width_out = min(_NARROWEST << index, _WIDEST)
        layers += [
            nn.Conv2d(channels, width_out, 4, 2, 1),
            nn.LeakyReLU(_SLOPE, inplace=True),
        ]
        channels, height, width = width_out, height // 2, width // 2
    return [*layers, nn.Flatten()], channels * height * width


class MLPEncoder(nn.Module):
    """Two hidden layers for tables, ending in K vectors.

    Parameters
    ----------
    input_shape : tuple (n_features,)
    vector_dim : int
        p, the dimension of every vector.
    n_vectors : int
        K, the number of vectors.
    dropout : float
        Share of hidden units dropped.
    norm : {"batch", "layer", "none"}
        What is normalised after every hidden layer: a unit over the batch, all units of one
        sample, or nothing.
    """

    def __init__(
        self,
        input_shape: tuple[int, ...],
        vector_dim: int,
        n_vectors: int,
        dropout: float,
        norm: str = "batch",
        hidden: int = 256,
    ) -> None:
        super().__init__()
        self.output_shape = (n_vectors, vector_dim)
        layers: list[nn.Module] = []
        width = input_shape[0]
        for _ in range(2):
            layers += [
                nn.Linear(width, hidden),
                *_vector_norm(norm, hidden),
                nn.ReLU(inplace=True),
                nn.Dropout(dropout),
            ]
            width = hidden
        self.layers = nn.Sequential(*layers, nn.Linear(width, n_vectors * vector_dim))
        if norm == "none":
            scale_for_relu(self.layers)

    def forward(self, x: Tensor) -> Tensor:
        vectors: Tensor = self.layers(x).unflatten(1, self.output_shape)
        return vectors


class LinearEncoder(nn.Module):
    """One linear layer, for vectors that a pretrained network has made.

    Parameters
    ----------
    input_shape : tuple (n_features,)
    vector_dim : int
        p, the dimension of every vector.
    n_vectors : int
        K, the number of vectors.
    dropout : float
        Share of features dropped.
    """

    def __init__(
        self, input_shape: tuple[int, ...], vector_dim: int, n_vectors: int, dropout: float
    ) -> None:
        super().__init__()
        self.output_shape = (n_vectors, vector_dim)
        self.layers = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(input_shape[0], n_vectors * vector_dim)
        )

    def forward(self, x: Tensor) -> Tensor:
        vectors: Tensor = self.layers(x).unflatten(1, self.output_shape)
        return vectors


def scale_for_relu(layers: nn.Module) -> None:
    """Draw weights as He et al. (2015) do, so that signals keep their size without any norm."""
    for layer in layers.modules():
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            assert layer.bias is not None
            nn.init.zeros_(layer.bias)


def _image_norm(norm: str, width: int) -> list[nn.Module]:
    if norm == "batch":
        return [nn.BatchNorm2d(width)]
    return [nn.GroupNorm(1, width)] if norm == "layer" else []


def _vector_norm(norm: str, width: int) -> list[nn.Module]:
    if norm == "batch":
        return [nn.BatchNorm1d(width)]
    return [nn.LayerNorm(width)] if norm == "layer" else []


def fold_batch_norm(module: AnyModule) -> AnyModule:
    """Return a copy for prediction: batch norm folded into the layer before it, no dropout.

    Only our own encoders are rebuilt; every other module is copied and left as it is.
    """
    module = copy.deepcopy(module).eval()
    for child in module.modules():
        if isinstance(child, (ConvEncoder, MLPEncoder, LinearEncoder)):
            child.layers = nn.Sequential(*_folded_layers(list(child.layers)))
    return module


def _folded_layers(layers: list[nn.Module]) -> list[nn.Module]:
    folded: list[nn.Module] = []
    for layer in layers:
        if isinstance(layer, nn.BatchNorm2d) and isinstance(folded[-1], nn.Conv2d):
            folded[-1] = fuse_conv_bn_eval(folded[-1], layer)
        elif isinstance(layer, nn.BatchNorm1d) and isinstance(folded[-1], nn.Linear):
            folded[-1] = fuse_linear_bn_eval(folded[-1], layer)
        elif not isinstance(layer, (nn.Dropout, nn.Dropout2d)):
            folded.append(layer)
    return folded


IMAGE_ENCODERS = ("conv", "vqvae", "dcgan")
ENCODERS = (*IMAGE_ENCODERS, "mlp", "linear")


class EncoderEnsemble(nn.Module):
    """A normaliser and one encoder or more behind it; their vectors are put side by side.

    Parameters
    ----------
    normalizer : Module
        Raw samples in, float32 out; shared.
    members : sequence of Module
        Encoders of one architecture: (n, K, p) vectors each.
    precision : {"float32", "bfloat16"}
        What the members compute in. Weights are float32, and so is what comes out.
    """

    def __init__(
        self, normalizer: nn.Module, members: Sequence[nn.Module], precision: str = "float32"
    ) -> None:
        super().__init__()
        self.normalizer = normalizer
        self.members = nn.ModuleList(members)
        self.precision = precision

    def forward(self, x: Tensor) -> Tensor:
        """Return the vectors of all members, shape (n, n_members * K, p)."""
        normal = self.normalizer(x)
        vectors = [self.forward_normal(normal, member) for member in range(len(self.members))]
        return vectors[0] if len(vectors) == 1 else torch.cat(vectors, dim=1)

    def forward_member(self, x: Tensor, member: int) -> Tensor:
        """Return the vectors of one member, shape (n, K, p)."""
        return self.forward_normal(self.normalizer(x), member)

    def forward_normal(self, normal: Tensor, member: int) -> Tensor:
        """Return the vectors of one member for samples that are normalised already."""
        if self.precision == "float32":
            vectors: Tensor = self.members[member](normal)
            return vectors
        with torch.autocast(normal.device.type, torch.bfloat16):
            vectors = self.members[member](normal)
        return vectors.float()


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Put a module into evaluation mode inside the block.

    Afterwards every part is in the mode it was in before: a user's frozen batch norm stays frozen.
    """
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, is_training in modes:
            part.training = is_training
