r"""alpha with an interval, and probabilities that know how uncertain it is.

Scores of unlabelled samples are a mixture of those of positives and of negatives. What positives
look like the labelled ones show: ranked among them, the score of a positive is standard normal,
:math:`z = \Phi^{-1}(F_P(s))`. Negatives are taken for normal too, :math:`N(-d, \sigma^2)`, the
binormal model of ROC curves; a part of them may be easy, further away. Kinds whose hard part is
denser than positives even at z = 2 are left out: a learnt score does not say the contrary of what
it was taught (the curves of such kinds are called improper). Unlike best bin estimation
this needs no scores that positives alone reach, so it is not drawn upwards where classes overlap.

Every share alpha and every kind of negatives of a grid is weighed by how well it explains how many
unlabelled samples lie between the quantiles of the labelled positives. What lies below all but a
twentieth of these is one cell: most negatives are there, and their shape so far down would outweigh
the upper cells, which tell alpha. That is done for many
resamples of both sets, and the weights are averaged (a bagged posterior: Huggins and Miller 2023),
as one fit of a model that is never quite true would be far too sure.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEVEL = 0.9  # of all intervals
_MOST_CELLS = 25
_N_RESAMPLES = 16
# Chosen by the fits of results/doubt that choose: what is believed of negatives and of the two
# ends of alpha, and how many unlabelled samples count, as neither class is normal to the last and
# few labelled positives hardly show what positives look like.
_USUAL_DISTANCE, _SPREAD_OF_DISTANCE = 1.5, 1.2
_SIGMAS, _SPREAD_OF_LOG_SIGMA = (0.5, 0.7, 1.0, 1.4), 0.4
_HARD_SHARES, _EASY_FURTHER_BY = (0.3, 1.0), 2.5
_HIGH = 2.0  # z above which one positive in 44 lies
_WEIGHT_OF_AN_END = 0.1
_MOST_COUNTED, _COUNTED_PER_POSITIVE = 400, 4
_LOWEST_SHARE, _FEWEST_LOWEST = 0.05, 5
_FURTHEST_LOG_ODDS = 5.5
_NEAR_AN_END = 0.02  # an interval that comes so near to 0 or 1 reaches it
_SMALLEST = 1e-9


class Interval(NamedTuple):
    """A number and where it lies with 90 % probability."""

    value: float
    low: float
    high: float


class Shares(NamedTuple):
    """What is believed of alpha.

    Attributes
    ----------
    values : ndarray of shape (n,)
        Ascending, in [0, 1].
    weights : ndarray of shape (n,)
        Their probabilities, adding up to 1.
    """

    values: Floats
    weights: Floats

    def interval(self) -> Interval:
        """Return the mean and the interval of alpha."""
        if len(self.values) == 1:
            return Interval(*self.values.repeat(3).tolist())
        value, low, high = weighted_interval(self.values, self.weights)
        reaches_low = low < _NEAR_AN_END and self.values[0] == 0
        reaches_high = high > 1 - _NEAR_AN_END and self.values[-1] == 1
        return Interval(value, 0.0 if reaches_low else low, 1.0 if reaches_high else high)


class Mixture(NamedTuple):
    """Unlabelled scores taken apart.

    Attributes
    ----------
    shares : Shares
        What is believed of alpha now.
    auc : Interval
        Of positives against negatives.
    """

    shares: Shares
    auc: Interval


def any_share() -> Shares:
    """Return what is believed of alpha before anything is seen: Jeffreys' prior, and both ends."""
    inner = 1 / (1 + np.exp(-np.linspace(-_FURTHEST_LOG_ODDS, _FURTHEST_LOG_ODDS, 61)))
    weights = np.sqrt(inner * (1 - inner))  # Beta(1/2, 1/2) on a grid of log odds
    weights *= (1 - 2 * _WEIGHT_OF_AN_END) / weights.sum()
    end = [_WEIGHT_OF_AN_END]
    return Shares(np.concatenate([[0.0], inner, [1.0]]), np.concatenate([end, weights, end]))


def ends_of(alpha: float | tuple[float, float]) -> tuple[float, float]:
    """Return the ends of what is known of alpha: an interval, or one share twice.

    Parameters
    ----------
    alpha : float or tuple of two float
    """
    low, high = alpha if isinstance(alpha, (tuple, list)) else (alpha, alpha)
    return float(low), float(high)


def shares_between(low: float, high: float) -> Shares:
    """Return the belief that alpha lies between two values, which may be one.

    Parameters
    ----------
    low, high : float
    """
    values = np.linspace(low, high, 1 if low == high else 61)
    return Shares(values, np.full(len(values), 1 / len(values)))


class Cells(NamedTuple):
    """How many samples of both sets lie between quantiles of the labelled positives' scores.

    Attributes
    ----------
    edges : ndarray of shape (n_cells - 1,)
    n_positive, n_unlabeled : ndarray of shape (n_cells,)
    """

    edges: Floats
    n_positive: Floats
    n_unlabeled: Floats


def fit_mixture(positive: Floats, unlabeled: Floats, shares: Shares | None = None) -> Mixture:
    """Weigh all shares and all kinds of negatives by what the scores say.

    Parameters
    ----------
    positive, unlabeled : ndarray of shape (n_p,) and (n_u,)
        Scores of samples that were not trained on; larger means more positive.
    shares : Shares or None
        What is believed of alpha before; None: nothing.
    """
    return fit_mixture_of_cells(count_cells(positive, unlabeled), shares)


