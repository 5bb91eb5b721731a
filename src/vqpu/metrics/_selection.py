"""Model selection without negatives: scorers and folds for scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import make_scorer
from sklearn.model_selection import StratifiedKFold

from vqpu.base._groups import number_groups, share_groups
from vqpu.base._parameters import check_choice, check_real, draw_seed
from vqpu.errors import InputError, ParameterError
from vqpu.metrics import _pu
from vqpu.metrics._inputs import read_pu_labels
from vqpu.scenarios import Scenario


class _Entry(NamedTuple):
    function: Callable[..., float]
    ranks: bool = False
    needs_scenario: bool = True
    needs_prior: bool = True
    fixed: tuple[tuple[str, Any], ...] = ()


_ENTRIES = {
    "proxy_accuracy": _Entry(_pu.proxy_accuracy),
    "proxy_auc": _Entry(_pu.proxy_auc, ranks=True, needs_scenario=False, needs_prior=False),
    "lee_liu": _Entry(_pu.lee_liu_score, needs_prior=False),
    "precision": _Entry(_pu.pu_precision_score),
    "recall": _Entry(_pu.pu_recall_score, needs_scenario=False, needs_prior=False),
    "f1": _Entry(_pu.pu_f1_score),
    "roc_auc": _Entry(_pu.pu_roc_auc_score, ranks=True),
    "average_precision": _Entry(_pu.pu_average_precision_score, ranks=True),
    "neg_zero_one_risk": _Entry(_pu.pu_zero_one_risk),
    "neg_non_negative_risk": _Entry(_pu.pu_zero_one_risk, fixed=(("non_negative", True),)),
}

PU_SCORERS = tuple(_ENTRIES)


def make_pu_scorer(
    name: str,
    *,
    scenario: str,
    class_prior: float | None = None,
    alpha: float | None = None,
) -> Callable[..., float]:
    """Make a scorer for ``GridSearchCV`` and ``cross_val_score`` that needs PU labels only.

    Use it with `PUStratifiedKFold`, so that every fold has labelled positives; in single-set data
    the folds must also keep the share of labelled ones, or they are no draw from the population.

    Parameters
    ----------
    name : str
        One of `PU_SCORERS`. Larger is better; risks are negated.
    scenario : {"case-control", "single-set"}
        How P and U came about.
    class_prior, alpha : float or None
        Share of positives in the population, or inside U: one of them. "proxy_auc", "lee_liu" and
        "recall" use neither, and do without.

    Returns
    -------
    callable
        ``scorer(estimator, X, y_pu)``.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> scorer = make_pu_scorer("f1", scenario="case-control", class_prior=0.5)
    >>> X, y = [[2.0], [1.0], [2.0], [-2.0]], [1, 1, 0, 0]
    >>> scorer(LogisticRegression().fit(X, y), X, y)
    1.0
    """
    check_choice("name", name, PU_SCORERS)
    entry, parsed = _ENTRIES[name], Scenario.parse(scenario)
    settings: dict[str, Any] = dict(entry.fixed)
    if entry.needs_scenario:
        settings["scenario"] = parsed.value
    prior = _check_prior(name, class_prior, alpha, optional=not entry.needs_prior)
    if entry.needs_prior:
        settings |= prior
    return make_scorer(  # type: ignore[no-any-return]
        entry.function,
        response_method=("decision_function", "predict_proba") if entry.ranks else "predict",
        greater_is_better=not name.startswith("neg_"),
        **settings,
    )


def _check_prior(
    name: str, class_prior: float | None, alpha: float | None, *, optional: bool
) -> dict[str, Any]:
    given = {"class_prior": class_prior, "alpha": alpha}
    chosen = {key: value for key, value in given.items() if value is not None}
    if len(chosen) != 1 and not (optional and not chosen):
        raise ParameterError(
            f"{name!r} needs either class_prior or alpha. Got class_prior={class_prior!r} and "
            f"alpha={alpha!r} instead."
        )
    for key, value in chosen.items():
        check_real(key, value, 0, 1, open_low=key == "class_prior")
    return chosen


class PUStratifiedKFold(StratifiedKFold):  # type: ignore[misc]
    """Folds that keep the share of labelled positives, and refuse labels that cannot be kept.

    scikit-learn's ``StratifiedKFold``, with two differences: labels that are not PU labels are
    refused, and so are fewer labelled (or unlabelled) samples than folds, where scikit-learn
    warns and makes folds without any.

    Parameters
    ----------
    n_splits : int
    shuffle : bool
    random_state : int, RandomState or None

    Examples
    --------
    >>> y = [1, 1, 0, 0, 0, 0]
    >>> [test.tolist() for _, test in PUStratifiedKFold(n_splits=2).split(y, y)]
    [[0, 2, 3], [1, 4, 5]]
    """

    def split(
        self, X: Any, y: ArrayLike, groups: Any = None
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Yield indices of training and test samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            Only its length matters.
        y : array-like of shape (n_samples,)
            PU labels.
        groups : array-like of shape (n_samples,) or None
            Which samples belong together: those of one group are in one fold, and folds keep the
            share of labelled positives as well as whole groups let them.
        """
        is_labeled = read_pu_labels(y).is_positive
        if groups is not None:
            return self._split_groups(is_labeled, number_groups(groups, len(is_labeled)))
        for kind, mask in (("labelled positives", is_labeled), ("unlabelled samples", ~is_labeled)):
            if mask.sum() < self.n_splits:
                raise InputError(
                    f"y has {mask.sum()} {kind}, fewer than n_splits={self.n_splits}, so some fold "
                    "would have none. Lower n_splits."
                )
        folds: Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]
        folds = super().split(X, is_labeled, groups)
        return folds

    def _split_groups(
        self, is_labeled: NDArray[np.bool_], groups: NDArray[np.int64]
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        # The order of groups of one size is drawn if asked for, else always the same.
        seed = draw_seed(self.random_state) if self.shuffle else 0
        generator = np.random.default_rng(seed)
        folds = share_groups(is_labeled, groups, self.n_splits, generator)[groups]
        tests = [np.flatnonzero(folds == fold) for fold in range(self.n_splits)]
        for test in tests:
            if not is_labeled[test].any() or is_labeled[test].all():
                raise InputError(
                    f"{int(groups.max()) + 1} groups cannot be shared out to "
                    f"n_splits={self.n_splits} folds with labelled positives and unlabelled "
                    "samples in each. Lower n_splits."
                )
        every = np.arange(len(is_labeled))
        return iter([(np.setdiff1d(every, test), test) for test in tests])
