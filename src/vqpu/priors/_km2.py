"""KM2 (Ramaswamy, Scott, Tewari 2016, "Mixture proportion estimation via kernel embeddings")."""

from __future__ import annotations

import math

import numpy as np

from vqpu.errors import InputError
from vqpu.priors._prior_estimate import Finding, Floats
from vqpu.priors._samples import draw_rows, standardise

LARGEST_SET = 500  # of P and of U; larger ones are drawn from, since kernels cost (n_p + n_u)^3
_LARGEST_LAMBDA = 10.0
_ACCURACY = 0.04  # epsilon: of lambda
_SMALLEST_EIGENVALUE = 1e-10  # of the kernel, relative to the largest


def km2(positive: Floats, unlabeled: Floats, generator: np.random.Generator) -> Finding:
    r"""Estimate alpha by how far P can be taken out of U before no distribution is left.

    With :math:`\lambda = 1 / (1 - \alpha)` the negatives are
    :math:`\lambda p_U + (1 - \lambda) p_P`. The distance :math:`d(\lambda)` of its kernel embedding
    to the nearest distribution is small up to the true :math:`\lambda` and rises beyond; the answer
    is where its slope passes :math:`1 / \sqrt{\min(n_p, n_u)}`. As lambda is searched up to 10,
    alpha is never above 0.9; where P and U hardly differ the slope is noise and so is the answer.
    So it is with many columns that say nothing: reduce them first (the authors use 50 components).

    Parameters
    ----------
    positive, unlabeled : ndarray of shape (n_p, d) and (n_u, d)
        Samples; columns are standardised.
    generator : Generator
        Draws from sets of more than 500 samples.
    """
    positive, unlabeled = standardise(positive, unlabeled)
    positive = draw_rows(positive, LARGEST_SET, generator)
    unlabeled = draw_rows(unlabeled, LARGEST_SET, generator)
    features = embed(choose_kernel(positive, unlabeled))
    least_slope = 1 / math.sqrt(min(len(positive), len(unlabeled)))
    mixing = find_lambda(features, len(unlabeled), least_slope)
    return Finding(1 - 1 / mixing)


def choose_kernel(positive: Floats, unlabeled: Floats) -> Floats:
    """Return the Gaussian kernel of U and P stacked, of the width that tells them apart best.

    Widths are the median distance times 0.1 to 10, as in the authors' experiments.
    """
    stacked = np.concatenate([unlabeled, positive])
    norms = (stacked**2).sum(axis=1)
    squares = np.maximum(norms[:, None] + norms - 2 * stacked @ stacked.T, 0.0)
    middle = math.sqrt(float(np.median(squares)))
    if middle == 0:
        raise InputError(
            "More than half of all pairs of samples are equal, so no kernel width can be chosen. "
            "Remove duplicates, or use a method on scores such as 'bbe'."
        )
    sizes = len(unlabeled), len(positive)
    contrast = _shares(*sizes, 1.0) - _shares(*sizes, 0.0)
    kernels = [np.exp(-squares / (2 * (factor * middle) ** 2)) for factor in np.logspace(-1, 1, 5)]
    return max(kernels, key=lambda kernel: float(contrast @ kernel @ contrast))


def embed(kernel: Floats) -> Floats:
    """Return columns whose inner products are the kernel; eigenvalues of about 0 are left out."""
    values, vectors = np.linalg.eigh(kernel)
    kept = values > _SMALLEST_EIGENVALUE * values[-1]
    return np.asarray(np.sqrt(values[kept])[:, None] * vectors[:, kept].T)


def distance_to_distributions(features: Floats, n_unlabeled: int, mixing: float) -> float:
    r"""Return d(lambda), the quadratic programme of the paper.

    :math:`\min_w \lVert Z (u - w) \rVert` over :math:`w \ge 0, \sum w = 1`, with u the weights of
    :math:`\lambda p_U + (1 - \lambda) p_P`. As the weights sum to 1, it is the point of least norm
    in the hull of :math:`z_i - Z u`. Least squares over :math:`v \ge 0` of
    :math:`\lVert \sum v_i (z_i - Z u) \rVert^2 + (\sum v - 1)^2` has its solution at a multiple of
    the same w, and its least value is :math:`d^2 / (1 + d^2)`.

    Parameters
    ----------
    features : ndarray of shape (r, n_unlabeled + n_positive)
        Z, columns of U first.
    n_unlabeled : int
    mixing : float
        lambda, at least 1.
    """
    from scipy.optimize import nnls

    target = features @ _shares(n_unlabeled, features.shape[1] - n_unlabeled, mixing)
    system = np.vstack([features - target[:, None], np.ones(features.shape[1])])
    _, residual = nnls(system, np.append(np.zeros(len(target)), 1.0))
    return math.sqrt(residual**2 / (1 - residual**2))


def find_lambda(features: Floats, n_unlabeled: int, least_slope: float) -> float:
    """Return where the slope of d(lambda) passes ``least_slope``, by bisection as d is convex."""
    low, high = 1.0, _LARGEST_LAMBDA
    while high - low > _ACCURACY:
        middle = (low + high) / 2
        here, beyond = (
            distance_to_distributions(features, n_unlabeled, mixing)
            for mixing in (middle, middle + _ACCURACY / 2)
        )
        slope = (beyond - here) / (_ACCURACY / 2)
        low, high = (low, middle) if slope > least_slope else (middle, high)
    return (low + high) / 2


def _shares(n_unlabeled: int, n_positive: int, mixing: float) -> Floats:
    """Return the weights of lambda p_U + (1 - lambda) p_P, U first."""
    return np.repeat([mixing / n_unlabeled, (1 - mixing) / n_positive], [n_unlabeled, n_positive])
