"""Equation 1, term by term, and the losses of the paper's ablations. All functions are pure."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class LossTerms(NamedTuple):
    """The four terms of equation 1; their sum is the loss.

    Attributes
    ----------
    positive_target, unlabeled_target : Tensor, scalar
        First terms: the encoder is driven to the anchors.
    positive_codebook, unlabeled_codebook : Tensor, scalar
        Second terms: the codes follow the encoder.
    """

    positive_target: Tensor
    positive_codebook: Tensor
    unlabeled_target: Tensor
    unlabeled_codebook: Tensor


def target_loss(vectors: Tensor, target: Tensor) -> Tensor:
    r"""Return :math:`\frac1n \sum_i \sum_j |v_j(x_i) - sg(c)|^2`.

    Parameters
    ----------
    vectors : Tensor of shape (n, K, p)
    target : Tensor of shape (p,)
    """
    return (vectors - target.detach()).square().sum() / len(vectors)


def codebook_loss(vectors: Tensor, quantized: Tensor) -> Tensor:
    r"""Return :math:`\frac1n \sum_i \sum_j |sg(v_j(x_i)) - Q(v_j(x_i))|^2`.

    Parameters
    ----------
    vectors, quantized : Tensor of shape (n, K, p)
        ``quantized`` holds the codes; the gradient goes to them alone.
    """
    return (vectors.detach() - quantized).square().sum() / len(vectors)


def commitment_loss(vectors: Tensor, quantized: Tensor) -> Tensor:
    r"""Return :math:`\frac1n \sum_i \sum_j |v_j(x_i) - sg(Q(v_j(x_i)))|^2`, as in the VQ-VAE.

    Parameters
    ----------
    vectors, quantized : Tensor of shape (n, K, p)
        The gradient goes to ``vectors`` alone.
    """
    return codebook_loss(quantized, vectors)


def equation_1(
    positive: Tensor,
    unlabeled: Tensor,
    positive_quantized: Tensor,
    unlabeled_quantized: Tensor,
    positive_anchor: Tensor,
    unlabeled_anchor: Tensor,
) -> LossTerms:
    """Return the four terms of equation 1, positives and unlabelled samples averaged apart.

    Parameters
    ----------
    positive : Tensor of shape (n_p, K, p)
        Vectors of labelled positives.
    unlabeled : Tensor of shape (n_u, K, p)
        Vectors of unlabelled samples.
    positive_quantized, unlabeled_quantized : Tensor of the same shapes
        Q of those vectors.
    positive_anchor, unlabeled_anchor : Tensor of shape (p,)
        c_m and c_1.
    """
    return LossTerms(
        positive_target=target_loss(positive, positive_anchor),
        positive_codebook=codebook_loss(positive, positive_quantized),
        unlabeled_target=target_loss(unlabeled, unlabeled_anchor),
        unlabeled_codebook=codebook_loss(unlabeled, unlabeled_quantized),
    )


def gaussian_kl_loss(mean: Tensor, log_variance: Tensor, target: Tensor) -> Tensor:
    r"""Return the mean over samples of :math:`\sum_j KL(N(m_j, \sigma_j^2) \| N(a, I))`.

    Parameters
    ----------
    mean, log_variance : Tensor of shape (n, K, p)
        What the encoder says of every vector ("distributional encodings", Table 3).
    target : Tensor of shape (p,)
        Mean of the normal distribution that the samples are driven to.
    """
    squared = (mean - target.detach()).square()
    return 0.5 * (torch.exp(log_variance) + squared - 1 - log_variance).sum() / len(mean)
