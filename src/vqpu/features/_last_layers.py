"""The last layers of a pretrained network as an encoder (torch)."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from vqpu.errors import ParameterError
from vqpu.features._record import ImageInput


class LastLayers(nn.Module):
    """Layers that go on learning, and a linear one that makes K vectors of their output.

    Parameters
    ----------
    layers : Module
        Copied with its weights.
    input_shape : tuple of int
        Of one sample as the layers take it; samples come as vectors.
    n_vectors, vector_dim : int
        K and p.
    """

    # Pretrained layers expect the numbers of those before them, not standardised ones.
    takes_raw_input = True

    def __init__(
        self, layers: nn.Module, input_shape: tuple[int, ...], n_vectors: int, vector_dim: int
    ) -> None:
        super().__init__()
        self._input_shape, self._vector_dim = input_shape, vector_dim
        self.layers = copy.deepcopy(layers).requires_grad_(True)
        with torch.no_grad():  # on a copy in evaluation mode: batch norms learn nothing here
            blank = copy.deepcopy(layers).eval()(torch.zeros(2, *input_shape))
        width = blank.flatten(1).shape[1]
        self.linear = nn.Linear(width, n_vectors * vector_dim)

    def forward(self, x: Tensor) -> Tensor:
        """Return vectors of shape (n, K, p)."""
        output: Tensor = self.layers(x.reshape(-1, *self._input_shape))
        vectors: Tensor = self.linear(output.flatten(1))
        return vectors.reshape(len(vectors), -1, self._vector_dim)


def flattened(layers: nn.Module) -> nn.Module:
    """Return a copy of layers that gives vectors.

    Parameters
    ----------
    layers : Module
    """
    return nn.Sequential(copy.deepcopy(layers), nn.Flatten(1)).eval()


def output_shape(layers: nn.Module, image: ImageInput | None) -> tuple[int, ...]:
    """Return the shape of what layers make of one sample.

    Parameters
    ----------
    layers : Module
    image : ImageInput or None
        None: they take a list of texts.
    """
    layers = copy.deepcopy(layers).eval()
    if image is None:
        given: list[str] | Tensor = ["a"]
    else:
        given = torch.zeros(1, 3 if image.mode == "RGB" else 1, image.size, image.size)
    with torch.inference_mode():
        output = layers(given)
    if not isinstance(output, Tensor) or output.dim() < 2 or output.shape[0] != 1:
        found = tuple(output.shape) if isinstance(output, Tensor) else type(output).__name__
        raise ParameterError(
            "first must turn n samples into a tensor of shape (n, ...). It turned one sample into "
            f"{found}: wrap it in a module that returns such a tensor."
        )
    return tuple(output.shape[1:])
