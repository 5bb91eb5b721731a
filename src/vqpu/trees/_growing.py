"""Growing the trees of all members side by side, one tree each at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.trees._arrays import TreeArrays, constant_tree, join_trees
from vqpu.trees._text import read_trees

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


_SHRINKAGE = 10.0  # samples' worth of zeros in every leaf


class GrowthSettings(NamedTuple):
    """How trees are grown.

    Attributes
    ----------
    rate : float
        Share of a tree's own answer that is added.
    n_trees : int
        Of a member at most.
    n_leaves : int
        Of a tree at most.
    min_samples : int
        In a leaf.
    n_threads : int
        In which members grow side by side, each in one.
    column_share : float
        Share of the columns that a tree may use, drawn anew for each.
    """

    rate: float
    n_trees: int
    n_leaves: int
    min_samples: int
    n_threads: int = 1
    column_share: float = 1.0


class Task(NamedTuple):
    """What one member regresses.

    Attributes
    ----------
    rows : ndarray of int, shape (n,)
        Its samples, ascending.
    target, weight : ndarray of float, shape (n,)
    seed : int
        Of the thresholds and columns that are drawn.
    """

    rows: Ints
    target: Floats
    weight: Floats
    seed: int = 0


class Binned:
    """Samples as LightGBM sees them: every column cut into at most 127 steps, once for all rounds.

    Parameters
    ----------
    matrix : ndarray of float32 or float64, or CSR matrix, shape (n, d)
        NaN where a value is missing.
    categories : mapping of int to int
        Columns that hold codes of categories.
    settings : GrowthSettings
    """

    def __init__(
        self, matrix: Any, categories: Mapping[int, int], settings: GrowthSettings
    ) -> None:
        import lightgbm

        self.parameters = _parameters(settings)
        self.n_threads = settings.n_threads
        self._full = lightgbm.Dataset(
            matrix,
            label=np.zeros(matrix.shape[0]),
            params=self.parameters,
            categorical_feature=sorted(categories),
            free_raw_data=True,
        ).construct()

    def of(self, task: Task) -> Any:
        """Return the samples of a task with their targets and weights."""
        part = self._full.subset(task.rows.tolist()).construct()
        part.set_label(task.target)
        part.set_weight(task.weight)
        return part


class Growth:
    """A booster a member, grown in step.

    Parameters
    ----------
    binned : Binned
    tasks : sequence of Task
        One a member.
    """

    def __init__(self, binned: Binned, tasks: Sequence[Task]) -> None:
        import lightgbm

        seeds = [dict.fromkeys(("extra_seed", "feature_fraction_seed"), t.seed) for t in tasks]
        self._boosters = [
            lightgbm.Booster({**binned.parameters, **own}, binned.of(task))
            for own, task in zip(seeds, tasks, strict=True)
        ]
        self._is_grown = [False] * len(tasks)
        self._n_threads = min(binned.n_threads, len(tasks))

    @property
    def is_grown(self) -> bool:
        """Whether no member finds a split any more."""
        return all(self._is_grown)

    def grow(self, n_trees: int) -> None:
        """Give every member that still finds splits so many trees more."""
        members = range(len(self._boosters))
        if self._n_threads == 1:
            for member in members:
                self._grow_member(member, n_trees)
            return
        with ThreadPoolExecutor(self._n_threads, initializer=_keep_quiet) as pool:
            list(pool.map(self._grow_member, members, [n_trees] * len(members)))

    def _grow_member(self, member: int, n_trees: int) -> None:
        for _ in range(n_trees):
            if not self._is_grown[member]:
                self._is_grown[member] = bool(self._boosters[member].update())

    def outputs(self, rows: Any, first: int, n_trees: int) -> Floats:
        """Return what the trees from number ``first`` on add, shape (n, n_members).

        Parameters
        ----------
        rows : ndarray of float32 or float64, or CSR matrix, shape (n, d)
        first, n_trees : int
        """
        found = np.zeros((rows.shape[0], len(self._boosters)))
        for index, booster in enumerate(self._boosters):
            count = min(n_trees, booster.num_trees() - first)
            if count > 0:
                found[:, index] = booster.predict(
                    rows, start_iteration=first, num_iteration=count, num_threads=1
                )
        return found

    def texts(self, n_trees: int) -> list[str]:
        """Return the first trees of every member as LightGBM writes them."""
        return [booster.model_to_string(num_iteration=n_trees) for booster in self._boosters]

    def arrays(self, n_trees: int) -> TreeArrays:
        """Return the first trees of every member, those that ended earlier filled up with zeros."""
        return arrays_of_texts(self.texts(n_trees))


def arrays_of_texts(texts: Sequence[str]) -> TreeArrays:
    """Return the trees of several members, those that ended earlier filled up with zeros.

    Parameters
    ----------
    texts : sequence of str
        Of :meth:`Growth.texts`.
    """
    members = [read_trees(text) for text in texts]
    longest = max(1, max(map(len, members)))
    empty = constant_tree(0.0)
    filled = [trees + [empty] * (longest - len(trees)) for trees in members]
    return join_trees([tree for step in zip(*filled, strict=True) for tree in step])


def _keep_quiet() -> None:
    """Silence LightGBM in this thread: it knows how loud to be thread by thread."""
    import lightgbm

    lightgbm.Dataset(np.zeros((2, 1)), np.zeros(2), params={"verbosity": -1}).construct()


def _parameters(settings: GrowthSettings) -> dict[str, Any]:
    return {
        "objective": "regression",
        "learning_rate": settings.rate,
        "num_leaves": settings.n_leaves,
        "min_data_in_leaf": settings.min_samples,
        "min_data_per_group": settings.min_samples,
        "lambda_l2": _SHRINKAGE,
        "min_data_in_bin": 1,
        "feature_pre_filter": False,
        "metric": "none",
        # At a node every column offers one threshold, drawn at random, not the best of all: what
        # fits the noise of P against U is rarely offered. See results/encoders/summary.md.
        "extra_trees": True,
        "seed": 0,
        "feature_fraction": settings.column_share,
        "max_bin": 127,
        # One thread a member, so that their number changes nothing.
        "deterministic": True,
        "force_col_wise": True,
        "num_threads": 1,
        "verbosity": -1,
    }
