"""What the evidence of a fit means, in sentences: severity, number, cause, what to do.

The rules are few and readable. Their thresholds were chosen on three draws of the study of doubt
and judged on a fourth (docs/results.md).
"""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

from vqpu.errors import DoubtWarning
from vqpu.estimators._evidence import FitEvidence
from vqpu.estimators._expected import expected_accuracy, expected_auc
from vqpu.priors._mixture import Interval, ends_of

OK, DOUBT, FAILED = "ok", "doubt", "failed"
SEVERITY = (OK, DOUBT, FAILED)

_FEW_POSITIVES = 15
_TELLS_ALONE, _AHEAD_OF_OTHERS = 0.97, 0.02
_LIKE_NO_LEAK, _TOLD_BY_OTHERS = 0.6, 0.78
_UNLIKE, _VERY_UNLIKE, _CHANCE = 0.68, 0.8, 0.45
_MANY_TWINS = 0.3
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
_FEWEST_ALIKE = 3
_MUCH_LATE = 0.15
_MORE_THAN_CALLED, _MORE_AT_LEAST = 1.5, 0.03
_UNTOLD = ", but that stands on labelled positives being told from U, which is in doubt."


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
        What was seen and, unless all is well, the likely cause and what to do.
    cause : str or None
        A name of the likely cause; None if all is well.
    """

    name: str
    level: str
    value: float | None
    sentence: str
    cause: str | None = None

    def __str__(self) -> str:
        return f"[{self.level}] {self.sentence}"


def worst(findings: list[Finding]) -> Finding:
    """Return the first of the most severe findings.

    Parameters
    ----------
    findings : list of Finding
        At least one.
    """
    return max(findings, key=lambda finding: SEVERITY.index(finding.level))


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
        model.evidence_, column_names_of(model), None if given is None else ends_of(given)
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
) -> list[Finding]:
    """Return what evidence says, how much there is of it first.

    Parameters
    ----------
    evidence : FitEvidence
    column_names : list of str or None
        Of a table.
    given : tuple of float or None
        What the user said of alpha, its least and its largest value.
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
        _recall(evidence, is_told=told.level == OK),
        _border(evidence),
        _column(evidence, column_names),  # before what follows from it
        _likeness(evidence, column_names),
        _copies(evidence),
        _labels(evidence),
        _members(evidence),
        _training(evidence),
    ]
    return [finding for finding in found if finding is not None]


def shown(interval: Interval, digits: int = 2) -> str:
    """Return an interval as text.

    Parameters
    ----------
    interval : Interval
    digits : int
    """
    value, low, high = interval
    return f"{value:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


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


def _ends(given: tuple[float, float]) -> str:
    return f"{given[0]:g}" if given[0] == given[1] else f"{given[0]:g} to {given[1]:g}"


def _recall(evidence: FitEvidence, *, is_told: bool) -> Finding:
    value = evidence.recall
    sentence = (
        f"{value:.0%} of the labelled positives that members had not seen are called positive"
    )
    # Of rare positives the best border misses many.
    fewest = _FEW_FOUND_OF_RARE if evidence.alpha.value < _RARE else _FEW_FOUND
    if value >= fewest and not is_told:
        return Finding("recall", DOUBT, value, f"{sentence}{_UNTOLD}", "indistinct")
    if value >= fewest:
        return Finding("recall", OK, value, sentence + ".")
    advice = (
        ": many positives are missed. Rank instead of trusting the border, say what you know of "
        "alpha (alpha, --alpha), or let both classes count alike (decision='balanced', --set "
        "decision=balanced)."
    )
    return Finding("recall", DOUBT, value, sentence + advice, "missed")


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


def _likeness(evidence: FitEvidence, names: list[str] | None) -> Finding | None:
    value = evidence.likeness
    if value is None:
        return None
    n_alike = max(evidence.alpha.value * evidence.n_unlabeled, _FEWEST_ALIKE)
    error = error_of_auc(evidence.n_positive, n_alike)
    sentence = (
        f"Labelled positives are told from the unlabelled samples called positive with AUC "
        f"{value:.2f}"
    )
    if value <= max(_UNLIKE, 0.5 + 2 * error):
        chance = " (1/2 is chance)" if value < _CHANCE else ""
        return Finding("likeness", OK, value, f"{sentence}{chance}: by this they look alike.")
    advice = (
        f": they differ{_where(evidence, names)}. Either U holds no positives, or P was collected "
        "in another way (another source, year or device), or the labelled positives are a biased "
        f"sample of all.{_such_as(evidence)}"
    )
    level = FAILED if value > max(_VERY_UNLIKE, 0.5 + 3 * error) else DOUBT
    return Finding("likeness", level, value, sentence + advice, "shift")


def _where(evidence: FitEvidence, names: list[str] | None) -> str:
    """Name the columns in which both sets of positives differ most."""
    columns = [_name(column, names) for column in evidence.unlike_columns]
    return f", most in {_listed(columns)}" if columns else ""


def _such_as(evidence: FitEvidence) -> str:
    """Name samples to look at."""
    if evidence.unlike_names:
        return f" Look at {_listed(list(evidence.unlike_names))}, the least like them."
    if evidence.unlike_samples:
        rows = _listed([str(row) for row in evidence.unlike_samples])
        return f" Look at the samples {rows} of X, the least like them."
    return ""


def _name(column: int, names: list[str] | None) -> str:
    return f"column {column}" if names is None else repr(names[column])


def _listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def error_of_auc(n_first: float, n_second: float) -> float:
    """Return the standard error of an AUC of 1/2 (Hanley and McNeil 1982).

    Parameters
    ----------
    n_first, n_second : float
        Independent scores of both kinds.
    """
    return math.sqrt((1 / n_first + 1 / n_second) / 12)


def _column(evidence: FitEvidence, names: list[str] | None) -> Finding | None:
    if evidence.column is None:
        return None
    best, other = evidence.column_auc, evidence.other_column_auc
    name = _name(evidence.column, names)
    sentence = (
        f"No single column tells labelled from unlabelled (the best, {name}, has AUC {best:.2f})"
    )
    # What makes a positive is in the hidden ones too, what was told only of P is not; and it is
    # seen in other columns as well, unless chance made the unlabelled samples that look alike.
    is_alike = evidence.likeness is not None and evidence.likeness < _LIKE_NO_LEAK
    is_shared = is_alike and other >= _TOLD_BY_OTHERS
    if best < _TELLS_ALONE or best - other < _AHEAD_OF_OTHERS or is_shared:
        return Finding("column", OK, best, sentence + ".")
    sentence = (
        f"{name} alone tells labelled from unlabelled samples with AUC {best:.2f}: it may be a "
        "number of rows or be filled in by those who labelled. Leave it out unless it is what "
        "makes a positive."
    )
    return Finding("column", FAILED, best, sentence, "leak")


def _copies(evidence: FitEvidence) -> Finding:
    value = evidence.twins
    if value < _MANY_TWINS:
        return Finding("copies", OK, value, "Few labelled positives have a copy in U.")
    sentence = (
        f"{value:.0%} of the labelled positives have an exact copy among the unlabelled samples: "
        "take the labelled ones out of U, or scores of held-out samples are too good."
    )
    return Finding("copies", DOUBT, value, sentence, "duplicates")


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
        return Finding("training", OK, value, "Training had come to its end when it stopped.")
    sentence = (
        f"{value:.0%} of what the stopping signal gained came in the last third of training, or "
        "there were fewer than three checks: it ended too early. Raise max_steps, max_epochs or "
        "the time limit."
    )
    return Finding("training", DOUBT, value, sentence, "too-short")
