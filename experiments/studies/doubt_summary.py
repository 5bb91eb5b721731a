"""What the records of the study of doubt say: coverage, alarms, causes, expected quality."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.item import Record
from experiments.studies.doubt_cases import JUDGING, kind_of
from experiments.summary import markdown_table
from vqpu.estimators._evidence import FitEvidence
from vqpu.estimators._expected import expected_accuracy, expected_auc
from vqpu.estimators._findings import OK, findings_of_evidence, worst
from vqpu.priors._mixture import Cells, Interval

BAD, GOOD = 0.10, 0.02  # points of balanced accuracy below the supervised model
TOLD = 0.6  # balanced accuracy of a supervised model that has learnt something
# What is wrong here does not make P another sample than U's positives are.
UNSPOILT = ("none", "few-steps", "duplicates", "noise")
_NEAR, _ROUNDING = 0.05, 1e-5
_FEWEST_TO_RANK = 3
# What a user is told the cause may be; "indistinct" says that labels may be wrong, among others.
_NAMES = {
    "selected": ("shift", "missed"),
    "subclass": ("shift",),
    "shift": ("shift", "none-hidden"),
    "wrong-labels": ("wrong-labels", "overlap", "indistinct"),
    "id": ("leak",),
    "leak": ("leak",),
    "duplicates": ("duplicates",),
    "noise": ("indistinct",),
    "few-steps": ("too-short",),
    "broken": ("too-short", "indistinct", "unstable"),
}
_UNTELLABLE = "subclass"  # without assumptions; reported apart


def plain_evidence(evidence: FitEvidence) -> dict[str, Any]:
    """Return evidence ready for JSON.

    Parameters
    ----------
    evidence : FitEvidence
    """
    plain = {
        name: plain_interval(value) if isinstance(value, Interval) else value
        for name, value in evidence._asdict().items()
    }
    for name in ("reference", "unlike_columns", "unlike_samples", "unlike_names"):
        del plain[name]  # no rule rests on them
    return plain | {"cells": [part.astype(int).tolist() for part in evidence.cells[1:]]}


def plain_interval(interval: Interval) -> list[float]:
    """Return an interval ready for JSON.

    Parameters
    ----------
    interval : Interval
    """
    return [round(part, 5) for part in interval]


def cells_of(plain: dict[str, Any]) -> Cells:
    """Return the counts of a record's evidence.

    Parameters
    ----------
    plain : dict
    """
    counts = [np.array(part, dtype=np.float64) for part in plain["cells"]]
    return Cells(np.arange(len(counts[0]) - 1.0), *counts)


def evidence_of(plain: dict[str, Any]) -> FitEvidence:
    """Return the evidence of a record.

    Parameters
    ----------
    plain : dict
    """
    parts = plain | {"cells": cells_of(plain)}
    parts |= {name: Interval(*plain[name]) for name in ("alpha", "auc")}
    return FitEvidence(**{name: parts[name] for name in FitEvidence._fields if name in parts})


class Fit:
    """A fit of the study with what is true of it."""

    def __init__(self, record: Record) -> None:
        self.values = record.values
        self.evidence = evidence_of(self.values["evidence"])
        self.findings = findings_of_evidence(self.evidence)
        self.fault = str(self.values["fault"])
        self.kind = kind_of(self.values["number"])
        self.alpha = float(self.values["true_alpha"])
        self.is_judge = bool(self.values["number"] >= JUDGING)
        self.gap = (
            self.values["supervised_balanced_accuracy"] - self.values["fit_balanced_accuracy"]
        )

    @property
    def is_alarmed(self) -> bool:
        return worst(self.findings).level != OK

    @property
    def causes(self) -> set[str]:
        return {finding.cause for finding in self.findings if finding.cause is not None}

    @property
    def holds_alpha(self) -> bool:
        return self.evidence.alpha.low <= self.alpha <= self.evidence.alpha.high

    @property
    def is_learnable(self) -> bool:
        return bool(self.values["supervised_balanced_accuracy"] >= TOLD)


def summary(records: list[Record]) -> str:
    fits = [Fit(record) for record in records if "evidence" in record.values]
    n_failed = sum("error" in record.values for record in records)
    judges = [fit for fit in fits if fit.is_judge]
    others = [fit for fit in fits if not fit.is_judge]
    return (
        f"{len(fits)} fits, {len(judges)} of them judge; {n_failed} refused with an error of their "
        "own. Cells: judged on a draw that was read once, when all rules were fixed; in brackets "
        "the draws that chose.\n\n"
        + "## The interval of alpha\n\n"
        + _two(judges, others, ("group", "fits", "held", "median width"), _coverage)
        + "\n## Alarms\n\nA fit is bad if its balanced accuracy is more than 10 points below the "
        "supervised model's, good within 2. Good ones hold what must be doubted whatever comes of "
        "it: faults of the data, noise, fewer than 20 labelled positives, alpha 0 or 1, intervals "
        "of alpha that are wide or reach 0; so they are shown with and without.\n\n"
        + _two(judges, others, ("group", "fits", "alarmed"), _alarms)
        + "\n## Named causes\n\n"
        + _two(judges, others, ("fault: causes that count", "fits", "named", "alarmed"), _causes)
        + "\n## Expected quality\n\n"
        + _two(judges, others, _QUALITY, _expected)
        + "\n## Borders and calibration\n\n"
        + _two(judges, others, ("group", "fits", "points lost", "calibration error"), _borders)
    )


Rows = list[list[str]]
Floats = NDArray[np.float64]
_QUALITY = ("of", "fits", "within .05", "rank correlation", "interval held", "median width")


def _two(
    judges: list[Fit],
    others: list[Fit],
    heads: tuple[str, ...],
    table: Callable[[list[Fit]], Rows],
) -> str:
    chosen = {row[0]: row for row in table(others)}
    rows = []
    for row in table(judges):
        beside = chosen.get(row[0], ["-"] * len(row))
        pairs = zip(row[1:], beside[1:], strict=True)
        rows.append([row[0], *(f"{one} ({two})" for one, two in pairs)])
    return markdown_table(list(heads), rows)


def _share(flags: Iterable[bool]) -> str:
    given = list(flags)
    return f"{100 * np.mean(given):.0f} %" if given else "-"


def _coverage(fits: list[Fit]) -> Rows:
    clean = [fit for fit in fits if fit.fault in ("none", "few-steps")]
    groups = {
        "no fault": clean,
        "30 labelled or fewer": [fit for fit in clean if fit.evidence.n_positive <= 30],
        "overlapping": [fit for fit in clean if fit.values.get("supervised_auc", 1) < 0.9],
        "alpha below .1": [fit for fit in clean if fit.alpha < 0.1],
        "alpha above .8": [fit for fit in clean if fit.alpha > 0.8],
        "100 labelled or more": [fit for fit in clean if fit.evidence.n_positive >= 100],
    }
    return [
        [
            name,
            str(len(group)),
            _share(fit.holds_alpha for fit in group),
            f"{np.median([fit.evidence.alpha.high - fit.evidence.alpha.low for fit in group]):.2f}"
            if group
            else "-",
        ]
        for name, group in groups.items()
    ]


def _alarms(fits: list[Fit]) -> Rows:
    seen = [fit for fit in fits if fit.fault != _UNTELLABLE]
    bad = [fit for fit in seen if fit.gap > BAD]
    good = [fit for fit in seen if fit.gap <= GOOD]
    sound = [fit for fit in good if fit.fault == "none" and fit.is_learnable]
    enough = [fit for fit in sound if fit.evidence.n_positive >= 20 and 0 < fit.alpha < 1]
    groups = {
        "bad": bad,
        "bad, texts or images": [fit for fit in bad if fit.kind in ("texts", "images")],
        "good": good,
        "good, nothing wrong with the data, and something to learn": sound,
        "of these, 20 labelled or more and both classes in U": enough,
        "of these, alpha told": [fit for fit in enough if not fit.causes & {"unknown-alpha"}],
        "subclass missing, bad": [f for f in fits if f.fault == _UNTELLABLE and f.gap > BAD],
    }
    return [
        [name, str(len(group)), _share(fit.is_alarmed for fit in group)]
        for name, group in groups.items()
    ]


def _causes(fits: list[Fit]) -> Rows:
    groups = {
        f"{fault}: {' or '.join(names)}": [fit for fit in fits if fit.fault == fault]
        for fault, names in _NAMES.items()
    }
    told = [fit for fit in fits if fit.fault in _NAMES and fit.fault != _UNTELLABLE]
    groups[f"all but {_UNTELLABLE}"] = told
    return [
        [
            asked,
            str(len(own)),
            _share(bool(fit.causes & {*_NAMES[fit.fault]}) for fit in own),
            _share(fit.is_alarmed for fit in own),
        ]
        for asked, own in groups.items()
    ]


def _expected(fits: list[Fit]) -> Rows:
    clean = [fit for fit in fits if fit.fault in UNSPOILT]
    sure = [fit for fit in clean if not fit.is_alarmed]
    rows = []
    for name, of, expected in (
        ("accuracy", "fit_accuracy", expected_accuracy),
        ("auc", "fit_auc", expected_auc),
    ):
        for group, members in ((name, clean), (f"{name}, no doubt raised", sure)):
            own = [fit for fit in members if of in fit.values]
            if len(own) >= _FEWEST_TO_RANK:
                found = np.array([expected(fit.evidence) for fit in own])
                truth = np.array([fit.values[of] for fit in own])
                rows.append([group, str(len(own)), *_near(found, truth)])
    if len(clean) >= _FEWEST_TO_RANK:
        found = np.array([_if_alpha_were_known(fit) for fit in clean])
        truth = np.array([fit.values["fit_accuracy"] for fit in clean])
        near = _near(np.column_stack([found] * 3), truth)
        rows.append(["accuracy, were alpha known", str(len(clean)), *near[:2], "-", "-"])
    return rows


def _if_alpha_were_known(fit: Fit) -> float:
    """Return the accuracy that the shares called positive imply for the true alpha."""
    evidence = fit.evidence
    return 1 - evidence.called + fit.alpha * (2 * evidence.recall - 1)


def _near(found: Floats, truth: Floats) -> list[str]:
    """Return how near values come, how they rank, and how often ends of what width hold."""
    from scipy.stats import spearmanr

    value, low, high = found.T
    return [
        _share((np.abs(value - truth) <= _NEAR).tolist()),
        f"{spearmanr(value, truth).statistic:.2f}",
        _share(((low <= truth + _ROUNDING) & (truth <= high + _ROUNDING)).tolist()),
        f"{np.median(high - low):.2f}",
    ]


def _borders(fits: list[Fit]) -> Rows:
    clean = [fit for fit in fits if fit.fault == "none"]
    groups = {
        "no fault": clean,
        "100 labelled or more": [fit for fit in clean if fit.evidence.n_positive >= 100],
    }
    rows = []
    for name, own in groups.items():
        lost = [100 * (fit.values["best_border"] - fit.values["fit_accuracy"]) for fit in own]
        error = [100 * fit.values["calibration_error"] for fit in own]
        rows.append([name, str(len(own)), f"{np.mean(lost):.2f}", f"{np.mean(error):.2f}"])
    return rows
