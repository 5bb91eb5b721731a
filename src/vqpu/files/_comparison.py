"""VQ K-means beside other methods on the user's own data, by scores that need no negatives."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.base._parameters import check_integer
from vqpu.errors import InputError, ParameterError, VqpuError
from vqpu.files import PUData
from vqpu.files._compared_methods import (
    default_methods,
    make_methods,
    method_named,
)
from vqpu.files._evaluation import pu_scores
from vqpu.metrics import PUStratifiedKFold, proxy_auc, pu_roc_auc_score
from vqpu.scenarios import Scenario

_FOLDS_OF_TABLES = 5
_JUDGED_SHARE = 0.25  # of a single split
_FEWEST = 4  # of each kind that are judged at once

Indices = NDArray[np.int64]
Tell = Callable[[str], None]


class Comparison(NamedTuple):
    """A row for every method, the best ranking first.

    Attributes
    ----------
    scenario : str
    alpha : float
        Share of positives among the unlabelled samples that all rows are judged with.
    alpha_from : {"given", "vq", "median"}
        Where alpha came from: the user, VQ K-means, or the median of the methods' own estimates.
    n_folds : int
        1: a single split.
    n_judged : tuple of int
        Labelled positives and unlabelled samples that were judged, each by a fit that did not see
        it: all but those without a single value.
    rows : list of dict
        "method" and "error", or: "seconds" of all fits, "called_positive" (share of the
        unlabelled), the scores of :func:`pu_scores`, "proxy_auc_spread" (standard deviation over
        folds), "behind" (how much better the best one's proxy_auc is, mean over folds), "noise"
        (what chance may make of that) and "is_level" (whether chance may be all of it). With a
        single split the spread, the noise and the last are None.
    """

    scenario: str
    alpha: float
    alpha_from: str
    n_folds: int
    n_judged: tuple[int, int]
    rows: list[dict[str, Any]]

    @property
    def best_saved(self) -> str | None:
        """The best method whose models can be saved, if any was fitted."""
        fitted = [row["method"] for row in self.rows if "error" not in row]
        return next((name for name in fitted if method_named(name).is_saved), None)


class _Fold(NamedTuple):
    """What a method said of the samples of a fold, which it was not fitted on."""

    y: NDArray[np.int8]
    scores: NDArray[np.float64]
    alpha: float | None
    seconds: float


Fitted = dict[str, list[_Fold] | VqpuError]


def compare(
    data: PUData,
    methods: Sequence[str] | None = None,
    *,
    scenario: str,
    alpha: float | None = None,
    n_folds: int | None = None,
    seed: int = 0,
    parameters: Mapping[str, Any] | None = None,
    verbose: int = 0,
    tell: Tell = lambda _: None,
) -> Comparison:
    """Fit methods on parts of the data and judge each part by a fit without it, by PU labels.

    Parameters
    ----------
    data : PUData
    methods : sequence of str or None
        Of :func:`vqpu.base._registry.compared_methods`. None: for tables VQ K-means and Elkan-Noto,
        both with boosted trees; for images VQ K-means, the naive classifier and nnPU.
    scenario : {"case-control", "single-set"}
    alpha : float or None
        None takes the estimate of VQ K-means, without it the median of the others'. If given,
        methods that need it are told.
    n_folds : int or None
        Parts; 1 is a single split, three quarters against the rest, which is quick but cannot tell
        a lead from chance. None: 5 for tables (fewer if there are few samples), 1 for images.
    seed : int
    parameters : mapping or None
        Set on every method that has a parameter of that name, such as ``max_steps``.
    verbose : int
        1: methods show their own progress on images, where a fit takes minutes.
    tell : callable
        Told in a line what is being fitted, and how long each fit took.
    """
    Scenario.parse(scenario)
    is_images = data.X.ndim > 2
    models = make_methods(
        default_methods(is_images=is_images) if methods is None else methods,
        scenario=scenario, seed=seed, alpha=alpha, parameters=parameters or {},
        verbose=verbose if is_images else 0,
    )  # fmt: skip
    folds = [(rest, _with_a_value(data, rows)) for rest, rows in _split(data, n_folds, seed)]
    fitted: Fitted = {
        name: _cross_fit(name, model, data, folds, tell) for name, model in models.items()
    }
    failures = {name: found for name, found in fitted.items() if isinstance(found, VqpuError)}
    if len(failures) == len(fitted):
        name, first = next(iter(failures.items()))
        raise type(first)(f"No method can be fitted; {name}: {first}")
    share, source = _shared_alpha(alpha, fitted)
    rows = [_row(name, found, scenario, share) for name, found in fitted.items()]
    rows.sort(key=lambda row: -row.get("proxy_auc", -1.0))
    _set_leads(rows, fitted)
    y = np.concatenate([data.y[judged] for _, judged in folds])
    n_judged = int(y.sum()), len(y) - int(y.sum())
    return Comparison(scenario, share, source, len(folds), n_judged, rows)


def describe_leads(found: Comparison) -> str:
    """Say in plain words which leads are more than chance.

    Parameters
    ----------
    found : Comparison
    """
    best, *others = [row for row in found.rows if "error" not in row]
    if not others:
        return ""
    if found.n_folds == 1:
        return (
            "One split cannot tell a lead from chance: --folds 5 fits every method five times and "
            "can."
        )
    told = []
    for row in others:
        lead = f"{best['method']} is ahead of {row['method']} by {row['behind']:.3f} in proxy_auc"
        noise = f"the noise of {found.n_folds} folds ({row['noise']:.3f})"
        if row["is_level"]:
            told.append(f"{lead}, which is within {noise}: they are level on these data.")
        else:
            told.append(f"{lead}, which is more than {noise}.")
    return "\n".join(told)


def _split(data: PUData, n_folds: int | None, seed: int) -> list[tuple[Indices, Indices]]:
    """Return the rows that are fitted and those that are judged, fold by fold."""
    check_integer("n_folds", n_folds, 1, optional=True)
    counts = {"labelled positives": int(data.y.sum())}
    counts["unlabelled samples"] = len(data.y) - counts["labelled positives"]
    kind = min(counts, key=lambda name: counts[name])
    if n_folds is None:
        n_folds = 1 if data.X.ndim > 2 else min(_FOLDS_OF_TABLES, max(2, counts[kind] // _FEWEST))
    n_judged = int(counts[kind] * (_JUDGED_SHARE if n_folds == 1 else 1 / n_folds))
    if n_judged < _FEWEST:
        parts = "a quarter of them is" if n_folds == 1 else f"in {n_folds} folds {n_judged} are"
        raise InputError(
            f"{counts[kind]} {kind} are too few to compare methods: {parts} kept for judging at "
            f"once, where at least {_FEWEST} are needed."
        )
    if n_folds == 1:
        judged = _judged_rows(data.y, seed)
        return [(np.setdiff1d(np.arange(len(data.y)), judged), judged)]
    folds = PUStratifiedKFold(n_folds, shuffle=True, random_state=seed)
    return list(folds.split(data.y, data.y))


def _with_a_value(data: PUData, rows: Indices) -> Indices:
    """Return the rows that are not missing throughout: of those nothing can be said."""
    if data.X.ndim > 2 or data.X.dtype.kind != "f":
        return rows
    has_value: NDArray[np.bool_] = ~np.isnan(np.asarray(data.X[rows])).all(axis=1)
    kept: Indices = rows[has_value]
    return kept


def _judged_rows(y: NDArray[np.int8], seed: int) -> Indices:
    rng = np.random.default_rng(seed)
    rows = [np.flatnonzero(y == label) for label in (1, 0)]
    parts = [rng.choice(kind, round(_JUDGED_SHARE * len(kind)), replace=False) for kind in rows]
    return np.sort(np.concatenate(parts))


def _cross_fit(
    name: str, model: Any, data: PUData, folds: Sequence[tuple[Indices, Indices]], tell: Tell
) -> list[_Fold] | VqpuError:
    """Fit a method once a fold; its error, if it has one, must not hide the other methods."""
    tell(f"fitting {name}")
    found = []
    for number, (rest, judged) in enumerate(folds, start=1):
        started = time.perf_counter()
        try:
            model.fit(data.X[rest], data.y[rest])
            scores = model.decision_function(data.X[judged])
        except VqpuError as error:
            return error
        seconds = time.perf_counter() - started
        tell(f"{name}: fold {number} of {len(folds)} took {seconds:.1f} s")
        found.append(_Fold(data.y[judged], scores, getattr(model, "alpha_", None), seconds))
    return found


def _shared_alpha(alpha: float | None, fitted: Fitted) -> tuple[float, str]:
    if alpha is not None:
        return alpha, "given"
    found = {
        name: float(np.mean([fold.alpha for fold in folds if fold.alpha is not None]))
        for name, folds in fitted.items()
        if not isinstance(folds, VqpuError) and folds[0].alpha is not None
    }
    if "vq" in found:
        return found["vq"], "vq"
    if not found:
        raise ParameterError("None of these methods estimates alpha: give --alpha, or add 'vq'.")
    return float(np.median(list(found.values()))), "median"


def _row(name: str, folds: list[_Fold] | VqpuError, scenario: str, alpha: float) -> dict[str, Any]:
    """Return the scores of a method.

    What is called positive is pooled over folds; ranks are only comparable within one.
    """
    if isinstance(folds, VqpuError):
        return {"method": name, "error": str(folds)}
    y = np.concatenate([fold.y for fold in folds])
    scores = np.concatenate([fold.scores for fold in folds])
    try:
        found = pu_scores(y, scores, scenario=scenario, alpha=alpha)
        ranks = _proxy_aucs(folds)
        aucs = [pu_roc_auc_score(f.y, f.scores, scenario=scenario, alpha=alpha) for f in folds]
    except VqpuError as error:
        return {"method": name, "error": str(error)}
    found |= {"proxy_auc": float(ranks.mean()), "auc": float(np.mean(aucs))}
    spread = float(ranks.std(ddof=1)) if len(ranks) > 1 else None
    called = float((scores[y == 0] > 0).mean())
    seconds = sum(fold.seconds for fold in folds)
    row = {"method": name, "seconds": seconds, "called_positive": called}
    return {**row, **found, "proxy_auc_spread": spread}


def _proxy_aucs(folds: list[_Fold]) -> NDArray[np.float64]:
    return np.array([proxy_auc(fold.y, fold.scores) for fold in folds])


def _set_leads(rows: list[dict[str, Any]], fitted: Fitted) -> None:
    """Say of every row how far it is behind the first, and whether chance may be all of it."""
    best: NDArray[np.float64] | None = None
    for row in rows:
        folds = fitted[row["method"]]
        if "error" in row or isinstance(folds, VqpuError):
            continue
        ranks = _proxy_aucs(folds)
        best = ranks if best is None else best
        leads = best - ranks
        noise = noise_of_lead(leads) if len(leads) > 1 else None
        behind = float(leads.mean())
        row |= {
            "behind": behind,
            "noise": noise,
            "is_level": None if noise is None else behind <= noise,
        }


def noise_of_lead(leads: NDArray[np.float64]) -> float:
    """Return what chance may make of a mean lead over folds, in 95 of 100 comparisons.

    Half the interval of Student's t with the variance of Nadeau and Bengio ("Inference for the
    generalization error", 2003): the fits of folds share most of their samples, so the variance of
    the mean is not that over the number of folds k but (1 / k + 1 / (k - 1)) times it.

    Parameters
    ----------
    leads : ndarray of shape (n_folds,)
        Of one method over another, fold by fold.

    Examples
    --------
    >>> round(noise_of_lead(np.array([0.01, 0.03, 0.02, 0.02, 0.02])), 4)
    0.0132
    """
    from scipy.stats import t

    k = len(leads)
    variance = float(leads.var(ddof=1)) * (1 / k + 1 / (k - 1))
    return float(t.ppf(0.975, k - 1)) * math.sqrt(variance)
