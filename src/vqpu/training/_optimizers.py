"""What moves weights: Adam, Muon for matrices and filters, and the moving average of them."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

# The quintic of Jordan et al. (2024): singular values between 0 and 1 go near 1 in a few steps.
_COEFFICIENTS = (3.4445, -4.7750, 2.0315)
_NEWTON_SCHULZ_STEPS = 4
_MOMENTUM = 0.9
# A step's size is that of its singular values, all near 1, so the rate is another one than Adam's.
_MATRIX_RATE = 20.0


def orthogonalize(matrices: Tensor, n_steps: int = _NEWTON_SCHULZ_STEPS) -> Tensor:
    r"""Return matrices with the same singular vectors and singular values near 1.

    Newton-Schulz: :math:`X \leftarrow P X` with :math:`P = a I + b A + c A^2` and
    :math:`A = X X^T`, from X of Frobenius norm 1, in float32. All P commute with A, so that
    :math:`A \leftarrow A P^2`: the steps are taken on small square matrices, and their product
    meets the long X once.

    Parameters
    ----------
    matrices : Tensor of shape (n, rows, columns)
    n_steps : int
    """
    a, b, c = _COEFFICIENTS
    x = matrices.float()
    is_tall = x.shape[-2] > x.shape[-1]
    if is_tall:
        x = x.mT
    x = x / (torch.linalg.matrix_norm(x, keepdim=True) + 1e-7)
    identity = torch.eye(x.shape[-2], dtype=x.dtype, device=x.device)
    gram, factor, product = x @ x.mT, identity, identity
    for step in range(n_steps):
        if step > 0:  # the first factor would be the identity
            gram = gram @ (factor @ factor)
        factor = a * identity + b * gram + c * (gram @ gram)
        product = factor @ product if step > 0 else factor
    x = product @ x
    orthogonal: Tensor = x.mT if is_tall else x
    return orthogonal


class Muon(torch.optim.Adam):
    """Muon on matrices and on filters flattened to (out, in * height * width), Adam on the rest.

    A matrix moves by ``rate * sqrt(max(1, rows / columns))`` along the orthogonalised Nesterov
    momentum. What has one row or one column, biases and norms among it, is Adam's.

    Parameters
    ----------
    parameters : iterable of Parameter
    learning_rate : float
        Adam's; Muon's is 20 times as large.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], learning_rate: float) -> None:
        every = list(parameters)
        matrices = [one for one in every if is_matrix(one)]
        others = [one for one in every if not is_matrix(one)]
        groups: list[dict[str, Any]] = [
            {"params": matrices, "lr": _MATRIX_RATE * learning_rate, "is_matrix": True},
            {"params": others, "lr": learning_rate, "is_matrix": False},
        ]
        super().__init__([group for group in groups if group["params"]], fused=True)

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Take one step."""
        assert closure is None, "the loop has taken the loss before"
        every = self.param_groups
        for group in every:
            if group["is_matrix"]:
                self._step_matrices(group)
        self.param_groups = [group for group in every if not group["is_matrix"]]
        try:
            super().step()
        finally:
            self.param_groups = every

    def _step_matrices(self, group: dict[str, Any]) -> None:
        by_shape: dict[tuple[int, int], list[nn.Parameter]] = {}
        for parameter in group["params"]:
            if parameter.grad is not None:
                by_shape.setdefault(_matrix_shape(parameter), []).append(parameter)
        for (rows, columns), parameters in by_shape.items():
            # Matrices of one shape, such as those of several members, go through as one batch.
            looked_ahead = torch.stack([self._look_ahead(one).flatten(1) for one in parameters])
            moves = orthogonalize(looked_ahead)
            rate = group["lr"] * max(1.0, rows / columns) ** 0.5
            for parameter, move in zip(parameters, moves, strict=True):
                parameter.add_(move.view_as(parameter), alpha=-rate)

    def _look_ahead(self, parameter: nn.Parameter) -> Tensor:
        """Update the momentum and return Nesterov's gradient."""
        gradient = parameter.grad
        assert gradient is not None
        state = self.state[parameter]
        if not state:
            state["step"] = torch.zeros(())  # Adam expects it of every parameter
            state["momentum"] = torch.zeros_like(parameter, memory_format=torch.contiguous_format)
        state["step"] += 1
        momentum: Tensor = state["momentum"].mul_(_MOMENTUM).add_(gradient)
        return gradient + _MOMENTUM * momentum


def adam(parameters: Iterable[nn.Parameter], learning_rate: float) -> torch.optim.Optimizer:
    """Return Adam with one rate for all parameters."""
    return torch.optim.Adam(parameters, lr=learning_rate, fused=True)


OPTIMIZERS: dict[str, Callable[[Iterable[nn.Parameter], float], torch.optim.Optimizer]] = {
    "adam": adam,
    "muon": Muon,
}


def resolve_optimizer(optimizer: str, *, is_image: bool) -> str:
    """Return a key of :data:`OPTIMIZERS`; "auto" is Muon for images and Adam for vectors."""
    if optimizer != "auto":
        return optimizer
    return "muon" if is_image else "adam"


def is_matrix(parameter: Tensor) -> bool:
    """Whether Muon takes a parameter: a matrix, or filters, of at least two rows and columns."""
    return parameter.dim() >= 2 and min(_matrix_shape(parameter)) > 1


def _matrix_shape(parameter: Tensor) -> tuple[int, int]:
    rows = parameter.shape[0]
    return rows, parameter.numel() // rows


AnyModule = TypeVar("AnyModule", bound=nn.Module)


class WeightAverage(Generic[AnyModule]):
    """Exponential moving average of a module's parameters and buffers.

    Parameters
    ----------
    module : Module
        The module that is trained; it is read, never changed.
    decay : float
        Share of the average that is kept at every step, in [0, 1). 0 follows the module. Early on
        the decay is smaller, ``(1 + step) / (10 + step)``, so that the random start is forgotten.

    Attributes
    ----------
    averaged : Module
        The average, in evaluation mode.
    """

    def __init__(self, module: AnyModule, decay: float) -> None:
        self._module = module
        self._decay = decay
        self.averaged = copy.deepcopy(module).eval().requires_grad_(False)
        self._pairs = list(_matching_tensors(self.averaged, module))

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the module as it is after ``step`` (counted from 1)."""
        decay = min(self._decay, (1 + step) / (10 + step))
        for average, current in self._pairs:
            if average.dtype.is_floating_point:
                average.lerp_(current.to(average.dtype), 1 - decay)
            else:
                average.copy_(current)


def _matching_tensors(
    averaged: nn.Module, module: nn.Module
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    pairs = list(zip(averaged.parameters(), module.parameters(), strict=True))
    buffers = zip(averaged.buffers(), module.buffers(), strict=True)
    return [*pairs, *buffers]
