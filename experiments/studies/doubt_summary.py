"""What the records of the study of doubt say: coverage, alarms, causes, expected quality."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.item import Record
from experiments.studies.doubt_cases import JUDGING, kind_of
from experiments.studies.doubt_limits import (
    best_bin_interval,
    forest_alarms,
    forest_values,
    numbers_of,
)
from experiments.summary import markdown_table
from vqpu.estimators._evidence import FitEvidence
from vqpu.estimators._expected import expected_accuracy, expected_auc, expected_recall
from vqpu.estimators._finding import OK, worst
from vqpu.estimators._findings import findings_of_evidence
from vqpu.priors._mixture import Cells, Interval

BAD, GOOD = 0.10, 0.02  # points of balanced accuracy below the supervised model
TOLD = 0.6  # balanced accuracy of a supervised model that has learnt something
# What is wrong here does not make P another sample than U's positives are.
UNSPOILT = ("none", "few-steps", "duplicates", "noise")
_NEAR, _ROUNDING = 0.05, 1e-5
_FEWEST_TO_RANK, _FEWEST_TO_LEARN = 3, 50
TAUGHT = ("trees", "network")  # fits of several members and rounds
# Near equal shares of both classes accuracies do not tell the recall; that of few is chance.
_EVEN, _FEWEST_HIDDEN = 0.1, 20
_FEW = 20  # labelled positives below which any fit must be doubted
_ALARMED = 0.95  # of bad fits
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
    for name in (
        "reference",
        "unlike_columns",
        "unlike_samples",
        "unlike_names",
        "n_labeled",
        "aimed",
        "is_taught",
    ):
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
    def is_learnable(self) -> bool:
        return bool(self.values["supervised_balanced_accuracy"] >= TOLD)


def summary(records: list[Record]) -> str:
    fits = [Fit(record) for record in records if "evidence" in record.values]
    n_failed = sum("error" in record.values for record in records)
    judges = [fit for fit in fits if fit.is_judge]
    others = [fit for fit in fits if not fit.is_judge]
    return (
        f"{len(fits)} fits, {len(judges)} of them judge; {n_failed} refused with an error of their "
        "own. Cells: judged on a draw that was made and read when all rules were fixed; in "
        "brackets the draws that chose.\n\n"
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
        + "\n## Recall\n\nOf VQ K-means, with several members and rounds, where nothing makes P "
        "another sample than the hidden positives.\n\n"
        + _two(judges, others, _RECALL, _recalls)
        + "\n## Borders and calibration\n\n"
        + _two(judges, others, ("group", "fits", "points lost", "calibration error"), _borders)
        + _limits(judges, others)
    )


Rows = list[list[str]]
Floats = NDArray[np.float64]
_QUALITY = ("of", "fits", "within .05", "rank correlation", "interval held", "median width")
_RECALL = (
    *("group", "fits", "labelled ones found", "hidden ones found", "expected of these"),
    *("interval held", "median width"),
)


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
    rows = [
        [name, *_held(group, [fit.evidence.alpha for fit in group])]
        for name, group in groups.items()
    ]
    bound = [best_bin_interval(fit.evidence.cells) for fit in clean]
    return [*rows, ["no fault, by best bin's bound", *_held(clean, bound)]]


def _held(fits: list[Fit], intervals: list[Interval]) -> list[str]:
    if not fits:
        return ["0", "-", "-"]
    pairs = zip(fits, intervals, strict=True)
    width = np.median([interval.high - interval.low for interval in intervals])
    return [
        str(len(fits)),
        _share(interval.low <= fit.alpha <= interval.high for fit, interval in pairs),
        f"{width:.2f}",
    ]


def _bad_and_good(fits: list[Fit]) -> tuple[list[Fit], list[Fit]]:
    seen = [fit for fit in fits if fit.fault != _UNTELLABLE]
    return [fit for fit in seen if fit.gap > BAD], [fit for fit in seen if fit.gap <= GOOD]


def _sound(good: list[Fit]) -> list[Fit]:
    return [fit for fit in good if fit.fault == "none" and fit.is_learnable]


def _enough(sound: list[Fit]) -> list[Fit]:
    return [fit for fit in sound if fit.evidence.n_positive >= _FEW and 0 < fit.alpha < 1]


def _alarms(fits: list[Fit]) -> Rows:
    bad, good = _bad_and_good(fits)
    sound = _sound(good)
    enough = _enough(sound)
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


def _recalls(fits: list[Fit]) -> Rows:
    """Return how many hidden positives are found, beside labelled ones and what is expected."""
    told = [(fit, true_recall(fit.values)) for fit in fits if fit.fault in UNSPOILT]
    told = [pair for pair in told if pair[0].values["method"] in TAUGHT]
    known = [(fit, recall) for fit, recall in told if recall is not None]
    groups = {
        "all": known,
        "30 labelled or fewer": [pair for pair in known if pair[0].evidence.n_positive <= 30],
        "100 labelled or more": [pair for pair in known if pair[0].evidence.n_positive >= 100],
    }
    rows = []
    for name, own in groups.items():
        if len(own) >= _FEWEST_TO_RANK:
            truth = np.array([recall for _, recall in own])
            seen = np.mean([fit.evidence.recall for fit, _ in own])
            expected = np.array([expected_recall(fit.evidence) for fit, _ in own])
            shares = [
                f"{100 * share:.0f} %" for share in (seen, truth.mean(), expected[:, 0].mean())
            ]
            rows.append([name, str(len(own)), *shares, *_near(expected, truth)[2:]])
    return rows


def true_recall(values: dict[str, Any]) -> float | None:
    r"""Return the recall of hidden positives that both accuracies of a fit tell.

    With recall r, specificity t and a share alpha of positives the accuracy is
    :math:`\alpha r + (1 - \alpha) t` and the balanced one :math:`(r + t) / 2`.

    Parameters
    ----------
    values : dict
        Of a record.

    Returns
    -------
    recall : float or None
        None where they do not tell it.
    """
    alpha = values["true_alpha"]
    is_even, n_hidden = abs(2 * alpha - 1) < _EVEN, alpha * values["n_unlabeled"]
    if "fit_balanced_accuracy" not in values or is_even or n_hidden < _FEWEST_HIDDEN:
        return None
    missing = values["fit_accuracy"] - 2 * (1 - alpha) * values["fit_balanced_accuracy"]
    return float(np.clip(missing / (2 * alpha - 1), 0, 1))


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


def _limits(judges: list[Fit], others: list[Fit]) -> str:
    """Return what forests make of the same evidence, beside the rules."""
    parts = [_bad_and_good(fits) for fits in (others, judges)]
    known_bad, known_sound = parts[0][0], _enough(_sound(parts[0][1]))
    judged_bad, judged_sound = parts[1][0], _enough(_sound(parts[1][1]))
    n_judged = min(len(judged_bad), len(judged_sound))
    if min(len(known_bad), len(known_sound)) < _FEWEST_TO_LEARN or n_judged < _FEWEST_TO_RANK:
        return ""
    known, judged = [*known_bad, *known_sound], [*judged_bad, *judged_sound]
    alarmed = forest_alarms(
        _numbers(known),
        np.arange(len(known)) < len(known_bad),
        [str(fit.values["table"]) for fit in known],
        _numbers(judged),
        _ALARMED,
    )
    by_rules = [fit.is_alarmed for fit in judged]
    rows = [
        [name, _share(found[: len(judged_bad)]), _share(found[len(judged_bad) :])]
        for name, found in (("rules", by_rules), ("forest", alarmed.tolist()))
    ]
    heads = ["by", "bad", "good, nothing wrong, 20 labelled or more, both classes in U"]
    return (
        "\n## What the evidence allows\n\nA forest of randomised trees that gets every number of "
        "the evidence and learns from the draws that choose, its threshold set to alarm "
        f"{100 * _ALARMED:.0f} % of the bad fits on tables that it was not trained on; and what "
        "another expects of accuracy and AUC. The forest itself was taught on other samples of "
        "the same tables.\n\nAlarmed:\n\n"
        + markdown_table(heads, rows)
        + "\nExpected by a forest:\n\n"
        + markdown_table(["of", "fits", "within .05", "rank correlation"], _forests(judges, others))
    )


def _numbers(fits: list[Fit]) -> Floats:
    return np.array([numbers_of(fit.evidence) for fit in fits])


def _forests(judges: list[Fit], others: list[Fit]) -> Rows:
    rows = []
    for name, of in (("accuracy", "fit_accuracy"), ("auc", "fit_auc")):
        known, judged = (
            [fit for fit in fits if fit.fault in UNSPOILT and of in fit.values]
            for fits in (others, judges)
        )
        truth, true = (np.array([fit.values[of] for fit in own]) for own in (known, judged))
        found = forest_values(_numbers(known), truth, _numbers(judged))
        rows.append([name, str(len(judged)), *_near(np.column_stack([found] * 3), true)[:2]])
    return rows
