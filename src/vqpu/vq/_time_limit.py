"""What a time holds: measured before the fit, so that the fit itself knows no clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from vqpu.persistence._checkpoints import CheckpointFolder, stored_value
from vqpu.training import FitContext, take_step
from vqpu.vq._rounds import Round, make_stage
from vqpu.vq._settings import VQSettings
from vqpu.vq._tree_rounds import TreeRounds

_UNTIMED, _TIMED = 2, 5
_FEWEST_STEPS = 20
# Below, an encoder has barely learnt: its learning rate rises for 50 steps. One that had time is
# worth more than several that had none, and than a further round.
_ENOUGH_STEPS = 300
_RESERVE = 0.9  # the share that is planned; other work on the machine takes the rest


class Plan(NamedTuple):
    """What fits into a time.

    Attributes
    ----------
    n_steps : int
        Steps, or trees of a member, of a round.
    n_members, n_rounds : int
    """

    n_steps: int
    n_members: int
    n_rounds: int


class Freedom(NamedTuple):
    """What the plan may cut besides steps: whatever the user did not ask for.

    Attributes
    ----------
    members, rounds : bool
    """

    members: bool
    rounds: bool


def freedom_of(settings: VQSettings, n_members: int | None, n_rounds: int | None) -> Freedom:
    """Return what a time limit may take away.

    Parameters
    ----------
    settings : VQSettings
    n_members, n_rounds : int or None
        The classifier's parameters; None: not asked for.
    """
    needs_members = settings.variant.rounds == "leave-out" and settings.n_rounds > 1
    return Freedom(n_members is None and not needs_members, n_rounds is None)


SplitFor = Callable[[int], FitContext]


def within_seconds(
    context: FitContext,
    settings: VQSettings,
    seconds: float | None,
    freedom: Freedom,
    split_for: SplitFor,
) -> tuple[FitContext, VQSettings]:
    """Return a fit that the time holds: fewer members, then fewer rounds, then fewer steps.

    It is planned from the measured time of a few steps, which are thrown away. The same fit with
    those numbers ends the same, bit for bit; so does one that goes on from checkpoints, as these
    know the plan.

    Parameters
    ----------
    context : FitContext
    settings : VQSettings
    seconds : float or None
        None: no limit.
    freedom : Freedom
        Trees keep their members and rounds, which cost little.
    split_for : callable
        Returns the context with the samples split for so many members.
    """
    if seconds is None:
        return context, settings
    folder = context.checkpoints
    plan = None if folder is None else _stored_plan(folder)
    if plan is None:
        measure = _plan_networks if settings.trees is None else _plan_trees
        plan = measure(context, settings, seconds, freedom, split_for)
    if plan.n_members != settings.spec.n_members:
        context = split_for(plan.n_members)
    if folder is not None:
        stored = {_key(name): value for name, value in plan._asdict().items()}
        known = CheckpointFolder(folder.path, {**folder.identity, **stored})
        context = context._replace(checkpoints=known)
    spec = settings.spec._replace(n_members=plan.n_members)
    max_steps = min(plan.n_steps, settings.max_steps)
    return context, settings._replace(spec=spec, max_steps=max_steps, n_rounds=plan.n_rounds)


def _key(field: str) -> str:
    """Return what a part of the plan is called in the identity of checkpoints."""
    return f"{field} in max_seconds"


def _stored_plan(folder: CheckpointFolder) -> Plan | None:
    values = [stored_value(folder.path, _key(field)) for field in Plan._fields]
    known = [value for value in values if value is not None]
    return Plan(*known) if len(known) == len(values) else None


def _plan_trees(
    context: FitContext, settings: VQSettings, seconds: float, _: Freedom, __: SplitFor
) -> Plan:
    start = time.perf_counter()
    rounds = TreeRounds(context, settings)
    rounds.prepare()
    prepared = time.perf_counter()
    n_trees = rounds.try_out()
    per_tree = (time.perf_counter() - prepared) / n_trees
    left = seconds - (time.perf_counter() - start)
    n_steps = _steps_in(left, per_tree, settings.n_rounds)
    return Plan(n_steps, settings.spec.n_members, settings.n_rounds)


def _plan_networks(
    context: FitContext,
    settings: VQSettings,
    seconds: float,
    freedom: Freedom,
    split_for: SplitFor,
) -> Plan:
    start = time.perf_counter()
    n_members, n_rounds = settings.spec.n_members, settings.n_rounds
    per_step = _seconds_per_step(context, settings)
    enough = min(_ENOUGH_STEPS, settings.max_steps)
    left = seconds - (time.perf_counter() - start)
    if freedom.members and n_members > 1 and _steps_in(left, per_step, n_rounds) < enough:
        # Members take their steps one after the other, so that a step costs as many as there are.
        per_member = per_step / n_members
        n_members = max(1, int(_steps_in(left, per_member, n_rounds) / enough))
        fewer = settings._replace(spec=settings.spec._replace(n_members=n_members))
        per_step = _seconds_per_step(split_for(n_members), fewer)
        left = seconds - (time.perf_counter() - start)
    while freedom.rounds and n_rounds > 1 and _steps_in(left, per_step, n_rounds) < enough:
        n_rounds -= 1
    return Plan(_steps_in(left, per_step, n_rounds), n_members, n_rounds)


def _steps_in(seconds: float, per_step: float, n_rounds: int) -> int:
    return max(_FEWEST_STEPS, int(_RESERVE * seconds / n_rounds / per_step))


def _seconds_per_step(context: FitContext, settings: VQSettings) -> float:
    """Return the seconds of a step, its part of a check included."""
    stage = make_stage(context, settings, Round(1, context.split), None)
    for step in range(_UNTIMED + _TIMED):
        if step == _UNTIMED:
            start = time.perf_counter()
        take_step(stage.objective, stage.optimizer, step)
    stepped = time.perf_counter()
    stage.check(1, {})
    checked = time.perf_counter()
    return (stepped - start) / _TIMED + (checked - stepped) / stage.budget.check_every
