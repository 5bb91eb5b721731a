"""Whether new samples are like the unlabelled ones of training: what moved, and alpha with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vqpu.base._source import ArraySource
from vqpu.base.columns import ColumnPlan
from vqpu.errors import InputError, ModelFileError
from vqpu.estimators._finding import DOUBT, OK, Finding, shown
from vqpu.estimators._findings import column_names_of
from vqpu.estimators._reference import VERSION, ColumnShares, Floats, Reference, as_float32
from vqpu.estimators._sampling import as_rows
from vqpu.priors._mixture import fit_mixture_of_cells

_LEAST_MOVE = 0.1  # of a share; less moves few decisions
_CHANCE = 0.01  # that anything seems to have moved where nothing has
_FEWEST = 20
_MOST_NAMED = 3


class DriftWatch:
    """Counts of new samples that pass by, beside those of training.

    They are whole numbers, so that samples which are counted in parts, in any order, are told of as
    those that were counted at once.

    Parameters
    ----------
    reference : Reference
        Of the model.
    names : list of str or None
        Of its columns.
    plan : ColumnPlan or None
        Says what codes of categories mean, and which numbers are days.
    is_image : bool
    """

    def __init__(
        self,
        reference: Reference,
        names: list[str] | None = None,
        plan: ColumnPlan | None = None,
        *,
        is_image: bool = False,
    ) -> None:
        self._reference, self._names, self._is_image = reference, names, is_image
        self._values = {} if plan is None else plan.values_by_column()
        dates = [] if plan is None else [one for one in plan.columns if one.kind == "date"]
        self._days = {column.feature_names[0] for column in dates}  # counted from 1970
        self._n = self._n_called = 0
        self._cells = np.zeros(len(reference.positives.n_unlabeled), np.int64)
        self._scores = _Sum(reference.scores)
        self._columns = None if reference.columns is None else _Sum(reference.columns)

    def add(self, X: Any, scores: Floats) -> None:
        """Count samples.

        Parameters
        ----------
        X : ndarray of shape (n, ...)
            As the estimator takes them.
        scores : ndarray of shape (n,)
            Above 0 is positive; NaN where a sample could not be judged.
        """
        is_judged = np.isfinite(scores)
        own = as_float32(scores[is_judged])
        if not len(own):
            return
        self._n += len(own)
        self._n_called += int((own > 0).sum())
        self._scores.add(own[:, None])
        # A score at an edge lies above it, as in count_cells.
        places = np.searchsorted(self._reference.positives.edges, own, side="right")
        self._cells += np.bincount(places, minlength=len(self._cells))
        if self._columns is not None:
            rows = np.asarray(X)[is_judged]
            if self._is_image:
                rows = as_rows(ArraySource(rows), np.arange(len(rows)))
            self._columns.add(as_float32(rows))

    def counts(self) -> dict[str, Any]:
        """Return what was counted, ready for JSON."""
        columns = None if self._columns is None else self._columns.to_plain()
        return {
            "n": self._n,
            "n_called": self._n_called,
            "cells": self._cells.tolist(),
            "scores": self._scores.to_plain(),
            "columns": columns,
        }

    def add_counts(self, counts: Mapping[str, Any]) -> None:
        """Add what was counted of other samples for the same model.

        Parameters
        ----------
        counts : mapping
            Of :meth:`counts`, perhaps by way of a file.
        """
        try:
            n, n_called = (as_counts(counts[name], ()) for name in ("n", "n_called"))
            self._cells += as_counts(counts["cells"], self._cells.shape)
            self._scores.add_plain(counts["scores"])
            if self._columns is not None:
                self._columns.add_plain(counts["columns"])
        except (KeyError, IndexError, TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"The counts of a part are damaged ({error}): remove the parts, and score again."
            ) from error
        self._n += int(n)
        self._n_called += int(n_called)

    def finding(self) -> Finding:
        """Return what moved: "ok" if nothing did, or there are too few samples to tell."""
        if self._n < _FEWEST:
            sentence = f"{self._n} samples are too few to compare with those of training."
            return Finding("drift", OK, None, sentence)
        value = float(self._scores.moves(self._n)[0])
        has_moved, columns = value > self._allowed(1), self._moved_columns()
        if not has_moved and not columns:
            compared = "Scores are" if self._columns is None else f"Scores and {self._what} are"
            sentence = f"{compared} as those of the unlabelled samples of training."
            return Finding("drift", OK, value, sentence)
        told = [self._of_scores()] * has_moved + columns[:_MOST_NAMED]
        n_more = len(columns) - _MOST_NAMED
        more = f"; and {n_more} more column{'s' * (n_more > 1)}" if n_more > 0 else ""
        sentence = (
            "These samples are not like the unlabelled ones of training. What moved: "
            f"{'; '.join(told)}{more}. {self._of_alpha()}"
        )
        return Finding("drift", DOUBT, value, sentence, "drift")

    @property
    def _what(self) -> str:
        return "brightness" if self._is_image else "columns"

    def _allowed(self, n_looks: int) -> float:
        """Return how far shares may move by chance (Kolmogorov-Smirnov), or may move at all."""
        error = np.sqrt(1 / self._n + 1 / self._reference.n_samples)
        return max(_LEAST_MOVE, float(np.sqrt(np.log(2 * n_looks / _CHANCE) / 2) * error))

    def _of_scores(self) -> str:
        scores = self._reference.scores  # set_alpha moves the marks, so they tell what was called
        below = float(np.interp(0.0, scores.marks[0], scores.shares[0]))
        return f"scores ({self._n_called / self._n:.0%} called positive, {1 - below:.0%} then)"

    def _moved_columns(self) -> list[str]:
        """Tell of the columns that moved, the furthest first."""
        if self._columns is None:
            return []
        moves = self._columns.moves(self._n)
        order = np.argsort(-moves, kind="stable")
        furthest = order[moves[order] > self._allowed(len(order))].tolist()
        if self._is_image and furthest:
            return [f"the brightness of {len(furthest)} of {len(order)} parts of the pictures"]
        return [self._of_column(place, self._columns) for place in furthest]

    def _of_column(self, place: int, counted: _Sum) -> str:
        then, now = counted.then, counted.now(self._n)
        name = f"column {place}" if self._names is None else self._names[place]
        shown_name = name if self._names is None else repr(name)
        moves = np.abs(now.shares[place] - then.shares[place])
        if abs(now.missing[place] - then.missing[place]) >= moves.max():
            shares = now.missing[place], then.missing[place]
            return f"{shown_name} ({shares[0]:.0%} missing, {shares[1]:.0%} then)"
        mark = int(moves.argmax())
        value, shares = then.marks[place, mark], (now.shares[place, mark], then.shares[place, mark])
        where = f"at most {value:.4g}"
        if name in self._days and np.isfinite(value):
            where = f"up to {np.datetime64(int(value), 'D')}"
        if then.is_category[place]:
            values = self._values.get(name, [])
            where = repr(values[int(value)]) if int(value) < len(values) else "another value"
        return f"{shown_name} ({shares[0]:.0%} {where}, {shares[1]:.0%} then)"

    def _of_alpha(self) -> str:
        cells = self._reference.positives._replace(n_unlabeled=self._cells.astype(np.float64))
        now, then = fit_mixture_of_cells(cells).shares.interval(), self._reference.alpha
        if now.low <= then.high and then.low <= now.high:
            return (
                f"By their scores alone alpha is {shown(now)}, estimated alike from those of "
                f"training {shown(then)}: it need not have moved. Look at some predictions before "
                "you use them."
            )
        return (
            f"alpha moved too: by their scores alone it is {shown(now)}, estimated alike from "
            f"those of training {shown(then)}. Aim the model with set_alpha, or fit it again with "
            "such samples among the unlabelled."
        )


def as_counts(plain: Any, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return counts from JSON as an array; raise ValueError unless they can be such.

    Parameters
    ----------
    plain : int or list
    shape : tuple of int
        The one expected.
    """
    found = np.array(plain)
    if found.shape != shape or found.dtype != np.int64 or (found < 0).any():
        raise ValueError(f"expected whole numbers of shape {shape}")
    return found


