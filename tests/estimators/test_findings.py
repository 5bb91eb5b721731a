"""Findings: every rule by hand, in every level it can have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vqpu.estimators._evidence import FitEvidence, late_gain
from vqpu.estimators._finding import Finding, worst
from vqpu.estimators._findings import findings_of_evidence
from vqpu.priors._mixture import Cells, Interval

GOOD = FitEvidence(
    n_positive=200,
    n_unlabeled=1000,
    alpha=Interval(0.3, 0.25, 0.35),
    best_bin=0.31,
    auc=Interval(0.97, 0.95, 0.99),
    proxy_auc=0.8,
    called=0.3,
    recall=0.95,
    agreement=0.95,
    likeness=0.5,
    twins=0.0,
    column=2,
    column_auc=0.8,
    other_column_auc=0.75,
    like_unlabeled=0.02,
    late_gain=0.01,
    cells=Cells(np.arange(1.0), np.ones(2), np.ones(2)),
)


def finding(name: str, given: tuple[float, float] | None = None, **changes: Any) -> Finding:
    found = findings_of_evidence(GOOD._replace(**changes), ["a", "b", "c"], given)
    (one,) = [one for one in found if one.name == name]
    return one


def test_findings__nothing_wrong__all_ok() -> None:
    found = findings_of_evidence(GOOD)
    assert {one.level for one in found} == {"ok"}
    assert {one.cause for one in found} == {None}
    assert all(one.sentence.endswith(".") for one in found)


CASES: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "twelve positives": ("positives", {"n_positive": 12}, "doubt", "few-positives"),
    "misses positives": ("recall", {"recall": 0.3}, "doubt", "missed"),
    "overlap": ("quality", {"recall": 0.5, "called": 0.6}, "doubt", "overlap"),
    "noise": ("told", {"proxy_auc": 0.5}, "failed", "indistinct"),
    "next to noise": ("told", {"proxy_auc": 0.545}, "doubt", "indistinct"),
    "luck": ("told", {"proxy_auc": 0.59, "n_positive": 30}, "doubt", "indistinct"),
    "few, and alpha wide": (
        "alpha",
        {"n_positive": 20, "alpha": Interval(0.3, 0.1, 0.62)},
        "doubt",
        "unknown-alpha",
    ),
    "wide alpha": ("alpha", {"alpha": Interval(0.4, 0.02, 0.69)}, "doubt", "unknown-alpha"),
    "misses some": ("recall", {"recall": 0.84}, "doubt", "missed"),
    "any alpha": ("alpha", {"alpha": Interval(0.4, 0.1, 0.9)}, "doubt", "unknown-alpha"),
    "none or many": ("alpha", {"alpha": Interval(0.21, 0.0, 0.33)}, "doubt", "unknown-alpha"),
    "none hidden": ("alpha", {"alpha": Interval(0.005, 0.0, 0.01)}, "doubt", "none-hidden"),
    "other device": ("likeness", {"likeness": 0.95}, "failed", "shift"),
    "rather unlike": ("likeness", {"likeness": 0.72}, "doubt", "shift"),
    "leak": ("column", {"column_auc": 0.99, "likeness": 0.95}, "failed", "leak"),
    "copies": ("copies", {"twins": 0.9}, "doubt", "duplicates"),
    "odd labels": ("labels", {"like_unlabeled": 0.5}, "doubt", "wrong-labels"),
    # A third of P is none: the AUC cannot be above .85 however well the others are told.
    "a third is wrong": (
        "labels",
        {
            "like_unlabeled": 0.47,
            "auc": Interval(0.84, 0.76, 0.92),
            "alpha": Interval(0.3, 0.2, 0.4),
        },
        "doubt",
        "wrong-labels",
    ),
    "unstable": ("members", {"agreement": 0.2}, "doubt", "unstable"),
    "too short": ("training", {"late_gain": 0.4}, "doubt", "too-short"),
}


@pytest.mark.parametrize("case", CASES)
def test_findings__something_wrong__level_and_cause(case: str) -> None:
    name, changes, level, cause = CASES[case]
    found = finding(name, **changes)
    assert (found.level, found.cause) == (level, cause)


def test_findings__few_to_compare__unlikeness_must_be_larger() -> None:
    few: dict[str, Any] = {"n_positive": 16, "n_unlabeled": 60, "alpha": Interval(0.1, 0.05, 0.2)}
    assert finding("likeness", likeness=0.75, **few).level == "ok"
    assert finding("likeness", likeness=0.85, **few).level == "doubt"


def test_findings__unlike__columns_and_examples_are_named() -> None:
    unlike = GOOD._replace(likeness=0.9, unlike_columns=(2, 0), unlike_samples=(7, 9, 1))

    def sentence(names: list[str] | None, **changes: Any) -> str:
        found = findings_of_evidence(unlike._replace(**changes), names)
        return next(one.sentence for one in found if one.name == "likeness")

    assert "they differ, most in 'c' and 'a'." in sentence(["a", "b", "c"])
    assert "most in column 2 and column 0." in sentence(None)
    assert sentence(None).endswith("Look at the samples 7, 9 and 1 of X, the least like them.")
    named = unlike.naming([f"{row}.png" for row in range(10)])
    assert named.unlike_names == ("7.png", "9.png", "1.png")
    files = sentence(None, unlike_names=named.unlike_names)
    assert files.endswith("Look at 7.png, 9.png and 1.png, the least like them.")
    assert sentence(None, unlike_columns=(), unlike_samples=()).endswith("sample of all.")


def test_findings__leak__names_the_column_of_a_table() -> None:
    leaking: dict[str, Any] = {"column_auc": 0.99, "likeness": None}
    assert "'c' alone" in finding("column", **leaking).sentence
    unnamed = findings_of_evidence(GOOD._replace(**leaking))
    assert any("column 2 alone" in one.sentence for one in unnamed)


def test_findings__filled_in_where_somebody_labelled__a_leak_however_others_tell() -> None:
    filled: dict[str, Any] = {"column_auc": 0.99, "other_column_auc": 0.99, "filled_column": 1}
    found = finding("column", **filled, filled=(0.9, 0.0))
    assert (found.level, found.cause) == ("failed", "leak")
    assert "'b' has a value in 90% of the labelled and 0.0% of the unlabelled" in found.sentence
    assert finding("column", **filled, filled=(0.4, 0.0)).level == "ok"
    assert finding("column", **filled, filled=(0.9, 0.1)).level == "ok"


def test_findings__two_columns_tell__neither_is_a_leak() -> None:
    leaking: dict[str, Any] = {"column_auc": 0.99, "likeness": 0.9}
    found = finding("column", **leaking, other_column_auc=0.98)
    assert found.level == "ok"
    assert found.sentence.startswith("'c' tells labelled from unlabelled samples with AUC 0.99")


def test_findings__column_that_hidden_positives_share__what_makes_a_positive() -> None:
    shared: dict[str, Any] = {"column_auc": 0.99, "likeness": 0.5}
    assert finding("column", **shared, other_column_auc=0.85).level == "ok"
    # Filled in by chance in U: no other column tells those samples from the rest.
    assert finding("column", **shared, other_column_auc=0.6).cause == "leak"


def test_findings__hardly_told__never_ok_but_no_failure_where_all_may_be_positive() -> None:
    alike: dict[str, Any] = {"proxy_auc": 0.53, "alpha": Interval(0.9, 0.8, 0.97)}
    assert finding("told", **alike, agreement=0.97).level == "doubt"
    assert finding("told", **alike, agreement=0.6).level == "failed"
    assert finding("told", **alike, agreement=None).level == "failed"
    # What is expected stands on being told.
    assert finding("quality", **alike, agreement=0.97).level == "doubt"
    evidence = GOOD._replace(**alike, agreement=0.97)
    assert worst(findings_of_evidence(evidence)).name == "told"


def test_findings__told_by_few__chance_is_named_and_not_the_auc_called_low() -> None:
    found = finding("told", proxy_auc=0.75, n_positive=6)
    assert found.level == "doubt"
    assert "6 positives may reach by chance" in found.sentence


def test_findings__few_positives__are_the_first_doubt() -> None:
    evidence = GOOD._replace(n_positive=6, alpha=Interval(0.3, 0.0, 0.8), recall=0.5)
    assert worst(findings_of_evidence(evidence)).name == "positives"


def test_findings__rare_positives__half_of_them_found_is_no_doubt() -> None:
    assert finding("recall", recall=0.5, alpha=Interval(0.05, 0.03, 0.08)).level == "ok"
    assert finding("recall", recall=0.4, alpha=Interval(0.05, 0.03, 0.08)).cause == "missed"
    assert finding("recall", recall=0.5).cause == "missed"


def test_findings__u_nearly_all_positive__positives_that_look_like_u_are_no_odd_labels() -> None:
    assert not [
        one
        for one in findings_of_evidence(
            GOOD._replace(like_unlabeled=0.9, alpha=Interval(0.9, 0.8, 0.97))
        )
        if one.name == "labels"
    ]


def test_findings__alpha_from_0_to_little__few_at_most_is_an_answer() -> None:
    assert finding("alpha", alpha=Interval(0.06, 0.0, 0.12)).level == "ok"
    assert finding("alpha", alpha=Interval(0.06, 0.01, 0.3)).level == "ok"
    assert "none at all" in finding("alpha", alpha=Interval(0.1, 0.0, 0.25)).sentence


def test_findings__overlap__positives_that_look_like_negatives_are_no_odd_labels() -> None:
    overlapping = GOOD._replace(like_unlabeled=0.5, auc=Interval(0.75, 0.7, 0.8))
    assert "labels" not in {one.name for one in findings_of_evidence(overlapping)}


def test_findings__given_alpha_that_the_data_deny__said() -> None:
    assert finding("alpha", given=(0.3, 0.3)).level == "ok"
    assert finding("alpha", given=(0.2, 0.26)).level == "ok"
    denied = finding("alpha", given=(0.8, 0.8))
    assert (denied.level, denied.cause) == ("doubt", "contradicted-alpha")
    assert "0.8 was given" in denied.sentence


def test_findings__images_and_one_member__what_cannot_be_had_is_left_out() -> None:
    names = {
        one.name for one in findings_of_evidence(GOOD._replace(column=None, agreement=None,
                                                               likeness=None, late_gain=None))
    }  # fmt: skip
    assert names == {"quality", "positives", "told", "alpha", "recall", "copies"}


def test_findings__nothing_kept_apart__no_number_is_shown() -> None:
    (found,) = findings_of_evidence(GOOD._replace(is_unseen=False))
    assert (found.name, found.level, found.cause) == ("unseen", "doubt", "unseen")
    (found,) = findings_of_evidence(GOOD._replace(is_unseen=False, n_positive=4))
    assert (found.level, found.cause) == ("failed", "few-positives")
    assert "4 positives are too few" in found.sentence


def test_findings__alpha_given_and_not_contradicted__ok_however_wide() -> None:
    wide = GOOD._replace(alpha=Interval(0.2, 0.0, 0.34))
    (found,) = [
        one for one in findings_of_evidence(wide, given=(0.27, 0.27)) if one.name == "alpha"
    ]
    assert found.level == "ok"
    assert "do not contradict the 0.27 that was given" in found.sentence
    assert "--alpha" not in found.sentence


def test_findings__aimed_at_another_share__the_data_keep_theirs() -> None:
    aimed = GOOD.aimed_at(0.9, 3.0, called=0.65, recall=1.0)
    found = {one.name: one for one in findings_of_evidence(aimed)}
    assert (found["alpha"].level, found["alpha"].cause) == ("doubt", "contradicted-alpha")
    assert "is 0.30 (0.25 to 0.35) by the data of the fit" in found["alpha"].sentence
    assert found["quality"].value is not None
    assert found["quality"].value < 0.7  # .65 are called positive, .3 are
    (within,) = [
        one
        for one in findings_of_evidence(GOOD.aimed_at(0.33, 0.1, called=0.31, recall=0.95))
        if one.name == "alpha"
    ]
    assert within.level == "ok"
    assert "aimed at 0.33 afterwards, which they do not contradict" in within.sentence
    noise = GOOD._replace(proxy_auc=0.48).aimed_at(0.33, 0.1, called=0.31, recall=0.95)
    (untold,) = [one for one in findings_of_evidence(noise) if one.name == "alpha"]
    assert (untold.level, untold.cause) == ("doubt", "indistinct")


def test_findings__advice__not_what_was_done_already() -> None:
    missed = GOOD._replace(recall=0.3)

    def advice(given: tuple[float, float] | None, *, is_balanced: bool) -> str:
        found = findings_of_evidence(missed, given=given, is_balanced=is_balanced)
        return next(one.sentence for one in found if one.name == "recall")

    everything = advice(None, is_balanced=False)
    assert "--alpha" in everything
    assert "decision=balanced" in everything
    assert "--alpha" not in advice((0.3, 0.3), is_balanced=False)
    assert "decision=balanced" not in advice(None, is_balanced=True)
    assert advice((0.3, 0.3), is_balanced=True).endswith(
        "missed. Rank instead of trusting the border."
    )


def test_findings__recall_of_an_aimed_model__by_its_share_and_without_advice_against_it() -> None:
    def recall(alpha: float, called: float, found: float) -> Finding:
        aimed = GOOD.aimed_at(alpha, -3.0, called=called, recall=found)
        return next(one for one in findings_of_evidence(aimed) if one.name == "recall")

    assert recall(0.02, 0.02, 0.7).level == "ok"  # of rare ones the best border misses many
    missed = recall(0.2, 0.1, 0.4)
    assert missed.sentence.endswith("missed. Rank instead of trusting the border.")


def test_findings__recall__says_what_to_expect_of_hidden_ones_if_members_were_taught() -> None:
    assert "hidden" not in finding("recall").sentence
    found = finding("recall", is_taught=True)
    assert "; of the hidden ones, 9" in found.sentence
    assert "with 90 % confidence)." in found.sentence
    assert found.value == GOOD.recall


def test_findings__not_told__alpha_and_recall_stand_on_nothing() -> None:
    noise = GOOD._replace(proxy_auc=0.48, alpha=Interval(0.96, 0.83, 1.0))
    found = {one.name: one for one in findings_of_evidence(noise)}
    for name in ("alpha", "recall", "quality"):
        assert (found[name].level, found[name].cause) == ("doubt", "indistinct")
        assert "told from U, which is in doubt" in found[name].sentence


def test_findings__far_fewer_called_than_alpha_and_recall_say__border_doubted() -> None:
    found = finding("border", alpha=Interval(0.375, 0.0, 0.55), recall=1.0, called=0.06)
    assert (found.level, found.cause) == ("doubt", "contradicted-border")
    assert "6.0% of the unlabelled samples" in found.sentence
    assert "come to 37.5%" in found.sentence
    names = {one.name for one in findings_of_evidence(GOOD._replace(recall=1.0, called=0.201))}
    assert "border" not in names  # .3 is less than 1.5 times .201


def test_findings__few_of_many_kept_apart__says_why() -> None:
    few = GOOD._replace(n_positive=4, n_labeled=30)
    (found,) = [one for one in findings_of_evidence(few) if one.name == "positives"]
    assert found.level == "doubt"
    assert found.sentence.startswith("4 of 30 labelled positives")
    assert "n_members" in found.sentence


def test_worst__most_severe_comes_first() -> None:
    found = findings_of_evidence(GOOD._replace(twins=0.9, column_auc=0.99, likeness=0.9))
    assert worst(found).cause == "leak"
    assert worst(findings_of_evidence(GOOD)).level == "ok"


@pytest.mark.parametrize(
    ("signal", "gain"),
    [
        ([0.0, 1.0], 1.0),
        ([0.0, 0.0, 0.0], 0.0),
        ([0.0, 4.0, 8.0, 8.0, 9.0, 10.0], 0.2),
        ([0.0, 5.0, 10.0, 9.0, 9.0, 9.0], 0.0),
    ],
)
def test_late_gain__by_hand(signal: list[float], gain: float) -> None:
    assert late_gain(np.array(signal)) == pytest.approx(gain)
