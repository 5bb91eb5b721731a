from __future__ import annotations

from math import log
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils.parametrize import is_parametrized

from tests.reference import generative as reference
from vqpu.nn import (
    Discriminator,
    Generator,
    InputNormalizer,
    dgan_discriminator_loss,
    discriminator_loss,
    observed_generator_loss,
    towards_one,
)
from vqpu.rivals._gan import fixed

SHAPES = [(1, 28, 28), (3, 32, 32), (3, 64, 64), (1, 8, 8), (2, 9, 13), (1, 40, 8), (5,)]


def ones(shape: tuple[int, ...]) -> torch.Tensor:
    return torch.ones((shape[0], 1, 1) if len(shape) == 3 else shape, dtype=torch.float64)


def discriminator(shape: tuple[int, ...], *, spectral: bool = True) -> Discriminator:
    one = ones(shape)
    return Discriminator(shape, InputNormalizer(0 * one, one), spectral=spectral)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_generator_and_discriminator__any_shape__fit_each_other(shape: tuple[int, ...]) -> None:
    one = ones(shape)
    samples = Generator(shape, 3, 2 * one, one)(torch.randn(2, 3))
    assert samples.shape == (2, *shape)
    assert samples.dtype == torch.float64
    logits = discriminator(shape)(samples)
    assert logits.shape == (2,)
    logits.sum().backward()


def test_generator__images__stay_in_the_range_of_each_channel() -> None:
    middle = torch.tensor([100.0, 0.5], dtype=torch.float64).view(2, 1, 1)
    half = torch.tensor([50.0, 0.25], dtype=torch.float64).view(2, 1, 1)
    samples = Generator((2, 12, 12), 4, middle, half)(1000 * torch.randn(64, 4))
    for channel, (low, high) in enumerate([(50, 150), (0.25, 0.75)]):
        values = samples[:, channel]
        assert low <= values.min() < low + 0.2 * (high - low)
        assert high >= values.max() > high - 0.2 * (high - low)


@pytest.mark.parametrize("shape", [(3, 16, 16), (4,)], ids=str)
def test_discriminator__spectral__no_layer_stretches_by_more_than_one(
    shape: tuple[int, ...],
) -> None:
    torch.manual_seed(0)
    module = discriminator(shape)
    layers: list[Any] = [m for m in module.layers if isinstance(m, (nn.Conv2d, nn.Linear))]
    assert len(layers) >= 3
    with torch.no_grad():
        for layer in layers:
            layer.parametrizations.weight.original.mul_(7)
    samples = torch.randn(2, *shape)
    for _ in range(100):  # every pass in training mode is one power iteration
        module(samples)
    for layer in layers:
        weight = layer.weight.detach().numpy()
        assert reference.largest_singular_value(weight) == pytest.approx(1, rel=0.02)


def test_discriminator__never_batch_norm__a_sample_is_judged_alone() -> None:
    for spectral in (True, False):
        module = discriminator((4,), spectral=spectral)
        assert not any(isinstance(m, nn.modules.batchnorm._BatchNorm) for m in module.modules())
        assert any(is_parametrized(m) for m in module.layers) == spectral


def test_losses__hand_computed() -> None:
    unlabeled, positive = torch.tensor([0.0, log(3)]), torch.tensor([log(3)])
    generated = torch.tensor([-log(3), 0.0])
    real = (log(2) + log(4 / 3)) / 2  # D = 1/2 and 3/4, wanted 1
    fake = (log(4 / 3) + log(2)) / 2  # D = 1/4 and 1/2, wanted 0
    loss = discriminator_loss(unlabeled, generated)
    assert loss.item() == pytest.approx(real + fake)
    loss = dgan_discriminator_loss(unlabeled, positive, generated)
    assert loss.item() == pytest.approx(real + log(4) + fake)
    # D = 1/4 and 1/2, wanted 1; O = 3/4 wanted 0
    loss = observed_generator_loss(generated, positive, 0.5)
    assert loss.item() == pytest.approx((log(4) + log(2)) / 2 + 0.5 * log(4))


def test_losses__random_logits__as_the_reference() -> None:
    rng = np.random.default_rng(0)
    parts = [rng.normal(0, 3, n) for n in (5, 7, 9)]
    tensors = [torch.from_numpy(part) for part in parts]
    loss = dgan_discriminator_loss(*tensors)
    assert loss.item() == pytest.approx(reference.dgan_discriminator(*parts))
    loss = observed_generator_loss(tensors[0], tensors[1], 2.5)
    assert loss.item() == pytest.approx(reference.observed_generator(parts[0], parts[1], 2.5))
    assert towards_one(tensors[2]).item() == pytest.approx(reference.mean_entropy(parts[2], 1))


def test_losses__huge_logits__stay_finite() -> None:
    huge = torch.tensor([1e4, -1e4])
    assert torch.isfinite(dgan_discriminator_loss(huge, huge, huge))


def test_dgan_loss__minimiser__is_the_share_of_u() -> None:
    # At a point where p_U = .3, p_P = .5, p_G = .2 the best D is .3; the loss is convex in D.
    def loss(logit: float) -> float:
        d = torch.tensor([logit], dtype=torch.float64)
        parts = [dgan_discriminator_loss(d, 0 * d - 99, 0 * d - 99)]  # E_U alone
        parts += [dgan_discriminator_loss(0 * d + 99, d, 0 * d - 99)]
        parts += [dgan_discriminator_loss(0 * d + 99, 0 * d - 99, d)]
        weighted = zip((0.3, 0.5, 0.2), parts, strict=True)
        return sum(weight * part.item() for weight, part in weighted)

    best = log(0.3 / 0.7)
    assert loss(best) < min(loss(best - 0.05), loss(best + 0.05))


def test_fixed__gradient_goes_through_but_not_in() -> None:
    module = nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5))
    x = torch.randn(4, 3, requires_grad=True)
    with fixed(module):
        assert not module.training
        loss = module(x).square().sum()
    loss.backward()
    assert x.grad is not None
    assert all(parameter.grad is None for parameter in module.parameters())
    assert module.training
    assert all(parameter.requires_grad for parameter in module.parameters())


def test_fixed__what_was_frozen__stays_frozen() -> None:
    module = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    module[0].requires_grad_(False)
    module[1].eval()
    with fixed(module):
        assert not any(parameter.requires_grad for parameter in module.parameters())
    assert [part.training for part in module] == [True, False, True]
    assert [part.requires_grad for part in module.parameters()] == [False] * 2 + [True] * 4
