"""Fitted estimators as model directories: which state there is, and how it comes back.

An estimator states the names of its fitted attributes, no more; what is a module goes to the
weights, everything else to the manifest.
"""

from __future__ import annotations

import dataclasses
import inspect
import os
import platform
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Protocol, TypeVar, get_type_hints

import numpy as np
import torch
from torch import nn

from vqpu.base._seeding import choose_device, preserved_torch_state
from vqpu.errors import EncoderError, ModelFileError, VqpuError
from vqpu.persistence._bundle import Bundle
from vqpu.persistence._model import write_model
from vqpu.persistence._tensors import WEIGHTS, fill_modules, module_tensors, pack, unpack
from vqpu.persistence._values import decode, encode, is_of_type

EncoderMaker = Callable[[tuple[int, ...], int], nn.Module]

_OPTIONAL = (
    "feature_names_in_", "max_steps_", "batch_size_", "tree_sizes_", "table_inputs_", "columns_",
    "evidence_", "alpha_interval_",
)  # fmt: skip
# What parameters meant before they had a name, where the default of today means something else.
_BEFORE = {"precision": "float32", "optimizer": "adam"}


class Savable(Protocol):
    """What an estimator offers so that it can be saved.

    ``_saved`` are its fitted attributes, modules among them; ``_records`` are the types with named
    fields that occur in them and in its parameters.
    """

    _saved: ClassVar[tuple[str, ...]]
    _records: ClassVar[tuple[type, ...]]
    n_members_: int

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name."""

    def _check_parameters(self) -> None:
        """Raise if a parameter is wrong."""

    def _blank_modules(self) -> dict[str, nn.Module]:
        """Return new modules of the right architecture, by the names of their attributes."""

    def _attach(self, modules: dict[str, nn.Module], device: torch.device) -> None:
        """Take modules that were filled with weights."""


AnyEstimator = TypeVar("AnyEstimator", bound=Savable)


def save_estimator(
    estimator: Savable, path: str | os.PathLike[str], extras: dict[str, bytes] | None
) -> None:
    """Write a fitted estimator as a directory, in one step.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    path : path
        Of the directory: free, empty, or an older model.
    extras : dict of bytes or None
        Further files to keep in it by their names.
    """
    tensors: dict[str, torch.Tensor] = {}
    state, modules = {}, []
    for name in _saved_names(estimator):
        value = getattr(estimator, name)
        if isinstance(value, nn.Module):
            modules.append(name)
            tensors |= module_tensors(name, value)
        else:
            state[name] = encode(value, name, tensors, estimator._records)
    header = {
        "estimator": type(estimator).__name__,
        "versions": _versions(),
        "parameters": plain_parameters(estimator.get_params(deep=False)),
        "fitted": state,
        "modules": modules,
    }
    write_model(path, header, pack(tensors), extras)


def restore_estimator(
    kind: type[AnyEstimator],
    bundle: Bundle,
    *,
    encoder: EncoderMaker | None = None,
    device: str | None = None,
) -> AnyEstimator:
    """Return the estimator that a verified model holds; it predicts as it did, bit for bit.

    Parameters
    ----------
    kind : type
        The class that was saved.
    bundle : Bundle
    encoder : callable or None
        The function that was given as ``encoder``, if one was.
    device : str or None
        Where to compute. None: as the parameter ``device`` says that was saved.
    """
    saved_as = bundle.manifest.get("estimator")
    if saved_as != kind.__name__:
        raise ModelFileError(
            f"{bundle.path} is a {saved_as}, not a {kind.__name__}. Use {saved_as}.load, or "
            "vqpu.load for any of vqpu's estimators."
        )
    try:
        model = kind(**_parameters(kind, bundle, encoder, device))
        model._check_parameters()
        _restore(model, bundle)
    except (ModelFileError, EncoderError):
        raise
    except VqpuError as error:
        raise ModelFileError(f"{bundle.path} cannot be used: {error}") from error
    except (TypeError, ValueError, LookupError, AttributeError, RuntimeError) as error:
        raise ModelFileError(
            f"{bundle.path} does not hold a {kind.__name__}: its values do not fit ({error})."
        ) from error
    return model


def _restore(model: Savable, bundle: Bundle) -> None:
    tensors = unpack(bundle.read(WEIGHTS))
    for name, value in _checked_state(model, bundle).items():
        setattr(model, name, decode(value, tensors, model._records))
    _check_fitted(model, bundle)
    # Members of trees share their tensors, whose own check counts members.
    if model.n_members_ > len(tensors) and getattr(model, "tree_sizes_", None) is None:
        raise ModelFileError(f"{bundle.path} states {model.n_members_} members but lacks them.")
    parameters = model.get_params(deep=False)
    # Our own modules take no memory until their shapes are known to be those of the file.
    if callable(parameters.get("encoder")):
        with preserved_torch_state(torch.device("cpu")):
            modules = model._blank_modules()
    else:
        with torch.device("meta"):
            modules = model._blank_modules()
    fill_modules(modules, tensors)
    device = choose_device(parameters["device"])
    for module in modules.values():
        module.eval().requires_grad_(False).to(device)
    model._attach(modules, device)


def _saved_names(estimator: Savable) -> list[str]:
    """Return the names of all saved attributes that there are."""
    optional = (name for name in _OPTIONAL if getattr(estimator, name, None) is not None)
    return [*estimator._saved, *optional]


def _checked_state(model: Savable, bundle: Bundle) -> dict[str, Any]:
    state = bundle.manifest.get("fitted")
    if not isinstance(state, dict):
        raise ModelFileError(f"{bundle.path} has no fitted values in its manifest.")
    modules = bundle.manifest.get("modules")
    if not isinstance(modules, list) or not set(map(str, modules)) <= set(model._saved):
        raise ModelFileError(f"{bundle.path} has modules that are not expected: {modules!r:.100}.")
    expected = set(model._saved) - set(modules)
    missing = sorted(expected - set(state))
    extra = sorted(set(state) - expected - set(_OPTIONAL))
    if missing or extra:
        raise ModelFileError(
            f"{bundle.path} does not hold the fitted values of a {type(model).__name__}: "
            f"{missing} are missing, {extra} are not expected."
        )
    return state


def _check_fitted(model: Savable, bundle: Bundle) -> None:
    """Raise if a restored value is not of the type that its class declares, or out of range."""
    hints = get_type_hints(type(model))
    for name in filter(vars(model).__contains__, hints):
        value = getattr(model, name)
        if name in (*model._saved, *_OPTIONAL) and not is_of_type(value, hints[name]):
            raise ModelFileError(
                f"{bundle.path} holds a {type(value).__name__} where {name} should be."
            )
    checks, best = getattr(model, "history_", ()), getattr(model, "best_check_", 0)
    if not 0 <= best < len(checks):
        raise ModelFileError(f"{bundle.path} says that check {best} is the best of {len(checks)}.")
    plan = getattr(model, "columns_", None)
    if plan is not None:
        plan.check()
        if (plan.n_features,) != tuple(getattr(model, "input_shape_", ())):
            raise ModelFileError(
                f"{bundle.path} has a plan of {plan.n_features} columns of numbers, which do not "
                "fit its network."
            )
    if np.shape(getattr(model, "classes_", (0, 1))) != (2,):
        raise ModelFileError(f"{bundle.path} must have two classes.")


def plain_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return an estimator's parameters ready for JSON.

    A function stands by its name, generators become None, a group of parameters is an object with
    the name of its class.

    Parameters
    ----------
    parameters : dict
    """
    plain = {}
    for name, value in parameters.items():
        if name == "encoder" and callable(value):
            value = {"callable": _name_of_callable(value)}
        elif name == "random_state" and not isinstance(value, (int, np.integer)):
            value = None
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            value = {type(value).__name__: plain_parameters(vars(value))}
        elif isinstance(value, np.generic):
            value = value.item()
        elif isinstance(value, tuple):  # as JSON has it, so that it can be compared
            value = [float(part) for part in value]
        plain[name] = value
    return plain


