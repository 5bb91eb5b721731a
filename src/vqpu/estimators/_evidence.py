"""What a fit knows of its own quality without a single negative, gathered while the data are there.

Numbers only; what they mean is told by the findings. Samples are drawn from large data, so the
cost stays small beside the fit's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.base._source import ArraySource
from vqpu.base._sparse import SparseSource
from vqpu.base._split import Sets
from vqpu.estimators._likeness import compare_positives, told_by_category
from vqpu.estimators._reference import Reference, make_reference
from vqpu.estimators._sampling import as_rows, blocks_of, some
from vqpu.priors._mixture import Cells, Interval, count_cells, fit_mixture_of_cells
from vqpu.priors._posterior import best_bin_alpha

Floats = NDArray[np.float64]

_MOST_POSITIVE, _MOST_UNLABELED = 1_000, 2_000
_MOST_COMPARED = 20_000  # unlabelled samples that twins of positives are looked for among


class FitEvidence(NamedTuple):
    """What was seen.

    Attributes
    ----------
    n_positive, n_unlabeled : int
        Samples that were scored by a member which had not seen them.
    alpha : Interval
        Share of positives in U by these data, whatever the user said of it.
    best_bin : float
        The same by best bin estimation, which is too large where classes overlap.
    auc : Interval
        Of positives against negatives, by the mixture alone; too sure of itself.
    proxy_auc : float
        Of labelled positives against unlabelled samples.
    called, recall : float
        Shares of U and of labelled positives that are called positive.
    agreement : float or None
        Mean correlation of the members' scores of U; None if there is one member.
    likeness : float or None
        AUC of labelled positives against the unlabelled samples called positive by trees that are
        trained to tell them apart: 1/2 if they look alike. None if there is nothing to compare.
    twins : float
        Share of the labelled positives with an exact copy in U, less the share of U with one.
    column : int or None
        The one column that tells labelled from unlabelled best; None for images.
    column_auc, other_column_auc : float
        How well it does, and the next one.
    like_unlabeled : float
        The largest share of P that may be negatives by best bin from below.
    late_gain : float or None
        Share of what the stopping signal gained in the last round that came in its last third: 1 if
        there were fewer than three checks, None if there is no signal.
    cells : Cells
        Counts of the first round's scores, from which alpha can be estimated again.
    is_unseen : bool
        False if no sample was kept apart: all of this is then of samples that were trained on.
    reference : Reference or None
        What new samples are compared with; None in models of before.
    unlike_columns, unlike_samples : tuple of int
        Columns in which both sets of ``likeness`` differ most, and unlabelled samples called
        positive that look least like labelled ones, by their place in X; empty if nothing differs.
    unlike_names : tuple of str
        Names of these samples, files for instance, where they have some.
    n_labeled : int or None
        All labelled positives; None in models of before.
    aimed : float or None
        Share of positives that the model was aimed at after the fit; None: it was not.
    is_taught : bool
        Whether, in rounds after the first, members that had seen a label taught the one that had
        not.
    filled_column : int or None
        The column whose cells are filled more often in labelled samples than in others by most;
        None if there is none.
    filled : tuple of float
        How often in both.
    """

    n_positive: int
    n_unlabeled: int
    alpha: Interval
    best_bin: float
    auc: Interval
    proxy_auc: float
    called: float
    recall: float
    agreement: float | None
    likeness: float | None
    twins: float
    column: int | None
    column_auc: float
    other_column_auc: float
    like_unlabeled: float
    late_gain: float | None
    cells: Cells
    is_unseen: bool = True
    reference: Reference | None = None
    unlike_columns: tuple[int, ...] = ()
    unlike_samples: tuple[int, ...] = ()
    unlike_names: tuple[str, ...] = ()
    n_labeled: int | None = None
    aimed: float | None = None
    is_taught: bool = False
    filled_column: int | None = None
    filled: tuple[float, float] = (0.0, 0.0)

    def naming(self, names: Sequence[Any]) -> FitEvidence:
        """Return the same with names for examples.

        Parameters
        ----------
        names : sequence of length n
            Of all samples of training.
        """
        return self._replace(unlike_names=tuple(str(names[row]) for row in self.unlike_samples))

    def aimed_at(self, alpha: float, shift: float, *, called: float, recall: float) -> FitEvidence:
        """Return the same of a model aimed at another share of positives; these data keep theirs.

        Parameters
        ----------
        alpha : float
            That share.
        shift : float
            By which all log odds move.
        called, recall : float
            Shares of U and of labelled positives that are called positive then.
        """
        return self._replace(
            aimed=alpha,
            called=called,
            recall=recall,
            reference=None if self.reference is None else self.reference.shifted(shift),
        )


class Scored(NamedTuple):
    """Scores of a fit, by members that had not seen the samples.

    Attributes
    ----------
    first : tuple of two ndarray
        Of positives and of unlabelled samples after the first round, s(x) or a logit.
    log_odds : tuple of two ndarray
        Final scores of both; above 0 is positive.
    probability : ndarray of shape (n_u,)
        Of the unlabelled ones to be positive in U.
    indices : Sets
        Samples to look at: those unlabelled ones, and labelled positives that stand for all.
    by_member : ndarray of shape (n_u, n_members)
        What every member says of the unlabelled ones.
    signal : ndarray of shape (n_checks,) or None
        The stopping signal of the last round's checks; more is better.
    is_unseen : bool
        Whether samples were kept apart at all.
    n_labeled : int
        All labelled positives, whoever had seen them.
    """

    first: tuple[Floats, ...]
    log_odds: tuple[Floats, ...]
    probability: Floats
    indices: Sets
    by_member: Floats
    signal: Floats | None
    is_unseen: bool
    n_labeled: int


def gather_evidence(source: ArraySource, scored: Scored) -> FitEvidence:
    """Look at scores and samples.

    Parameters
    ----------
    source : ArraySource
        The training data.
    scored : Scored
    """
    from sklearn.metrics import roc_auc_score

    positive, unlabeled = scored.first
    cells = count_cells(positive, unlabeled)
    first = fit_mixture_of_cells(cells)
    is_positive = np.repeat([1, 0], [len(positive), len(unlabeled)])
    rows = _some_of_both(source, scored.indices)
    column, best, other = telling_columns(rows, source.categories)
    filled_column, filled = _filled_column(rows)
    alike = compare_positives(source, scored.indices, scored.probability)
    return FitEvidence(
        len(positive),
        len(unlabeled),
        first.shares.interval(),
        best_bin_alpha(positive, unlabeled),
        first.auc,
        float(roc_auc_score(is_positive, np.concatenate([positive, unlabeled]))),
        float((scored.log_odds[1] > 0).mean()),
        float((scored.log_odds[0] > 0).mean()),
        _agreement(scored.by_member),
        None if alike is None else alike.auc,
        twins(source, scored.indices),
        column,
        best,
        other,
        best_bin_alpha(-unlabeled, -positive),
        None if scored.signal is None else late_gain(scored.signal),
        cells,
        scored.is_unseen,
        make_reference(source, scored.indices.unlabeled, scored.log_odds),
        *((), ()) if alike is None else alike[1:],
        n_labeled=scored.n_labeled,
        filled_column=filled_column,
        filled=filled,
    )


def late_gain(signal: Floats) -> float:
    """Return the share of what a signal gained that came in the last third of its checks.

    Parameters
    ----------
    signal : ndarray of shape (n_checks,)
        More is better.
    """
    if len(signal) < 3:
        return 1.0
    reached = np.maximum.accumulate(signal)
    gained = float(reached[-1] - reached[0])
    return float(reached[-1] - reached[-1 - len(signal) // 3]) / gained if gained > 0 else 0.0


def _agreement(by_member: Floats) -> float | None:
    """Return the mean correlation of pairs of members."""
    n_members = by_member.shape[1]
    if n_members < 2:
        return None
    with np.errstate(all="ignore"):  # members that differ in the last digit alone, or overflow
        if not (by_member.std(axis=0) > 0).all():
            return 0.0
        total = float(np.corrcoef(by_member, rowvar=False).sum())
    return (total - n_members) / (n_members * (n_members - 1)) if np.isfinite(total) else 0.0


def twins(source: ArraySource, indices: Sets) -> float:
    """Return the share of labelled positives with a copy in U, less that of U with one.

    In a table of few values copies are common, within U as well.

    Parameters
    ----------
    source : ArraySource
    indices : Sets
    """
    positive = some(indices.positive, _MOST_POSITIVE)
    unlabeled = some(indices.unlabeled, _MOST_COMPARED)
    labeled, others = (_digests(source, part) for part in (positive, unlabeled))
    values, counts = np.unique(others, return_counts=True)
    copied = float(np.isin(labeled, values).mean())
    return copied - float(counts[counts > 1].sum()) / len(others)


def _digests(source: ArraySource, indices: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a number a sample that is the same for the same sample, and hardly for another."""
    digests = b"".join(
        blake2b(sample, digest_size=8).digest()
        for block in blocks_of(source, indices)
        for sample in _bytes_of_samples(source, block)
    )
    return np.frombuffer(digests, dtype=np.int64)


