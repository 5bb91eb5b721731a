"""The study of doubt: which cases choose and which judge, and what is drawn for them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from experiments.item import Record
from experiments.studies.doubt import expand
from experiments.studies.doubt_again import estimated_again
from experiments.studies.doubt_cases import (
    CHOOSES,
    FAULTS,
    JUDGES,
    JUDGING,
    Case,
    as_given,
    draw_case,
    draw_data,
    kind_of,
)
from experiments.studies.doubt_expected import choosing_records

RECORDS = Path(__file__).resolve().parents[2] / "results" / "doubt"


def test_draws__a_fresh_one_judges__no_case_in_both() -> None:
    numbers = [config["number"] for config in expand(None).values()]
    judges = [number for number in numbers if number >= JUDGING]
    assert len({*numbers}) == len(numbers) == CHOOSES.n_cases + 3 * JUDGES.n_cases
    assert len(judges) == JUDGES.n_cases >= 400
    assert {draw_case(number).fault for number in judges} == {*FAULTS}
    assert {kind_of(number) for number in judges} == {
        "trees",
        "others",
        "texts",
        "images",
        "broken",
    }


def test_choosing_records__never_one_that_judges() -> None:
    assert all(record.config["number"] < JUDGING for record in choosing_records(RECORDS))


def test_draw_data__images__shift_is_another_camera_and_bytes_hold_it() -> None:
    case = Case("digit-images", 40, 0.3, "shift", "network", JUDGING)
    drawn = draw_data(case)
    plain = draw_data(case._replace(fault="none"))
    assert drawn.positive.shape == (40, 8, 8)
    np.testing.assert_allclose(drawn.positive, 60 + 0.7 * plain.positive)
    assert as_given(drawn.positive).dtype == np.uint8
    assert drawn.positive.max() <= 255
    assert len(drawn.unlabeled) <= JUDGES.most_unlabeled
    assert abs(drawn.truth.mean() - 0.3) < 0.01


def test_draw_data__texts__topics_tell_positives_from_others() -> None:
    drawn = draw_data(Case("embedding", 100, 0.4, "none", "trees", JUDGING))
    np.testing.assert_allclose(np.linalg.norm(drawn.unlabeled, axis=1), 1)
    middle = drawn.positive.mean(axis=0)
    scores = drawn.unlabeled @ middle
    assert scores[drawn.truth].mean() > scores[~drawn.truth].mean() + 0.03


def test_estimated_again__alpha_and_auc_follow_the_counts_and_nothing_else_moves() -> None:
    parts = json.loads((RECORDS / "case0007.json").read_text())
    parts["metrics"]["evidence"] |= {"alpha": [0.9, 0.9, 0.9], "auc": [0.5, 0.5, 0.5]}
    again = estimated_again(Record(parts["config"], parts["metrics"]))
    published = json.loads((RECORDS / "case0007.json").read_text())
    assert again.metrics == published["metrics"]
