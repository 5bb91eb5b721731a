"""Model files: what is saved comes back bit for bit, and nothing else is taken for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.typing import NDArray
from sklearn.base import clone
from torch import nn

import vqpu
from tests.support import FAST, fast_classifier, linear_encoder
from vqpu.base._registry import METHODS
from vqpu.errors import InputError, ModelFileError
from vqpu.persistence import _bundle

GAN: dict[str, Any] = {**FAST, "latent_dim": 3}
MODELS: dict[str, Any] = {
    "posterior": fast_classifier(max_steps=20),
    "nearest": fast_classifier(n_members=2, decision="nearest-center"),
    "moving": fast_classifier(max_steps=20, anchors="moving", codebook_update="adam", dropout=0),
    "constant": fast_classifier(max_steps=20, encoding="constant", decision="nearest-center"),
    "distribution": fast_classifier(max_steps=20, encoding="distribution"),
    "naive": vqpu.rivals.NaivePUClassifier(**FAST),
    "oracle": vqpu.rivals.OracleClassifier(**FAST, class_prior=0.3),
    "nnpu": vqpu.rivals.NNPUClassifier(**FAST, alpha=0.3),
    "upu": vqpu.rivals.UPUClassifier(**FAST, alpha=0.3),
    "cvir": vqpu.rivals.CVIRClassifier(**FAST),
    "tedn": vqpu.rivals.TEDnClassifier(**FAST),
    "distpu": vqpu.rivals.DistPUClassifier(**FAST),
    "vpu": vqpu.rivals.VPUClassifier(**FAST),
    "robustpu": vqpu.rivals.RobustPUClassifier(**FAST),
    "p3mix": vqpu.rivals.P3MixClassifier(**FAST),
    "ncpu": vqpu.rivals.NcPUClassifier(**FAST),
    "observer-gan": vqpu.rivals.ObserverGANClassifier(**GAN),
    "d-gan": vqpu.rivals.DGANClassifier(**GAN, gan_steps=5),
    "vqvae": vqpu.rivals.VQVAE(**FAST, codebook_size=8),
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


@pytest.fixture
def images() -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 60, (48, 12, 10, 3))
    X[:24, 3:9, 3:7] += 150
    return X.astype(np.uint8), np.repeat([1, 0], [12, 36])


@pytest.mark.parametrize("name", ["posterior", "naive", "observer-gan", "d-gan", "vqvae"])
def test_load__images__answers_bit_for_bit(
    name: str, images: tuple[NDArray[Any], NDArray[Any]], tmp_path: Path
) -> None:
    X, y = images
    model = clone(MODELS[name]).set_params(max_steps=4).fit(X, y)
    model.save(tmp_path / "model")
    assert_same_answers(model, vqpu.load(tmp_path / "model"), X)


@pytest.mark.parametrize(
    "values",
    [("heap", "wanted"), (False, True), (3, 7), (-1.0, 1.0), np.array(["a", "b"], dtype=object)],
    ids=["str", "bool", "int", "float", "object"],
)
def test_load__classes__values_and_dtype_come_back(
    values: Any, blobs: tuple[NDArray[Any], NDArray[Any]], tmp_path: Path
) -> None:
    X, y = blobs
    model = vqpu.rivals.NaivePUClassifier(**FAST).fit(X, np.asarray(values)[y])
    model.save(tmp_path / "model")
    loaded = vqpu.load(tmp_path / "model")
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.classes_.tolist() == list(values)
    assert_same_answers(model, loaded, X)


def test_load__data_frame__columns_are_still_compared(
    blobs: tuple[NDArray[Any], NDArray[Any]], tmp_path: Path
) -> None:
    X, y = blobs
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = vqpu.rivals.NaivePUClassifier(**FAST).fit(frame, y)
    model.save(tmp_path / "model")
    loaded = vqpu.load(tmp_path / "model")
    assert loaded.feature_names_in_.tolist() == list("abcde")
    assert_same_answers(model, loaded, frame)
    with pytest.raises(InputError, match="feature names"):
        loaded.predict(frame.rename(columns={"a": "z"}))


def wider_encoder(shape: tuple[int, ...], dim: int) -> nn.Module:
    return nn.Sequential(nn.Linear(shape[0], 3 * dim), nn.Unflatten(1, (3, dim)))


def test_load__own_encoder__is_handed_over_again(
    blobs: tuple[NDArray[Any], NDArray[Any]], tmp_path: Path
) -> None:
    X, y = blobs
    model = vqpu.rivals.NaivePUClassifier(**FAST, encoder=linear_encoder).fit(X, y)
    model.save(tmp_path / "model")
    state = torch.get_rng_state()
    assert_same_answers(model, vqpu.load(tmp_path / "model", encoder=linear_encoder), X)
    assert torch.equal(torch.get_rng_state(), state)
    with pytest.raises(ModelFileError, match="linear_encoder"):
        vqpu.load(tmp_path / "model")
    with pytest.raises(ModelFileError, match=r"0.weight.*has shape \(8, 5\) on disk, \(12, 5\)"):
        vqpu.load(tmp_path / "model", encoder=wider_encoder)


def test_load__random_state_was_a_generator__none_is_kept(
    blobs: tuple[NDArray[Any], NDArray[Any]], tmp_path: Path
) -> None:
    model = vqpu.rivals.NaivePUClassifier(**{**FAST, "random_state": np.random.RandomState(0)})
    model.fit(*blobs).save(tmp_path / "model")
    assert vqpu.load(tmp_path / "model").random_state is None


def test_registry__every_saved_class__was_saved_here_under_its_name() -> None:
    saved = {type(model).__name__ for model in MODELS.values()}
    assert saved == {method.class_name for method in METHODS if method.is_saved}
    assert all(method.load_class().__name__ == method.class_name for method in METHODS)


@pytest.mark.parametrize("load", [vqpu.load, vqpu.rivals.NaivePUClassifier.load])
def test_load__manifest__is_read_and_verified_once(
    load: Any,
    blobs: tuple[NDArray[Any], NDArray[Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vqpu.rivals.NaivePUClassifier(**FAST).fit(*blobs).save(tmp_path / "model")
    read: list[str] = []
    plain = _bundle._read_regular

    def spy(path: Path, most: int) -> bytes:
        read.append(path.name)
        return plain(path, most)

    monkeypatch.setattr(_bundle, "_read_regular", spy)
    load(tmp_path / "model")
    assert read == ["manifest.json", "weights.safetensors"]
