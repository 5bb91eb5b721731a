"""Findings about the samples themselves: both sets of positives, columns that tell, copies.

Thresholds were chosen as those of the other findings, but for the shares of filled cells: no case
of the study of doubt has a column that labellers filled in.
"""

from __future__ import annotations

import math

from vqpu.estimators._evidence import FitEvidence
from vqpu.estimators._finding import DOUBT, FAILED, OK, Finding

_TELLS_ALONE, _AHEAD_OF_OTHERS = 0.97, 0.02
_LIKE_NO_LEAK, _TOLD_BY_OTHERS = 0.6, 0.78
_UNLIKE, _VERY_UNLIKE, _CHANCE = 0.68, 0.8, 0.45
_MANY_TWINS = 0.3
_OFTEN_FILLED, _HARDLY_FILLED = 0.5, 0.005
_FEWEST_ALIKE = 3


def likeness_finding(evidence: FitEvidence, names: list[str] | None) -> Finding | None:
    """Say if labelled positives look like the unlabelled samples called positive.

    Parameters
    ----------
    evidence : FitEvidence
    names : list of str or None
        Of the columns of a table.
    """
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


def column_finding(evidence: FitEvidence, names: list[str] | None) -> Finding | None:
    """Say if one column alone tells labelled from unlabelled samples.

    Parameters
    ----------
    evidence : FitEvidence
    names : list of str or None
        Of the columns of a table.
    """
    if evidence.column is None:
        return None
    filled = _filled_finding(evidence, names)
    if filled is not None:
        return filled
    best, other = evidence.column_auc, evidence.other_column_auc
    name = _name(evidence.column, names)
    sentence = (
        f"No single column tells labelled from unlabelled (the best, {name}, has AUC {best:.2f})"
    )
    # What makes a positive is in the hidden ones too, what was told only of P is not; and it is
    # seen in other columns as well, unless chance made the unlabelled samples that look alike.
    is_alike = evidence.likeness is not None and evidence.likeness < _LIKE_NO_LEAK
    is_shared = is_alike and other >= _TOLD_BY_OTHERS
    if best < _TELLS_ALONE:
        return Finding("column", OK, best, sentence + ".")
    if best - other < _AHEAD_OF_OTHERS or is_shared:
        sentence = (
            f"{name} tells labelled from unlabelled samples with AUC {best:.2f}, and another "
            f"column with {other:.2f}, as where the classes stand apart."
        )
        return Finding("column", OK, best, sentence)
    sentence = (
        f"{name} alone tells labelled from unlabelled samples with AUC {best:.2f}: it may be a "
        "number of rows or be filled in by those who labelled. Leave it out unless it is what "
        "makes a positive."
    )
    return Finding("column", FAILED, best, sentence, "leak")


def _filled_finding(evidence: FitEvidence, names: list[str] | None) -> Finding | None:
    """Say if a column is filled in for those who were labelled and for hardly anybody else."""
    labeled, others = evidence.filled
    if evidence.filled_column is None or labeled < _OFTEN_FILLED or others > _HARDLY_FILLED:
        return None
    sentence = (
        f"{_name(evidence.filled_column, names)} has a value in {labeled:.0%} of the labelled and "
        f"{others:.1%} of the unlabelled samples: it was filled in where somebody labelled. Leave "
        "it out unless it is what makes a positive."
    )
    return Finding("column", FAILED, labeled, sentence, "leak")


def copies_finding(evidence: FitEvidence) -> Finding:
    """Say if labelled positives are in U too.

    Parameters
    ----------
    evidence : FitEvidence
    """
    value = evidence.twins
    if value < _MANY_TWINS:
        return Finding("copies", OK, value, "Few labelled positives have a copy in U.")
    sentence = (
        f"{value:.0%} of the labelled positives have an exact copy among the unlabelled samples: "
        "take the labelled ones out of U, or scores of held-out samples are too good."
    )
    return Finding("copies", DOUBT, value, sentence, "duplicates")
