"""Scores for the methods that need them: out-of-fold probabilities of P against U."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vqpu.base._parameters import check_integer, draw_seed
from vqpu.base._wrapped import checked_probability, default_classifier, seeded_clone
from vqpu.errors import InputError
from vqpu.priors._checks import N_FOLDS, check_pair, check_samples
from vqpu.priors._prior_estimate import Floats


def cross_fit_scores(
    positive: ArrayLike,
    unlabeled: ArrayLike,
    *,
    classifier: Any = None,
    random_state: Any = None,
) -> tuple[Floats, Floats]:
    """Score every sample by a classifier that has not seen it.

    Five stratified folds; the classifier learns P against U on four and scores the fifth.

    Parameters
    ----------
    positive, unlabeled : array-like of shape (n_p, d) and (n_u, d)
        At least five of each.
    classifier : scikit-learn classifier with ``predict_proba`` or None
        Cloned, with its unset ``random_state`` filled in, and fitted without class weights. By
        default gradient boosting of small trees. The true p_P / p_U levels off where only
        positives are, at 1 / alpha; logistic regression cannot follow that, whatever the columns
        ("elkan-noto" and "geometry" then miss by 0.1), boosted trees can, and need no scaling.
    random_state : int, RandomState, Generator or None
        Draws the folds and seeds the classifier.

    Returns
    -------
    positive_scores, unlabeled_scores : ndarray of shape (n_p,) and (n_u,)
        s(x), the probability of P against U if both weighed the same, in [0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> scores = cross_fit_scores(
    ...     rng.normal(3, 1, (90, 2)), rng.normal(0, 1, (200, 2)), random_state=0
    ... )
    >>> bool(scores[0].mean() > scores[1].mean())
    True
    """
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    positive, unlabeled = check_pair(positive, unlabeled)
    check_samples(positive, unlabeled, "cross_fit_scores")
    seed = draw_seed(random_state)
    chosen = default_classifier() if classifier is None else classifier
    model = seeded_clone("classifier", chosen, seed)
    X = np.concatenate([positive, unlabeled])
    y = np.repeat([1, 0], [len(positive), len(unlabeled)])
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed)
    probability = cross_val_predict(model, X, y, cv=folds, method="predict_proba")[:, 1]
    probability = checked_probability(model, probability)
    if len(np.unique(probability)) <= N_FOLDS:
        raise InputError(
            f"{type(model).__name__} gave all samples of a fold one score, so it learnt nothing. "
            "Give more samples, or a classifier for so few, such as LogisticRegression."
        )
    scores = balanced_scores(probability, len(positive), len(unlabeled))
    return scores[: len(positive)], scores[len(positive) :]


def balanced_scores(probability: ArrayLike, n_positive: int, n_unlabeled: int) -> Floats:
    """Turn probabilities of being labelled into the s(x) that `estimate_prior` takes.

    Parameters
    ----------
    probability : array-like of shape (n,)
        p(labelled | x), as a classifier gives that was fitted on P and U without class weights.
    n_positive, n_unlabeled : int
        How many of each it was fitted on.

    Examples
    --------
    >>> balanced_scores([0.0, 0.2, 1.0], n_positive=100, n_unlabeled=400).tolist()
    [0.0, 0.5, 1.0]
    """
    check_integer("n_positive", n_positive, 1)
    check_integer("n_unlabeled", n_unlabeled, 1)
    given = np.asarray(probability, dtype=np.float64)
    if not ((given >= 0) & (given <= 1)).all():  # NaN fails too
        raise InputError("probability must lie in [0, 1] throughout. Got others, or NaN, instead.")
    labeled, other = given * n_unlabeled, (1 - given) * n_positive
    return np.asarray(labeled / (labeled + other))
