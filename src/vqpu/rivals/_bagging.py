"""BaggingPUClassifier: many small bags of U, each against P."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vqpu.base._parameters import check_integer, check_real, draw_seed
from vqpu.base._seeding import Stream, derive_seed, numpy_generator
from vqpu.base._wrapped import checked_probability, seeded_clone, takes_gaps
from vqpu.errors import InputError, VqpuWarning
from vqpu.estimators._classifier import PUClassifier
from vqpu.estimators._validation import check_prediction_data, check_training_data

Floats = NDArray[np.float64]

_EDGE = 1e-9  # keeps log odds finite


class BaggingPUClassifier(PUClassifier):
    r"""Mordelet and Vert's bagging around any scikit-learn classifier.

    Every classifier learns all labelled positives against a bag drawn with replacement from U. Bags
    hold different hidden positives, so their errors average out. For tables (n, d).

    Parameters
    ----------
    estimator : scikit-learn classifier or None, default=None
        Cloned for every bag, with its unset ``random_state`` filled in. Its probabilities are
        averaged, or its votes if it has none. None: a decision tree, to which missing values are
        values like any other.
    n_estimators : int, default=100
        Number of bags.
    bag_size : int or None, default=None
        Samples of U in a bag (K). None: as many as there are labelled positives.
    alpha : float, default=0.5
        Share of positives in U that the border is right for; the ranking does not depend on it.
    random_state : int, RandomState, Generator or None, default=None
        Draws the bags and seeds the classifiers.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    estimators_ : list
        One fitted classifier a bag; their class 1 is "positive".
    unlabeled_indices_ : ndarray of int, shape (n_unlabeled,)
        Where the unlabelled samples are in the X of ``fit``.
    oob_scores_ : ndarray of shape (n_unlabeled,)
        Out-of-bag score of each: the mean over the classifiers whose bag did not hold it.
    oob_counts_ : ndarray of int, shape (n_unlabeled,)
        How many those are. With 0 (few bags) the score is that of all classifiers, and a warning
        says so.

    Notes
    -----
    The odds of the mean score estimate :math:`(n_P / K) \, p_P / p_U`. Half of the samples of U at
    x are positives where :math:`p_P / p_U = 1 / (2 \alpha)`, which is the border: a score of 1/2 by
    default. The paper ranks and sets no border. Trees make good ranks and rough odds; near the
    border the paper's support vector machines, ``estimator=SVC()``, are better.

    References
    ----------
    Mordelet, Vert: "A bagging SVM to learn from positive and unlabeled examples", 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from vqpu import stack_pu
    >>> from vqpu.rivals import BaggingPUClassifier
    >>> rng = np.random.default_rng(0)
    >>> positive = rng.normal(3, 1, (50, 2))
    >>> unlabeled = np.vstack([rng.normal(3, 1, (50, 2)), rng.normal(-3, 1, (100, 2))])
    >>> model = BaggingPUClassifier(random_state=0).fit(*stack_pu(positive, unlabeled))
    >>> bool(model.oob_scores_[:50].mean() > model.oob_scores_[50:].mean())
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 100,
        bag_size: int | None = None,
        alpha: float = 0.5,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.bag_size = bag_size
        self.alpha = alpha
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> BaggingPUClassifier:
        """Train one classifier a bag, and score every unlabelled sample out of bag.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
            Two values: the larger marks labelled positives, the other means unlabelled.
        """
        self._check_parameters()
        seed = draw_seed(self.random_state)
        models = [self._new_model(seed, number) for number in range(self.n_estimators)]
        source, labels = check_training_data(self, X, y, takes_images=False)
        positive = np.flatnonzero(labels.is_positive)
        unlabeled = np.flatnonzero(~labels.is_positive)
        bags = self._draw_bags(len(unlabeled), len(positive), seed)
        samples = source.array
        for model, bag in zip(models, bags, strict=True):
            drawn = np.concatenate([positive, unlabeled[bag]])
            model.fit(samples[drawn], np.repeat([1, 0], [len(positive), len(bag)]))
        scores = np.array([_positive_score(model, samples[unlabeled]) for model in models])
        self.oob_scores_, self.oob_counts_ = out_of_bag_scores(scores, bags)
        self.estimators_, self.unlabeled_indices_ = models, unlabeled
        self._offset = math.log(2 * self.alpha * bags.shape[1] / len(positive))
        self.classes_, self.input_shape_ = labels.classes, source.sample_shape
        return self

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the log odds of the mean score from the border on; above 0 is positive.

        Parameters
        ----------
        X : array-like of shape (n, d)
        """
        samples = check_prediction_data(self, X).array
        total = np.zeros(len(samples))
        for model in self.estimators_:
            total += _positive_score(model, samples)
        mean = np.clip(total / len(self.estimators_), _EDGE, 1 - _EDGE)
        return np.asarray(np.log(mean) - np.log1p(-mean) + self._offset)

    @property
    def _chosen(self) -> Any:
        from sklearn.tree import DecisionTreeClassifier

        return DecisionTreeClassifier() if self.estimator is None else self.estimator

    @property
    def _takes_gaps(self) -> bool:
        return takes_gaps(self._chosen)

    def _check_parameters(self) -> None:
        check_integer("n_estimators", self.n_estimators, 1)
        check_integer("bag_size", self.bag_size, 1, optional=True)
        check_real("alpha", self.alpha, 0, 1, open_low=True)

    def _new_model(self, seed: int, number: int) -> Any:
        own_seed = derive_seed(seed, Stream.BAG, number) % 2**31
        return seeded_clone("estimator", self._chosen, own_seed, method="predict")

    def _draw_bags(self, n_unlabeled: int, n_positive: int, seed: int) -> NDArray[np.int64]:
        """Return the places in U that each bag holds, shape (n_estimators, bag_size)."""
        size = n_positive if self.bag_size is None else self.bag_size
        generator = numpy_generator(seed, Stream.BAG)
        return generator.integers(n_unlabeled, size=(self.n_estimators, size))


def out_of_bag_scores(scores: Floats, bags: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64]]:
    """Return the mean score of each sample over the bags without it, and the number of those.

    Parameters
    ----------
    scores : ndarray of shape (n_bags, n)
        Every classifier's score of every sample.
    bags : ndarray of int, shape (n_bags, bag_size)
        Which samples each bag holds.
    """
    is_out = np.ones(scores.shape, dtype=bool)
    np.put_along_axis(is_out, bags, False, axis=1)
    counts = is_out.sum(axis=0)
    if not counts.all():
        warnings.warn(
            f"{int((counts == 0).sum())} unlabelled samples are in every bag, so their score is "
            "not out of bag: raise n_estimators or lower bag_size.",
            VqpuWarning,
            stacklevel=3,
        )
    out_of_bag = np.where(is_out, scores, 0.0).sum(axis=0) / np.maximum(counts, 1)
    return np.where(counts > 0, out_of_bag, scores.mean(axis=0)), counts


def _positive_score(model: Any, samples: NDArray[Any]) -> Floats:
    if hasattr(model, "predict_proba"):
        return checked_probability(model, model.predict_proba(samples)[:, 1])
    votes = np.asarray(model.predict(samples))
    if not np.isin(votes, (0, 1)).all():
        raise InputError(
            f"predict of {type(model).__name__} returned other values than the classes 0 and 1 it "
            "was fitted on. Give a classifier."
        )
    return votes.astype(np.float64)
