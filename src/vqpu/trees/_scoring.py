"""What trees say of samples: a number a member, and what each column adds to it."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vqpu.trees._arrays import TreeArrays
from vqpu.trees._text import write_text

Floats = NDArray[np.float64]

# Below this many visits of a tree by a row, starting threads takes longer than they save.
_WORTH_THREADS = 1 << 20
_CONTRIBUTIONS_AT_ONCE = 1 << 22


class TreeScorer:
    """All members as one booster with an output for each.

    Parameters
    ----------
    arrays : TreeArrays
        Checked.
    n_members, n_features : int
    """

    def __init__(self, arrays: TreeArrays, n_members: int, n_features: int) -> None:
        self._arrays, self._n_members, self._n_features = arrays, n_members, n_features
        self._booster: Any = None
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_booster": None, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def outputs(self, rows: Any, n_threads: int) -> Floats:
        """Return every member's number of every row, shape (n, n_members).

        Parameters
        ----------
        rows : ndarray of float32 or float64, or CSR matrix, shape (n, n_features)
        n_threads : int
        """
        visits = rows.shape[0] * len(self._arrays.tree_leaves)
        threads = n_threads if visits >= _WORTH_THREADS else 1
        found = self._made().predict(rows, raw_score=True, num_threads=threads)
        return np.asarray(found, dtype=np.float64).reshape(rows.shape[0], self._n_members)

    def contributions(self, rows: Any) -> tuple[Floats, float]:
        """Return what each column adds to the members' mean, exactly, and what they start from.

        Parameters
        ----------
        rows : ndarray of float32 or float64, or CSR matrix, shape (n, n_features)

        Returns
        -------
        contributions : ndarray of shape (n, n_features)
            Their sum and ``base`` are the mean of :meth:`outputs`.
        base : float
        """
        step = max(1, _CONTRIBUTIONS_AT_ONCE // (self._n_members * (self._n_features + 1)))
        parts = [
            self._some_contributions(rows[start : start + step])
            for start in range(0, rows.shape[0], step)
        ]
        every = np.vstack(parts)
        return every[:, :-1], float(every[0, -1])

    def _some_contributions(self, rows: Any) -> Floats:
        dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
        found = np.asarray(self._made().predict(dense, pred_contrib=True, num_threads=1))
        by_member = found.reshape(len(dense), self._n_members, self._n_features + 1)
        return np.asarray(by_member.mean(axis=1))

    def _made(self) -> Any:
        with self._lock:
            if self._booster is None:
                import lightgbm

                text = write_text(self._arrays, self._n_members, self._n_features)
                self._booster = lightgbm.Booster(model_str=text)
            return self._booster
