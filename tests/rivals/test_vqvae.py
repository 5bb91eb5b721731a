from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch.nn.functional import embedding

from tests.reference import generative as reference
from tests.reference.method import nearest_code as slow_nearest_code
from vqpu.errors import CollapsedCodesWarning, VqpuError
from vqpu.nn import codebook_loss, commitment_loss, nearest_code, straight_through
from vqpu.rivals import VQVAE

Blobs = tuple[NDArray[Any], NDArray[Any]]


def vqvae(**parameters: Any) -> VQVAE:
    settings: dict[str, Any] = {
        "max_steps": 30,
        "vector_dim": 4,
        "n_vectors": 3,
        "codebook_size": 16,
        "random_state": 0,
    }
    return VQVAE(**{**settings, **parameters})


def test_straight_through__value_of_the_code_gradient_of_the_vector() -> None:
    vectors = torch.tensor([[1.0, 2.0]], requires_grad=True)
    codes = torch.tensor([[3.0, 5.0]], requires_grad=True)
    through = straight_through(vectors, codes)
    assert through.tolist() == [[3.0, 5.0]]
    (through * torch.tensor([[10.0, 100.0]])).sum().backward()  # type: ignore[no-untyped-call]
    assert vectors.grad is not None
    assert vectors.grad.tolist() == [[10.0, 100.0]]
    assert codes.grad is None


def test_commitment__hand_computed__pulls_the_vector_and_not_the_code() -> None:
    vectors = torch.tensor([[[1.0, 2.0]], [[0.0, 0.0]]], requires_grad=True)
    codes = torch.tensor([[[3.0, 5.0]], [[0.0, 1.0]]], requires_grad=True)
    loss = commitment_loss(vectors, codes)
    assert loss.item() == pytest.approx((4 + 9 + 0 + 1) / 2)
    loss.backward()  # type: ignore[no-untyped-call]
    assert vectors.grad is not None
    assert vectors.grad.flatten().tolist() == [-2.0, -3.0, 0.0, -1.0]  # 2 (v - c) / n
    assert codes.grad is None


def test_codebook_and_commitment__random_vectors__as_the_reference() -> None:
    rng = np.random.default_rng(0)
    vectors, book = rng.normal(size=(5, 3, 4)), rng.normal(size=(8, 4))
    tensor, codes = torch.from_numpy(vectors), torch.from_numpy(book)
    quantized = embedding(nearest_code(tensor, codes), codes)
    expected = reference.vqvae_terms(vectors, book)
    assert codebook_loss(tensor, quantized).item() == pytest.approx(expected[0])
    assert commitment_loss(tensor, quantized).item() == pytest.approx(expected[1])


def test_fit__vectors__reconstructs_and_finds_two_clusters(
    blobs: Blobs, blobs_truth: NDArray[Any]
) -> None:
    X = blobs[0]
    model = vqvae(max_steps=200).fit(X)
    error = np.mean((model.reconstruct(X) - X) ** 2)
    assert error < 0.5 * X.var()
    codes = model.transform(X)
    assert codes.shape == (180, 3)
    assert codes.min() >= 0
    assert codes.max() < 16
    assert model.cluster_centers_.shape == (2, 3)
    assert np.array_equal(model.labels_, model.predict(X))
    distances = ((codes[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    assert np.array_equal(model.labels_, distances.argmin(axis=1))
    assert model.stop_reason_ == "max_steps"
    assert model.get_feature_names_out().tolist() == ["vqvae0", "vqvae1", "vqvae2"]


def test_transform__is_the_nearest_code_of_the_encoder(blobs: Blobs) -> None:
    X = blobs[0][:20]
    model = vqvae().fit(X)
    network = model.network_.eval()
    with torch.no_grad():
        vectors = network.encoder(torch.tensor(X)).numpy()
    expected = slow_nearest_code(vectors, network.codebook.vectors.detach().numpy())
    assert np.mean(model.transform(X) == expected) > 0.99  # batch norm is folded: rounding


@pytest.mark.parametrize("shape", [(9, 12), (10, 8, 3), (3, 11, 9)], ids=str)
def test_images__layout_of_the_input(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 40, (12, *shape)).astype(np.uint8)
    X[::2] += 200  # dark and light images
    model = vqvae(max_steps=150).fit(X)
    assert model.reconstruct(X).shape == X.shape
    assert model.transform(X).shape[0] == 12
    assert np.mean((model.reconstruct(X) - X) ** 2) < 0.5 * X.var()


def test_labels__not_looked_at_and_same_seed__bit_identical(blobs: Blobs) -> None:
    X, y = blobs
    state = torch.get_rng_state()
    first = vqvae().fit(X, y)
    second = vqvae().fit(X)
    for one, other in zip(
        first.network_.state_dict().values(), second.network_.state_dict().values(), strict=True
    ):
        assert torch.equal(one, other)
    assert np.array_equal(first.transform(X), second.transform(X))
    assert first.reconstruct(X).tobytes() == second.reconstruct(X).tobytes()
    assert torch.equal(torch.get_rng_state(), state)


def test_codes_all_alike__said() -> None:
    model = vqvae()
    with pytest.warns(CollapsedCodesWarning, match="both clusters are one"):
        model.cluster_centers_ = model._find_centers(np.full((4, 3), 7), 0)
    assert model._nearer_center(np.full((4, 3), 7)).tolist() == [0, 0, 0, 0]


PARAMETER_CASES: dict[str, tuple[dict[str, Any], str]] = {
    "codebook of one": ({"codebook_size": 1}, "codebook_size must be an integer >= 2. Got 1"),
    "negative beta": ({"commitment": -0.1}, r"commitment must be a number in \[0"),
    "no starts": ({"n_init": 0}, "n_init must be an integer >= 1"),
    "no steps": ({"max_steps": 0}, "max_steps must be an integer >= 1"),
}


@pytest.mark.parametrize("name", PARAMETER_CASES)
def test_fit__bad_parameter__one_clear_error(name: str, blobs: Blobs) -> None:
    parameters, message = PARAMETER_CASES[name]
    with pytest.raises(VqpuError, match=message):
        vqvae(**parameters).fit(blobs[0])


def test_inverse_transform__bad_codes__one_clear_error(blobs: Blobs) -> None:
    model = vqvae(max_steps=2).fit(blobs[0])
    for codes, message in (
        (np.zeros((2, 5), int), r"shape \(2, 5\). Expected integers of shape \(n, 3\)"),
        (np.zeros((0, 3), int), r"shape \(0, 3\)"),
        (np.zeros((2, 3)), "dtype float64"),
        (np.full((2, 3), 16), "from 16 to 16"),
        (np.full((2, 3), -1), "from -1 to -1"),
    ):
        with pytest.raises(VqpuError, match=message):
            model.inverse_transform(codes)


def test_sample_without_a_finite_encoding__no_code(blobs: Blobs) -> None:
    X, _ = blobs
    model = vqvae().fit(X)
    far = X[:3].copy()
    far[1] = 1e300
    for answer in (model.transform, model.predict):
        with pytest.raises(VqpuError, match="Sample 1 has no finite encoding"):
            answer(far)
