"""The losses of GANs that make negatives, term by term. H is the cross entropy of a logit."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import softplus


def towards_one(logits: Tensor) -> Tensor:
    r"""Return the mean of :math:`H(D, 1) = -\log \sigma(d)`.

    Parameters
    ----------
    logits : Tensor of shape (n,)
    """
    return softplus(-logits).mean()


def towards_zero(logits: Tensor) -> Tensor:
    r"""Return the mean of :math:`H(D, 0) = -\log(1 - \sigma(d))`.

    Parameters
    ----------
    logits : Tensor of shape (n,)
    """
    return softplus(logits).mean()


def discriminator_loss(real: Tensor, generated: Tensor) -> Tensor:
    r"""Return an ordinary discriminator's :math:`E_U[H(D, 1)] + E_z[H(D(G(z)), 0)]`.

    Parameters
    ----------
    real, generated : Tensor of shape (n,)
        Logits of unlabelled and of generated samples.
    """
    return towards_one(real) + towards_zero(generated)


def dgan_discriminator_loss(unlabeled: Tensor, positive: Tensor, generated: Tensor) -> Tensor:
    r"""Return the D-GAN's :math:`E_U[H(D, 1)] + E_P[H(D, 0)] + E_z[H(D(G(z)), 0)]`.

    Its minimiser is :math:`p_U / (p_U + p_P + p_G)`: among positives at most
    :math:`\alpha / (1 + \alpha)`, so the generator is sent where unlabelled samples are and
    positives are not.

    Parameters
    ----------
    unlabeled, positive, generated : Tensor of shape (n,)
        Logits.
    """
    return towards_one(unlabeled) + towards_zero(positive) + towards_zero(generated)


def observed_generator_loss(
    discriminated: Tensor, observed: Tensor, observer_weight: float
) -> Tensor:
    r"""Return :math:`E_z[H(D(G(z)), 1)] + \lambda E_z[H(O(G(z)), 0)]`, the Observer-GAN's.

    The second term is the penalty where the observer calls a generated sample positive.

    Parameters
    ----------
    discriminated, observed : Tensor of shape (n,)
        The discriminator's and the observer's logits of generated samples.
    observer_weight : float
        lambda.
    """
    return towards_one(discriminated) + observer_weight * towards_zero(observed)
