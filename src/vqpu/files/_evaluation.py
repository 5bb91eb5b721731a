"""How good the predictions for labelled input are: with the truth, or by PU labels alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vqpu.errors import InputError, UsageError
from vqpu.estimators._drift import DriftWatch, watch_drift
from vqpu.files import Notes, read_label_file
from vqpu.files._engine import Engine, Reading
from vqpu.files._input_streams import LabeledInput, open_labeled_input
from vqpu.files._models import OpenedModel, open_model
from vqpu.files._scoring import Predictions, predictions_of
from vqpu.metrics import (
    lee_liu_score,
    proxy_auc,
    pu_f1_score,
    pu_precision_score,
    pu_recall_score,
    pu_roc_auc_score,
    pu_zero_one_risk,
    score_with_truth,
)
from vqpu.scenarios import Scenario


def evaluate_file(
    model_path: str | Path,
    input_path: str | Path,
    *,
    label: str | None = None,
    positive: str | None = None,
    labels_file: str | Path | None = None,
    file_column: str = "file",
    on_broken: str = "raise",
    scenario: str | None = None,
    alpha: float | None = None,
    missing: str = "keep",
    notes: Notes | None = None,
    features: str | Path | None = None,
    engine: Engine | None = None,
) -> dict[str, Any]:
    """Score a model on labelled input; parameters as in the functions below.

    Without ``alpha``, a scenario takes the model's own estimate. ``notes`` takes the counts of
    cells that are not as in training; ``features`` says where the extractor of a model on features
    lies now; ``engine`` scores in other processes, None in this one. Under "drift" stands the
    finding that says whether the samples, or with a scenario the unlabelled ones of them, are like
    the unlabelled ones of training; None where nothing was recorded of those.
    """
    if scenario is None and alpha is not None:
        raise UsageError("--alpha is for scores without negatives: give --scenario with it.")
    if scenario is not None:
        Scenario.parse(scenario)
    model = open_model(model_path)
    if scenario is not None and alpha is None:
        alpha = getattr(model.estimator, "alpha_", None)
        if alpha is None:
            raise UsageError("The model has no estimate of alpha: give --alpha.")
    labeled = LabeledInput(
        label, positive, labels_file, file_column, on_broken, scenario is None, missing, features
    )
    notes = Notes() if notes is None else notes
    watch = watch_drift(model.estimator)
    if engine is None:
        chunks = open_labeled_input(model.input_format, input_path, labeled, notes=notes)
        predictions = predictions_of(
            model.estimator, chunks, watch=watch, y_is_truth=scenario is None
        )
    else:
        predictions = _scored_elsewhere(engine, model, input_path, labeled, notes, watch)
    scores = evaluate(predictions, scenario=scenario, alpha=alpha)
    return {**scores, "drift": None if watch is None else watch.finding()._asdict()}


def _scored_elsewhere(
    engine: Engine,
    model: OpenedModel,
    path: str | Path,
    given: LabeledInput,
    notes: Notes,
    watch: DriftWatch | None,
) -> Iterator[Predictions]:
    """Give the predictions of an engine with ``y``, those that a CSV names in its order."""
    given = given.checked(model.input_format, path)
    reading = _reading_of(given, model, path)
    for part in engine(model, path, reading, notes, watch=watch):
        yield _whole(part, given.on_broken)


def _reading_of(given: LabeledInput, model: OpenedModel, path: str | Path) -> Reading:
    reading = Reading(
        id_column="",
        missing=given.missing,
        features=given.features,
        y_is_truth=given.needs_truth,
    )
    if model.input_format.kind == "table":
        return reading._replace(label=given.label, positive=given.positive)
    if model.input_format.kind == "array":
        raise UsageError("--engine ray takes no arrays: leave it out.")
    paths, y = read_label_file(
        Path(path),
        Path(str(given.labels_file)),
        given.positive,
        given.file_column,
        str(given.label),
    )
    return reading._replace(files=paths, y=y.tolist())


def _whole(part: Predictions, on_broken: str) -> Predictions:
    """Return predictions that may have reasons, if broken samples may be left out."""
    if part.reasons and on_broken == "raise":
        place, reason = next(iter(part.reasons.items()))
        raise InputError(
            f"{part.names[place]} cannot be used: {reason}. Leave such samples out with "
            "--skip-broken."
        )
    return part


def evaluate(
    predictions: Iterable[Predictions],
    *,
    scenario: str | None = None,
    alpha: float | None = None,
) -> dict[str, Any]:
    """Score predictions against their ``y``.

    Parameters
    ----------
    predictions : iterable of Predictions
        With ``y``.
    scenario : {"case-control", "single-set"} or None
        None: ``y`` is the truth, 0 for negatives. Otherwise 0 means unlabelled, and only scores
        that need no negatives are given.
    alpha : float or None
        Share of positives among the unlabelled samples; needed with a scenario.

    Returns
    -------
    dict
        Numbers by name, ready for JSON.
    """
    n_broken, (y, scores, probabilities) = _gather(predictions)
    called = (scores > 0).astype(np.int8)
    counts = {
        "n_samples": len(y),
        "n_positive": int(y.sum()),
        "n_called_positive": int(called.sum()),
        "n_broken": n_broken,
    }
    if y.all() or not y.any():
        left_out = f" ({n_broken} broken ones left out)" if n_broken else ""
        raise InputError(
            f"Of {len(y)} samples{left_out} {int(y.sum())} have the positive value. Scores need "
            "both kinds: see whether --positive names a value of the column of labels."
        )
    if scenario is None:
        found = score_with_truth(y, called, probabilities, scores=scores)._asdict()
        del found["alpha_error"]
        return {"judged_by": "truth", **counts, **found}
    return {"judged_by": "PU labels", "scenario": scenario, "alpha": alpha, **counts} | pu_scores(
        y, scores, scenario=scenario, alpha=alpha
    )


def pu_scores(
    y: NDArray[Any], scores: NDArray[np.float64], *, scenario: str, alpha: float | None
) -> dict[str, float]:
    """Return the scores that need PU labels alone.

    Parameters
    ----------
    y : ndarray of shape (n,)
        1 for labelled positives, 0 for unlabelled samples.
    scores : ndarray of shape (n,)
        Above 0 means called positive.
    scenario : {"case-control", "single-set"}
    alpha : float
        Share of positives among the unlabelled samples.
    """
    called = (scores > 0).astype(np.int8)
    shares: dict[str, Any] = {"scenario": scenario, "alpha": alpha}
    return {
        "recall": pu_recall_score(y, called),
        "proxy_auc": proxy_auc(y, scores),
        "lee_liu": lee_liu_score(y, called, scenario=scenario),
        "precision": pu_precision_score(y, called, **shares),
        "f1": pu_f1_score(y, called, **shares),
        "auc": pu_roc_auc_score(y, scores, **shares),
        "zero_one_risk": pu_zero_one_risk(y, called, **shares),
    }


def _gather(predictions: Iterable[Predictions]) -> tuple[int, tuple[NDArray[Any], ...]]:
    """Count what is broken and join labels, scores and probabilities, 17 bytes a sample."""
    n_broken, parts = 0, []
    for part in predictions:
        n_broken += part.n_broken
        held = (np.asarray(part.y), part.scores, part.probabilities)
        if part.reasons:
            judged = np.delete(np.arange(len(part)), list(part.reasons))
            held = (held[0][judged], held[1][judged], held[2][judged])
        parts.append(held)
    return n_broken, tuple(np.concatenate(column) for column in zip(*parts, strict=True))
