"""The beginning and the end of every network fit: seed, checkpoints, split; why it stopped."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from vqpu.base._groups import number_groups
from vqpu.base._labels import KnownLabels, PULabels
from vqpu.base._parameters import check_choice
from vqpu.base._seeding import choose_device, preserved_torch_state
from vqpu.base._source import ArraySource
from vqpu.base._split import draw_check_sample, split_holdout
from vqpu.errors import InterruptedWarning, ParameterError
from vqpu.estimators._encoder import EncoderSpec, build_member
from vqpu.persistence._resuming import fit_identity, opened_checkpoints
from vqpu.training import (
    ALONE,
    Callback,
    FitContext,
    Ranks,
    SharedCheckpoints,
    TrainingResult,
)

INTERRUPTS = ("raise", "keep-best")


class FitRequest(NamedTuple):
    """What ``fit`` was asked besides X and y.

    Attributes
    ----------
    callback : callable or None
        Called at every check with a :class:`vqpu.training.CheckResult`; it observes, no more.
    checkpoint_dir : path or None
    on_interrupt : {"raise", "keep-best"}
    groups : array-like of shape (n,) or None
        Which samples belong together and stay on one side of every hold-out.
    ranks : Ranks
        The processes that train together.
    """

    callback: Callback | None
    checkpoint_dir: str | os.PathLike[str] | None
    on_interrupt: str
    groups: Any = None
    ranks: Ranks = ALONE

    def check(self) -> None:
        """Raise if one of them cannot be used."""
        if self.callback is not None and not callable(self.callback):
            raise ParameterError(
                f"callback must be a function of a check or None. Got {self.callback!r} instead."
            )
        check_choice("on_interrupt", self.on_interrupt, INTERRUPTS)


@contextmanager
def opened_fit(
    estimator: Any,
    source: ArraySource,
    labels: PULabels | None,
    spec: EncoderSpec,
    request: FitRequest,
    *,
    holdout: float,
    known: KnownLabels | None = None,
    sizes: Mapping[str, int] | None = None,
) -> Iterator[FitContext]:
    """Give the context of a fit; inside, torch's random state may be changed freely.

    Parameters
    ----------
    estimator : estimator
        Its parameters say which fit it is; ``random_state``, ``device`` and ``verbose`` are used.
    source : ArraySource
    labels : PULabels or None
        None for a fit without labels: all samples are taken for unlabelled ones.
    spec : EncoderSpec
    request : FitRequest
    holdout : float
        Share of both sets that is kept apart if there is one member.
    known : KnownLabels or None
        Known negatives and where they come from, of a method that uses them.
    sizes : mapping of int or None
        What parameters that may be left to the library came to, by name: a checkpoint is gone on
        from with the same ones alone.
    """
    parameters = estimator.get_params(deep=False)
    device, moments = choose_device(parameters["device"]), source.moments()
    is_positive = None if labels is None else labels.is_positive
    groups = None if request.groups is None else number_groups(request.groups, len(source))
    identity: dict[str, Any] = {}
    if request.checkpoint_dir is not None:
        built = None
        if callable(spec.encoder):
            with preserved_torch_state(device):
                built = build_member(spec)
        identity = fit_identity(estimator, source, is_positive, built)
        identity["precision"] = spec.precision  # "auto" is another on another machine
        identity |= sizes or {}
        if groups is not None:
            identity["digest of groups"] = hashlib.sha256(groups.tobytes()).hexdigest()
        if known is not None:
            masks = [mask.tobytes() for mask in known if mask is not None]
            identity["digest of known labels"] = hashlib.sha256(b"|".join(masks)).hexdigest()
    ranks = request.ranks
    if ranks.size > 1:
        identity["ranks"] = ranks.size  # batches are cut, and norms taken, by them
    place = request.checkpoint_dir if ranks.is_first else None
    with (
        opened_checkpoints(place, parameters["random_state"], identity) as (drawn, own_folder),
        preserved_torch_state(device),
    ):
        seed, folder = ranks.agreed(drawn), own_folder
        if ranks.size > 1 and request.checkpoint_dir is not None:
            own_identity = {} if own_folder is None else own_folder.identity
            folder = SharedCheckpoints(ranks, Path(request.checkpoint_dir), own_identity)
        marked = np.zeros(len(source), dtype=bool) if is_positive is None else is_positive
        split = split_holdout(marked, holdout, spec.n_members, seed, groups, known)
        yield FitContext(
            source,
            moments,
            split,
            draw_check_sample(split, seed),
            seed,
            device,
            request.callback if ranks.is_first else None,
            folder,
            request.on_interrupt == "keep-best" and ranks.size == 1,
            int(parameters["verbose"]) if ranks.is_first else 0,
            ranks,
        )


def split_again(
    context: FitContext, request: FitRequest, holdout: float, n_members: int
) -> FitContext:
    """Return a fit whose samples are split as one with so many members would.

    Parameters
    ----------
    context : FitContext
    request : FitRequest
    holdout : float
    n_members : int
    """
    n_samples = len(context.source)
    groups = None if request.groups is None else number_groups(request.groups, n_samples)
    split = split_holdout(
        context.split.is_positive, holdout, n_members, context.seed, groups, context.split.known
    )
    return context._replace(split=split, sample=draw_check_sample(split, context.seed))


def stop_reason(result: TrainingResult, max_steps: int) -> str:
    """Return why training ended; an interrupted one also warns.

    Parameters
    ----------
    result : TrainingResult
    max_steps : int
        What the estimator's parameter came to.
    """
    if result.interrupted:
        history = result.history
        warnings.warn(
            f"Training was interrupted. The model is that of step "
            f"{history[result.best_check]['step']}, the best check up to step "
            f"{history[-1]['step']}.",
            InterruptedWarning,
            stacklevel=4,
        )
        return "interrupted"
    if result.stopped_early:
        return "patience"
    return "max_steps" if result.n_steps == max_steps else "max_epochs"
