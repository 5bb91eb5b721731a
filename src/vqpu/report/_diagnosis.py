"""Did it work? Findings for people who have no negatives to measure with.

Every finding rests on what a fit leaves behind: its evidence, gathered on samples that members had
not seen, and its history. None of them proves that a model is right; each can show that it is not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from vqpu.base._labels import encode_pu_labels
from vqpu.base._parameters import check_integer, draw_seed
from vqpu.errors import CollapsedCodesError, InputError, InputTypeError
from vqpu.estimators._classifier import PUClassifier
from vqpu.estimators._drift import watch_drift
from vqpu.estimators._finding import DOUBT, FAILED, OK, Finding, worst
from vqpu.estimators._findings import findings_of_fit
from vqpu.estimators._validation import check_prediction_data
from vqpu.vq._classifier import VQKMeansClassifier

_FEW_CODES = 2
_ROWS = 1 << 14
_UNSTABLE, _VERY_UNSTABLE = 0.05, 0.15


def diagnose(
    model: Any,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    refits: int = 0,
    random_state: Any = 0,
) -> list[Finding]:
    """Look for signs that a fitted model did not work, without a single negative.

    Parameters
    ----------
    model : VQKMeansClassifier, a rival with a network, or a Pipeline that ends in one
        Fitted.
    X, y : array-like or None
        What it was fitted on; needed for ``refits`` alone.
    refits : int, default=0
        How often to fit again with another seed, to see whether the predictions stay.
    random_state : int, RandomState, Generator or None, default=0
        Draws those seeds.

    Returns
    -------
    findings : list of Finding
        The number of labelled positives, how well they are told from U, what accuracy and AUC to
        expect, alpha with its interval, whether the unlabelled samples called positive look like
        them, columns that tell too much, copies, labels that look wrong, agreement of members,
        whether training had come to its end; of VQ K-means also the codes in use; with ``refits``,
        stability.

    Examples
    --------
    >>> import numpy as np
    >>> from vqpu import VQKMeansClassifier, diagnose, stack_pu
    >>> rng = np.random.default_rng(0)
    >>> P = rng.normal(3, 1, (100, 2))
    >>> U = np.vstack([rng.normal(3, 1, (50, 2)), rng.normal(-3, 1, (150, 2))])
    >>> model = VQKMeansClassifier(max_steps=100, random_state=0).fit(*stack_pu(P, U))
    >>> print(diagnose(model)[0])
    [ok] 100 labelled positives were scored by members that had not seen them.
    """
    check_integer("refits", refits, 0)
    last = model[-1] if isinstance(model, Pipeline) else model
    _check_judged(last)
    findings = findings_of_fit(last)
    if isinstance(last, VQKMeansClassifier) and last.variant_.encoding == "codes":
        findings.append(_codes(last))
    if refits > 0:
        if X is None or y is None:
            raise InputError("refits needs X and y, the data that the model was fitted on.")
        findings.append(_stability(model, X, y, refits, random_state))
    return findings


def diagnose_drift(model: Any, X: ArrayLike) -> Finding:
    """Say whether new samples are like the unlabelled ones that a model was fitted on.

    Parameters
    ----------
    model : as in :func:`diagnose`
    X : array-like of the shape given to ``fit``
        Samples that are to be judged, without labelled positives.

    Returns
    -------
    finding : Finding
        "ok", or "doubt" with what moved: scores, columns, and alpha by these scores. ``vqpu
        predict``, ``rank`` and ``evaluate`` say the same.
    """
    last = model[-1] if isinstance(model, Pipeline) else model
    _check_judged(last)
    if isinstance(model, Pipeline) and len(model) > 1:
        X = model[:-1].transform(X)
    watch = watch_drift(last)
    if watch is None:
        sentence = (
            "What the unlabelled samples of training look like was not recorded: the model was "
            "saved by an earlier vqpu. Fit it again to have new samples compared."
        )
        return Finding("drift", DOUBT, None, sentence, "no-evidence")
    source, scores = check_prediction_data(last, X), last.decision_function(X)
    for start in range(0, len(scores), _ROWS):
        part = slice(start, start + _ROWS)
        watch.add(source.array[part] if source.is_image else source.rows(part), scores[part])
    return watch.finding()


def _check_judged(model: Any) -> None:
    """Raise if this is no fitted classifier that keeps evidence."""
    if not isinstance(model, PUClassifier) or not hasattr(type(model), "evidence_"):
        raise InputTypeError(
            "model must be a fitted VQKMeansClassifier, another classifier of vqpu with a network, "
            f"or a Pipeline that ends in one. Got {type(model).__name__} instead."
        )
    check_is_fitted(model)


def worst_finding(model: Any) -> Finding:
    """Return the most severe finding of a fitted model.

    Parameters
    ----------
    model : as in :func:`diagnose`
    """
    return worst(diagnose(model))


def _codes(model: VQKMeansClassifier) -> Finding:
    count = int(model.history_[model.best_check_]["codes_in_use"])
    if count < _FEW_CODES:
        sentence = (
            "All vectors have the same code. Try more steps (max_steps), a larger learning_rate "
            "or less dropout."
        )
        return Finding("codes", FAILED, count, sentence)
    return Finding("codes", OK, count, f"{count} of {model.codebook_size} codes are in use.")


def _stability(model: Any, X: ArrayLike, y: ArrayLike, refits: int, random_state: Any) -> Finding:
    is_unlabeled = ~encode_pu_labels(np.asarray(y)).is_positive
    unlabeled = _safe_indexing(X, np.flatnonzero(is_unlabeled))
    generator = np.random.default_rng(draw_seed(random_state))
    predictions = [model.predict(unlabeled)]
    for seed in generator.integers(0, 2**31, refits):
        again = clone(model)
        owner = again[-1] if isinstance(again, Pipeline) else again
        owner.set_params(random_state=int(seed))
        try:
            predictions.append(again.fit(X, y).predict(unlabeled))
        except CollapsedCodesError as error:
            return Finding("stability", FAILED, None, f"With another seed it fails: {error}")
    changed = float(np.mean([(other != predictions[0]).mean() for other in predictions[1:]]))
    sentence = f"With other seeds {changed:.1%} of the unlabelled samples are predicted otherwise"
    if changed <= _UNSTABLE:
        return Finding("stability", OK, changed, sentence + ".")
    level = DOUBT if changed <= _VERY_UNSTABLE else FAILED
    advice = ". Try more members (n_members), more steps, or average the probabilities of several."
    return Finding("stability", level, changed, sentence + advice)
