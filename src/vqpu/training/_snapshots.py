"""What a checkpoint of training holds: everything that a step changes."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from vqpu.errors import CheckpointError, ModelFileError
from vqpu.persistence._checkpoints import Checkpoint, CheckpointFolder
from vqpu.persistence._tensors import fill_modules
from vqpu.persistence._tensors import module_tensors as tensors_of
from vqpu.persistence._values import decode, encode
from vqpu.training._history import History
from vqpu.training._stopping import Best, BestCheck


class Changing(NamedTuple):
    """All that the steps of a training change.

    Nothing random is among it: a step depends on the seed and on its number alone.

    Attributes
    ----------
    modules : mapping of Module
        All that is trained or averaged, by name.
    optimizers : mapping of Optimizer
    tensors : mapping of Tensor
        What else is remembered from step to step; filled in place.
    """

    modules: Mapping[str, nn.Module]
    optimizers: Mapping[str, torch.optim.Optimizer] = {}
    tensors: Mapping[str, Tensor] = {}


class Snapshots(NamedTuple):
    """Writes the state of training to a folder at every check, and reads it back.

    Attributes
    ----------
    folder : CheckpointFolder
    changing : Changing
    rule : BestCheck
    """

    folder: CheckpointFolder
    changing: Changing
    rule: BestCheck

    def write(self, step: int, history: History, *, is_over: bool) -> None:
        """Write the state after ``step`` steps, just checked."""
        modules, optimizers, memories = self.changing
        tensors = {f"memory.{name}": tensor for name, tensor in memories.items()}
        for name, optimizer in optimizers.items():
            tensors |= optimizer_tensors(name, optimizer)
        for name, module in [*modules.items(), ("best", self.rule.best_state)]:
            tensors |= tensors_of(name, module)
        best = {"best_value": self.rule.best_value, "best_check": self.rule.best_check}
        rows = encode(history.rows, "history", tensors, ())
        self.folder.write(step, {**best, "is_over": is_over, "history": rows}, tensors)

    def resume(self, history: History, state: Any) -> tuple[int, bool]:
        """Bring everything back to the newest checkpoint.

        Parameters
        ----------
        history : History
        state : Module
            What the rule copies at the best check.

        Returns
        -------
        step : int
            Steps taken so far, 0 if there is no checkpoint.
        is_over : bool
            Whether training had ended.
        """
        found = self.folder.newest()
        if found is None:
            return 0, False
        with _refusing_misfits(self.folder):
            return self._restore(found, history, state)

    def _restore(self, found: Checkpoint, history: History, state: Any) -> tuple[int, bool]:
        header, tensors = found
        best_state = copy.deepcopy(state)
        modules, optimizers, memories = self.changing
        for name, optimizer in optimizers.items():
            _fill_optimizer(name, optimizer, tensors)
        for name, memory in memories.items():
            memory.copy_(tensors.pop(f"memory.{name}"))
        fill_modules({**modules, "best": best_state}, tensors)
        rows = decode(header["history"], {}, ())
        if not all(isinstance(row, dict) for row in rows):
            raise ModelFileError("its history holds other things than rows.")
        if not -1 < header["best_check"] < len(rows):
            raise ModelFileError(f"check {header['best_check']} is none of {len(rows)}.")
        history.rows[:] = rows
        best = Best(header["best_value"], header["best_check"], best_state)
        self.rule.resume(len(history), best)
        return int(header["step"]), bool(header["is_over"])


@contextmanager
def _refusing_misfits(folder: CheckpointFolder) -> Iterator[None]:
    try:
        yield
    except (ModelFileError, LookupError, TypeError, ValueError, RuntimeError) as error:
        raise CheckpointError(
            f"The newest checkpoint in {folder.path} does not fit this model: {error} Use another "
            "checkpoint_dir, or the version of vqpu that wrote it."
        ) from error


def optimizer_tensors(name: str, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Return what an optimiser remembers of every parameter.

    Learning rates are not among it: the loop sets them at every step.
    """
    return {
        f"{name}.{index}.{key}": value
        for index, memory in optimizer.state_dict()["state"].items()
        for key, value in memory.items()
    }


def _fill_optimizer(
    name: str, optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]
) -> None:
    """Take an optimiser's memories out of ``tensors``."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    memories: dict[int, dict[str, Tensor]] = {}
    for place in [place for place in tensors if place.startswith(f"{name}.")]:
        index, key = place.removeprefix(f"{name}.").split(".", 1)
        value, parameter = tensors.pop(place), parameters[int(index)]
        if value.shape == parameter.shape:
            # In the parameter's memory layout: Adam's fused kernel goes through both as they lie.
            value = torch.empty_like(parameter).copy_(value)
        memories.setdefault(int(index), {})[key] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": memories})
