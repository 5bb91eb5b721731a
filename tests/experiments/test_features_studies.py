from __future__ import annotations

import re

import numpy as np
import pytest

from experiments import sentences
from experiments.backbone import CLASSES as TRAINED
from experiments.item import Record
from experiments.studies import features, texts
from vqpu.files._feature_data import FEATURE_DEFAULTS


def test_defaults_on_features__are_a_form_of_the_study() -> None:
    assert features.FORMS["vq, linear"][2] == FEATURE_DEFAULTS
    assert texts.FORMS["vq, linear"][1] == FEATURE_DEFAULTS


def test_backbone__has_seen_no_class_of_the_task() -> None:
    assert not {*TRAINED} & {*features.CLASSES}
    assert {*TRAINED} | {*features.CLASSES} == {*range(10)}


def test_summary__runs_that_are_there__are_averaged_and_others_missing() -> None:
    runs = [
        Record(
            {"form": "vq, linear", "n_positive": 300},
            {f"{part}_{name}": value for part in ("rest", "test") for name in ("accuracy", "auc")}
            | {"cpu_seconds": 9.0},
        )
        for value in (0.5, 0.7)
    ]
    shown = features.summary(runs)
    assert "| vq, linear | missing | missing | 60.0 / 60.0, 9 s [2] | missing |" in shown


def test_sentences__first_ones_of_docstrings__without_short_ones() -> None:
    found = sentences.sentences("std:email")
    assert "Create a message structure from the data in a file" in " ".join(found)
    assert all(len(re.findall(r"[A-Za-z]{2,}", one)) >= 5 for one in found)
    assert found == sorted({*found})


def test_labeled_sentences__those_of_both_sides__are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sentences, "SUBJECTS", {"mail": ("std:email",), "web": ("std:http",)})
    monkeypatch.setattr(sentences, "OTHERS", ("std:email/message.py", "std:logging"))
    found, labels = sentences.labeled_sentences("mail")
    shared = {*sentences.sentences("std:email/message.py")}
    assert not shared & {*found}
    assert 0 < np.mean(labels) < 1
    assert labels[found.index(next(iter({*sentences.sentences("std:http")} - shared)))] == 0
