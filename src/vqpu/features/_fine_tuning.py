"""Fine-tuning: the first layers of a network as an extractor, its last ones as an encoder."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from vqpu.base._parameters import check_integer
from vqpu.errors import ParameterError
from vqpu.features._extractor import Extractor
from vqpu.features._function import FunctionExtractor
from vqpu.features._record import ImageInput


class FineTuning(NamedTuple):
    """The two parts of a network that is fine-tuned.

    Attributes
    ----------
    extractor : Extractor
        The first layers, which stay as they are: what comes out of them is extracted once.
    encoder : callable
        For ``encoder=`` of a classifier, and of ``load``: the last layers, which every fit trains
        from the weights that they have now, and one linear layer behind them.
    """

    extractor: Extractor
    encoder: Callable[[tuple[int, ...], int], Any]


def fine_tune(
    first: Any,
    last: Any,
    *,
    image: ImageInput | None = None,
    n_vectors: int = 8,
    name: str = "first layers",
) -> FineTuning:
    """Cut a network in two, so that a classifier trains its last layers with the method's own loss.

    The layers given are copied and never changed.

    Parameters
    ----------
    first, last : torch modules
        ``network[:-2]`` and ``network[-2:]`` of a ``Sequential``. ``first`` takes pictures as an
        ONNX file would, or a list of texts; ``last`` takes what it gives, and gives a tensor with
        a sample a row.
    image : ImageInput or None
        How pictures are read; None: ``first`` takes texts.
    n_vectors : int
        K, how many vectors the linear layer makes.
    name : str
        Of the extractor.

    Examples
    --------
    >>> import torch
    >>> from vqpu.features import ImageInput, extract, fine_tune
    >>> network = torch.nn.Sequential(
    ...     torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten(), torch.nn.Linear(144, 16), torch.nn.ReLU()
    ... )
    >>> image = ImageInput(size=8, resize=8, mean=(0.5,) * 3, std=(0.25,) * 3)
    >>> extractor, encoder = fine_tune(network[:1], network[1:], image=image)
    >>> pictures = np.zeros((5, 8, 8, 3), np.uint8)
    >>> extract(extractor, pictures).shape  # for fit(X, y) of VQKMeansClassifier(encoder=encoder)
    (5, 144)
    """
    from vqpu.features._last_layers import LastLayers, flattened, output_shape

    check_integer("n_vectors", n_vectors, 1)
    for label, part in (("first", first), ("last", last)):
        if not hasattr(part, "state_dict"):
            raise ParameterError(f"{label} must be a torch module. Got {part!r:.80} instead.")
    last = copy.deepcopy(last)
    shape = output_shape(first, image)
    try:
        LastLayers(last, shape, n_vectors, 1)
    except (RuntimeError, ValueError, TypeError, AttributeError) as error:
        raise ParameterError(
            f"last cannot take what first gives, samples of shape {shape}: {error}. Cut the "
            "network so that the one follows the other."
        ) from error
    extractor = FunctionExtractor(
        flattened(first), n_features=int(np.prod(shape)), image=image, name=name
    )

    def encoder(sample_shape: tuple[int, ...], vector_dim: int) -> LastLayers:
        if sample_shape != (extractor.record.n_features,):
            raise ParameterError(
                f"The last layers take the {extractor.record.n_features} numbers that the first "
                f"give. Got samples of shape {sample_shape}: extract them with the extractor."
            )
        return LastLayers(last, shape, n_vectors, vector_dim)

    return FineTuning(extractor, encoder)
