"""Parameters that several network estimators have: one check for each name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from torch import nn

from vqpu.base._parameters import check_choice, check_integer, check_real
from vqpu.base._seeding import choose_device
from vqpu.errors import ParameterError
from vqpu.nn import ENCODERS
from vqpu.training import OPTIMIZERS, SCHEDULES

AUGMENTATIONS = ("auto", "none", "shift", "flip", "flip+shift")


def _check_encoder(name: str, value: Any) -> None:
    if isinstance(value, nn.Module):
        raise ParameterError(
            "encoder must be a name or a function of (sample_shape, vector_dim) that returns a "
            "new module, so that every fit starts afresh. Got a module instead."
        )
    if not callable(value):
        check_choice(name, value, ["auto", *ENCODERS])


def _check_verbose(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        check_integer(name, value, 0)


def _check_device(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise ParameterError(f"{name} must be a string such as 'auto'. Got {value!r} instead.")
    choose_device(value)


_CHECKS: dict[str, Callable[[str, Any], None]] = {
    "encoder": _check_encoder,
    "n_members": partial(check_integer, low=1, optional=True),
    "n_vectors": partial(check_integer, low=1),
    "vector_dim": partial(check_integer, low=1),
    "codebook_size": partial(check_integer, low=2),
    "dropout": partial(check_real, low=0, high=1, optional=True),
    "augment": partial(check_choice, choices=AUGMENTATIONS),
    "batch_size": partial(check_integer, low=2),
    "learning_rate": partial(check_real, low=0, open_low=True),
    "optimizer": partial(check_choice, choices=tuple(OPTIMIZERS)),
    "schedule": partial(check_choice, choices=SCHEDULES),
    "weight_average": partial(check_real, low=0, high=1),
    "max_steps": partial(check_integer, low=1),
    "max_epochs": partial(check_integer, low=1, optional=True),
    "check_every": partial(check_integer, low=1, optional=True),
    "patience": partial(check_integer, low=1),
    "holdout": partial(check_real, low=0, high=0.5, open_high=False),
    "n_init": partial(check_integer, low=1),
    "n_rounds": partial(check_integer, low=1, optional=True),
    "verbose": _check_verbose,
    "device": _check_device,
}


def check_parameters(values: Mapping[str, Any]) -> None:
    """Raise if one of the parameters that are known here is wrong; others are passed over.

    Parameters
    ----------
    values : mapping
        By name, as ``get_params`` or ``vars`` gives them.
    """
    for name, check in _CHECKS.items():
        if name in values:
            check(name, values[name])
