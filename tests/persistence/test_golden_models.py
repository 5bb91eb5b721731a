"""Model files of the past: they load, and say what they said then."""

from __future__ import annotations

import json

import numpy as np
import pytest

import vqpu
from tests.golden_models import ENCODERS, GOLDEN, golden_samples


@pytest.mark.parametrize("name", ["vectors", "images", "rival"])
def test_golden_model__loads__and_scores_as_recorded(name: str) -> None:
    model = vqpu.load(GOLDEN / name, encoder=ENCODERS.get(name))
    recorded = np.array(json.loads((GOLDEN / "scores.json").read_text())[name])
    assert np.ptp(recorded) > 0.1
    found = model.decision_function(golden_samples(name))
    np.testing.assert_allclose(found, recorded, rtol=0, atol=1e-5 * np.abs(recorded).max())
    assert model.classes_.tolist() == ["unlabelled", "wanted"]
    assert set(model.predict(golden_samples(name))) <= {"unlabelled", "wanted"}
