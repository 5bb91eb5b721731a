from __future__ import annotations

import hashlib
import random
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from vqpu.errors import NonFiniteLossError, VqpuError
from vqpu.rivals import DGANClassifier, ObserverGANClassifier
from vqpu.rivals._gan import GANClassifier

Blobs = tuple[NDArray[Any], NDArray[Any]]

SMALL: dict[str, Any] = {
    "max_steps": 20,
    "vector_dim": 8,
    "n_vectors": 4,
    "latent_dim": 4,
    "random_state": 0,
}


def observer(**parameters: Any) -> ObserverGANClassifier:
    return ObserverGANClassifier(**{**SMALL, **parameters})


def dgan(**parameters: Any) -> DGANClassifier:
    return DGANClassifier(**{"gan_steps": 20, **SMALL, **parameters})


both = pytest.mark.parametrize("make", [observer, dgan])


def gaussians(
    alpha: float, n_positive: int, n_unlabeled: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Two normal distributions in the plane, 3 apart: Bayes is right for 93.3 % if balanced."""
    rng = np.random.default_rng(0)
    shift = np.array([1.5, 0.0])
    hidden = rng.random(n_unlabeled) < alpha
    positive = rng.normal(size=(n_positive, 2)) + shift
    unlabeled = rng.normal(size=(n_unlabeled, 2)) + np.where(hidden[:, None], shift, -shift)
    truth = np.arange(2000) % 2
    test = rng.normal(size=(2000, 2)) + np.where(truth[:, None] == 1, shift, -shift)
    y = np.repeat([1, 0], [n_positive, n_unlabeled])
    return np.vstack([positive, unlabeled]), y, test, truth


@pytest.mark.parametrize(
    "model",
    [
        ObserverGANClassifier(max_steps=500, gan_learning_rate=5e-4, random_state=0),
        DGANClassifier(gan_steps=400, max_steps=200, random_state=0),
    ],
    ids=["observer", "dgan"],
)
def test_gans__gaussians__near_bayes_and_the_generator_leaves_the_positives(
    model: GANClassifier,
) -> None:
    X, y, test, truth = gaussians(0.5, 400, 1000)
    model.fit(X, y)
    bayes = np.mean((test[:, 0] > 0) == truth)
    assert model.score(test, truth) > bayes - 0.05
    # U itself has a share of .5 there.
    assert np.mean(model.sample(500, random_state=0)[:, 0] > 0) < 0.3


def fingerprint(model: Any, X: NDArray[Any]) -> str:
    digest = hashlib.sha256(model.decision_function(X).tobytes())
    for network in (model.network_, model.generator_):
        for tensor in network.state_dict().values():
            digest.update(tensor.numpy().tobytes())
    digest.update(model.sample(3, random_state=0).tobytes())
    return digest.hexdigest()


def images(n: int) -> NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, 256, (n, 10, 9, 3), dtype=np.uint8)


@both
@pytest.mark.parametrize("kind", ["vectors", "images"])
def test_same_seed__bit_identical(make: Any, kind: str, blobs: Blobs) -> None:
    X, y = blobs if kind == "vectors" else (images(60), np.repeat([1, 0], [20, 40]))
    first = fingerprint(make().fit(X, y), X)
    torch.manual_seed(5)
    assert fingerprint(make().fit(X, y), X) == first
    assert fingerprint(make(random_state=1).fit(X, y), X) != first


@both
def test_global_random_states__untouched(make: Any, blobs: Blobs) -> None:
    before = (np.random.get_state(legacy=False), torch.get_rng_state(), random.getstate())  # noqa: NPY002
    model = make(random_state=None).fit(*blobs)
    model.predict(blobs[0])
    model.sample(3)
    assert repr(np.random.get_state(legacy=False)) == repr(before[0])  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), before[1])
    assert random.getstate() == before[2]


@both
@pytest.mark.parametrize(
    ("shape", "dtype", "expected"),
    [
        ((4,), np.float64, np.float64),
        ((4,), np.int64, np.float64),
        ((8, 9), np.uint8, np.float32),
        ((8, 9, 3), np.uint8, np.float32),
        ((3, 9, 8), np.float32, np.float32),
    ],
    ids=str,
)
def test_sample__layout_and_scale_of_the_input(
    make: Any, shape: tuple[int, ...], dtype: Any, expected: Any
) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(100, 200, (24, *shape)).astype(dtype)
    model = make(max_steps=3).fit(X, np.repeat([1, 0], 12))
    samples = model.sample(5, random_state=3)
    assert samples.shape == (5, *shape)
    assert samples.dtype == expected
    assert 100 < samples.mean() < 200
    if len(shape) > 1:
        assert samples.min() >= 100
        assert samples.max() <= 199
    assert np.array_equal(samples, model.sample(5, random_state=3))
    assert not np.array_equal(samples, model.sample(5, random_state=4))
    with pytest.raises(VqpuError, match="n must be an integer >= 1"):
        model.sample(0)


@both
def test_constant_column__generated_as_it_is(make: Any, blobs: Blobs) -> None:
    X = np.column_stack([blobs[0], np.full(180, 7.0)])
    assert (make(max_steps=3).fit(X, blobs[1]).sample(9)[:, -1] == 7).all()


@both
def test_batches_of_two__two_samples_of_each__accepted(make: Any) -> None:
    X = np.random.default_rng(0).normal(size=(4, 3))
    model = make(batch_size=2).fit(X, [1, 1, 0, 0])
    assert np.isfinite(model.decision_function(X)).all()


def test_observer__trains_for_the_whole_budget__and_keeps_the_end(blobs: Blobs) -> None:
    model = observer(max_steps=60, check_every=20).fit(*blobs)
    assert model.stop_reason_ == "max_steps"
    assert model.n_steps_ == 60
    assert model.best_check_ == 2
    columns = {"loss", "discriminator_loss", "generator_loss", "holdout_auc", "positive_share"}
    assert columns <= set(model.history_[0])


def test_dgan__second_stage__stops_by_the_auc_of_held_out_samples(blobs: Blobs) -> None:
    model = dgan(max_steps=200, check_every=20, patience=2, gan_steps=40).fit(*blobs)
    curve = model.history_.column("holdout_auc")
    assert model.best_check_ == int(np.argmax(curve))
    assert len(model.gan_history_) == 20
    assert model.gan_history_[-1]["step"] == 40
    assert model.stop_reason_ == "patience"


def test_observer_weight__moves_the_generator_away_from_the_positives(blobs: Blobs) -> None:
    X, y = blobs  # positives are around 2 in every column
    settings: dict[str, Any] = {"max_steps": 150, "gan_learning_rate": 1e-3}
    plain, observed = (
        observer(observer_weight=weight, **settings).fit(X, y).sample(200, random_state=0)
        for weight in (0.0, 5.0)
    )
    assert observed.mean() < plain.mean() - 0.2


PARAMETER_CASES: dict[str, tuple[Any, dict[str, Any], str]] = {
    "no noise": (observer, {"latent_dim": 0}, "latent_dim must be an integer >= 1. Got 0"),
    "no rate": (observer, {"gan_learning_rate": 0}, r"gan_learning_rate must be a number in \(0"),
    "bonus": (observer, {"observer_weight": -1}, r"observer_weight must be a number in \[0"),
    "NaN weight": (observer, {"observer_weight": float("nan")}, "observer_weight must be a number"),
    "negative noise": (observer, {"noise": -0.1}, r"noise must be a number in \[0, inf\) or None"),
    "unknown norm": (dgan, {"norm": "group"}, "Unknown norm .group."),
    "no batch": (observer, {"batch_size": None}, "batch_size must be an integer >= 2. Got None"),
    "no bound": (dgan, {"max_steps": None}, "max_steps must be an integer >= 1. Got None"),
    "no steps": (dgan, {"gan_steps": 0}, "gan_steps must be an integer >= 1. Got 0"),
    "noise in words": (dgan, {"latent_dim": "many"}, "latent_dim must be an integer"),
    "no patience": (dgan, {"patience": 0}, "patience must be an integer >= 1"),
    "holdout of all": (dgan, {"holdout": 0.9}, "holdout must be a number"),
}


@pytest.mark.parametrize("name", PARAMETER_CASES)
def test_fit__bad_parameter__one_clear_error(name: str, blobs: Blobs) -> None:
    make, parameters, message = PARAMETER_CASES[name]
    with pytest.raises(VqpuError, match=message):
        make(**parameters).fit(*blobs)


@both
def test_fit__diverging_gan__the_step_is_named(make: Any, blobs: Blobs) -> None:
    with pytest.raises(NonFiniteLossError, match="not finite at step"):
        make(gan_learning_rate=1e30).fit(*blobs)
