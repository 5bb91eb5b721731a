"""VQ K-means beside other methods on the user's own data, by scores that need no negatives."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.base._parameters import check_choice, check_real
from vqpu.base._registry import compared_methods, find_method
from vqpu.errors import InputError, ParameterError, VqpuError
from vqpu.files import PUData
from vqpu.files._evaluation import pu_scores
from vqpu.scenarios import Scenario


def method_parameters(methods: Sequence[str]) -> list[str]:
    """Return the names of all parameters of some methods.

    Parameters
    ----------
    methods : sequence of str
        Of :func:`vqpu.base._registry.compared_methods`.
    """
    for name in methods:
        check_choice("method", name, compared_methods())
    return sorted(set().union(*(_class_of(name)().get_params() for name in methods)))


def make_methods(
    methods: Sequence[str], *, seed: int, alpha: float | None, parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the estimators of a comparison by name; what one of them refuses is refused here.

    Parameters
    ----------
    methods, seed, alpha, parameters
        As in :func:`compare`.
    """
    known = method_parameters(methods)
    if not methods or len(set(methods)) != len(methods):
        raise ParameterError(f"methods must name each method once. Got {list(methods)}.")
    check_real("alpha", alpha, 0, 1, open_low=True, optional=True)
    for name in parameters:
        if name not in known:
            raise ParameterError(f"None of {list(methods)} has a parameter {name!r}.")
    wanted = ({} if alpha is None else {"alpha": alpha}) | dict(parameters)
    models = {name: _make(name, seed, wanted) for name in methods}
    for name, model in models.items():
        try:
            model._check_parameters()
        except ParameterError as error:
            raise ParameterError(f"{name}: {error}") from error
    return models


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
    own = {name: _class_of(name)().get_params() for name in methods}
    parts = [
        f"{key}={value} for {', '.join(name for name in methods if key in own[name])}"
        for key, value in parameters.items()
    ]
    return f"set: {'; '.join(parts)}"


def _class_of(name: str) -> Any:
    method = find_method(name)
    assert method is not None, "names are checked before"
    return method.load_class()


_JUDGED_SHARE = 0.25
_FEWEST = 4


class Comparison(NamedTuple):
    """A row for every method, the best ranking first.

    Attributes
    ----------
    scenario : str
    alpha : float
        Share of positives among the unlabelled samples that all rows are judged with.
    alpha_from : {"given", "vq", "median"}
        Where alpha came from: the user, VQ K-means, or the median of the methods' own estimates.
    n_judged : tuple of int
        Labelled positives and unlabelled samples that no method was trained on.
    rows : list of dict
        "method", "seconds", "called_positive" (share of the unlabelled), the scores of
        :func:`pu_scores`, or "error".
    """

    scenario: str
    alpha: float
    alpha_from: str
    n_judged: tuple[int, int]
    rows: list[dict[str, Any]]


class _Fitted(NamedTuple):
    scores: NDArray[np.float64]
    alpha: float | None
    seconds: float


def compare(
    data: PUData,
    methods: Sequence[str],
    *,
    scenario: str,
    alpha: float | None = None,
    seed: int = 0,
    parameters: dict[str, Any] | None = None,
    report: Callable[[str], None] = lambda _: None,
) -> Comparison:
    """Fit methods on three quarters of the data and judge them on the rest by PU labels.

    Parameters
    ----------
    data : PUData
    methods : sequence of str
        Of :func:`vqpu.base._registry.compared_methods`.
    scenario : {"case-control", "single-set"}
    alpha : float or None
        None takes the estimate of VQ K-means, without it the median of the others'. If given,
        methods that need it are told.
    seed : int
    parameters : dict or None
        Set on every method that has a parameter of that name, such as ``max_steps``.
    report : callable
        Told the name of each method before it is fitted.
    """
    Scenario.parse(scenario)
    models = make_methods(methods, seed=seed, alpha=alpha, parameters=parameters or {})
    judged = _judged_rows(data.y, seed)
    rest = np.setdiff1d(np.arange(len(data.y)), judged)
    fitted: dict[str, _Fitted | VqpuError] = {}
    for name, model in models.items():
        report(name)
        try:
            fitted[name] = _fit(model, data, rest, judged)
        except VqpuError as error:  # one method that cannot be fitted must not hide the others
            fitted[name] = error
    failures = {name: found for name, found in fitted.items() if isinstance(found, VqpuError)}
    if len(failures) == len(fitted):
        name, first = next(iter(failures.items()))
        raise type(first)(f"No method can be fitted; {name}: {first}")
    share, source = _shared_alpha(alpha, fitted)
    rows = [_row(name, found, data.y[judged], scenario, share) for name, found in fitted.items()]
    rows.sort(key=lambda row: -row.get("proxy_auc", -1.0))
    n_positive = int(data.y[judged].sum())
    return Comparison(scenario, share, source, (n_positive, len(judged) - n_positive), rows)


def _judged_rows(y: NDArray[np.int8], seed: int) -> NDArray[np.int64]:
    rng = np.random.default_rng(seed)
    parts = []
    for label, kind in ((1, "labelled positives"), (0, "unlabelled samples")):
        rows = np.flatnonzero(y == label)
        count = round(_JUDGED_SHARE * len(rows))
        if count < _FEWEST:
            raise InputError(
                f"{len(rows)} {kind} are too few to compare methods: a quarter of them is kept "
                f"for judging, at least {_FEWEST}."
            )
        parts.append(rng.choice(rows, count, replace=False))
    return np.sort(np.concatenate(parts))


def _make(name: str, seed: int, parameters: dict[str, Any]) -> Any:
    model = _class_of(name)(random_state=seed)
    known = model.get_params()
    return model.set_params(**{key: value for key, value in parameters.items() if key in known})


def _fit(model: Any, data: PUData, rest: NDArray[np.int64], judged: NDArray[np.int64]) -> _Fitted:
    started = time.perf_counter()
    model.fit(data.X[rest], data.y[rest])
    seconds = time.perf_counter() - started
    scores = model.decision_function(data.X[judged])
    return _Fitted(scores, getattr(model, "alpha_", None), seconds)


def _shared_alpha(alpha: float | None, fitted: dict[str, _Fitted | VqpuError]) -> tuple[float, str]:
    if alpha is not None:
        return alpha, "given"
    found = {
        name: float(part.alpha)
        for name, part in fitted.items()
        if isinstance(part, _Fitted) and part.alpha is not None
    }
    if "vq" in found:
        return found["vq"], "vq"
    if not found:
        raise ParameterError("None of these methods estimates alpha: give --alpha, or add 'vq'.")
    return float(np.median(list(found.values()))), "median"


def _row(
    name: str, found: _Fitted | VqpuError, y: NDArray[np.int8], scenario: str, alpha: float
) -> dict[str, Any]:
    if not isinstance(found, _Fitted):
        return {"method": name, "error": str(found)}
    called = float((found.scores[y == 0] > 0).mean())
    try:
        scores = pu_scores(y, found.scores, scenario=scenario, alpha=alpha)
    except VqpuError as error:
        return {"method": name, "error": str(error)}
    return {"method": name, "seconds": found.seconds, "called_positive": called, **scores}
