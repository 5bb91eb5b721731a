"""One training of a fit: what is trained on which samples, with checks, checkpoints, progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import nn

from vqpu.base._source import ArraySource, Moments
from vqpu.base._split import CheckSample, Split
from vqpu.persistence._checkpoints import CheckpointFolder
from vqpu.training._history import Callback, CheckResult, Row
from vqpu.training._loop import Objective, TrainingResult, train_with_checks
from vqpu.training._progress import progress_reporter
from vqpu.training._ranks import ALONE, Ranks
from vqpu.training._snapshots import Changing, Snapshots
from vqpu.training._stopping import BestCheck


class FitContext(NamedTuple):
    """What stays the same in every stage of a fit, whatever the method.

    Attributes
    ----------
    source : ArraySource
    moments : Moments
        Of all samples; the encoders' input is normalised by them.
    split : Split
        Who is trained on what.
    sample : CheckSample
        What a check looks at.
    seed : int
    device : torch.device
    callback : callable or None
        Called at every check.
    checkpoints : CheckpointFolder or None
    keeps_best : bool
        Whether Ctrl-C ends training with the best check so far, if there is one.
    verbose : int
    ranks : Ranks
        The processes that train together.
    """

    source: ArraySource
    moments: Moments
    split: Split
    sample: CheckSample
    seed: int
    device: torch.device
    callback: Callback | None = None
    checkpoints: CheckpointFolder | None = None
    keeps_best: bool = False
    verbose: int = 0
    ranks: Ranks = ALONE


class Budget(NamedTuple):
    """How long a stage may take, and how the learning rate goes."""

    max_steps: int
    check_every: int
    schedule: str


def plan_budget(
    steps_per_epoch: int,
    *,
    max_steps: int,
    max_epochs: int | None,
    check_every: int | None,
    schedule: str,
) -> Budget:
    """Return the number of steps and the steps between checks.

    Parameters
    ----------
    steps_per_epoch : int
    max_steps : int
    max_epochs : int or None
    check_every : int or None
        None: one epoch, but at most a twentieth of the budget; never fewer than 20.
    schedule : str
    """
    if max_epochs is not None:
        max_steps = min(max_steps, max_epochs * steps_per_epoch)
    if check_every is None:
        check_every = min(max(steps_per_epoch, 20), max(max_steps // 20, 20))
    return Budget(max_steps, min(check_every, max_steps), schedule)


class Stage(NamedTuple):
    """A training: what is minimised, by what, how long, and how it is checked.

    Attributes
    ----------
    title : str
        For the progress shown.
    objective : Objective
    optimizer : Optimizer
    rule : BestCheck
    state : Module
        What is copied at the best check.
    check : callable
        Makes a check of the steps taken and the mean terms of the loss.
    budget : Budget
    folder : str or None
        Of its checkpoints inside those of the fit; None: right there.
    identity : mapping
        What else says which training it is; checkpoints of another are refused.
    is_final : bool
        Whether this stage decides. Ctrl-C in one before leaves nothing to keep.
    seconds_before : float
        What the column of seconds counts from.
    """

    title: str
    objective: Objective
    optimizer: torch.optim.Optimizer
    rule: BestCheck
    state: nn.Module
    check: Callable[[int, dict[str, float]], CheckResult]
    budget: Budget
    folder: str | None = None
    identity: Mapping[str, Any] = {}
    is_final: bool = True
    seconds_before: float = 0.0


def run_stage(context: FitContext, stage: Stage) -> TrainingResult:
    """Train, from the newest checkpoint on if there is one, and keep the best check.

    Parameters
    ----------
    context : FitContext
    stage : Stage
    """

    def make_row(step: int, terms: dict[str, float]) -> Row:
        check = stage.check(step, terms)
        if context.callback is not None:
            context.callback(check)
        return check.row

    with progress_reporter(context.verbose, stage.title, stage.budget.max_steps) as report:
        return train_with_checks(
            stage.objective,
            stage.optimizer,
            stage.rule,
            state=stage.state,
            make_row=make_row,
            report=report,
            schedule=stage.budget.schedule,
            max_steps=stage.budget.max_steps,
            check_every=stage.budget.check_every,
            snapshots=_snapshots(context, stage),
            keeps_best=context.keeps_best and stage.is_final,
            seconds_before=stage.seconds_before,
            ranks=context.ranks,
        )


def _snapshots(context: FitContext, stage: Stage) -> Snapshots | None:
    if context.checkpoints is None:
        return None
    modules, optimizers, tensors = stage.objective.changing()
    changing = Changing(modules, {"optimizer": stage.optimizer, **optimizers}, tensors)
    folder = context.checkpoints.of_stage(stage.folder, stage.identity)
    return Snapshots(folder, changing, stage.rule)
