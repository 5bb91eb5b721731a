"""Which encoder a fit trains: by name or by the user's function, for images or vectors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from vqpu.base._source import ArraySource, Moments
from vqpu.errors import EncoderError, InputError, MissingColumnWarning
from vqpu.nn import (
    IMAGE_ENCODERS,
    Augmentation,
    ConvEncoder,
    DCGANEncoder,
    EncoderEnsemble,
    InputNormalizer,
    LinearEncoder,
    MLPEncoder,
    TableInputs,
    TableNormalizer,
    VQVAEEncoder,
    evaluating,
)


class EncoderSpec(NamedTuple):
    """All that it takes to build the encoders of a fit, or blank ones for saved weights.

    Attributes
    ----------
    encoder : str or callable
        "auto" or "network", "conv", "vqvae", "dcgan", "mlp", "linear", or a function of
        (sample_shape, output_dim).
    sample_shape : tuple
    output_dim : int
        Of every vector.
    n_vectors : int
        K for "mlp" and "linear".
    dropout : float
    n_members : int
    precision : {"float32", "bfloat16"}
    inputs : TableInputs or None
        Gaps and categories of a table; None: images, or plain numbers.
    norm : {"batch", "layer", "none"}
        Of "conv" and "mlp".
    """

    encoder: str | Callable[[tuple[int, ...], int], nn.Module]
    sample_shape: tuple[int, ...]
    output_dim: int
    n_vectors: int
    dropout: float
    n_members: int
    precision: str = "float32"
    inputs: TableInputs | None = None
    norm: str = "batch"

    @property
    def encoder_shape(self) -> tuple[int, ...]:
        """Shape of a sample as a member gets it."""
        return self.sample_shape if self.inputs is None else (self.inputs.width,)


def resolve_augmentation(augment: str, source: ArraySource) -> Augmentation:
    """Resolve ``augment``: grey images are shifted, colour images mirrored as well."""
    if not source.is_image:
        return Augmentation()
    channels, height, width = source.sample_shape
    if augment == "auto":
        augment = "shift" if channels == 1 else "flip+shift"
    shift = max(1, round(min(height, width) / 12)) if "shift" in augment else 0
    return Augmentation(flip="flip" in augment, shift=shift)


def table_inputs(source: ArraySource) -> TableInputs | None:
    """Return what the columns of a table are to a network, None if they are plain numbers.

    Parameters
    ----------
    source : ArraySource
        Looked through by ``check_finite``.
    """
    if source.n_missing is None and not source.categories:
        return None
    n_features = source.sample_shape[0]
    missing = np.zeros(n_features, np.int64) if source.n_missing is None else source.n_missing
    is_empty = missing == len(source)
    coded = {column: n for column, n in source.categories.items() if not is_empty[column]}
    has_gaps = (missing > 0) & ~is_empty
    has_gaps[list(coded)] = False
    if is_empty.any():
        warnings.warn(
            f"{int(is_empty.sum())} of {n_features} columns of X hold no value at all and are left "
            f"out: {np.flatnonzero(is_empty)[:10].tolist()}.",
            MissingColumnWarning,
            stacklevel=5,
        )
    return TableInputs(
        n_features,
        tuple(np.flatnonzero(has_gaps).tolist()),
        tuple(np.flatnonzero(is_empty).tolist()),
        tuple(sorted(coded.items())),
    )


def make_ensemble(spec: EncoderSpec, moments: Moments) -> EncoderEnsemble:
    """Build normaliser and members, and make sure that each gives (n, K, output_dim).

    Parameters
    ----------
    spec : EncoderSpec
    moments : Moments
        Of the samples to train on.
    """
    if not moments.std.any():
        raise InputError(
            "X is constant: no feature varies from sample to sample, so nothing can be learned."
            " Check how X was read."
        )
    members = [build_member(spec) for _ in range(spec.n_members)]
    for member in members:
        _check_output(member, spec)
    std = np.where(moments.std > 0, moments.std, 1.0)
    if getattr(members[0], "takes_raw_input", False):
        moments, std = Moments(np.zeros_like(moments.mean), moments.std), np.ones_like(std)
    normalizer = _normalizer(spec, torch.from_numpy(moments.mean), torch.from_numpy(std))
    return EncoderEnsemble(normalizer, members, spec.precision)


def blank_ensemble(spec: EncoderSpec) -> EncoderEnsemble:
    """Build what :func:`make_ensemble` builds, to be filled with saved weights.

    Parameters
    ----------
    spec : EncoderSpec
    """
    if spec.inputs is not None and not (
        spec.inputs.is_sound() and (spec.inputs.n_features,) == spec.sample_shape
    ):
        raise InputError(f"The table's inputs do not hold together: {spec.inputs!r:.200}.")
    blank = blank_moment(spec.sample_shape)
    members = [build_member(spec) for _ in range(spec.n_members)]
    return EncoderEnsemble(_normalizer(spec, blank, blank.clone()), members, spec.precision)


def _normalizer(spec: EncoderSpec, mean: torch.Tensor, std: torch.Tensor) -> nn.Module:
    if spec.inputs is not None:
        return TableNormalizer(mean, std, spec.inputs)
    broadcast = (-1, 1, 1) if len(spec.sample_shape) == 3 else (-1,)
    return InputNormalizer(mean.view(broadcast), std.view(broadcast))


def blank_moment(shape: tuple[int, ...]) -> torch.Tensor:
    """Return an empty tensor of the shape that mean and deviation have."""
    return torch.empty((shape[0], 1, 1) if len(shape) == 3 else shape, dtype=torch.float64)


def build_member(spec: EncoderSpec) -> nn.Module:
    """Build one encoder.

    Parameters
    ----------
    spec : EncoderSpec
    """
    shape, is_image = spec.encoder_shape, len(spec.sample_shape) == 3
    if callable(spec.encoder):
        return _call(spec.encoder, shape, spec.output_dim)
    default = "conv" if is_image else "mlp"
    name = default if spec.encoder in ("auto", "network") else spec.encoder
    if (name in IMAGE_ENCODERS) != is_image:
        needed = "(n, d)" if is_image else "images, (n, h, w), (n, h, w, c) or (n, c, h, w)"
        raise InputError(f"encoder={name!r} needs {needed}. Got samples of shape {shape}.")
    if name == "vqvae":
        return VQVAEEncoder(shape, spec.output_dim)
    if name == "dcgan":
        return DCGANEncoder(shape, spec.output_dim)
    if is_image:
        return ConvEncoder(shape, spec.output_dim, spec.dropout, spec.norm)
    if name == "linear":
        return LinearEncoder(shape, spec.output_dim, spec.n_vectors, spec.dropout)
    return MLPEncoder(shape, spec.output_dim, spec.n_vectors, spec.dropout, spec.norm)


def _call(
    make: Callable[[tuple[int, ...], int], Any], shape: tuple[int, ...], output_dim: int
) -> nn.Module:
    try:
        encoder = make(shape, output_dim)
    except TypeError as error:
        raise EncoderError(
            f"encoder cannot be called with (sample_shape, vector_dim): {error}"
        ) from error
    if not isinstance(encoder, nn.Module):
        raise EncoderError(
            f"encoder returned {type(encoder).__name__}. It must be a function of "
            "(sample_shape, vector_dim) that returns a torch.nn.Module."
        )
    return encoder


def _check_output(encoder: nn.Module, spec: EncoderSpec) -> None:
    """Send two blank samples through a new encoder and look at what comes out."""
    shape, output_dim = spec.encoder_shape, spec.output_dim
    try:
        with torch.no_grad(), evaluating(encoder):
            output = encoder(torch.zeros(2, *shape, dtype=torch.float32))
    except (RuntimeError, ValueError, TypeError, IndexError, AttributeError) as error:
        raise EncoderError(
            f"encoder cannot take a float32 batch of shape {(2, *shape)}: {error}"
        ) from error
    if not (
        isinstance(output, torch.Tensor)
        and output.dtype == torch.float32
        and output.dim() == 3
        and output.shape[::2] == (2, output_dim)
        and output.shape[1] > 0
    ):
        raise EncoderError(
            f"encoder must turn a batch of 2 samples into float32 of shape (2, K, {output_dim}): K "
            f"vectors of dimension vector_dim each. Got {_describe(output)} instead."
        )
    if not any(parameter.requires_grad for parameter in encoder.parameters()):
        raise EncoderError("encoder has no parameter that can be trained.")


def _describe(output: Any) -> str:
    if not isinstance(output, torch.Tensor):
        return type(output).__name__
    return f"{tuple(output.shape)}, {output.dtype}"
