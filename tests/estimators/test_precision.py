"""Precision: bfloat16 inside the encoders, float32 or better everywhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import vqpu
from tests.support import fast_classifier
from vqpu import VQKMeansClassifier
from vqpu.base import _precision
from vqpu.base._precision import has_native_bfloat16, resolve_precision
from vqpu.errors import ParameterError
from vqpu.rivals import NaivePUClassifier

CPU = torch.device("cpu")
Images = tuple[NDArray[np.uint8], NDArray[np.int64]]
GOLDEN = Path(__file__).parents[1] / "golden"


# Where bfloat16 is not native a step in it takes a hundred times as long.
FEW: dict[str, Any] = {"max_steps": 6, "check_every": 3, "batch_size": 16}


@pytest.fixture(scope="module")
def images() -> Images:
    """Striped ones are positive: 60 of them labelled, 60 hidden among 180 others."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 120, (300, 8, 8), dtype=np.uint8)
    X[:120, ::2] += 80
    return X, np.repeat([1, 0], [60, 240])


@pytest.fixture(scope="module")
def model(images: Images) -> VQKMeansClassifier:
    return fast_classifier(precision="bfloat16", batch_size=32).fit(*images)


@pytest.mark.parametrize("is_native", [True, False])
def test_auto__takes_bfloat16_for_images_where_the_device_has_it(
    monkeypatch: pytest.MonkeyPatch, is_native: bool
) -> None:
    monkeypatch.setattr(_precision, "has_native_bfloat16", lambda _: is_native)
    expected = "bfloat16" if is_native else "float32"
    assert resolve_precision("auto", CPU, is_image=True) == expected
    assert resolve_precision("auto", CPU, is_image=False) == "float32"
    for asked in ("float32", "bfloat16"):
        assert resolve_precision(asked, CPU, is_image=True) == asked


def test_native__a_torch_that_cannot_say__means_no(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_is_avx512_bf16_supported", "_is_amx_tile_supported"):
        monkeypatch.delattr(torch.cpu, name, raising=False)
    assert not has_native_bfloat16(CPU)


def test_unknown_precision__is_refused(images: Images) -> None:
    with pytest.raises(ParameterError, match="Unknown precision 'float16'"):
        fast_classifier(precision="float16").fit(*images)


def test_bfloat16__is_computed_in_and_kept_out_of_everything_else(
    model: VQKMeansClassifier, images: Images
) -> None:
    seen: list[torch.dtype] = []
    folded: Any = model._folded
    handle = (
        folded.encoder.members[0]
        .layers[0]
        .register_forward_hook(lambda *parts: seen.append(parts[2].dtype))
    )
    model.predict(images[0])
    handle.remove()
    assert set(seen) == {torch.bfloat16}
    assert {part.dtype for part in model.network_.parameters()} == {torch.float32}
    assert model._folded(torch.from_numpy(images[0][:2]).unsqueeze(1)).dtype == torch.float32
    assert model.holdout_projections_[1].dtype == np.float64


def test_bfloat16__labels_and_probabilities_stay_near_those_of_float32(
    model: VQKMeansClassifier, images: Images
) -> None:
    X = images[0]
    coarse, labels = model.predict_proba(X), model.predict(X)
    model.set_params(precision="float32")
    try:
        assert model.precision_ == "float32"
        fine = model.predict_proba(X)
        assert (labels == model.predict(X)).mean() >= 0.99
    finally:
        model.set_params(precision="bfloat16")
    difference = np.abs(coarse - fine).max()
    assert 0 < difference < 0.05


@pytest.mark.filterwarnings("ignore:All samples have the same codes")  # after so few steps
@pytest.mark.parametrize("make", [fast_classifier, lambda **own: NaivePUClassifier(
    n_members=1, random_state=0, **own)], ids=["vq", "naive"])  # fmt: skip
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_every_precision__is_repeated_and_comes_back_from_disk_bit_for_bit(
    make: Any, precision: str, images: Images, tmp_path: Path
) -> None:
    X, y = images
    first, second = (make(precision=precision, **FEW).fit(X, y) for _ in range(2))
    scores = first.decision_function(X)
    np.testing.assert_array_equal(scores, second.decision_function(X))
    first.save(tmp_path / "model")
    loaded = vqpu.load(tmp_path / "model")
    assert loaded.precision_ == precision
    np.testing.assert_array_equal(scores, loaded.decision_function(X))


def test_model_from_before__computes_in_float32() -> None:
    assert vqpu.load(GOLDEN / "images").precision == "float32"
