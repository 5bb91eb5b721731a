"""From the user's files to a comparison of methods, and to a model of the best."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from vqpu.errors import UsageError
from vqpu.files import kind_of
from vqpu.files._compared_methods import (
    default_methods,
    describe_parameters,
    make_methods,
    method_named,
    method_parameters,
)
from vqpu.files._comparison import Comparison, compare
from vqpu.files._feature_data import with_feature_defaults
from vqpu.files._fitting import Describe, fit_method, refuse_model
from vqpu.files._settings import Sources, parse_assignments
from vqpu.files._training_data import TrainingData, check_sources, read_sources
from vqpu.persistence._model import check_free


class ComparisonSettings(NamedTuple):
    """What is compared, and how.

    Attributes
    ----------
    methods : sequence of str or None
    assignments : list of str
        ``name=value`` pairs: parameters of methods.
    scenario, alpha, n_folds, seed
        As in :func:`vqpu.files._comparison.compare`.
    fit_best : path or None
        Where a model of the best method goes, fitted on all samples.
    overwrite : bool
        Whether a model that is there is replaced.
    """

    methods: Sequence[str] | None
    assignments: list[str]
    scenario: str
    alpha: float | None
    n_folds: int | None
    seed: int
    fit_best: str | None = None
    overwrite: bool = False


def compare_files(
    sources: Sources, settings: ComparisonSettings, describe: Describe, *, quiet: bool = False
) -> tuple[Comparison, str | None]:
    """Compare methods on the user's files; what cannot be done is refused before any work.

    Parameters
    ----------
    sources : Sources
    settings : ComparisonSettings
    describe : callable
        As in :func:`vqpu.files._fitting.fit_files`.
    quiet : bool
        Whether to show no progress.

    Returns
    -------
    comparison : Comparison
    fitted : str or None
        The method that ``fit_best`` holds.
    """
    check_sources(sources)
    names, training = _methods_for(sources, settings, quiet)
    known = method_parameters(names)
    parameters = parse_assignments(settings.assignments, known)
    of_methods: dict[str, Any] = {
        "scenario": settings.scenario, "seed": settings.seed, "alpha": settings.alpha,
        "parameters": _with_defaults(sources, parameters, known), "verbose": 0 if quiet else 1,
    }  # fmt: skip
    make_methods(names, **of_methods)
    _check_fit_best(settings, names)
    tell = _keep_quiet if quiet else _tell
    if parameters:
        tell(describe_parameters(names, parameters))
    training = training or read_sources(sources, quiet=quiet)
    found = compare(training.data, names, n_folds=settings.n_folds, tell=tell, **of_methods)
    best = found.best_saved
    if settings.fit_best is None or best is None:
        return found, None
    tell(f"fitting {best} on all samples")
    fit_method(make_methods(names, **of_methods)[best], training, settings.fit_best, describe)
    return found, best


def _methods_for(
    sources: Sources, settings: ComparisonSettings, quiet: bool
) -> tuple[Sequence[str], TrainingData | None]:
    """Return the names of methods, and the data if only they can say which are meant."""
    if settings.methods is not None:
        return settings.methods, None
    path = sources.data if sources.data is not None else sources.positives
    assert path is not None, "sources are checked"
    kind = kind_of(path)
    training = read_sources(sources, quiet=quiet) if kind == "array" else None
    is_images = kind == "images" or (training is not None and training.data.X.ndim > 2)
    is_images = is_images and sources.features is None  # which makes vectors of pictures
    return default_methods(is_images=is_images), training


def _with_defaults(
    sources: Sources, parameters: dict[str, Any], known: Sequence[str]
) -> dict[str, Any]:
    """Return what the user set, on features with what ``fit`` takes there, for all methods."""
    if sources.features is None:
        return parameters
    return {k: v for k, v in with_feature_defaults(parameters).items() if k in known}


def _check_fit_best(settings: ComparisonSettings, names: Sequence[str]) -> None:
    if settings.fit_best is None:
        if settings.overwrite:
            raise UsageError("--overwrite is for --fit-best MODEL: give both or none.")
        return
    check_free(settings.fit_best)
    refuse_model(settings.fit_best, overwrite=settings.overwrite)
    if not any(method_named(name).is_saved for name in names):
        raise UsageError(
            f"None of {', '.join(names)} can be saved, as each holds scikit-learn estimators: "
            "compare another method with them, such as vq, or leave --fit-best out."
        )


def _tell(line: str) -> None:
    print(line, file=sys.stderr)


def _keep_quiet(_: str) -> None:
    pass
