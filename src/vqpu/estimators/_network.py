"""What every network estimator shares: parameters, encoders, feeds and the budget."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

from vqpu.base._parameters import check_choice, check_integer, check_real
from vqpu.base._seeding import Stream, choose_device, derive_seed
from vqpu.base._source import ArraySource
from vqpu.errors import EncoderError, InputError, InterruptedWarning, ParameterError
from vqpu.estimators._saving import SavedEstimator
from vqpu.estimators._validation import PUClassifier
from vqpu.nn import (
    ENCODERS,
    Augmentation,
    ConvEncoder,
    EncoderEnsemble,
    InputNormalizer,
    MLPEncoder,
    evaluating,
)
from vqpu.training import SCHEDULES, BalancedBatches, Split, TrainingResult
from vqpu.training._feed import Feed

AUGMENTATIONS = ("auto", "none", "shift", "flip", "flip+shift")
# Share of units dropped with few samples and with many.
_MLP_DROPOUT = (0.5, 0.25)
_CONV_DROPOUT = (0.1, 0.0)
_FEW_SAMPLES = 3_000
_MEMBERS = 5
_VECTORS_FOR_ONE_MEMBER = 30_000  # vectors are cheap: several members pay up to here


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkEstimator(SavedEstimator):
    """Base of estimators that train an encoder.

    Parameters are fields of a dataclass: a subclass inherits those of its base and states its own,
    and the ``__init__`` that comes of it has the signature that scikit-learn reads parameters off.
    A subclass implements ``fit``. What it does not offer but the shared code reads, such as
    ``n_members``, it fixes as a class attribute without annotation.
    """

    n_vectors: int = 8
    vector_dim: int = 64
    batch_size: int = 128
    learning_rate: float = 1e-3
    schedule: str = "cosine"
    weight_average: float = 0.99
    max_steps: int = 4000
    max_epochs: int | None = None
    check_every: int | None = None
    random_state: Any = None
    device: str = "auto"
    verbose: int = 0

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_folded")

    def _check_shared_parameters(self) -> None:
        if isinstance(self.encoder, nn.Module):
            raise ParameterError(
                "encoder must be a name or a function of (sample_shape, vector_dim) that returns a "
                "new module, so that every fit starts afresh. Got a module instead."
            )
        if not callable(self.encoder):
            check_choice("encoder", self.encoder, ["auto", *ENCODERS])
        check_integer("n_members", self.n_members, 1, optional=True)
        check_integer("n_vectors", self.n_vectors, 1)
        check_integer("vector_dim", self.vector_dim, 1)
        check_real("dropout", self.dropout, 0, 1, optional=True)
        check_choice("augment", self.augment, AUGMENTATIONS)
        check_integer("batch_size", self.batch_size, 2)
        check_real("learning_rate", self.learning_rate, 0, open_low=True)
        check_choice("schedule", self.schedule, SCHEDULES)
        check_real("weight_average", self.weight_average, 0, 1)
        check_integer("max_steps", self.max_steps, 1)
        check_integer("max_epochs", self.max_epochs, 1, optional=True)
        check_integer("check_every", self.check_every, 1, optional=True)
        offered = self.get_params(deep=False)
        if "patience" in offered:
            check_integer("patience", self.patience, 1)
        if "holdout" in offered:
            check_real("holdout", self.holdout, 0, 0.5, open_high=False)
        if not isinstance(self.verbose, bool):
            check_integer("verbose", self.verbose, 0)
        if not isinstance(self.device, str):
            raise ParameterError(
                f"device must be a string such as 'auto'. Got {self.device!r} instead."
            )
        choose_device(self.device)

    def _set_outcome(self, outcome: TrainingResult) -> None:
        self.history_, self.best_check_ = outcome.history, outcome.best_check
        self.n_steps_ = int(self.history_[-1]["step"])
        bound = "max_steps" if outcome.n_steps == self.max_steps else "max_epochs"
        self.stop_reason_ = "patience" if outcome.stopped_early else bound
        if outcome.interrupted:
            self.stop_reason_ = "interrupted"
            warnings.warn(
                "Training was interrupted. The model is that of step "
                f"{self.history_[self.best_check_]['step']}, the best check up to step "
                f"{self.n_steps_}.",
                InterruptedWarning,
                stacklevel=4,
            )

    def _count_members(self, source: ArraySource) -> int:
        """Resolve ``n_members``: several where they are affordable and samples are few."""
        if self.n_members is not None:
            return int(self.n_members)
        limit = _FEW_SAMPLES if source.is_image else _VECTORS_FOR_ONE_MEMBER
        return _MEMBERS if len(source) < limit else 1

    def _make_encoder(
        self, source: ArraySource, output_dim: int, n_members: int
    ) -> EncoderEnsemble:
        """Build normaliser and members, and make sure that each gives (n, K, output_dim)."""
        moments = source.moments()
        if not moments.std.any():
            raise InputError(
                "X is constant: no feature varies from sample to sample, so nothing can be learned."
                " Check how X was read."
            )
        std = np.where(moments.std > 0, moments.std, 1.0)
        broadcast = (-1, 1, 1) if source.is_image else (-1,)
        normalizer = InputNormalizer(
            torch.from_numpy(moments.mean).view(broadcast), torch.from_numpy(std).view(broadcast)
        )
        shape = source.sample_shape
        self.n_members_, self._dropout = n_members, self._resolve_dropout(source)
        members = [self._build_encoder(shape, output_dim) for _ in range(n_members)]
        for member in members:
            _check_output(member, shape, output_dim)
        return EncoderEnsemble(normalizer, members)

    def _blank_encoder(self, output_dim: int) -> EncoderEnsemble:
        """Build what ``_make_encoder`` built in the fit that is being restored, without weights."""
        shape = self.input_shape_
        blank = torch.empty((shape[0], 1, 1) if len(shape) == 3 else shape, dtype=torch.float64)
        members = [self._build_encoder(shape, output_dim) for _ in range(self.n_members_)]
        return EncoderEnsemble(InputNormalizer(blank, blank.clone()), members)

    def _resolve_dropout(self, source: ArraySource) -> float:
        if self.dropout is not None:
            return float(self.dropout)
        few, many = _CONV_DROPOUT if source.is_image else _MLP_DROPOUT
        return few if len(source) < _FEW_SAMPLES else many  # with many it only slows learning down

    def _build_encoder(self, shape: tuple[int, ...], output_dim: int) -> nn.Module:
        is_image = len(shape) == 3
        if callable(self.encoder):
            try:
                encoder = self.encoder(shape, output_dim)
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
        name = ("conv" if is_image else "mlp") if self.encoder == "auto" else self.encoder
        if (name == "conv") != is_image:
            needed = (
                "images, (n, h, w), (n, h, w, c) or (n, c, h, w)" if name == "conv" else "(n, d)"
            )
            raise InputError(f"encoder={name!r} needs {needed}. Got samples of shape {shape}.")
        if is_image:
            return ConvEncoder(shape, output_dim, self._dropout)
        return MLPEncoder(shape, output_dim, self.n_vectors, self._dropout)

    def _augmentation(self, source: ArraySource) -> Augmentation:
        """Resolve ``augment``: grey images are shifted, colour images mirrored as well."""
        if not source.is_image:
            return Augmentation()
        channels, height, width = source.sample_shape
        wanted = self.augment
        if wanted == "auto":
            wanted = "shift" if channels == 1 else "flip+shift"
        shift = max(1, round(min(height, width) / 12)) if "shift" in wanted else 0
        return Augmentation(flip="flip" in wanted, shift=shift)

    def _make_feeds(
        self, source: ArraySource, split: Split, seed: int, device: torch.device
    ) -> list[Feed]:
        feeds = []
        for member in range(split.n_members):
            own_seed = derive_seed(seed, Stream.MEMBER, member)
            batches = BalancedBatches(*split.training_sets(member), self.batch_size, own_seed)
            feeds.append(Feed(source, batches, self._augmentation(source), own_seed, device))
        return feeds

    def _budget(self, steps_per_epoch: int) -> tuple[int, int]:
        """Return the number of steps and the steps between checks."""
        max_steps = self.max_steps
        if self.max_epochs is not None:
            max_steps = min(max_steps, self.max_epochs * steps_per_epoch)
        check_every = self.check_every
        if check_every is None:
            check_every = min(max(steps_per_epoch, 20), max(max_steps // 20, 20))
        return max_steps, min(check_every, max_steps)


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkClassifier(PUClassifier, NetworkEstimator):
    """Base of classifiers that train an encoder on two sets of samples."""

    encoder: Any = "auto"
    dropout: float | None = None
    augment: str = "auto"
    holdout: float = 0.15
    _saved: ClassVar[tuple[str, ...]] = ("classes_", "n_holdout_")


def _check_output(encoder: nn.Module, shape: tuple[int, ...], output_dim: int) -> None:
    """Send two blank samples through a new encoder and look at what comes out."""
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
