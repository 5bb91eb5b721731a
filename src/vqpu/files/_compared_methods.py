"""The methods of a comparison: which there are for some data, and with which parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vqpu.base._parameters import check_choice, check_real
from vqpu.base._registry import Method, compared_methods, find_method
from vqpu.errors import ParameterError

# Quick ones: on tables VQ K-means with boosted trees, and Elkan and Noto's way around such trees,
# which ranks as the naive classifier around them does.
_FOR_TABLES = ("vq", "elkan-noto")
_FOR_IMAGES = ("vq", "naive", "nnpu")


def default_methods(*, is_images: bool) -> tuple[str, ...]:
    """Return the methods that are compared unless others are asked for."""
    return _FOR_IMAGES if is_images else _FOR_TABLES


def method_named(name: str) -> Method:
    """Return a method that can be compared.

    Parameters
    ----------
    name : str
        Of :func:`vqpu.base._registry.compared_methods`.
    """
    check_choice("method", name, compared_methods())
    method = find_method(name)
    assert method is not None, "its name was checked"
    return method


def method_parameters(methods: Sequence[str]) -> list[str]:
    """Return the names of all parameters of some methods.

    Parameters
    ----------
    methods : sequence of str
    """
    return sorted(set().union(*(_known_parameters(name) for name in methods)))


def make_methods(
    methods: Sequence[str],
    *,
    scenario: str,
    seed: int,
    alpha: float | None,
    parameters: Mapping[str, Any],
    verbose: int = 0,
) -> dict[str, Any]:
    """Return the estimators of a comparison by name; what one of them refuses is refused here.

    Parameters
    ----------
    methods, scenario, seed, alpha, parameters, verbose
        As in :func:`vqpu.files._comparison.compare`.
    """
    known = method_parameters(methods)
    if not methods or len(set(methods)) != len(methods):
        raise ParameterError(f"methods must name each method once. Got {list(methods)}.")
    check_real("alpha", alpha, 0, 1, open_low=True, optional=True)
    for name in parameters:
        if name not in known:
            raise ParameterError(f"None of {list(methods)} has a parameter {name!r}.")
    wanted = {"random_state": seed, "scenario": scenario, "verbose": verbose}
    wanted |= ({} if alpha is None else {"alpha": alpha}) | dict(parameters)
    return {name: _make(name, wanted) for name in methods}


def describe_parameters(methods: Sequence[str], parameters: Mapping[str, Any]) -> str:
    """Return in one line which methods get which of the parameters that were set.

    Parameters
    ----------
    methods : sequence of str
    parameters : mapping

    Examples
    --------
    >>> describe_parameters(["vq", "naive"], {"max_steps": 500, "codebook_size": 64})
    'set: max_steps=500 for vq, naive; codebook_size=64 for vq'
    """
    own = {name: _known_parameters(name) for name in methods}
    parts = [
        f"{key}={value} for {', '.join(name for name in methods if key in own[name])}"
        for key, value in parameters.items()
    ]
    return f"set: {'; '.join(parts)}"


def _make(name: str, parameters: Mapping[str, Any]) -> Any:
    model: Any = method_named(name).load_class()()
    known = model.get_params()
    model.set_params(**{key: value for key, value in parameters.items() if key in known})
    try:
        model._check_parameters()
    except ParameterError as error:
        raise ParameterError(f"{name}: {error}") from error
    return model


def _known_parameters(name: str) -> dict[str, Any]:
    parameters: dict[str, Any] = method_named(name).load_class()().get_params()
    return parameters
