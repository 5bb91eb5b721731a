"""TIcE: tree induction for the estimation of c (Bekker and Davis, AAAI 2018)."""

from __future__ import annotations

import heapq
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.priors._prior_estimate import Finding, Floats, hidden_share
from vqpu.priors._samples import draw_rows, scale_to_unit

LARGEST_SET = 10_000  # of P and of U; larger ones are drawn from
# The paper's rule gives 0.06 for 4,000 samples. At 1,000 labelled and 2,400 hidden positives the
# bound is then 0.03 below c = 0.29 even if all positives were one pure subset, and alpha comes out
# 0.1 too large. 0.2, which halves that, is what Garg et al. 2021 ran TIcE with.
_DELTA = 0.2
_N_FOLDS = 5
_N_ROUNDS = 2  # first with c = 0.5 in the bound, then with the first answer
_MAX_SPLITS = 500
_SMALLEST_SUBSET = 10
_SHRINKAGE = 5  # k of max-bepp
_N_PIECES = 4  # a column is cut into quarters of its range


def tice(positive: Floats, unlabeled: Floats, generator: np.random.Generator) -> Finding:
    """Estimate alpha from the largest lower bound of c over the subsets that a tree tries.

    In no subset can the share of labelled samples exceed c, the share of the labelled among the
    positives, but for chance. A tree grown on one fold looks for subsets with many labelled
    samples; the bound is taken on the other folds. The more columns, the more subsets are tried,
    and the largest of many bounds passes c by chance: alpha then comes out too small.

    Parameters
    ----------
    positive, unlabeled : ndarray of shape (n_p, d) and (n_u, d)
        Samples; columns are cut into four equal parts of their range.
    generator : Generator
        Draws the folds, and from sets of more than 10,000 samples.
    """
    sets = [draw_rows(part, LARGEST_SET, generator) for part in (positive, unlabeled)]
    pieces = cut_columns(scale_to_unit(np.concatenate(sets)))
    is_labeled = np.arange(len(pieces)) < len(sets[0])
    folds = np.concatenate([generator.permutation(len(part)) % _N_FOLDS for part in sets])
    frequency = 0.5
    for _ in range(_N_ROUNDS):
        bounds = [
            largest_bound(pieces, is_labeled, folds == fold, frequency) for fold in range(_N_FOLDS)
        ]
        frequency = float(np.mean(bounds))
    frequency = max(frequency, float(is_labeled.mean()))  # folds are not all of one size
    return Finding(hidden_share(frequency, len(sets[0]), len(sets[1])))


def cut_columns(samples: Floats) -> NDArray[np.int8]:
    """Return for every value in [0, 1] its quarter, 0 to 3."""
    return np.asarray(np.minimum(samples * _N_PIECES, _N_PIECES - 1).astype(np.int8))


def lower_bound(n_labeled: int, n: int, frequency: float, delta: float) -> float:
    """Return what c is at least, from a subset of n samples, with probability 1 - delta.

    The one-sided Chebyshev inequality for a share of variance c (1 - c) / n.
    """
    return n_labeled / n - math.sqrt(frequency * (1 - frequency) * (1 - delta) / (delta * n))


class _Node(NamedTuple):
    """A subset: rows of the fold that grows the tree, rows of the others, columns yet uncut."""

    tree: NDArray[np.intp]
    others: NDArray[np.intp]
    columns: NDArray[np.intp]


def largest_bound(
    pieces: NDArray[np.int8],
    is_labeled: NDArray[np.bool_],
    in_tree: NDArray[np.bool_],
    frequency: float,
) -> float:
    """Return the largest lower bound of c over all subsets tried, most promising ones first.

    Parameters
    ----------
    pieces : ndarray of int8, shape (n, d)
    is_labeled, in_tree : ndarray of bool, shape (n,)
    frequency : float
        The current guess of c, for the variance in the bound.
    """
    root = _Node(np.flatnonzero(in_tree), np.flatnonzero(~in_tree), np.arange(pieces.shape[1]))
    best = float(is_labeled[root.others].mean())  # c is at least the share of all that is labelled
    queue: list[tuple[float, int, _Node]] = [(0.0, 0, root)]
    n_pushed = 1
    for _ in range(_MAX_SPLITS):
        if not queue:
            break
        for child in _split(heapq.heappop(queue)[2], pieces, is_labeled):
            n, n_labeled = len(child.others), int(is_labeled[child.others].sum())
            if n >= _SMALLEST_SUBSET:
                best = max(best, lower_bound(n_labeled, n, frequency, _DELTA))
            if _worth_splitting(child, is_labeled, n_labeled, frequency, best):
                promise = lower_bound(
                    int(is_labeled[child.tree].sum()), len(child.tree), frequency, _DELTA
                )
                heapq.heappush(queue, (-promise, n_pushed, child))
                n_pushed += 1
    return best


def _split(node: _Node, pieces: NDArray[np.int8], is_labeled: NDArray[np.bool_]) -> list[_Node]:
    """Cut along the column whose best quarter has the largest share of labelled (max-bepp)."""
    tree, others = (pieces[np.ix_(rows, node.columns)] for rows in (node.tree, node.others))
    usable = np.flatnonzero((others != others[:1]).any(axis=0))
    if len(usable) == 0:
        return []
    counts = np.stack([(tree[:, usable] == piece).sum(axis=0) for piece in range(_N_PIECES)])
    labeled = tree[is_labeled[node.tree]][:, usable]
    labeled_counts = np.stack([(labeled == piece).sum(axis=0) for piece in range(_N_PIECES)])
    chosen = usable[int(np.argmax((labeled_counts / (counts + _SHRINKAGE)).max(axis=0)))]
    rest = np.delete(node.columns, chosen)
    return [
        _Node(node.tree[tree[:, chosen] == piece], node.others[others[:, chosen] == piece], rest)
        for piece in range(_N_PIECES)
    ]


def _worth_splitting(
    node: _Node,
    is_labeled: NDArray[np.bool_],
    n_labeled: int,
    frequency: float,
    best: float,
) -> bool:
    """Whether a part of the subset could still raise the bound."""
    # A subset of labelled samples alone gives a bound above `best` only if it has this many.
    needed = frequency * (1 - frequency) * (1 - _DELTA) / (_DELTA * (1 - best) ** 2)
    is_pure = is_labeled[node.tree].all() or not is_labeled[node.tree].any()
    return n_labeled > needed and len(node.tree) > _SMALLEST_SUBSET and not is_pure
