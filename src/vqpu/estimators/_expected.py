"""What accuracy, recall and AUC to expect of a fit, with intervals that hold nine of ten truths.

Where alpha is known, the shares called positive give the accuracy. It never is, so what they imply
is drawn towards what fits with such evidence turned out to have, the more the wider the interval of
alpha. Ends lie further off where there are few labelled positives or members disagree. Hidden
positives are found less often than labelled ones that a member had not seen: after the first round
other members, which had seen them, have taught it. The constants are quantile regressions on the
fits of results/doubt that choose; ``experiments/studies/doubt_expected.py`` makes them, and a test
compares.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from vqpu.estimators._evidence import FitEvidence
from vqpu.priors._mixture import Interval

_DRAWN_BY = 5  # positives' worth of a recall of 1/2
_USUAL_AGREEMENT = 0.9  # where one member has none to agree with
_LARGEST_ALPHA, _LEAST_AUC = 0.95, 0.3  # beyond them chance is blown up

# Of accuracy: 1, the implied accuracy and the agreement of members, each times the width of alpha.
ACCURACY_SHIFT = (0.86, -0.828, -0.313)
# Of its ends, from the value: 1, width of alpha, 1 / sqrt(labelled positives), 1 - agreement.
ACCURACY_LOW = (0.015, -0.431, -0.134, -0.78)
ACCURACY_HIGH = (0.096, 0.069, 0.027, 0.196)
# The same of recall.
RECALL_SHIFT = (0.012, 0.267, -0.368)
RECALL_LOW = (-0.06, -0.013, -1.081, 0.146)
RECALL_HIGH = (0.045, 0.042, 0.502, -0.095)
# Of AUC: the width of the mixture's interval, how far the AUC against U says otherwise, and
# 1 - agreement. Of its ends: 1, that width, 1 / sqrt(labelled positives).
AUC_SHIFT = (-0.17, 0.384, -0.029)
AUC_LOW = (-0.005, -0.527, -0.394)
AUC_HIGH = (0.046, 0.511, -0.121)


class Terms(NamedTuple):
    """What the regressions of one quantity stand on.

    Attributes
    ----------
    implied : float
        What the mixture says.
    shift, ends : tuple of float
        What coefficients of the shift and of both ends are multiplied by.
    """

    implied: float
    shift: tuple[float, ...]
    ends: tuple[float, ...]


def expected_accuracy(evidence: FitEvidence) -> Interval:
    """Return the accuracy to expect of the labels on U, with a 90 % interval.

    Parameters
    ----------
    evidence : FitEvidence
    """
    return _expected(accuracy_terms(evidence), ACCURACY_SHIFT, ACCURACY_LOW, ACCURACY_HIGH)


def expected_recall(evidence: FitEvidence) -> Interval:
    """Return the share of hidden positives to expect to be called positive, in later rounds.

    Parameters
    ----------
    evidence : FitEvidence
    """
    return _expected(recall_terms(evidence), RECALL_SHIFT, RECALL_LOW, RECALL_HIGH)


def expected_auc(evidence: FitEvidence) -> Interval:
    """Return the AUC to expect of the scores of U, positives against negatives.

    Parameters
    ----------
    evidence : FitEvidence
    """
    return _expected(auc_terms(evidence), AUC_SHIFT, AUC_LOW, AUC_HIGH)


def accuracy_terms(evidence: FitEvidence) -> Terms:
    r"""Return what the expected accuracy stands on.

    With a share c of U called positive and a recall r, a share :math:`\alpha (1 - r)` is missed
    and :math:`c - \alpha r` wrongly called.

    Parameters
    ----------
    evidence : FitEvidence
    """
    recall = _drawn_recall(evidence)
    implied = _share(1 - evidence.called + evidence.alpha.value * (2 * recall - 1))
    return _terms_of_share(implied, evidence)


def recall_terms(evidence: FitEvidence) -> Terms:
    """Return what the expected recall stands on.

    Parameters
    ----------
    evidence : FitEvidence
    """
    return _terms_of_share(_drawn_recall(evidence), evidence)


def _terms_of_share(implied: float, evidence: FitEvidence) -> Terms:
    agreement = _agreement(evidence)
    width = evidence.alpha.high - evidence.alpha.low
    return Terms(
        implied,
        (width, width * implied, width * agreement),
        (1.0, width, 1 / math.sqrt(evidence.n_positive), 1 - agreement),
    )


def _drawn_recall(evidence: FitEvidence) -> float:
    """Return the recall of labelled positives, that of few drawn to 1/2."""
    n = evidence.n_positive
    return (n * evidence.recall + _DRAWN_BY / 2) / (n + _DRAWN_BY)


def auc_terms(evidence: FitEvidence) -> Terms:
    r"""Return what the expected AUC stands on.

    Against unlabelled samples, a share alpha of which is positive, positives have the AUC
    :math:`\alpha / 2 + (1 - \alpha) \mathrm{AUC}`, which can be solved for that against negatives.

    Parameters
    ----------
    evidence : FitEvidence
    """
    width = evidence.auc.high - evidence.auc.low
    alpha = min(evidence.alpha.value, _LARGEST_ALPHA)
    solved = min(max((evidence.proxy_auc - alpha / 2) / (1 - alpha), _LEAST_AUC), 1.0)
    return Terms(
        evidence.auc.value,
        (width, solved - evidence.auc.value, 1 - _agreement(evidence)),
        (1.0, width, 1 / math.sqrt(evidence.n_positive)),
    )


def _agreement(evidence: FitEvidence) -> float:
    return _USUAL_AGREEMENT if evidence.agreement is None else evidence.agreement


def _expected(
    terms: Terms, shift: tuple[float, ...], low: tuple[float, ...], high: tuple[float, ...]
) -> Interval:
    value = _share(terms.implied + _dot(terms.shift, shift))
    ends = (_share(value + _dot(terms.ends, end)) for end in (low, high))
    below, above = ends
    return Interval(value, min(value, below), max(value, above))


def _dot(terms: tuple[float, ...], coefficients: tuple[float, ...]) -> float:
    return sum(term * factor for term, factor in zip(terms, coefficients, strict=True))


def _share(value: float) -> float:
    return min(max(value, 0.0), 1.0)
