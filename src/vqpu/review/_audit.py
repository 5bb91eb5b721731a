r"""How good the list is, from a random audit: precision, recall and alpha with intervals.

Samples are ordered by score and cut into strata; the audit draws as many from each. In stratum h
with :math:`N_h` samples, of which :math:`n_h` were looked at and :math:`k_h` are positive, the
number of positives is estimated as :math:`N_h k_h / n_h`. A threshold cuts one stratum in two,
which then count as two.

Intervals are quantiles of a posterior. The model's log odds l are corrected to :math:`e^c l + d`
with c and d of the decisions' likelihood, drawn around its greatest value; :math:`m_h` is the
mean probability of stratum h after that. Its share of positives is drawn from
:math:`Beta(k_h + a m_h, n_h - k_h + a (1 - m_h))`, the positives among those that nobody looked at
from a binomial distribution, and whatever is asked is computed from the draw. So a stratum where
none of 20 is positive is neither empty for certain nor as full as one in 20: the others tell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

N_STRATA = 5
_N_DRAWS = 2000
_LEAST_DOUBT = 0.1
# Decisions' worth of the corrected model in every stratum, a in the formula above.
_STRENGTH = 5.0
# And of either answer, since the form of the correction may be wrong.
_OPEN = 0.2
# Standard deviations of c and d before a decision is seen.
_SPREAD = (1.0, 2.0)
_TAILS = 4  # degrees of freedom of their draws: a normal approximation is too sure of itself
_GRID = 32


class Interval(NamedTuple):
    """An estimate with the two ends of its interval."""

    estimate: float
    low: float
    high: float


class AuditEstimate(NamedTuple):
    """What a random audit says.

    Attributes
    ----------
    alpha : Interval
        Share of positives.
    precision : Interval or None
        Of what lies above the threshold; None if nothing does.
    recall : Interval
        Share of the positives that lie above it.
    n_decided, n_yes : int
        Of the audit; "unsure" counts as not looked at.
    n_above, n_total : int
    """

    alpha: Interval
    precision: Interval | None
    recall: Interval
    n_decided: int
    n_yes: int
    n_above: int
    n_total: int


def make_strata(probabilities: Floats, n_strata: int = N_STRATA) -> Ints:
    r"""Return the stratum of every sample, 0 for the least probable ones.

    Ends are where :math:`\sum \sqrt{p (1 - p)}`, the samples in the order of p, has grown by
    equal parts (Dalenius and Hodges), so that as many of every stratum is the best allocation; no
    sample counts as less than a tenth, since the model may be sure and wrong.

    Parameters
    ----------
    probabilities : ndarray of shape (n,)
    n_strata : int
        At most.
    """
    if not len(probabilities):
        return np.empty(0, dtype=np.int64)
    order = np.argsort(probabilities, kind="stable")
    doubt = np.maximum(np.sqrt(probabilities * (1 - probabilities)), _LEAST_DOUBT)[order]
    grown = np.cumsum(doubt)
    n_strata = min(n_strata, len(order))
    of_sorted = np.minimum((grown - doubt / 2) / grown[-1] * n_strata, n_strata - 1)
    strata = np.empty(len(order), dtype=np.int64)
    strata[order] = of_sorted.astype(np.int64)
    return np.unique(strata, return_inverse=True)[1].astype(np.int64)


def audit_order(strata: Ints, seed: int) -> Ints:
    """Return all samples in the order of an audit: one of every stratum in turn, at random.

    Parameters
    ----------
    strata : ndarray of int, shape (n,)
    seed : int
    """
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(len(strata))
    by_stratum = shuffled[np.argsort(strata[shuffled], kind="stable")]
    sizes = np.bincount(strata)
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    turn = np.arange(len(strata)) - starts
    return by_stratum[np.argsort(turn, kind="stable")]


def stratum_weights(strata: Ints) -> Floats:
    """Return how many samples one that is drawn from each stratum stands for, 1 on average.

    Parameters
    ----------
    strata : ndarray of int, shape (n,)
    """
    sizes = np.bincount(strata)
    return np.asarray(sizes * len(sizes) / len(strata))


def estimate_audit(
    scores: Floats,
    strata: Ints,
    decided: Ints,
    is_yes: Flags,
    *,
    threshold: float = 0.0,
    level: float = 0.9,
    random_state: int = 0,
) -> AuditEstimate:
    """Estimate alpha, precision and recall from the decisions of a random audit.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Of all samples that the audit is about.
    strata : ndarray of int, shape (n,)
        As of ``make_strata``.
    decided : ndarray of int, shape (k,)
        Places of the samples that the audit drew and that somebody was sure about.
    is_yes : ndarray of bool, shape (k,)
        Whether they are positive.
    threshold : float
        Samples with larger scores are called positive.
    level : float
        Of the intervals.
    random_state : int
        Seed of the posterior's draws.
    """
    if not len(decided):
        raise InputError("There is no decision of a random audit yet: review its queue first.")
    is_above = scores > threshold
    cells, n_cells = 2 * strata + is_above, 2 * (int(strata.max()) + 1)
    sizes = np.bincount(cells, minlength=n_cells)
    seen = np.bincount(cells[decided], minlength=n_cells)
    yes = np.bincount(cells[decided], weights=is_yes, minlength=n_cells).astype(np.int64)
    above = np.arange(n_cells) % 2 == 1
    rng = np.random.default_rng(random_state)
    corrected = _draw_corrections(scores[decided], is_yes, rng)
    expected = _expected_shares(scores, cells, sizes, corrected)
    drawn = _draw_positives(sizes, seen, yes, expected, rng)
    best = _estimated_positives(sizes, seen, yes)
    tails = ((1 - level) / 2, (1 + level) / 2)

    def interval(part: Floats, whole: Floats | float, estimate: float) -> Interval:
        shares = part / np.maximum(whole, 1e-12)
        low, high = np.quantile(shares, tails)
        return Interval(estimate, float(min(low, estimate)), float(max(high, estimate)))

    n_above, n = int(is_above.sum()), len(scores)
    total, found = drawn.sum(axis=1), drawn[:, above].sum(axis=1)
    recall = float(best[above].sum() / best.sum()) if best.sum() else 1.0
    precision = None
    if n_above:
        precision = interval(found, n_above, float(best[above].sum() / n_above))
    return AuditEstimate(
        interval(total, n, float(best.sum() / n)),
        precision,
        interval(found, total, recall),
        len(decided),
        int(np.sum(is_yes)),
        n_above,
        n,
    )


def _estimated_positives(sizes: Ints, seen: Ints, yes: Ints) -> Floats:
    """Return the positives of every cell; one that nobody looked into is as its stratum is."""
    strata_yes, strata_seen = (part.reshape(-1, 2).sum(axis=1) for part in (yes, seen))
    of_stratum = np.where(
        strata_seen > 0, strata_yes / np.maximum(strata_seen, 1), yes.sum() / seen.sum()
    )
    share = np.where(seen > 0, yes / np.maximum(seen, 1), np.repeat(of_stratum, 2))
    return np.asarray(sizes * share)


def _draw_corrections(log_odds: Floats, is_yes: Flags, rng: np.random.Generator) -> Floats:
    """Draw c and d around the greatest value of their posterior, shape (n_draws, 2)."""
    log_odds = np.clip(log_odds, -30, 30)
    precision, found = np.diag(np.square(_SPREAD) ** -1.0), np.zeros(2)
    for _ in range(50):  # Newton's steps, halved where they overshoot
        scaled = np.exp(found[0]) * log_odds
        shares = 1 / (1 + np.exp(-np.clip(scaled + found[1], -500, 500)))
        slopes = np.column_stack([scaled, np.ones_like(scaled)])
        curvature = (slopes * (shares * (1 - shares))[:, None]).T @ slopes + precision
        step = np.linalg.solve(curvature, slopes.T @ (is_yes - shares) - precision @ found)
        found = found + step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-9:
            break
    draws = rng.standard_t(_TAILS, (_N_DRAWS, 2)) @ np.linalg.cholesky(np.linalg.inv(curvature)).T
    return np.asarray(found + draws)


def _expected_shares(scores: Floats, cells: Ints, sizes: Ints, corrected: Floats) -> Floats:
    """Return the mean corrected probability of every cell, shape (n_draws, n_cells)."""
    ordered = np.clip(scores[np.lexsort((scores, cells))], -30, 30)
    starts = np.cumsum(sizes) - sizes
    expected = np.zeros((len(corrected), len(sizes)))
    for cell in np.flatnonzero(sizes):  # some quantiles stand for all of its samples
        last = starts[cell] + sizes[cell] - 1
        some = ordered[np.linspace(starts[cell], last, _GRID).astype(np.int64)]
        logits = np.exp(corrected[:, :1]) * some + corrected[:, 1:]
        expected[:, cell] = (1 / (1 + np.exp(-np.clip(logits, -500, 500)))).mean(axis=1)
    return expected


def _draw_positives(
    sizes: Ints, seen: Ints, yes: Ints, expected: Floats, rng: np.random.Generator
) -> Floats:
    """Draw the number of positives of every cell, shape (n_draws, n_cells)."""
    shares = rng.beta(
        yes + _STRENGTH * expected + _OPEN, seen - yes + _STRENGTH * (1 - expected) + _OPEN
    )
    return np.asarray(yes + rng.binomial(sizes - seen, shares), dtype=np.float64)
