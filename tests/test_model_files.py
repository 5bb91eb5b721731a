"""Model files: what is saved comes back bit for bit, and nothing else is taken for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import vqpu
from tests.support import fast_classifier

FAST: dict[str, Any] = {
    "max_steps": 10, "check_every": 5, "vector_dim": 4, "n_vectors": 2, "random_state": 0,
}  # fmt: skip
GAN: dict[str, Any] = {**FAST, "latent_dim": 3}
MODELS: dict[str, Any] = {
    "posterior": fast_classifier(max_steps=20),
    "nearest": fast_classifier(n_members=2, decision="nearest-center"),
    "moving": fast_classifier(max_steps=20, anchors="moving", codebook_update="adam", dropout=0),
    "constant": fast_classifier(max_steps=20, encoding="constant", decision="nearest-center"),
    "distribution": fast_classifier(max_steps=20, encoding="distribution"),
    "naive": vqpu.NaivePUClassifier(**FAST),
    "oracle": vqpu.OracleClassifier(**FAST, class_prior=0.3),
    "nnpu": vqpu.NNPUClassifier(**FAST, alpha=0.3),
    "upu": vqpu.UPUClassifier(**FAST, alpha=0.3),
    "cvir": vqpu.CVIRClassifier(**FAST),
    "tedn": vqpu.TEDnClassifier(**FAST),
    "distpu": vqpu.DistPUClassifier(**FAST),
    "vpu": vqpu.VPUClassifier(**FAST),
    "observer-gan": vqpu.ObserverGANClassifier(**GAN),
    "d-gan": vqpu.DGANClassifier(**GAN, gan_steps=5),
    "vqvae": vqpu.VQVAE(**FAST, codebook_size=8),
}
pytestmark = pytest.mark.filterwarnings("ignore::vqpu.VqpuWarning")


def answers(model: Any, X: NDArray[Any]) -> dict[str, NDArray[Any]]:
    names = ["predict", "decision_function", "predict_proba", "transform"]
    found = {name: getattr(model, name)(X) for name in names if hasattr(model, name)}
    if hasattr(model, "sample"):
        found["sample"] = model.sample(3, random_state=0)
    if hasattr(model, "reconstruct"):
        found["reconstruct"] = model.reconstruct(X)
    return found


def assert_same_answers(first: Any, second: Any, X: NDArray[Any]) -> None:
    expected, found = answers(first, X), answers(second, X)
    assert expected.keys() == found.keys()
    for name, value in expected.items():
        assert found[name].dtype == value.dtype
        assert np.array_equal(found[name], value), name


@pytest.mark.parametrize("name", MODELS)
def test_load__vectors__answers_bit_for_bit(
    name: str, blobs: tuple[NDArray[Any], NDArray[Any]], tmp_path: Path
) -> None:
    X, y = blobs
    model = MODELS[name].fit(X, y)
    model.save(tmp_path / "model")
    loaded = vqpu.load(tmp_path / "model")
    assert type(loaded) is type(model)
    assert loaded.get_params() == model.get_params()
    assert_same_answers(model, loaded, X)
    assert {key for key in vars(model) if key.endswith("_")} == {
        key for key in vars(loaded) if key.endswith("_")
    }
    assert loaded.history_.rows == model.history_.rows
    assert_same_answers(model, type(model).load(tmp_path / "model"), X)