def count_cells(positive: Floats, unlabeled: Floats) -> Cells:
    """Cut the scores at quantiles of the positives', and count.

    Parameters
    ----------
    positive, unlabeled : ndarray of shape (n_p,) and (n_u,)
    """
    ascending = np.sort(positive)
    places = np.linspace(0, len(positive) - 1, min(len(positive), _MOST_CELLS)).round()
    edges = np.unique(ascending[places.astype(np.int64)])
    n_positive, n_unlabeled = (
        np.diff(np.searchsorted(part, edges), prepend=0, append=len(part)).astype(np.float64)
        for part in (ascending, np.sort(unlabeled))
    )
    return Cells(edges, n_positive, n_unlabeled)


def fit_mixture_of_cells(cells: Cells, shares: Shares | None = None) -> Mixture:
    """Do the same from the counts alone, which are all that it needs.

    Parameters
    ----------
    cells : Cells
    shares : Shares or None
    """
    shares = any_share() if shares is None else shares
    cells, negatives = _lowest_together(cells), _negatives()
    log_prior = negatives.log_prior + np.log(np.maximum(shares.weights, 1e-300))[:, None]
    rng, total = np.random.default_rng(0), int(cells.n_unlabeled.sum())
    most = min(_MOST_COUNTED, _COUNTED_PER_POSITIVE * cells.n_positive.sum())
    weight = np.zeros(log_prior.shape)
    for _ in range(_N_RESAMPLES):
        of_positives = rng.dirichlet(cells.n_positive + 0.5)
        counts = rng.multinomial(total, cells.n_unlabeled / total)
        hidden = shares.values[:, None, None] * of_positives
        expected = hidden + (1 - shares.values)[:, None, None] * negatives.in_cells(of_positives)
        expected = np.maximum(expected, _SMALLEST)
        own = _weigh(np.log(expected) @ counts * min(1.0, most / total) + log_prior)
        weight += own / _N_RESAMPLES
    return Mixture(
        Shares(shares.values, weight.sum(axis=1)),
        weighted_interval(negatives.auc(), weight.sum(axis=0)),
    )


def _lowest_together(cells: Cells) -> Cells:
    """Return the same with the lowest twentieth of the positives in one cell, if that is enough."""
    reached = np.cumsum(cells.n_positive)
    n_lowest = int((reached <= _LOWEST_SHARE * reached[-1]).sum())
    if n_lowest < 2 or _LOWEST_SHARE * reached[-1] < _FEWEST_LOWEST:
        return cells
    counts = (
        np.concatenate([[part[:n_lowest].sum()], part[n_lowest:]])
        for part in (cells.n_positive, cells.n_unlabeled)
    )
    return Cells(cells.edges[n_lowest - 1 :], *counts)


def _weigh(log_weight: Floats) -> Floats:
    weight = np.exp(log_weight - log_weight.max())
    return np.asarray(weight / weight.sum())


def weighted_interval(values: Floats, weights: Floats) -> Interval:
    """Return the mean and the central 90 % of weighted values.

    Parameters
    ----------
    values, weights : ndarray of shape (n,)
        The weights add up to 1.
    """
    order = np.argsort(values, kind="stable")
    ascending, own = values[order], weights[order]
    # A value of a grid stands for all up to half-way to its neighbours.
    edges = np.concatenate([ascending[:1], (ascending[1:] + ascending[:-1]) / 2, ascending[-1:]])
    reached = np.concatenate([[0.0], np.cumsum(own)])
    low, high = np.interp([(1 - LEVEL) / 2, (1 + LEVEL) / 2], reached, edges)
    return Interval(float(weights @ values), float(low), float(high))


class _Negatives(NamedTuple):
    """Kinds of negatives, flat: d, sigma, the share of hard ones, the log of the prior weight."""

    distance: Floats
    sigma: Floats
    hard: Floats
    log_prior: Floats

    def below(self, places: Floats) -> Floats:
        """Return the share of each kind below some places z, shape (n_kinds, n_places)."""
        from scipy.special import ndtr

        distance, sigma, hard = (part[:, None] for part in self[:3])
        easy = ndtr(places + distance + _EASY_FURTHER_BY)
        return np.asarray(hard * ndtr((places + distance) / sigma) + (1 - hard) * easy)

    def in_cells(self, of_positives: Floats) -> Floats:
        """Return the share of each kind in the cells that hold these shares of positives."""
        from scipy.special import ndtri

        edges = ndtri(np.clip(np.cumsum(of_positives)[:-1], 1e-6, 1 - 1e-6))
        return np.diff(self.below(edges), axis=1, prepend=0.0, append=1.0)

    def auc(self) -> Floats:
        """Return the AUC of positives against each kind."""
        from scipy.special import ndtr

        hard = ndtr(self.distance / np.sqrt(1 + self.sigma**2))
        easy = ndtr((self.distance + _EASY_FURTHER_BY) / np.sqrt(2))
        return np.asarray(self.hard * hard + (1 - self.hard) * easy)


@cache
def _negatives() -> _Negatives:
    axes = (np.linspace(0, 6, 25), _SIGMAS, _HARD_SHARES)
    distance, sigma, hard = (part.ravel() for part in np.meshgrid(*axes, indexing="ij"))
    log_prior = -0.5 * ((distance - _USUAL_DISTANCE) / _SPREAD_OF_DISTANCE) ** 2
    log_prior -= 0.5 * (np.log(sigma) / _SPREAD_OF_LOG_SIGMA) ** 2
    # The density of hard ones over that of positives, at a high score.
    ratio = np.exp(0.5 * (_HIGH**2 - ((_HIGH + distance) / sigma) ** 2)) / sigma
    is_proper = ratio <= 1
    return _Negatives(*(part[is_proper] for part in (distance, sigma, hard, log_prior)))
