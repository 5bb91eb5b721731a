"""The paper's theorem in numbers: a wide network, its linearisation, and where both come to rest.

Symbols are those of the paper's appendix; docs/theorem.md goes through it equation by equation.
Targets are scalars, as there. Everything is NumPy in float64.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LABELED, HIDDEN, NEGATIVE = 0, 1, 2  # groups of samples: x^p, x^up, x^un


class Samples(NamedTuple):
    """Two clusters of points, the positive one in two parts.

    Attributes
    ----------
    x : ndarray of shape (n, d + 1)
        The last column is 1, so that a hidden unit has a bias.
    group : ndarray of int, shape (n,)
        LABELED, HIDDEN or NEGATIVE.
    alpha : float
        Share of HIDDEN among HIDDEN and NEGATIVE, as drawn.
    """

    x: Floats
    group: NDArray[np.int64]
    alpha: float


class System(NamedTuple):
    """The least-squares problem ``|J theta - y|^2`` and the direction that it cannot learn.

    Attributes
    ----------
    scale : ndarray of shape (n,)
        Weights of the rows: sqrt(1/n_p), sqrt(alpha/n_up), sqrt((1-alpha)/n_un).
    y : ndarray of shape (n,)
    w_hat : ndarray of shape (n,)
        Unit vector along w.
    """

    scale: Floats
    y: Floats
    w_hat: Floats

    @property
    def y_parallel(self) -> Floats:
        """The part of y along w_hat."""
        return self.w_hat * (self.w_hat @ self.y)

    @property
    def y_across(self) -> Floats:
        """The part of y orthogonal to w_hat, the paper's ``y_bot``."""
        return self.y - self.y_parallel


def draw_samples(
    alpha: float, n_positive: int, n_unlabeled: int, n_features: int, spread: float, seed: int
) -> Samples:
    """Draw clusters around +1 and -1 of the first axis, ``spread`` from their centre on average."""
    n_hidden = round(alpha * n_unlabeled)
    group = np.repeat([LABELED, HIDDEN, NEGATIVE], [n_positive, n_hidden, n_unlabeled - n_hidden])
    noise = np.random.default_rng(seed).standard_normal((len(group), n_features))
    x = spread / math.sqrt(n_features) * noise
    x[:, 0] += np.where(group == NEGATIVE, -1.0, 1.0)
    return Samples(np.hstack([x, np.ones((len(x), 1))]), group, n_hidden / n_unlabeled)


def make_system(samples: Samples, mu_positive: float, mu_unlabeled: float) -> System:
    """Return the paper's weights, y and w for constant targets."""
    counts, alpha = np.bincount(samples.group, minlength=3), samples.alpha
    scale = np.sqrt(np.array([1.0, alpha, 1 - alpha]) / counts)[samples.group]
    y = scale * np.array([mu_positive, mu_unlabeled, mu_unlabeled])[samples.group]
    parts = np.array([math.sqrt(alpha / counts[LABELED]), -1 / math.sqrt(counts[HIDDEN]), 0.0])
    return System(scale, y, parts[samples.group] / math.sqrt(1 + alpha))


def limits(alpha: float, mu_positive: float, mu_unlabeled: float) -> tuple[float, float]:
    """Return where positives and negatives come to rest, by the theorem."""
    return (mu_positive + alpha * mu_unlabeled) / (1 + alpha), mu_unlabeled


