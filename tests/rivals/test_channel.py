"""The noisy channel of the GANs' classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from vqpu.nn import Augmentation, DCGANEncoder, EncoderEnsemble, InputNormalizer
from vqpu.rivals import DGANClassifier, ObserverGANClassifier
from vqpu.rivals._channel import NoisyLogit, draw_fields
from vqpu.rivals._gan import _RATE_BEHIND
from vqpu.rivals._logit import PooledLogit

SMALL: dict[str, Any] = {"max_steps": 3, "vector_dim": 8, "latent_dim": 4, "random_state": 0}
LABELS = np.repeat([1, 0], [12, 24])


def images() -> NDArray[np.uint8]:
    return np.random.default_rng(0).integers(0, 256, (36, 8, 9), dtype=np.uint8)


def linear(sigma: float, *, curved: bool = False) -> NoisyLogit:
    """A network of two columns, mean 0 and deviation 1, whose vectors are a map of them."""
    torch.manual_seed(0)
    layers = [nn.Linear(2, 6), nn.Tanh()] if curved else [nn.Linear(2, 6)]
    zero = torch.zeros(2, dtype=torch.float64)
    member = nn.Sequential(*layers, nn.Unflatten(1, (2, 3)))
    encoder = EncoderEnsemble(InputNormalizer(zero, zero + 1), [member])
    return NoisyLogit(encoder, 3, torch.full((2,), sigma), draw_fields((2,), seed=0))


def test_prediction__linear_network__noise_cancels() -> None:
    network, x = linear(3.0), torch.randn(5, 2)
    torch.testing.assert_close(network(x), PooledLogit.forward(network, x))


def test_prediction__by_hand__mean_over_every_field_and_its_negative() -> None:
    network, x = linear(0.5, curved=True), torch.randn(5, 2)
    fields = torch.cat([network.fields, -network.fields])
    assert len(fields) == 4
    logits = [PooledLogit.forward(network, x + 0.5 * field) for field in fields]
    torch.testing.assert_close(network(x), torch.stack(logits).mean(0))
    assert not torch.allclose(network(x), PooledLogit.forward(network, x))


def test_training__noise__is_new_every_time_and_repeats_with_the_seed() -> None:
    network, x = linear(0.5), torch.zeros(4, 2)
    torch.manual_seed(1)
    first, second = network.forward_member(x, 0), network.forward_member(x, 0)
    torch.manual_seed(1)
    torch.testing.assert_close(network.forward_member(x, 0), first)
    assert not torch.allclose(first, second)
    assert len({round(value, 6) for value in first.tolist()}) == 4  # every sample has its own
    still = linear(0.0)
    torch.testing.assert_close(still.forward_member(x, 0), still(x).squeeze(1))


def test_shifts__in_training_alone__new_every_time_and_with_a_gradient() -> None:
    torch.manual_seed(0)
    zero = torch.zeros(1, 1, 1, dtype=torch.float64)
    member = nn.Sequential(nn.Flatten(), nn.Linear(9, 6), nn.Unflatten(1, (2, 3)))
    encoder = EncoderEnsemble(InputNormalizer(zero, zero + 1), [member])
    fields, still = torch.randn(2, 1, 3, 3), torch.zeros(1, 1, 1)
    network = NoisyLogit(encoder, 3, still, fields, Augmentation(shift=1))
    x = torch.arange(9.0).square().view(1, 1, 3, 3).requires_grad_()
    plain = NoisyLogit(encoder, 3, still, fields)
    plain.load_state_dict(network.state_dict())
    # Rows and columns each one less, the same, or one more; what leaves the image is repeated.
    places = [torch.clamp(torch.arange(3) + offset, 0, 2) for offset in (-1, 0, 1)]
    expected = torch.cat(
        [plain(x[:, :, rows][:, :, :, columns]) for rows in places for columns in places]
    )
    found = network.forward_member(x.expand(300, -1, -1, -1), 0)
    distances = (found[:, None] - expected.view(1, 9)).abs()
    assert distances.min(dim=1).values.max() < 1e-3, "nothing else was done to any"
    assert len(set(distances.argmin(dim=1).tolist())) == 9
    torch.testing.assert_close(network(x), plain(x))
    torch.autograd.backward(found.sum())
    assert x.grad is not None
    assert x.grad.abs().sum() > 0


@pytest.mark.parametrize("kind", [ObserverGANClassifier, DGANClassifier])
@pytest.mark.parametrize("noise", [None, 0.0])
def test_gan__learns_plain_samples_behind_a_channel__and_shifted_ones_without(
    kind: Any, noise: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = images()
    originals = {image.tobytes() for image in X}
    seen: dict[str, list[bytes]] = {"discriminator": [], "classifier": []}
    rates: list[float] = []

    def teach(self: Any, loss_of: Any, sets: list[torch.Tensor], step: int) -> dict[str, float]:
        seen["discriminator"] += [image.numpy().astype(np.uint8).tobytes() for image in sets[0]]
        rates.extend(group["lr"] for group in self.generator_optimizer.param_groups)
        rates.extend(group["lr"] for group in self._discriminator_optimizer.param_groups)
        return {}

    forward = PooledLogit.forward_member if noise == 0 else NoisyLogit.forward_member

    def watched(self: Any, x: torch.Tensor, member: int) -> torch.Tensor:
        if not x.requires_grad:
            real = x[: len(x) // 2].detach()  # the other half is generated
            seen["classifier"] += [image.numpy().astype(np.uint8).tobytes() for image in real]
        return forward(self, x, member)

    monkeypatch.setattr("vqpu.rivals._gan.GAN.teach_discriminator", teach)
    monkeypatch.setattr(PooledLogit if noise == 0 else NoisyLogit, "forward_member", watched)
    stages = {"gan_steps": 3} if kind is DGANClassifier else {}
    model = kind(**SMALL, **stages, batch_size=8, noise=noise, augment="shift").fit(X, LABELS)
    for images_seen in seen.values():
        n_plain = sum(image in originals for image in images_seen)
        assert n_plain == len(images_seen) if noise is None else n_plain < len(images_seen) / 2
    if noise is None:
        assert model.network_._augmentation == Augmentation(shift=1)
    assert set(rates) == {_RATE_BEHIND if noise is None else 2e-4}


@pytest.mark.parametrize("kind", [ObserverGANClassifier, DGANClassifier])
def test_gan__images__behind_noise_of_seven_tenths_of_half_the_range(kind: Any) -> None:
    X = images()
    stages = {"gan_steps": 3} if kind is DGANClassifier else {}
    model = kind(**SMALL, **stages).fit(X, LABELS)
    network = model.network_
    assert isinstance(network, NoisyLogit)
    half_range = (X.max() - X.min()) / 2
    assert network.sigma.item() == pytest.approx(0.7 * half_range / X.std(), rel=1e-4)
    assert not any(isinstance(part, nn.BatchNorm2d) for part in network.modules())
    assert isinstance(network.encoder.members[0], DCGANEncoder)
    scores = model.decision_function(X)
    assert np.array_equal(scores, model.decision_function(X))
    for place in (0, 17):
        assert np.array_equal(model.decision_function(X[place : place + 1]), scores[[place]])


@pytest.mark.parametrize("kind", [ObserverGANClassifier, DGANClassifier])
@pytest.mark.parametrize(
    ("given", "noise", "shape", "expected"),
    [
        (None, None, (1, 8, 9), "behind"),
        (None, 0.0, (1, 8, 9), "without"),
        (None, None, (3,), "without"),
        (None, 0.5, (3,), "behind"),
        (0.003, None, (1, 8, 9), 0.003),
    ],
)
def test_gan_rate__faster_behind_a_channel_unless_given(
    kind: Any, given: float | None, noise: float | None, shape: tuple[int, ...], expected: Any
) -> None:
    rates = {"behind": _RATE_BEHIND, "without": 2e-4}
    rate = kind(gan_learning_rate=given, noise=noise)._gan_rate(shape)
    assert rate == rates.get(expected, expected)
    assert rates["behind"] > rates["without"]


def test_noise_of_0__the_literal_form__no_channel_and_batch_norm() -> None:
    model = ObserverGANClassifier(**SMALL, noise=0.0).fit(images(), LABELS)
    assert type(model.network_) is PooledLogit
    assert any(isinstance(part, nn.BatchNorm2d) for part in model.network_.modules())


def test_vectors__no_channel_unless_asked_for() -> None:
    X = np.random.default_rng(0).normal(size=(36, 3)) * [1.0, 10.0, 0.0]
    plain = ObserverGANClassifier(**SMALL).fit(X, LABELS)
    noisy = ObserverGANClassifier(**SMALL, noise=0.5).fit(X, LABELS)
    assert type(plain.network_) is PooledLogit
    # In units of each column's deviation; a constant column stays constant.
    assert noisy.network_.sigma.tolist() == pytest.approx([0.5, 0.5, 0.0])


@pytest.mark.parametrize("norm", ["batch", "layer", "none"])
def test_norm__is_that_of_the_encoder(norm: str) -> None:
    found: dict[str, Any] = {"batch": nn.BatchNorm2d, "layer": nn.GroupNorm}
    model = ObserverGANClassifier(**SMALL, norm=norm, encoder="conv").fit(images(), LABELS)
    members = model.network_.encoder.members
    kinds = {type(part) for part in members.modules()} & {*found.values()}
    assert kinds == ({found[norm]} if norm in found else set())
