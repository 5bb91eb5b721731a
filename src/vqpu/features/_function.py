"""A Python function as an extractor."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vqpu.errors import InputError, ParameterError
from vqpu.features._extractor import in_batches
from vqpu.features._record import ExtractorRecord, ImageInput, TextInput

_BATCH = 32


class FunctionExtractor:
    """A function of the user's from a batch of samples to vectors.

    A torch module may stand for the function: it is given float tensors as an ONNX file would be,
    without gradients, and its weights count for its digest.

    Parameters
    ----------
    function : callable
        Gets a list of texts, or pictures of uint8 and shape (n, size, size, 3), and returns an
        array of shape (n, d).
    n_features : int
        d.
    image : ImageInput or None
        How pictures are read; None: the function takes texts.
    name, version : str
        They stand for the function in a model: change the version when the function changes.
    """

    def __init__(
        self,
        function: Callable[[Any], Any],
        *,
        n_features: int,
        image: ImageInput | None = None,
        name: str | None = None,
        version: str = "1",
    ) -> None:
        if not callable(function):
            raise ParameterError(f"function must be callable. Got {function!r:.80} instead.")
        called = str(name or getattr(function, "__qualname__", type(function).__name__))
        digest = hashlib.sha256(f"{called} {version}\n".encode())
        self._is_module = hasattr(function, "state_dict")
        if self._is_module:
            _add_weights(digest, function)
        self._function = function
        self.record = ExtractorRecord(
            kind="function",
            name=called,
            digest=digest.hexdigest(),
            n_features=n_features,
            image=image,
            text=TextInput() if image is None else None,
        )

    def __call__(self, samples: Sequence[Any]) -> NDArray[np.float32]:
        """Return the vectors of texts or pictures, as :class:`Extractor` has it."""
        return in_batches(samples, _BATCH, self._vectors)

    def _vectors(self, samples: Sequence[Any]) -> NDArray[np.float32]:
        image = self.record.image
        given = list(samples) if image is None else np.asarray(samples)
        found = self._of_module(given) if self._is_module else self._function(given)
        vectors = np.asarray(found, dtype=np.float32)
        if vectors.shape != (len(samples), self.record.n_features):
            raise InputError(
                f"{self.record.name} must turn {len(samples)} samples into an array of shape "
                f"{(len(samples), self.record.n_features)}. Got {vectors.shape} instead."
            )
        return vectors

    def _of_module(self, given: Any) -> NDArray[Any]:
        import torch

        from vqpu.features._preprocessing import network_pixels

        module: Any = self._function
        if self.record.image is not None:
            given = torch.from_numpy(network_pixels(given, self.record.image))
        was_training = module.training
        try:
            with torch.inference_mode():
                return np.asarray(module.eval()(given).float().numpy())
        finally:
            module.train(was_training)


def _add_weights(digest: Any, module: Any) -> None:
    for name, tensor in module.state_dict().items():
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(_bytes()).numpy().tobytes())


def _bytes() -> Any:
    import torch

    return torch.uint8
