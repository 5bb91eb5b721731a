from __future__ import annotations

import pytest
import torch
from torch import nn

from vqpu.nn import (
    ConvEncoder,
    DCGANEncoder,
    InputNormalizer,
    LinearEncoder,
    MLPEncoder,
    VQVAEEncoder,
    fold_batch_norm,
)


@pytest.mark.parametrize(
    ("shape", "n_vectors"),
    [
        ((1, 8, 8), 16),
        ((1, 28, 28), 49),
        ((3, 32, 32), 64),
        ((3, 64, 64), 64),
        ((3, 33, 50), 117),
        ((2, 128, 96), 48),
        ((3, 224, 224), 49),
        ((1, 512, 512), 64),
    ],
)
def test_conv__image_of_any_size__k_vectors_and_six_convolutions(
    shape: tuple[int, int, int], n_vectors: int
) -> None:
    encoder = ConvEncoder(shape, 12, dropout=0.1).eval()
    assert encoder(torch.zeros(2, *shape)).shape == (2, n_vectors, 12)
    assert sum(isinstance(layer, nn.Conv2d) for layer in encoder.modules()) == 6


def test_conv__vectors__are_the_places_of_the_feature_map() -> None:
    encoder = ConvEncoder((1, 16, 16), 5, dropout=0.0).eval()
    x = torch.randn(3, 1, 16, 16)
    features = encoder.layers(x)
    assert torch.equal(
        encoder(x)[1, 6], features[1, :, 6 // features.shape[3], 6 % features.shape[3]]
    )


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 64, 64), (2, 9, 13), (1, 8, 8)], ids=str)
def test_dcgan__any_image__one_vector_and_no_norm(shape: tuple[int, ...]) -> None:
    encoder = DCGANEncoder(shape, 5)
    assert encoder(torch.zeros(3, *shape)).shape == (3, 1, 5)
    norms = (nn.BatchNorm2d, nn.GroupNorm, nn.LayerNorm)
    assert not any(isinstance(layer, norms) for layer in encoder.modules())


@pytest.mark.parametrize("kind", ["conv", "mlp"])
def test_norm__none__signals_keep_their_size(kind: str) -> None:
    torch.manual_seed(0)
    x = torch.randn(64, 3, 16, 16) if kind == "conv" else torch.randn(64, 40)
    encoder: nn.Module = (
        ConvEncoder((3, 16, 16), 8, 0.0, "none")
        if kind == "conv"
        else MLPEncoder((40,), 8, 4, 0.0, "none")
    )
    assert 0.3 < encoder(x).std().item() < 3


@pytest.mark.parametrize("kind", ["conv", "mlp"])
def test_norm__layer__a_sample_does_not_see_the_others(kind: str) -> None:
    torch.manual_seed(0)
    x = torch.randn(6, 3, 16, 16) if kind == "conv" else torch.randn(6, 40)
    encoder: nn.Module = (
        ConvEncoder((3, 16, 16), 8, 0.0, "layer")
        if kind == "conv"
        else MLPEncoder((40,), 8, 4, 0.0, "layer")
    )
    torch.testing.assert_close(encoder(x)[:2], encoder(x[:2]))


def test_mlp__table__k_vectors() -> None:
    assert MLPEncoder((7,), 4, n_vectors=3, dropout=0.5).eval()(torch.zeros(5, 7)).shape == (
        5,
        3,
        4,
    )


@pytest.mark.parametrize("kind", ["conv", "mlp"])
def test_fold__trained_encoder__same_vectors_without_batch_norm(kind: str) -> None:
    torch.manual_seed(0)
    shape = (1, 12, 12) if kind == "conv" else (6,)
    encoder: nn.Module = (
        ConvEncoder(shape, 8, 0.2) if kind == "conv" else MLPEncoder(shape, 8, 4, 0.2)
    )
    for _ in range(20):
        encoder(3 + 2 * torch.randn(16, *shape))  # moves the running statistics
    network = nn.Sequential(InputNormalizer(torch.zeros(1), torch.ones(1)), encoder).eval()
    folded = fold_batch_norm(network)
    x = torch.randn(9, *shape)
    with torch.no_grad():
        torch.testing.assert_close(folded(x), network(x), rtol=1e-4, atol=1e-5)
    norms = (nn.BatchNorm1d, nn.BatchNorm2d)
    assert not any(isinstance(layer, norms) for layer in folded.modules())
    assert any(isinstance(layer, norms) for layer in network.modules())


def test_linear__vectors__one_matrix_and_one_shift() -> None:
    encoder = LinearEncoder((7,), 4, n_vectors=3, dropout=0.5).eval()
    layer = encoder.layers[1]
    assert isinstance(layer, torch.nn.Linear)
    x = torch.randn(5, 7, generator=torch.Generator().manual_seed(0))
    expected = (x @ layer.weight.T + layer.bias).reshape(5, 3, 4)
    torch.testing.assert_close(encoder(x), expected)
    folded = fold_batch_norm(encoder)
    assert [type(part) for part in folded.layers] == [torch.nn.Linear]
    assert torch.equal(folded(x), encoder(x))


def test_fold__foreign_module__left_as_it_is() -> None:
    module = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    assert any(isinstance(layer, nn.BatchNorm1d) for layer in fold_batch_norm(module).modules())


def test_normalizer__double_input_far_from_zero__keeps_its_digits() -> None:
    normalizer = InputNormalizer(
        torch.tensor([1e9], dtype=torch.float64), torch.tensor([1e-3], dtype=torch.float64)
    )
    x = torch.tensor([[1e9 + 2e-3]], dtype=torch.float64)
    assert normalizer(x).item() == pytest.approx(2.0, rel=1e-3)


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 32), (3, 9, 13)])
def test_vqvae__image_of_any_size__six_layers_and_no_batch_norm(shape: tuple[int, ...]) -> None:
    encoder = VQVAEEncoder(shape, 7)
    kinds = [type(part) for part in encoder.modules()]
    assert kinds.count(nn.Conv2d) == 6
    assert nn.BatchNorm2d not in kinds
    places = (shape[1] // 2 // 2) * (shape[2] // 2 // 2)
    assert encoder(torch.zeros(2, *shape)).shape == (2, places, 7)


def test_vqvae__vectors__depend_on_no_other_sample_of_the_batch() -> None:
    encoder = VQVAEEncoder((1, 12, 12), 5)
    x = torch.randn(6, 1, 12, 12, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(encoder(x)[2:4], encoder(x[2:4]), rtol=1e-5, atol=1e-6)
