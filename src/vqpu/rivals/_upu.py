"""UPUClassifier: the unbiased PU risk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from vqpu.base._parameters import check_real
from vqpu.rivals._classifier import LogisticClassifier
from vqpu.rivals._recipes import RiskRecipe
from vqpu.rivals._training import LogitTraining, Trained


class PartialRisks(NamedTuple):
    """The two parts of the PU risk.

    Attributes
    ----------
    positive : Tensor
        Scalar, the risk of positives.
    negative : Tensor
        Scalar, an estimate of the risk of negatives. It may fall below 0, which no risk can.
    """

    positive: Tensor
    negative: Tensor


Loss = Callable[[Tensor], Tensor]  # of calling a sample negative, by its logit


def partial_risks(
    positive: Tensor, unlabeled: Tensor, alpha: float, loss: Loss = torch.sigmoid
) -> PartialRisks:
    r"""Return the two parts of the PU risk, l being the sigmoid loss or another.

    .. math:: \alpha \hat R_p^+ = \frac{\alpha}{n_p} \sum_P l(-f(x)), \qquad
        \hat R_u^- - \alpha \hat R_p^- =
        \frac{1}{n_u} \sum_U l(f(x)) - \frac{\alpha}{n_p} \sum_P l(f(x))

    Parameters
    ----------
    positive, unlabeled : Tensor of shape (n_p,) and (n_u,)
        Logits f(x).
    alpha : float
        Share of positives in U, the papers' class prior pi.
    loss : callable
        l, which grows with the logit.
    """
    risk_of_negatives = loss(unlabeled).mean() - alpha * loss(positive).mean()
    return PartialRisks(alpha * loss(-positive).mean(), risk_of_negatives)


def upu_risk(positive: Tensor, unlabeled: Tensor, alpha: float) -> Tensor:
    r"""Return the unbiased risk :math:`\alpha \hat R_p^+ + \hat R_u^- - \alpha \hat R_p^-`.

    Parameters
    ----------
    positive, unlabeled : Tensor of shape (n_p,) and (n_u,)
        Logits.
    alpha : float
    """
    return torch.stack(partial_risks(positive, unlabeled, alpha)).sum()


@dataclass(kw_only=True, eq=False, repr=False)
class UPUClassifier(LogisticClassifier):
    """Classifier that minimises the unbiased PU risk (du Plessis, Niu and Sugiyama 2014, 2015).

    The sigmoid loss, as in Kiryo et al. 2017. The risk is unbiased for a fixed classifier only: a
    flexible network drives it below 0. Training stops by its held-out value, which is unbiased.

    Parameters
    ----------
    alpha : float in (0, 1) or None, default=None
        Share of positives in U. None: best bin estimation on the held-out logits of a naive
        network of the same settings, trained before (which doubles the time).
    **parameters
        As in :class:`vqpu.rivals.NaivePUClassifier`.

    Attributes
    ----------
    alpha_ : float
        The share that was used.
    classes_ : ndarray of shape (2,)
    history_ : History
    network_ : torch.nn.Module

    Notes
    -----
    ``predict_proba`` agrees with ``predict``, but the sigmoid loss does not make its figures
    probabilities.
    """

    _title = "uPU"
    _saved: ClassVar[tuple[str, ...]] = (*LogisticClassifier._saved, "alpha_")

    alpha: float | None = None

    alpha_: float = field(init=False)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_real("alpha", self.alpha, 0, 1, open_low=True, optional=True)

    def _train(self, training: LogitTraining) -> Trained:
        self.alpha_ = training.resolve_alpha(self.alpha, self.patience)
        risk = partial(upu_risk, alpha=self.alpha_)
        result = training.run(RiskRecipe(risk, risk), patience=self.patience)
        return Trained(result, result.state)
