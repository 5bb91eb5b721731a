"""NNPUClassifier: the PU risk that is kept from falling below 0."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor

from vqpu.base._parameters import check_real
from vqpu.rivals._classifier import LogisticClassifier
from vqpu.rivals._recipes import RiskRecipe
from vqpu.rivals._training import LogitTraining, Trained
from vqpu.rivals._upu import Loss, partial_risks


def nnpu_risk(positive: Tensor, unlabeled: Tensor, alpha: float) -> Tensor:
    r"""Return the non-negative risk (Kiryo et al. 2017, equation 6).

    .. math:: \alpha \hat R_p^+ + \max(0, \hat R_u^- - \alpha \hat R_p^-)

    Parameters
    ----------
    positive, unlabeled : Tensor of shape (n_p,) and (n_u,)
        Logits.
    alpha : float
        Share of positives in U.
    """
    parts = partial_risks(positive, unlabeled, alpha)
    return parts.positive + parts.negative.clamp_min(0)


def nnpu_step_loss(
    positive: Tensor,
    unlabeled: Tensor,
    alpha: float,
    beta: float,
    gamma: float,
    loss: Loss = torch.sigmoid,
) -> Tensor:
    r"""Return what one step descends (Kiryo et al. 2017, algorithm 1).

    .. math:: \begin{cases}
        \alpha \hat R_p^+ + \hat R_u^- - \alpha \hat R_p^-
            & \hat R_u^- - \alpha \hat R_p^- \ge -\beta \\
        -\gamma (\hat R_u^- - \alpha \hat R_p^-) & \text{otherwise}
        \end{cases}

    The second case goes back up on a risk of negatives that has become impossible. Like the
    authors' code it scales the gradient by gamma, where the algorithm scales the learning rate.

    Parameters
    ----------
    positive, unlabeled : Tensor of shape (n_p,) and (n_u,)
        Logits of one batch.
    alpha : float
        Share of positives in U.
    beta : float
        How far below 0 the risk of negatives may fall.
    gamma : float
        How fast to go back.
    loss : callable
        As in :func:`vqpu.rivals._upu.partial_risks`.
    """
    parts = partial_risks(positive, unlabeled, alpha, loss)
    is_impossible = parts.negative < -beta
    return torch.where(is_impossible, -gamma * parts.negative, parts.positive + parts.negative)


@dataclass(kw_only=True, eq=False, repr=False)
class NNPUClassifier(LogisticClassifier):
    """Classifier that minimises the non-negative PU risk (Kiryo et al. 2017).

    The sigmoid loss; training stops by the held-out value of the non-negative risk.

    Parameters
    ----------
    alpha : float in (0, 1) or None, default=None
        Share of positives in U. None: best bin estimation on the held-out logits of a naive
        network of the same settings, trained before (which doubles the time).
    beta : float, default=0.0
        How far below 0 a batch's risk of negatives may fall before the step goes back.
    gamma : float in [0, 1], default=1.0
        Scale of the gradient when it goes back.
    **parameters
        As in :class:`vqpu.rivals.NaivePUClassifier`.

    Attributes
    ----------
    alpha_ : float
        The share that was used.
    classes_ : ndarray of shape (2,)
    history_ : History
        ``loss`` is what the steps descended, ``holdout_loss`` the non-negative risk.
    network_ : torch.nn.Module

    Notes
    -----
    ``predict_proba`` agrees with ``predict``, but the sigmoid loss does not make its figures
    probabilities.
    """

    _title = "nnPU"
    _saved: ClassVar[tuple[str, ...]] = (*LogisticClassifier._saved, "alpha_")

    alpha: float | None = None
    beta: float = 0.0
    gamma: float = 1.0

    alpha_: float = field(init=False)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_real("alpha", self.alpha, 0, 1, open_low=True, optional=True)
        check_real("beta", self.beta, 0)
        check_real("gamma", self.gamma, 0, 1, open_high=False)

    def _train(self, training: LogitTraining) -> Trained:
        self.alpha_ = alpha = training.resolve_alpha(self.alpha, self.patience)
        step = partial(nnpu_step_loss, alpha=alpha, beta=self.beta, gamma=self.gamma)
        recipe = RiskRecipe(step, partial(nnpu_risk, alpha=alpha))
        result = training.run(recipe, patience=self.patience)
        return Trained(result, result.state)
