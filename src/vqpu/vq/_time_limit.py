"""How many steps a time holds: measured before the fit, so that the fit itself knows no clock."""

from __future__ import annotations

import time

from vqpu.persistence._checkpoints import CheckpointFolder, stored_value
from vqpu.training import FitContext, take_step
from vqpu.vq._rounds import Round, VQSettings, make_stage
from vqpu.vq._tree_rounds import TreeRounds

_KEY = "steps of a round in max_seconds"
_UNTIMED, _TIMED = 2, 5
_FEWEST_STEPS = 20
_RESERVE = 0.9  # the share that is planned; other work on the machine takes the rest


def within_seconds(
    context: FitContext, settings: VQSettings, seconds: float | None
) -> tuple[FitContext, VQSettings]:
    """Return a fit whose rounds have as many steps as the time holds, but at most ``max_steps``.

    The steps are planned from the measured time of a few, which are thrown away. The same fit with
    that ``max_steps`` ends the same, bit for bit; so does one that goes on from checkpoints, as
    these know the plan.

    Parameters
    ----------
    context : FitContext
    settings : VQSettings
    seconds : float or None
        None: no limit.
    """
    if seconds is None:
        return context, settings
    folder = context.checkpoints
    planned = None if folder is None else stored_value(folder.path, _KEY)
    if planned is None:
        planned = _plan(context, settings, seconds)
    if folder is not None:
        known = CheckpointFolder(folder.path, {**folder.identity, _KEY: planned})
        context = context._replace(checkpoints=known)
    return context, settings._replace(max_steps=min(planned, settings.max_steps))


def _plan(context: FitContext, settings: VQSettings, seconds: float) -> int:
    """Return how many steps, or trees, a round may have."""
    start = time.perf_counter()
    measure = _seconds_per_step if settings.trees is None else _seconds_per_tree
    per_step = measure(context, settings)
    left = _RESERVE * (seconds - (time.perf_counter() - start)) / settings.n_rounds
    return max(_FEWEST_STEPS, int(left / per_step))


def _seconds_per_tree(context: FitContext, settings: VQSettings) -> float:
    rounds = TreeRounds(context, settings)
    rounds.prepare()
    start = time.perf_counter()
    n_trees = rounds.try_out()
    return (time.perf_counter() - start) / n_trees


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
