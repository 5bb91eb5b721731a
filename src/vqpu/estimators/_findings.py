"""What the evidence of a fit means, in sentences: severity, number, cause, what to do.

The rules are few and readable. Their thresholds were chosen on three draws of the study of doubt
and judged on a fourth (docs/results.md).
"""

from __future__ import annotations

import warnings
from typing import Any

from vqpu.errors import DoubtWarning
from vqpu.estimators._evidence import FitEvidence
from vqpu.estimators._expected import expected_accuracy, expected_auc, expected_recall
from vqpu.estimators._finding import DOUBT, FAILED, OK, Finding, shown
from vqpu.estimators._sample_findings import (
    column_finding,
    copies_finding,
    error_of_auc,
    likeness_finding,
)
from vqpu.priors._mixture import Interval, ends_of

_FEW_POSITIVES = 15
_HARDLY_TOLD = 0.55
_CROSS_FITTED = 1.3  # times the error of an AUC: members of a fold err alike (doubt_noise.py)
_NEARLY_ALL, _AGREED = 0.65, 0.9
_WIDE, _WIDE_OF_FEW, _FEW = 0.6, 0.4, 30
_MOST_IF_NONE = 0.15  # an interval from 0 to no more says enough: there are few at most
_FEW_FOUND, _FEW_FOUND_OF_RARE, _RARE = 0.85, 0.5, 0.12
_UNSTABLE = 0.5
_LOW_ACCURACY = 0.4
_MANY_ODD_LABELS, _WELL_TOLD = 0.25, 0.97
_NEARLY_NONE = 0.025
_MUCH_LATE = 0.15
_MORE_THAN_CALLED, _MORE_AT_LEAST = 1.5, 0.03
_UNTOLD = ", but that stands on labelled positives being told from U, which is in doubt."


def findings_of_fit(model: Any) -> list[Finding]:
    """Return what a fitted model's evidence says.

    Parameters
    ----------
    model : estimator
        Fitted.
    """
    if model.evidence_ is None:
        sentence = (
            "No evidence is kept with this model: it was saved by an earlier vqpu, or was told all "
            "labels. Fit it again to have it judged."
        )
        return [Finding("evidence", DOUBT, None, sentence, "no-evidence")]
    given = getattr(model, "alpha", None)
    return findings_of_evidence(
        model.evidence_,
        column_names_of(model),
        None if given is None else ends_of(given),
        is_balanced=getattr(model.decision_rule_, "decision", None) == "balanced",
    )


def column_names_of(model: Any) -> list[str] | None:
    """Return the names of a fitted model's columns, None if they have none.

    Parameters
    ----------
    model : estimator
    """
    plan, names = getattr(model, "columns_", None), getattr(model, "feature_names_in_", None)
    if plan is not None:
        names = plan.feature_names
    return None if names is None else [str(name) for name in names]


def warn_of_failure(model: Any) -> None:
    """Warn if the worst finding of a fit is that it failed.

    Parameters
    ----------
    model : estimator
        Fitted.
    """
    failed = [finding for finding in findings_of_fit(model) if finding.level == FAILED]
    if failed:
        more = f" (and {len(failed) - 1} more; see vqpu.diagnose)" if len(failed) > 1 else ""
        warnings.warn(failed[0].sentence + more, DoubtWarning, stacklevel=3)


def findings_of_evidence(
    evidence: FitEvidence,
    column_names: list[str] | None = None,
    given: tuple[float, float] | None = None,
    *,
    is_balanced: bool = False,
) -> list[Finding]:
    """Return what evidence says, how much there is of it first.

    Parameters
    ----------
    evidence : FitEvidence
    column_names : list of str or None
        Of a table.
    given : tuple of float or None
        What the user said of alpha, its least and its largest value.
    is_balanced : bool
        Whether both classes count alike.
    """
    if not evidence.is_unseen:
        sentence = (
            "No sample was kept apart, as there were too few or none was to be: every number that "
            "the model has of itself is of samples that it was trained on, and says nothing. "
        )
        if evidence.n_positive < _FEW_POSITIVES:
            sentence += f"Label more: {evidence.n_positive} positives are too few."
            return [Finding("unseen", FAILED, None, sentence, "few-positives")]
        sentence += "Keep some apart (holdout), or fit with more members."
        return [Finding("unseen", DOUBT, None, sentence, "unseen")]
    told = _told(evidence)
    found = [
        _positives(evidence),  # with too few of them nothing else here can be believed
        told,
        _quality(evidence, is_told=told.level == OK),
        _alpha(evidence, given, is_told=told.level == OK),
        _recall(evidence, given, is_told=told.level == OK, is_balanced=is_balanced),
        _border(evidence),
        column_finding(evidence, column_names),  # before what follows from it
        likeness_finding(evidence, column_names),
        copies_finding(evidence),
        _labels(evidence),
        _members(evidence),
        _training(evidence),
    ]
    return [finding for finding in found if finding is not None]