class WideNetwork:
    """``v(x) = a . tanh(W x) / sqrt(width)``, 0 for every x at the start.

    Parameters
    ----------
    n_inputs : int
    width : int
        Even: every hidden unit has a copy with the opposite sign of a ("asymmetric
        initialisation"), so that the outputs start at 0 however large the weights are.
    seed : int
    """

    def __init__(self, n_inputs: int, width: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        half = rng.standard_normal((width // 2, n_inputs))
        signs = rng.choice([-1.0, 1.0], width // 2)
        self.hidden: Floats = np.vstack([half, half])
        self.output: Floats = np.concatenate([signs, -signs])

    def __call__(self, x: Floats) -> Floats:
        """Return v(x), shape (n,)."""
        active = np.tanh(x @ self.hidden.T)
        return np.asarray(active @ self.output / math.sqrt(len(self.output)))

    def jacobian(self, x: Floats) -> Floats:
        """Return the derivatives of v by all weights, shape (n, width * (n_inputs + 1))."""
        active = np.tanh(x @ self.hidden.T)
        inner = ((1 - active**2) * self.output)[:, :, None] * x[:, None, :]
        both = np.hstack([active, inner.reshape(len(x), -1)])
        return np.asarray(both / math.sqrt(len(self.output)))

    def kernel(self, x: Floats) -> Floats:
        """Return the tangent kernel, ``jacobian @ jacobian.T``, without making the jacobian."""
        active = np.tanh(x @ self.hidden.T)
        slopes = (1 - active**2) * self.output
        return np.asarray((active @ active.T + (slopes @ slopes.T) * (x @ x.T)) / len(self.output))

    def descend(self, x: Floats, system: System, rate: float) -> None:
        """Take one step of gradient descent on half of ``|scale * v(x) - y|^2``."""
        active = np.tanh(x @ self.hidden.T)
        root = math.sqrt(len(self.output))
        residual = system.scale * (active @ self.output) / root - system.y
        pull = residual * system.scale / root
        slopes = pull[:, None] * (1 - active**2) * self.output
        self.output = self.output - rate * (pull @ active)
        self.hidden = self.hidden - rate * (slopes.T @ x)


class Linearised:
    """Gradient descent on ``|J theta - y|^2`` from theta = 0, at any number of steps at once.

    Parameters
    ----------
    kernel : ndarray of shape (n, n)
        J J^T, rows weighted.
    rate : float
        eta.
    """

    def __init__(self, kernel: Floats, rate: float) -> None:
        self.eigenvalues, self._vectors = np.linalg.eigh(kernel)
        self.rate = rate

    def shrink(self, vector: Floats, n_steps: int) -> Floats:
        """Return ``(I - eta J J^T)^t`` times a vector."""
        factors = (1 - self.rate * self.eigenvalues) ** n_steps
        return np.asarray(self._vectors @ (factors * (self._vectors.T @ vector)))

    def outputs(self, system: System, n_steps: int) -> Floats:
        """Return ``J theta_t = y - (I - eta J J^T)^t y``, weighted as y is."""
        return system.y - self.shrink(system.y, n_steps)

    def outside(self, vector: Floats, n_leading: int) -> float:
        """Return the length of what a vector has outside the leading eigenvectors."""
        return float(np.linalg.norm(self._vectors[:, :-n_leading].T @ vector))


class Rates(NamedTuple):
    """How much of the kernel lies along the two parts of y.

    Attributes
    ----------
    along : float
        ``w_hat' J J' w_hat``.
    delta : float
        The paper's, as small as it can be: ``|J' w|^2 / alpha``, the squared distance between the
        mean features of labelled and of hidden positives: (1 + alpha) / alpha times ``along``.
    Delta : float
        What ``along`` is, for the part of y across w_hat instead of w_hat.
    first, second : float
        The two largest eigenvalues.
    """

    along: float
    delta: float
    Delta: float
    first: float
    second: float


def measure_rates(kernel: Floats, system: System, alpha: float) -> Rates:
    """Return the Rayleigh quotients of the theorem and the two leading eigenvalues."""
    across = system.y_across
    *_, second, first = np.linalg.eigvalsh(kernel)
    along = float(system.w_hat @ kernel @ system.w_hat)
    return Rates(
        along=along,
        delta=(1 + alpha) / alpha * along,
        Delta=float(across @ kernel @ across / (across @ across)),
        first=float(first),
        second=float(second),
    )


def paper_window(epsilon: float, delta: float, Delta: float) -> tuple[float, float]:
    """Return the stopping times that the paper states for eta = 1 / (2 Delta)."""
    return math.log(2 / epsilon), math.log(1 - epsilon / 2) / math.log(1 - delta / Delta)


def leftovers(model: Linearised, system: System, n_steps: int) -> tuple[float, float]:
    """Return what is left to learn across w_hat and what was learned along it.

    Returns
    -------
    across : float
        ``|(I - eta K)^t y_across| / |y_across|``; small is good.
    along : float
        ``|y_parallel - (I - eta K)^t y_parallel| / |y_parallel|``; small is good.
    """
    across = model.shrink(system.y_across, n_steps)
    along = system.w_hat - model.shrink(system.w_hat, n_steps)
    return (
        float(np.linalg.norm(across) / np.linalg.norm(system.y_across)),
        float(np.linalg.norm(along)),
    )


def measured_window(
    model: Linearised, system: System, epsilon: float, max_steps: int
) -> tuple[int, int] | None:
    """Return the first and the last step at which both parts are within epsilon / 2, if any.

    What is left across w_hat never grows and what is learned along it never shrinks as long as
    eta times every eigenvalue is at most 1, so bisection finds both ends.
    """
    first = _first_step(lambda t: leftovers(model, system, t)[0] <= epsilon / 2, max_steps)
    over = _first_step(lambda t: leftovers(model, system, t)[1] > epsilon / 2, max_steps)
    return (first, over - 1) if first < over else None


def _first_step(holds: Any, max_steps: int) -> int:
    """Return the first step at which a condition holds that never ceases to hold."""
    low, high = 0, max_steps + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def group_means(outputs: Floats, samples: Samples) -> tuple[float, float, float]:
    """Return the mean output of labelled positives, hidden positives and negatives."""
    means = (float(outputs[samples.group == group].mean()) for group in range(3))
    labeled, hidden, negative = means
    return labeled, hidden, negative
