"""The training loop: step, check, stop. It knows modules and numbers, nothing of PU learning."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch
from torch import Tensor

from vqpu.errors import NonFiniteLossError
from vqpu.training._history import History, Row
from vqpu.training._ranks import ALONE, Ranks
from vqpu.training._snapshots import Changing, Snapshots
from vqpu.training._stopping import BestCheck


class Objective(Protocol):
    """What is trained: it turns a step number into a loss and updates what it owns."""

    def loss(self, step: int) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of step ``step`` (from 0) and its named terms."""

    def after_step(self, step: int) -> None:
        """Update what the optimiser does not: averages, codes."""

    def changing(self) -> Changing:
        """Return what its steps change, the loop's optimiser apart: what a checkpoint holds."""


@runtime_checkable
class RankedObjective(Protocol):
    """An objective that several processes can take steps of together."""

    def shared(self) -> list[Tensor]:
        """Return what ranks average at every step besides gradients, once there is a loss."""


SCHEDULES = ("cosine", "constant")
_WARMUP_STEPS = 50


def learning_rate_factor(schedule: str, step: int, max_steps: int) -> float:
    """Return the share of the learning rate at ``step`` (from 0).

    Parameters
    ----------
    schedule : {"cosine", "constant"}
        A short rise and a cosine fall, or 1 throughout.
    step, max_steps : int
    """
    if schedule == "constant":
        return 1.0
    rise = min(1.0, (step + 1) / _WARMUP_STEPS)
    return rise * 0.5 * (1 + math.cos(math.pi * step / max_steps))


def train(
    objective: Objective,
    optimizer: torch.optim.Optimizer,
    *,
    max_steps: int,
    check_every: int,
    rate_factor: Callable[[int], float],
    check: Callable[[int, dict[str, float]], bool],
    first_step: int = 0,
    ranks: Ranks = ALONE,
) -> None:
    """Take optimisation steps and hand over to ``check`` at intervals, until it says stop.

    Parameters
    ----------
    objective : Objective
    optimizer : Optimizer
    max_steps : int
        The step after which training ends anyway.
    check_every : int
        Steps between checks; the last step is checked as well.
    rate_factor : callable
        Share of each parameter group's learning rate at a step.
    check : callable
        Gets the number of steps taken and the mean of every term since the last check; returns
        True to stop.
    first_step : int
        Steps that were taken before, up to a check.
    ranks : Ranks

    Raises
    ------
    NonFiniteLossError
        In the very step whose loss is not finite, before the weights are touched.
    """
    base_rates = [group["lr"] for group in optimizer.param_groups]
    sums: dict[str, float] = {}
    n_summed = 0
    for step in range(first_step, max_steps):
        for group, rate in zip(optimizer.param_groups, base_rates, strict=True):
            group["lr"] = rate * rate_factor(step)
        for name, value in take_step(objective, optimizer, step, ranks).items():
            sums[name] = sums.get(name, 0.0) + value
        n_summed += 1
        if (step + 1) % check_every == 0 or step + 1 == max_steps:
            means = {name: value / n_summed for name, value in sums.items()}
            if check(step + 1, means):
                return
            sums, n_summed = {}, 0


class TrainingResult(NamedTuple):
    """What training leaves.

    Attributes
    ----------
    state : object
        A copy of the state at the best check.
    history : History
    best_check : int
        Index of the best check in the history.
    stopped_early : bool
        Whether patience ran out before the steps did.
    n_steps : int
        Steps taken in this round.
    interrupted : bool
        Whether the user ended training.
    """

    state: Any
    history: History
    best_check: int
    stopped_early: bool
    n_steps: int
    interrupted: bool = False

    def following(self, earlier: TrainingResult | None) -> TrainingResult:
        """Return this outcome with the history of an earlier round in front of its own."""
        if earlier is None:
            return self
        rows = earlier.history.rows + self.history.rows
        return self._replace(
            history=History(rows), best_check=len(earlier.history) + self.best_check
        )