def _quality(evidence: FitEvidence, *, is_told: bool) -> Finding:
    accuracy, auc = expected_accuracy(evidence), expected_auc(evidence)
    sentence = (
        f"Expected of these labels: accuracy {shown(accuracy)} on the unlabelled samples, AUC "
        f"{shown(auc)}"
    )
    if not is_told:
        return Finding("quality", DOUBT, accuracy.value, sentence + _UNTOLD, "indistinct")
    if accuracy.low >= _LOW_ACCURACY:
        return Finding("quality", OK, accuracy.value, sentence + ", each with 90 % confidence.")
    advice = (
        ". The classes overlap, or there is too little to learn from: rank by probability instead "
        "of trusting the border, and try better features or more labelled positives."
    )
    return Finding("quality", DOUBT, accuracy.value, sentence + advice, "overlap")


def _positives(evidence: FitEvidence) -> Finding:
    count = evidence.n_positive
    of_all = "" if evidence.n_labeled in (None, count) else f" of {evidence.n_labeled}"
    sentence = f"{count}{of_all} labelled positives were scored by members that had not seen them"
    if count >= _FEW_POSITIVES:
        return Finding("positives", OK, count, sentence + ".")
    if (evidence.n_labeled or 0) >= _FEW_POSITIVES:
        advice = (
            ": too few to trust any number here, as a single member is kept from a part alone. "
            "Fit with more members (n_members), which a time limit may have cut, or label more."
        )
        return Finding("positives", DOUBT, count, sentence + advice, "few-positives")
    advice = ": too few to trust any number here. Label more; 50 are worth much more than 10."
    return Finding("positives", DOUBT, count, sentence + advice, "few-positives")


def _told(evidence: FitEvidence) -> Finding:
    auc = evidence.proxy_auc
    error = error_of_auc(evidence.n_positive, evidence.n_unlabeled)
    sentence = f"Labelled positives are told from unlabelled samples with AUC {auc:.2f}"
    is_luck = auc - 1.645 * _CROSS_FITTED * error <= 0.5
    if auc > _HARDLY_TOLD and not is_luck:
        return Finding("told", OK, auc, sentence + ".")
    if auc > _HARDLY_TOLD:
        sentence += f", which {evidence.n_positive} positives may reach by chance"
    else:
        sentence += ", hardly better than chance"
    advice = (
        ": either the features say nothing of what makes a positive, or nearly all of the "
        "unlabelled samples are positive, or many labelled positives are none. These data cannot "
        "say which: believe no prediction before a look at some."
    )
    # Noise most often has members that disagree, or an alpha that could be anything.
    is_likely_all = evidence.alpha.low > _NEARLY_ALL and (evidence.agreement or 0) > _AGREED
    level = FAILED if auc - 1.645 * error <= 0.5 and not is_likely_all else DOUBT
    return Finding("told", level, auc, sentence + advice, "indistinct")


def _alpha(evidence: FitEvidence, given: tuple[float, float] | None, *, is_told: bool) -> Finding:
    alpha = evidence.alpha
    seen = f"alpha, the share of positives among the unlabelled samples, is {shown(alpha)}"
    if evidence.aimed is not None:
        return _aimed(evidence.aimed, alpha, seen, is_told=is_told)
    if given is not None and (given[1] < alpha.low or given[0] > alpha.high):
        advice = (
            f" by these data, but {_ends(given)} was given. One of the two is wrong: labelled "
            "positives that look unlike the hidden ones make alpha too small."
        )
        return Finding("alpha", DOUBT, alpha.value, seen + advice, "contradicted-alpha")
    if given is not None:
        return Finding(
            "alpha", OK, alpha.value,
            f"{seen} by these data, which do not contradict the {_ends(given)} that was given.",
        )  # fmt: skip
    widest = _WIDE_OF_FEW if evidence.n_positive < _FEW else _WIDE
    if alpha.high - alpha.low > widest:
        advice = (
            ": these data do not tell it. Say what you know of it (alpha, --alpha), label more "
            "positives, or rank instead of trusting the border."
        )
        return Finding("alpha", DOUBT, alpha.value, seen + advice, "unknown-alpha")
    if alpha.low == 0 and alpha.high > _MOST_IF_NONE:
        advice = (
            ": there may be none at all, or many. Say what you know of it (alpha, --alpha), label "
            "more positives, or rank instead of trusting the border; labelled positives that look "
            "unlike the hidden ones make alpha too small."
        )
        return Finding("alpha", DOUBT, alpha.value, seen + advice, "unknown-alpha")
    if alpha.high < _NEARLY_NONE:
        advice = (
            ": next to none of them looks like the labelled positives. That is right if U holds "
            "none; if it does, P is of another kind."
        )
        return Finding("alpha", DOUBT, alpha.value, seen + advice, "none-hidden")
    if not is_told:
        return Finding("alpha", DOUBT, alpha.value, seen + _UNTOLD, "indistinct")
    return Finding("alpha", OK, alpha.value, seen + ", with 90 % confidence.")


