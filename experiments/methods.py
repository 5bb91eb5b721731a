"""The methods by name, made from flat parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from experiments.problems import Problem
from vqpu.base._registry import METHODS as REGISTERED
from vqpu.errors import InputError, did_you_mean
from vqpu.persistence._saving import plain_parameters

METHODS = {method.name: method for method in REGISTERED if method.is_saved}  # no mere wrappers
_GROUP = "variant__"  # of parameters that are flat in settings and records


def make_method(method: str, parameters: dict[str, Any]) -> Any:
    """Return a method that is not fitted yet; wrong names and values are refused.

    Parameters
    ----------
    method : str
        A key of ``METHODS``.
    parameters : dict
        Changes of the defaults, by name, those of a variant as well.
    """
    if method not in METHODS:
        raise InputError(f"Unknown method {method!r}. Valid methods are {list(METHODS)}.")
    kind: Any = METHODS[method].load_class()
    own, known = kind().get_params(deep=False), flat_parameters(kind())
    for name in parameters:
        if name not in known:
            hint = did_you_mean(name, known) or f" Valid are {list(known)}."
            raise InputError(f"{kind.__name__} has no parameter {name!r}.{hint}")
    model = kind(**{name: value for name, value in parameters.items() if name in own})
    grouped = {f"{_GROUP}{name}": parameters[name] for name in parameters if name not in own}
    model.set_params(**grouped)
    model._check_parameters()
    return model


def flat_parameters(model: Any) -> dict[str, Any]:
    """Return all parameters of an estimator, those of its variant by their own names."""
    found = model.get_params(deep=False)
    found.pop(_GROUP.removesuffix("__"), None)
    grouped = {
        name.removeprefix(_GROUP): value
        for name, value in model.get_params(deep=True).items()
        if name.startswith(_GROUP)
    }
    return plain_parameters({**found, **grouped})


def fit_method(
    method: str,
    problem: Problem,
    *,
    seed: int,
    parameters: dict[str, Any],
    callback: Callable[[Any], None] | None = None,
) -> Any:
    """Fit one method on a problem and return it.

    Parameters
    ----------
    method : str
        A key of ``METHODS``.
    problem : Problem
    seed : int
    parameters : dict
        Changes of the defaults.
    callback : callable or None
        Observes every check.
    """
    settings = {"random_state": seed, "augment": problem.augment, **parameters}
    if method == "oracle":
        model = make_method(method, {"class_prior": problem.alpha, **settings})
        return model.fit(problem.X, problem.truth, callback=callback)
    return make_method(method, settings).fit(problem.X, problem.y, callback=callback)
