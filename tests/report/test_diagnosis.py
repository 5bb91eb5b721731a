"""Did it work? Every finding, in every level it can have."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.support import fast_classifier
from vqpu import VQKMeansClassifier, diagnose
from vqpu.errors import CollapsedCodesError
from vqpu.estimators._finding import Finding
from vqpu.rivals import NaivePUClassifier

Blobs = tuple[NDArray[np.float64], NDArray[np.int64]]


@pytest.fixture(scope="module")
def fitted() -> VQKMeansClassifier:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(2, 1, (200, 5)), rng.normal(-2, 1, (200, 5))])
    y = (np.arange(400) < 120).astype(np.int64)
    return fast_classifier(max_steps=300, patience=4, holdout=0.4).fit(X, y)


def finding(model: VQKMeansClassifier, name: str, **changes: Any) -> Finding:
    """What is said of ``name`` after fitted attributes were changed."""
    changed = copy.copy(model)
    for attribute, value in changes.items():
        setattr(changed, attribute, value)
    (found,) = [found for found in diagnose(changed) if found.name == name]
    return found


def test_diagnose__clear_clusters__nothing_to_complain_about(fitted: VQKMeansClassifier) -> None:
    findings = diagnose(fitted)
    assert [found.name for found in findings] == [
        "positives", "told", "quality", "alpha", "recall", "column", "likeness", "copies",
        "training", "codes",
    ]  # fmt: skip
    assert [str(found) for found in findings if found.level != "ok"] == []
    assert all(found.sentence.endswith(".") for found in findings)


def test_diagnose__saved_without_evidence__says_so(fitted: VQKMeansClassifier) -> None:
    found = finding(fitted, "evidence", evidence_=None)
    assert (found.level, "Fit it again" in found.sentence) == ("doubt", True)


def test_diagnose__pipeline_and_rivals__the_same_list(blobs: Blobs) -> None:
    X, y = blobs
    pipeline = make_pipeline(StandardScaler(), VQKMeansClassifier(max_steps=40, random_state=0))
    names = [found.name for found in diagnose(pipeline.fit(X, y))]
    rival = NaivePUClassifier(max_steps=40, n_members=2, random_state=0).fit(X, y)
    of_rival = [found.name for found in diagnose(rival)]
    assert names[:7] == of_rival[:7]


def test_diagnose__one_code__failed(fitted: VQKMeansClassifier) -> None:
    history = copy.deepcopy(fitted.history_)
    history[fitted.best_check_]["codes_in_use"] = 1
    assert finding(fitted, "codes", history_=history).level == "failed"


def test_diagnose__refit_that_collapses__is_a_finding(
    blobs: Blobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = blobs
    model = fast_classifier().fit(X, y)

    def collapse(*_: object, **__: object) -> None:
        raise CollapsedCodesError("All vectors have the same code.")

    monkeypatch.setattr(VQKMeansClassifier, "fit", collapse)
    found = diagnose(model, X, y, refits=1)[-1]
    assert (found.name, found.level) == ("stability", "failed")
    assert "same code" in found.sentence


@pytest.mark.parametrize(("share", "level"), [(0.0, "ok"), (0.1, "doubt"), (0.3, "failed")])
def test_diagnose__refits_that_predict_otherwise__by_their_share(
    share: float, level: str, blobs: Blobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = blobs
    model = fast_classifier().fit(X, y)
    predicted = model.predict(X[y == 0])
    flipped = predicted.copy()
    n_flipped = round(share * len(predicted))
    flipped[:n_flipped] = 1 - flipped[:n_flipped]
    monkeypatch.setattr(
        VQKMeansClassifier, "fit", lambda *_, **__: SimpleNamespace(predict=lambda _: flipped)
    )
    found = diagnose(model, X, y, refits=2)[-1]
    assert found.value == pytest.approx(n_flipped / len(predicted))
    assert (found.name, found.level) == ("stability", level)


def test_diagnose__refits__measure_how_many_predictions_change(blobs: Blobs) -> None:
    X, y = blobs
    model = fast_classifier(max_steps=120, n_members=2).fit(X, y)
    found = diagnose(model, X, y, refits=1)[-1]
    again = diagnose(model, X, y, refits=1)[-1]
    assert found == again
    assert found.name == "stability"
    assert found.value is not None
    assert 0 <= found.value <= 1


def test_diagnose__what_it_cannot_use__one_sentence(fitted: VQKMeansClassifier) -> None:
    with pytest.raises(TypeError, match="must be a fitted VQKMeansClassifier"):
        diagnose(StandardScaler())
    with pytest.raises(NotFittedError):
        diagnose(NaivePUClassifier())
    with pytest.raises(NotFittedError):
        diagnose(VQKMeansClassifier())
    with pytest.raises(ValueError, match="needs X and y"):
        diagnose(fitted, refits=1)
    with pytest.raises(ValueError, match="refits"):
        diagnose(fitted, refits=-1)