def _aimed(aimed: float, alpha: Interval, seen: str, *, is_told: bool) -> Finding:
    sentence = f"{seen} by the data of the fit; the model was aimed at {aimed:g} afterwards"
    if not is_told:
        return Finding("alpha", DOUBT, alpha.value, sentence + _UNTOLD, "indistinct")
    if alpha.low <= aimed <= alpha.high:
        return Finding("alpha", OK, alpha.value, sentence + ", which they do not contradict.")
    advice = (
        ". For another population that may be right, and then nothing here speaks of it; for these "
        "data it contradicts them."
    )
    return Finding("alpha", DOUBT, alpha.value, sentence + advice, "contradicted-alpha")


def _ends(given: tuple[float, float]) -> str:
    return f"{given[0]:g}" if given[0] == given[1] else f"{given[0]:g} to {given[1]:g}"


def _recall(
    evidence: FitEvidence,
    given: tuple[float, float] | None,
    *,
    is_told: bool,
    is_balanced: bool,
) -> Finding:
    value = evidence.recall
    sentence = (
        f"{value:.0%} of the labelled positives that members had not seen are called positive"
    )
    if evidence.is_taught:  # by members that had seen them
        hidden = expected_recall(evidence)
        sentence += (
            f"; of the hidden ones, {hidden.value:.0%} is to be expected ({hidden.low:.0%} to "
            f"{hidden.high:.0%}, with 90 % confidence)"
        )
    # Of rare positives the best border misses many; an aimed model's border is that of its share.
    share = evidence.alpha.value if evidence.aimed is None else evidence.aimed
    fewest = _FEW_FOUND_OF_RARE if share < _RARE else _FEW_FOUND
    if value >= fewest and not is_told:
        return Finding("recall", DOUBT, value, f"{sentence}{_UNTOLD}", "indistinct")
    if value >= fewest:
        return Finding("recall", OK, value, sentence + ".")
    advice = ["rank instead of trusting the border"]
    if evidence.aimed is None:  # which says what is known of alpha, and "balanced" takes no aim
        if given is None:
            advice += ["say what you know of alpha (alpha, --alpha)"]
        if not is_balanced:
            balanced = "(decision='balanced', --set decision=balanced)"
            advice += [f"let both classes count alike {balanced}"]
    listed = ", or ".join(advice)
    missed = f": many positives are missed. {listed[0].upper()}{listed[1:]}."
    return Finding("recall", DOUBT, value, sentence + missed, "missed")


def _border(evidence: FitEvidence) -> Finding | None:
    """Say if far fewer are called positive than alpha and the share that is found come to."""
    found, called = evidence.alpha.value * evidence.recall, evidence.called
    if found <= max(_MORE_THAN_CALLED * called, called + _MORE_AT_LEAST):
        return None
    sentence = (
        f"{called:.1%} of the unlabelled samples are called positive, although alpha "
        f"({evidence.alpha.value:.2f}) and the share of labelled positives that are found "
        f"({evidence.recall:.0%}) come to {found:.1%}: labelled positives have higher scores than "
        "hidden ones seem to have. Rank instead of trusting the border or the probabilities."
    )
    return Finding("border", DOUBT, called, sentence, "contradicted-border")


def _labels(evidence: FitEvidence) -> Finding | None:
    if evidence.n_positive < _FEW_POSITIVES:
        return None
    # U holds positives too: only the rest of what looks like it looks like negatives.
    value = evidence.like_unlabeled * (1 - evidence.alpha.value)
    # Of odd ones half are above a negative by chance; this is the AUC of the others.
    auc_of_others = (evidence.auc.value - value / 2) / (1 - value) if value < 1 else 0.5
    if value < _MANY_ODD_LABELS or auc_of_others < _WELL_TOLD:
        return None
    sentence = (
        f"Up to {value:.0%} of the labelled positives look like the negatives although the others "
        "are well told from them: labels may be wrong. Look at the labelled positives with the "
        "lowest scores."
    )
    return Finding("labels", DOUBT, value, sentence, "wrong-labels")


def _members(evidence: FitEvidence) -> Finding | None:
    value = evidence.agreement
    if value is None:
        return None
    sentence = f"The members' scores of the unlabelled samples have a correlation of {value:.2f}"
    if value >= _UNSTABLE:
        return Finding("members", OK, value, sentence + ".")
    advice = ": another draw of the data would give other answers. Label more positives."
    return Finding("members", DOUBT, value, sentence + advice, "unstable")


def _training(evidence: FitEvidence) -> Finding | None:
    value = evidence.late_gain
    if value is None:
        return None
    if value <= _MUCH_LATE:
        sentence = (
            f"Training was near its end: {value:.0%} of what the stopping signal gained came in "
            "its last third."
        )
        return Finding("training", OK, value, sentence)
    sentence = (
        f"{value:.0%} of what the stopping signal gained came in the last third of training, or "
        "there were fewer than three checks: it ended too early. Raise max_steps, max_epochs or "
        "the time limit."
    )
    return Finding("training", DOUBT, value, sentence, "too-short")
