"""PU samples from fully labelled data, case-control: P and U drawn apart, alpha chosen."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vqpu._parameters import check_integer, check_real, draw_seed
from vqpu.errors import InputError


class PUSample(NamedTuple):
    """A PU problem whose truth is known but kept apart.

    Attributes
    ----------
    X : ndarray of shape (n_positive + n_unlabeled, ...)
        Labelled positives first, then unlabelled samples in random order.
    y : ndarray of int64
        1 for labelled positives, 0 for unlabelled samples.
    truth : ndarray of int64
        1 for positives, labelled or hidden, 0 for negatives. Never for training.
    rest : ndarray of int64
        Indices of the given samples that are in neither set.
    """

    X: NDArray[Any]
    y: NDArray[np.int64]
    truth: NDArray[np.int64]
    rest: NDArray[np.int64]


def make_pu(
    X: ArrayLike,
    y: ArrayLike,
    *,
    n_positive: int,
    n_unlabeled: int,
    alpha: float,
    random_state: Any = None,
) -> PUSample:
    """Draw labelled positives and unlabelled samples, disjoint, in the case-control scenario.

    Parameters
    ----------
    X : array-like of shape (n, ...)
    y : array-like of shape (n,)
        True labels: 1 positive, 0 negative.
    n_positive, n_unlabeled : int
        Sizes of P and U.
    alpha : float
        Share of positives inside U; their number is rounded.
    random_state : int, RandomState, Generator or None

    Examples
    --------
    >>> import numpy as np
    >>> sample = make_pu(np.arange(20).reshape(10, 2), [1] * 6 + [0] * 4, n_positive=3,
    ...                  n_unlabeled=4, alpha=0.5, random_state=0)
    >>> sample.X.shape, int(sample.truth[sample.y == 0].sum()), len(sample.rest)
    ((7, 2), 2, 3)
    """
    check_integer("n_positive", n_positive, 1)
    check_integer("n_unlabeled", n_unlabeled, 1)
    check_real("alpha", alpha, 0, 1, open_high=False)
    X, y = np.asarray(X), np.asarray(y)
    n_hidden = round(alpha * n_unlabeled)
    generator = np.random.default_rng(draw_seed(random_state))
    positives = generator.permutation(np.flatnonzero(y == 1))
    negatives = generator.permutation(np.flatnonzero(y != 1))
    _check_enough("positives", n_positive + n_hidden, len(positives))
    _check_enough("negatives", n_unlabeled - n_hidden, len(negatives))
    labeled, hidden = np.split(positives[: n_positive + n_hidden], [n_positive])
    unlabeled = generator.permutation(np.concatenate([hidden, negatives[: n_unlabeled - n_hidden]]))
    chosen = np.concatenate([labeled, unlabeled])
    rest = np.concatenate([positives[n_positive + n_hidden :], negatives[n_unlabeled - n_hidden :]])
    labels = np.concatenate([np.ones(n_positive, np.int64), np.zeros(n_unlabeled, np.int64)])
    return PUSample(X[chosen], labels, (y[chosen] == 1).astype(np.int64), np.sort(rest))


def _check_enough(kind: str, needed: int, available: int) -> None:
    if needed > available:
        raise InputError(
            f"{needed} {kind} are needed, but y has {available}. Lower n_positive or n_unlabeled, "
            "or change alpha."
        )
