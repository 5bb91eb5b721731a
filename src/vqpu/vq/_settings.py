"""What the classifier's parameters come to for the data of a fit."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.base._precision import resolve_precision
from vqpu.base._seeding import choose_device
from vqpu.base._source import ArraySource
from vqpu.errors import ParameterError
from vqpu.estimators._encoder import EncoderSpec, resolve_augmentation
from vqpu.estimators._sizes import (
    count_members,
    resolve_batch_size,
    resolve_dropout,
    resolve_max_steps,
)
from vqpu.nn import Augmentation
from vqpu.priors._mixture import Shares, ends_of, shares_between
from vqpu.training import Ranks, resolve_optimizer
from vqpu.trees import GrowthSettings
from vqpu.vq._tree_settings import is_trees, tree_settings
from vqpu.vq._variant import Variant, resolve_variant

if TYPE_CHECKING:
    from vqpu.vq._classifier import VQKMeansClassifier

_ROUNDS_OF_VECTORS, _ROUNDS_OF_IMAGES = 3, 2  # see results/rounds/summary.md
_FEWEST_OF_A_RANK = 8  # some are held out, and batch norm needs two in every part of a batch
_FEWEST_OF_A_BATCH = 16  # a rank's part, of whose moments batch norm takes the mean


class VQSettings(NamedTuple):
    """The classifier's parameters, resolved for the data of a fit."""

    spec: EncoderSpec
    variant: Variant
    codebook_size: int
    vector_dim: int
    augmentation: Augmentation
    batch_size: int
    learning_rate: float
    max_steps: int
    max_epochs: int | None
    patience: int
    n_rounds: int
    trees: GrowthSettings | None = None
    shares: Shares | None = None  # what the user knows of alpha

    def sizes(self) -> dict[str, int]:
        """Return what parameters that may be left to the library came to."""
        return {
            "batch_size_": self.batch_size,
            "max_steps_": self.max_steps,
            "n_members_": self.spec.n_members,
            "n_rounds_": self.n_rounds,
        }


def resolve_settings(model: VQKMeansClassifier, source: ArraySource) -> VQSettings:
    """Resolve what depends on the data: encoder, members, batches, steps, augmentation, rounds.

    Parameters
    ----------
    model : VQKMeansClassifier
        With parameters that were checked.
    source : ArraySource
    """
    variant = _resolve_form(model, source)
    # A third round gains little on images and costs as much as the others.
    n_rounds = _ROUNDS_OF_IMAGES if source.is_image else _ROUNDS_OF_VECTORS
    n_members = count_members(model.n_members, source)
    dropout = resolve_dropout(model.dropout, source)
    spec = encoder_spec(model, source.sample_shape, variant, dropout, n_members)
    precision = resolve_precision(
        model.precision, choose_device(model.device), is_image=source.is_image
    )
    settings = VQSettings(
        spec._replace(precision=precision),
        variant,
        model.codebook_size,
        model.vector_dim,
        resolve_augmentation(model.augment, source),
        resolve_batch_size(model.batch_size, source),
        model.learning_rate,
        resolve_max_steps(model.max_steps, model.max_epochs, source),
        model.max_epochs,
        model.patience,
        n_rounds if model.n_rounds is None else int(model.n_rounds),
        shares=None if model.alpha is None else shares_between(*ends_of(model.alpha)),
    )
    if is_trees(model.encoder, None if source.is_image else variant):
        return tree_settings(settings, source, model.n_members, model.n_rounds)
    return settings


def _resolve_form(model: VQKMeansClassifier, source: ArraySource) -> Variant:
    """Return the form of the method with its optimiser and decision."""
    variant = resolve_variant(model.variant)
    optimizer = resolve_optimizer(variant.optimizer, is_image=source.is_image)
    decision = variant.decision if model.decision is None else model.decision
    return replace(variant, optimizer=optimizer, decision=decision)


def encoder_spec(
    model: VQKMeansClassifier,
    shape: tuple[int, ...],
    variant: Variant,
    dropout: float,
    n_members: int,
) -> EncoderSpec:
    """Return how the members are built for samples of a shape.

    Parameters
    ----------
    model : VQKMeansClassifier
    shape : tuple of int
        ``(d,)`` or ``(channels, height, width)``.
    variant : Variant
    dropout : float
    n_members : int
    """
    encoder = model.encoder
    if encoder in ("auto", "network"):
        encoder = variant.image_encoder if len(shape) == 3 else "mlp"
    output_dim = variant.output_dim(model.vector_dim)
    return EncoderSpec(
        encoder, shape, output_dim, model.n_vectors, dropout, n_members,
        inputs=model.table_inputs_,
    )  # fmt: skip


def settings_for_ranks(settings: VQSettings, batch_size: int | None, ranks: Ranks) -> VQSettings:
    """Return settings whose batches can be shared out, where their size is left to the library.

    Parameters
    ----------
    settings : VQSettings
    batch_size : int or None
        The classifier's parameter.
    ranks : Ranks
    """
    if batch_size is not None or settings.trees is not None:
        return settings
    per_rank = max(_FEWEST_OF_A_BATCH, 2 * math.ceil(settings.batch_size / (2 * ranks.size)))
    return settings._replace(batch_size=per_rank * ranks.size)


def check_ranks(
    settings: VQSettings, is_positive: NDArray[np.bool_], ranks: Ranks, max_seconds: float | None
) -> None:
    """Raise unless several processes can train together what the settings say.

    Parameters
    ----------
    settings : VQSettings
    is_positive : ndarray of bool, shape (n,)
    ranks : Ranks
    max_seconds : float or None
        The classifier's parameter.
    """
    if max_seconds is not None:
        raise ParameterError(
            "max_seconds measures the speed of one process. Give max_steps with several instead."
        )
    if settings.trees is not None:
        if settings.spec.n_members < ranks.size:
            raise ParameterError(
                f"{settings.spec.n_members} members of trees cannot be shared out to {ranks.size} "
                "processes. Use at most one process a member."
            )
        return
    if settings.batch_size % (2 * ranks.size):
        raise ParameterError(
            f"batch_size must be a multiple of {2 * ranks.size} for {ranks.size} processes, which "
            f"take equal parts of both halves. Got {settings.batch_size} instead."
        )
    n_positive = int(is_positive.sum())
    smaller = min(n_positive, len(is_positive) - n_positive)
    if smaller < _FEWEST_OF_A_RANK * ranks.size:
        raise ParameterError(
            f"The smaller set has {smaller} samples, too few to be shared out to {ranks.size} "
            "processes. Use fewer: one is quick with so few samples."
        )