def train_with_checks(
    objective: Objective,
    optimizer: torch.optim.Optimizer,
    rule: BestCheck,
    *,
    state: Any,
    make_row: Callable[[int, dict[str, float]], Row],
    report: Callable[[int, Row], None],
    schedule: str,
    max_steps: int,
    check_every: int,
    snapshots: Snapshots | None = None,
    keeps_best: bool = False,
    seconds_before: float = 0.0,
    ranks: Ranks = ALONE,
) -> TrainingResult:
    """Train with a check now and then, and keep the best one.

    Parameters
    ----------
    objective, optimizer : Objective, Optimizer
    rule : BestCheck
    state : object
        What is copied at the best check, such as the averaged module.
    make_row : callable
        Turns the steps taken and the mean terms into a row of the history.
    report : callable
        Shows progress.
    schedule : str
        A member of :data:`SCHEDULES`.
    max_steps, check_every : int
    snapshots : Snapshots or None
        Where to go on from, and what to write at every check: of this optimiser and this rule.
    keeps_best : bool
        Whether Ctrl-C ends training with the best check so far, if there is one.
    seconds_before : float
        What the column of seconds counts from.
    ranks : Ranks
        The first one's rows are those of all, so that all stop at the same check.
    """
    history, n_steps, is_over = History(), 0, False
    if snapshots is not None:
        n_steps, is_over = snapshots.resume(history, state)
    if len(history):
        seconds_before = history[-1].get("seconds", 0.0)
        report(n_steps, history[-1])

    def check(step: int, terms: dict[str, float]) -> bool:
        nonlocal n_steps
        n_steps, row = step, make_row(step, terms)
        if "seconds" in row:
            row["seconds"] += seconds_before
        row = ranks.agreed(row)
        history.append(row)
        report(step, row)
        stops = rule.update(row, state)
        if snapshots is not None:
            snapshots.write(step, history, is_over=stops or step == max_steps)
        return stops

    interrupted = False
    try:
        if not is_over:
            train(
                objective,
                optimizer,
                max_steps=max_steps,
                check_every=check_every,
                rate_factor=lambda step: learning_rate_factor(schedule, step, max_steps),
                check=check,
                first_step=n_steps,
                ranks=ranks,
            )
    except KeyboardInterrupt:
        if not keeps_best or rule.best_check < 0:
            raise
        interrupted = True
    return TrainingResult(
        rule.best_state, history, rule.best_check, n_steps < max_steps, n_steps, interrupted
    )


def take_step(
    objective: Objective, optimizer: torch.optim.Optimizer, step: int, ranks: Ranks = ALONE
) -> dict[str, float]:
    """Take step ``step`` (from 0) and return its terms; a loss that is not finite raises."""
    loss, terms = objective.loss(step)
    if ranks.size == 1:
        values = descend(optimizer, loss, terms, step)
    else:
        assert isinstance(objective, RankedObjective)
        shared = objective.shared()
        values = descend_together(ranks, optimizer, loss, terms, step, shared)
    objective.after_step(step)
    return values


def descend_together(
    ranks: Ranks,
    optimizer: torch.optim.Optimizer,
    loss: Tensor,
    terms: dict[str, Tensor],
    step: int,
    shared: list[Tensor],
) -> dict[str, float]:
    """Take one step with the mean gradient of all ranks; return the mean of their terms.

    One message a step carries gradients, ``shared`` and terms, so that all ranks move alike, and
    all stop where the loss of one of them is not finite.

    Parameters
    ----------
    ranks : Ranks
    optimizer, loss, terms, step
        As in :func:`descend`.
    shared : list of Tensor
        What else is averaged, in place.
    """
    optimizer.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    every = [one for group in optimizer.param_groups for one in group["params"]]
    gradients = [one.grad for one in every if one.grad is not None]
    means = torch.stack([loss.detach(), *(term.detach() for term in terms.values())]).float()
    ranks.average([*gradients, *shared, means])
    total, *others = means.tolist()
    values = dict(zip(terms, others, strict=True))
    _check_finite(total, values, step)
    optimizer.step()
    return values


def descend(
    optimizer: torch.optim.Optimizer, loss: Tensor, terms: dict[str, Tensor], step: int
) -> dict[str, float]:
    """Take one optimiser's step down a loss and return the values of its terms.

    An objective that owns a further optimiser, such as that of a GAN's discriminator, takes its
    steps with this function, so that no network learns from a loss that is not finite.

    Parameters
    ----------
    optimizer : Optimizer
    loss : Tensor, scalar
    terms : dict of Tensor
        Named parts of the loss, for the history and for the message.
    step : int
        From 0, for the message.
    """
    values = {name: float(term.detach()) for name, term in terms.items()}
    _check_finite(float(loss.detach()), values, step)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    return values


def _check_finite(loss: float, values: dict[str, float], step: int) -> None:
    if not math.isfinite(loss):
        raise NonFiniteLossError(
            f"The loss is not finite at step {step + 1} ({_describe(values)}); training stopped "
            "before this step. Try a smaller learning_rate, and look for extreme values in X."
        )


def _describe(values: dict[str, float]) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in values.items())
