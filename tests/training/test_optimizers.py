"""Muon: its formula in a float64 loop, what it leaves to Adam, and the same steps again."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from tests.fit_and_die import small_data, small_model
from vqpu.training._optimizers import Muon, is_matrix, orthogonalize
from vqpu.training._snapshots import _fill_optimizer, optimizer_tensors

Matrix = NDArray[np.float64]


def newton_schulz(matrix: Matrix) -> Matrix:
    """The formula, entry by entry of nothing but products, in float64."""
    if matrix.shape[0] > matrix.shape[1]:
        return np.asarray(newton_schulz(matrix.T).T)
    x = matrix / np.sqrt((matrix**2).sum())
    for _ in range(4):
        gram = x @ x.T
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
    return np.asarray(x)


def small_network() -> nn.Sequential:
    torch.manual_seed(0)
    layers = [nn.Conv2d(2, 6, 3), nn.BatchNorm2d(6), nn.Flatten(), nn.Linear(24, 5)]
    return nn.Sequential(*layers, nn.Linear(5, 1))


def step_of(network: nn.Sequential, optimizer: torch.optim.Optimizer, number: int) -> None:
    x = torch.randn(8, 2, 4, 4, generator=torch.Generator().manual_seed(number))
    optimizer.zero_grad()
    network(x).square().mean().backward()
    optimizer.step()


@pytest.mark.parametrize("shape", [(1, 4, 9), (3, 9, 4), (2, 6, 6)])
def test_orthogonalize__random__equals_the_loop_and_keeps_singular_vectors(
    shape: tuple[int, ...],
) -> None:
    matrices = torch.randn(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    found = orthogonalize(matrices).double().numpy()
    for one, made in zip(matrices.numpy(), found, strict=True):
        np.testing.assert_allclose(made, newton_schulz(one), atol=2e-5)
        left, _, right = np.linalg.svd(one, full_matrices=False)
        turned = left.T @ made @ right.T
        np.testing.assert_allclose(turned, np.diag(np.diag(turned)), atol=1e-4)
        assert 0.3 < np.diag(turned).min() <= np.diag(turned).max() < 1.3


def test_orthogonalize__singular_values_far_apart__equals_the_loop() -> None:
    # Steps on the Gram matrix see squares of singular values; small ones must not drown in them.
    matrix = np.random.default_rng(0).normal(size=(48, 432)) * np.logspace(0, -4, 432)
    found = orthogonalize(torch.from_numpy(matrix)[None])[0].numpy()
    np.testing.assert_allclose(found, newton_schulz(matrix), atol=2e-5)


def test_steps__equal_a_float64_loop_of_the_formula() -> None:
    network = small_network()
    filters: Any = network[0]
    weight: Matrix = filters.weight.detach().double().numpy().copy()
    momentum: Matrix = np.zeros((6, 18))
    optimizer = Muon(network.parameters(), 1e-3)
    for number in range(5):
        step_of(network, optimizer, number)
        flat = filters.weight.grad.double().numpy().reshape(6, 18)
        momentum = 0.9 * momentum + flat
        move = newton_schulz(flat + 0.9 * momentum).reshape(weight.shape)
        weight -= 20 * 1e-3 * move  # fewer rows than columns: no factor
    np.testing.assert_allclose(filters.weight.detach().numpy(), weight, atol=2e-5)


def test_tall_matrix__moves_by_the_root_of_its_shape() -> None:
    parameter = nn.Parameter(torch.zeros(16, 4))
    optimizer = Muon([parameter], 1e-3)
    parameter.grad = torch.randn(16, 4, generator=torch.Generator().manual_seed(0))
    optimizer.step()
    sizes = torch.linalg.svdvals(parameter.detach()) / (20 * 1e-3 * 2)
    assert ((sizes > 0.3) & (sizes < 1.3)).all()


def test_groups__biases_norms_and_single_rows_are_adams() -> None:
    network = small_network()
    assert [is_matrix(one) for one in network.parameters()] == [
        True, False, False, False, True, False, False, False,
    ]  # fmt: skip
    plain = copy.deepcopy(network)
    others = [one for one in plain.parameters() if not is_matrix(one)]
    optimizer = Muon(network.parameters(), 1e-3)
    step_of(network, optimizer, 0)
    step_of(plain, torch.optim.Adam(others, lr=1e-3, fused=True), 0)
    moved = [one for one in network.parameters() if not is_matrix(one)]
    assert all(torch.equal(one, other) for one, other in zip(moved, others, strict=True))


def test_state__through_a_checkpoint__goes_on_bit_for_bit() -> None:
    whole, broken = small_network(), small_network()
    first, second = Muon(whole.parameters(), 1e-3), Muon(broken.parameters(), 1e-3)
    for number in range(3):
        step_of(whole, first, number)
        step_of(broken, second, number)
    kept = {name: tensor.clone() for name, tensor in optimizer_tensors("it", second).items()}
    again = Muon(broken.parameters(), 1e-3)
    _fill_optimizer("it", again, kept)
    assert not kept
    for number in range(3, 6):
        step_of(whole, first, number)
        step_of(broken, again, number)
    pairs = zip(whole.parameters(), broken.parameters(), strict=True)
    assert all(torch.equal(one, other) for one, other in pairs)


@pytest.mark.filterwarnings("ignore::vqpu.errors.VqpuWarning")
def test_fit__muon_and_soft_rounds__broken_off_goes_on_to_the_same_model(tmp_path: Any) -> None:
    X, y = small_data()
    form: dict[str, Any] = {"optimizer": "muon", "rounds": "soft", "n_rounds": 2}
    whole = small_model(**form).fit(X, y)
    assert whole.n_rounds_ == 2
    steps: list[int] = []

    def stop(check: Any) -> None:
        steps.append(check.row["step"])
        if steps.count(45) == 1 and check.row["step"] == 45:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        small_model(**form).fit(X, y, callback=stop, checkpoint_dir=tmp_path)
    resumed = small_model(**form).fit(X, y, callback=stop, checkpoint_dir=tmp_path)
    assert steps.count(45) == 2
    np.testing.assert_array_equal(resumed.decision_function(X), whole.decision_function(X))