class _Sum:
    """Shares of samples that come in parts."""

    def __init__(self, then: ColumnShares) -> None:
        self.then = then
        self._counts = np.zeros(then.shares.shape, np.int64)
        self._missing = np.zeros(len(then.missing), np.int64)

    def add(self, rows: Floats) -> None:
        counts, missing = self.then.counts_of(rows)
        self._counts += counts
        self._missing += missing

    def to_plain(self) -> list[Any]:
        return [self._counts.tolist(), self._missing.tolist()]

    def add_plain(self, plain: list[Any]) -> None:
        self._counts += as_counts(plain[0], self._counts.shape)
        self._missing += as_counts(plain[1], self._missing.shape)

    def now(self, n: int) -> ColumnShares:
        return self.then._replace(shares=self._counts / n, missing=self._missing / n)

    def moves(self, n: int) -> Floats:
        """Return how far the share of every column moved that moved furthest."""
        now = self.now(n)
        moved = np.abs(now.shares - self.then.shares).max(axis=1)
        return np.asarray(np.maximum(moved, np.abs(now.missing - self.then.missing)))


def watch_drift(model: Any) -> DriftWatch | None:
    """Return what counts new samples for a model, None if it kept nothing to compare with.

    Parameters
    ----------
    model : estimator
        Fitted.
    """
    evidence = getattr(model, "evidence_", None)
    reference = None if evidence is None else evidence.reference
    if reference is None or reference.version != VERSION:
        return None
    if not reference.is_sound(model.input_shape_):
        raise ModelFileError(
            "What the model kept of its unlabelled samples does not hold together. Fit it again."
        )
    return DriftWatch(
        reference,
        column_names_of(model),
        getattr(model, "columns_", None),
        is_image=len(model.input_shape_) > 1,
    )
