"""Did it work? Findings for people who have no negatives to measure with.

Every finding rests on what a fit leaves behind: its history, its held-out labelled positives and
unlabelled samples, and its own probabilities. None of them proves that a model is right; each can
show that it is not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from vqpu.base._labels import encode_pu_labels
from vqpu.base._parameters import check_integer, draw_seed
from vqpu.errors import CollapsedCodesError, InputError, InputTypeError
from vqpu.priors import estimate_prior
from vqpu.training import SIGNALS
from vqpu.vq._classifier import VQKMeansClassifier
from vqpu.vq._decision_rule import NO_HIDDEN_POSITIVES, found_positives

Floats = NDArray[np.float64]

OK, DOUBT, FAILED = "ok", "doubt", "failed"

_NEARLY_NONE, _NEARLY_ALL = 0.005, 0.98
_MUCH_OVERLAP, _TOO_MUCH_OVERLAP = 0.1, 0.2
_FEW_FOUND = 0.75
_ALPHAS_APART = 0.1
_FEW_CODES = 2
_UNSTABLE, _VERY_UNSTABLE = 0.05, 0.15


class Finding(NamedTuple):
    """What was seen of a fitted model, and what it means.

    Attributes
    ----------
    name : str
        What was looked at.
    level : {"ok", "doubt", "failed"}
    value : float or None
        The number it rests on; None if it could not be had.
    sentence : str
        What was seen and, unless all is well, what to try.
    """

    name: str
    level: str
    value: float | None
    sentence: str

    def __str__(self) -> str:
        return f"[{self.level}] {self.sentence}"


def diagnose(
    model: VQKMeansClassifier,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    refits: int = 0,
    random_state: Any = 0,
) -> list[Finding]:
    """Look for signs that a fitted model did not work, without a single negative.

    Parameters
    ----------
    model : VQKMeansClassifier
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
        The predictions, the held-out positives they find, overlap of the clusters, the trace of
        the stopping signal, alpha by several estimators, codes in use and, with ``refits``,
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
    [ok] 25% of the unlabelled samples are called positive, and alpha is estimated as 0.23.
    """
    if not isinstance(model, VQKMeansClassifier):
        raise InputTypeError(
            f"model must be a fitted VQKMeansClassifier. Got {type(model).__name__} instead."
        )
    check_is_fitted(model)
    check_integer("refits", refits, 0)
    findings = [
        _predictions(model),
        _found(model),
        _overlap(model),
        _trace(model),
        _alphas(model),
    ]
    if model.variant_.encoding == "codes":
        findings.append(_codes(model))
    if refits > 0:
        if X is None or y is None:
            raise InputError("refits needs X and y, the data that the model was fitted on.")
        findings.append(_stability(model, X, y, refits, random_state))
    return findings


def _predictions(model: VQKMeansClassifier) -> Finding:
    share, alpha = model.positive_share_, model.alpha_
    seen = f"{share:.0%} of the unlabelled samples are called positive"
    if not found_positives(model.decision_rule_, len(model.holdout_projections_[1])):
        return Finding("predictions", FAILED, share, f"{seen}. {NO_HIDDEN_POSITIVES}")
    if share <= _NEARLY_NONE or share >= _NEARLY_ALL:
        level = FAILED
        advice = (
            ": the predictions say nothing. See whether P and U differ at all, try more steps "
            "(max_steps) and another stopping_signal."
        )
    elif abs(share - alpha) > _ALPHAS_APART:
        level = DOUBT
        advice = (
            f", but alpha is estimated as {alpha:.2f}: the border or alpha is off. Try a larger "
            "holdout, more labelled positives, or the other decision."
        )
    else:
        level, advice = OK, f", and alpha is estimated as {alpha:.2f}."
    return Finding("predictions", level, share, seen + advice)


def _found(model: VQKMeansClassifier) -> Finding:
    found = float((model.holdout_log_odds_[0] > 0).mean())
    sentence = f"{found:.0%} of the held-out labelled positives are called positive"
    if found >= _FEW_FOUND:
        return Finding("recall", OK, found, sentence + ".")
    advice = ": many positives are missed. Try more steps, less dropout or more labelled positives."
    return Finding("recall", DOUBT, found, sentence + advice)


def _overlap(model: VQKMeansClassifier) -> Finding:
    odds = np.exp(np.minimum(np.abs(model.holdout_log_odds_[1]), 700))
    expected = float((1 / (1 + odds)).mean())
    sentence = f"By its own probabilities the model errs on {expected:.0%} of unlabelled samples"
    if expected <= _MUCH_OVERLAP:
        return Finding("overlap", OK, expected, sentence + ": the two clusters stand apart.")
    level = DOUBT if expected <= _TOO_MUCH_OVERLAP else FAILED
    advice = (
        ": the two clusters overlap. Rank by probability instead of trusting the border, and try "
        "better features, more samples or more steps."
    )
    return Finding("overlap", level, expected, sentence + advice)


def _trace(model: VQKMeansClassifier) -> Finding:
    rounds = model.history_.rounds()
    best, n_checks = model.best_check_ - rounds.index(rounds[-1]), rounds.count(rounds[-1])
    signal = model.variant_.stopping_signal
    better = "rises" if SIGNALS[signal].sign > 0 else "falls"
    place = best / max(n_checks - 1, 1)
    if best == n_checks - 1 and model.stop_reason_ != "patience":
        sentence = (
            f"The stopping signal ({signal}) still {better} at the last check: training ended too "
            "early. Raise max_steps (or max_epochs)."
        )
        return Finding("trace", DOUBT, place, sentence)
    if best == 0:
        sentence = (
            f"The stopping signal ({signal}) is best at the first check: the model overfits from "
            "the start or learns nothing. Try a smaller check_every, a smaller learning_rate or "
            "more dropout."
        )
        return Finding("trace", DOUBT, place, sentence)
    sentence = f"The stopping signal ({signal}) has its best at check {best + 1} of {n_checks}"
    sentence += f" of round {model.n_rounds_}." if model.n_rounds_ > 1 else "."
    return Finding("trace", OK, place, sentence)


def _alphas(model: VQKMeansClassifier) -> Finding:
    positive, unlabeled = (np.clip(part, 0, 1) for part in model.holdout_projections_)
    try:
        other = estimate_prior("dedpul", positive, unlabeled, random_state=0).alpha
    except InputError as error:
        return Finding("alpha", DOUBT, None, f"alpha cannot be checked: {error}")
    apart = abs(other - model.alpha_)
    seen = f"alpha is {model.alpha_:.2f} by best bin and {other:.2f} by DEDPUL"
    if apart <= _ALPHAS_APART:
        return Finding("alpha", OK, apart, seen + ": they agree.")
    advice = (
        ": they disagree, so trust neither. Labelled positives may not look like the hidden ones, "
        "or there are too few samples."
    )
    return Finding("alpha", DOUBT, apart, seen + advice)


def _codes(model: VQKMeansClassifier) -> Finding:
    count = int(model.history_[model.best_check_]["codes_in_use"])
    if count < _FEW_CODES:
        sentence = (
            "All vectors have the same code. Try more steps (max_steps), a larger learning_rate "
            "or less dropout."
        )
        return Finding("codes", FAILED, count, sentence)
    return Finding("codes", OK, count, f"{count} of {model.codebook_size} codes are in use.")


def _stability(
    model: VQKMeansClassifier, X: ArrayLike, y: ArrayLike, refits: int, random_state: Any
) -> Finding:
    is_unlabeled = ~encode_pu_labels(np.asarray(y)).is_positive
    unlabeled = _safe_indexing(X, np.flatnonzero(is_unlabeled))
    generator = np.random.default_rng(draw_seed(random_state))
    predictions = [model.predict(unlabeled)]
    for seed in generator.integers(0, 2**31, refits):
        again = clone(model).set_params(random_state=int(seed))
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