def _name_of_callable(function: Any) -> str:
    """Return what a function, or an object that can be called, is named in the source."""
    while isinstance(function, partial):
        function = function.func
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"


def _parameters(
    kind: type[Savable], bundle: Bundle, encoder: EncoderMaker | None, device: str | None
) -> dict[str, Any]:
    """Return the saved parameters with the user's encoder and device in their places.

    A parameter that is not in the file is newer than the file: it means what was before.
    """
    parameters = bundle.manifest.get("parameters")
    known = inspect.signature(kind).parameters
    if not isinstance(parameters, dict) or not set(parameters) <= set(known):
        found = sorted(set(parameters) - set(known)) if isinstance(parameters, dict) else parameters
        raise ModelFileError(
            f"{bundle.path} has parameters that {kind.__name__} does not know: {found}."
        )
    _check_encoder(bundle, parameters.get("encoder"), encoder)
    restored = {
        name: value if name == "encoder" else decode(value, {}, kind._records)
        for name, value in parameters.items()
    }
    before = {name: value for name, value in _BEFORE.items() if name in known}
    changes = {"encoder": encoder, "device": device}
    return before | restored | {name: value for name, value in changes.items() if value is not None}


def _check_encoder(bundle: Bundle, saved: Any, given: EncoderMaker | None) -> None:
    if isinstance(saved, dict) and given is None:
        raise ModelFileError(
            f"{bundle.path} was fitted with an encoder of its own, {saved.get('callable')!r}. Pass "
            "that function as encoder=."
        )
    if given is not None and not isinstance(saved, dict):
        raise ModelFileError(
            f"{bundle.path} was fitted with encoder={saved!r}, so it takes no encoder. Leave "
            "encoder out."
        )


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    import vqpu

    return {
        "vqpu": vqpu.__version__,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "numpy": np.__version__,
        "scikit-learn": version("scikit-learn"),
    }