def _bytes_of_samples(source: ArraySource, indices: NDArray[np.int64]) -> Iterator[bytes]:
    if isinstance(source, SparseSource):  # what is not stored is left out, not made dense
        rows = source.rows(indices)
        rows.sort_indices()
        rows.eliminate_zeros()
        for start, stop in pairwise(rows.indptr):
            yield rows.indices[start:stop].tobytes() + rows.data[start:stop].tobytes()
        return
    for sample in source.batch(indices).contiguous().numpy():
        yield sample.tobytes()


class _Rows(NamedTuple):
    """Some labelled rows, then some unlabelled ones, of a table; no rows of anything else."""

    rows: Floats
    n_positive: int


def _some_of_both(source: ArraySource, indices: Sets) -> _Rows:
    if not source.is_image:
        positive = some(indices.positive, _MOST_POSITIVE)
        unlabeled = some(indices.unlabeled, _MOST_UNLABELED)
        rows = as_rows(source, np.concatenate([positive, unlabeled]))
        if rows is not None:
            return _Rows(np.asarray(rows, dtype=np.float64), len(positive))
    return _Rows(np.zeros((0, 0)), 0)


def telling_columns(both: _Rows, categories: Mapping[int, int]) -> tuple[int | None, float, float]:
    """Return the column that tells labelled from unlabelled best, its AUC, and the next one's.

    Parameters
    ----------
    both : _Rows
    categories : mapping of int to int
        Columns of categories.
    """
    from scipy.stats import rankdata

    if not len(both.rows):
        return None, 0.5, 0.5
    dense = np.nan_to_num(both.rows, nan=-np.inf)
    n_p, n_u = both.n_positive, len(dense) - both.n_positive
    ranks = rankdata(dense, axis=0)[:n_p].sum(axis=0)
    auc = (ranks - n_p * (n_p + 1) / 2) / (n_p * n_u)
    told = np.maximum(auc, 1 - auc)
    target = np.repeat([1.0, 0.0], [n_p, n_u])
    for index in categories:
        told[index] = told_by_category(dense[:, index], target, np.ones(n_p + n_u))
    order = np.argsort(-told, kind="stable")
    best = int(order[0])
    return best, float(told[best]), float(told[order[1]]) if len(told) > 1 else 0.5


def _filled_column(both: _Rows) -> tuple[int | None, tuple[float, float]]:
    """Return the column that is filled most often in labelled rows against others, and how often.

    Parameters
    ----------
    both : _Rows
    """
    is_filled = ~np.isnan(both.rows)
    if not is_filled.size or is_filled.all():
        return None, (0.0, 0.0)
    labeled = is_filled[: both.n_positive].mean(axis=0)
    others = is_filled[both.n_positive :].mean(axis=0)
    place = int(np.argmax(labeled - others))
    return place, (float(labeled[place]), float(others[place]))
