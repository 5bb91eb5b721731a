"""ElkanNotoClassifier: a probability of being labelled, divided by the share of labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vqpu.base._parameters import check_real, draw_seed
from vqpu.base._split import split_holdout
from vqpu.base._wrapped import checked_probability, default_classifier, seeded_clone, takes_gaps
from vqpu.errors import InputError
from vqpu.estimators._classifier import PUClassifier
from vqpu.estimators._validation import check_prediction_data, check_training_data
from vqpu.scenarios import Scenario

Floats = NDArray[np.float64]

_EDGE = 1e-9  # keeps log odds finite


class ElkanNotoClassifier(PUClassifier):
    r"""Elkan and Noto's classifier around any scikit-learn classifier with probabilities.

    The classifier learns g(x), the probability of being labelled; c, the share of the positives
    that are labelled, is the mean of g over held-out labelled positives. From both follows the
    probability of being positive. For tables (n, d).

    Parameters
    ----------
    estimator : scikit-learn classifier with ``predict_proba`` or None, default=None
        Cloned, with its unset ``random_state`` filled in. None: gradient boosting of small trees,
        to which missing values are values like any other.
    scenario : {"case-control", "single-set"}, default="case-control"
        How P and U came about. "single-set": labels were given to a part of one sample, as the
        paper assumes, and the answer is about that population. "case-control": P and U were drawn
        apart, and the answer is about U.
    holdout : float, default=0.2
        Share of P and of U that g is not trained on; c is estimated on its positives. 0, or sets
        so small that fewer than 4 samples would be kept: training positives take that part.
    random_state : int, RandomState, Generator or None, default=None
        Draws the held-out samples and seeds the classifier.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    label_frequency_ : float
        c.
    estimator_ : object
        g, fitted; its class 1 is "labelled".
    n_holdout_ : tuple of int
        Labelled positives and unlabelled samples kept apart.

    Notes
    -----
    In the single-set scenario the probability is :math:`g(x) / c` and the border
    :math:`g = c / 2`. In the case-control scenario the samples of P are no part of the population:
    the probability of a sample of U is :math:`\frac{1 - c}{c} \frac{g(x)}{1 - g(x)}` (the paper's
    weight of an unlabelled sample) and the border :math:`g = c / (2 - c)`. Both reach 1 at
    :math:`g = c` and are cut off there.

    c is right where the classes do not overlap and g is calibrated; overlap makes it too small.

    References
    ----------
    Elkan, Noto: "Learning classifiers from only positive and unlabeled data", 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from vqpu import stack_pu
    >>> from vqpu.rivals import ElkanNotoClassifier
    >>> rng = np.random.default_rng(0)
    >>> positive = rng.normal(3, 1, (200, 2))
    >>> unlabeled = np.vstack([rng.normal(3, 1, (100, 2)), rng.normal(-3, 1, (200, 2))])
    >>> model = ElkanNotoClassifier(random_state=0).fit(*stack_pu(positive, unlabeled))
    >>> model.predict([[3.0, 3.0], [-3.0, -3.0]])
    array([1, 0])
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        scenario: str = "case-control",
        holdout: float = 0.2,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.scenario = scenario
        self.holdout = holdout
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> ElkanNotoClassifier:
        """Learn g on P and U, and c on held-out positives.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
            Two values: the larger marks labelled positives, the other means unlabelled.
        """
        self._check_parameters()
        seed = draw_seed(self.random_state)
        model = seeded_clone("estimator", self._chosen, seed)
        source, labels = check_training_data(self, X, y, takes_images=False)
        samples = source.array
        split = split_holdout(labels.is_positive, self.holdout, 1, seed)
        # Both sets give the same share, so that g speaks of the proportions of the whole.
        trained = np.concatenate(split.training_sets(0))
        model.fit(samples[trained], labels.is_positive[trained].astype(np.int64))
        held_out = _labeled_probability(model, samples[split.judged_sets().positive])
        self.label_frequency_ = _label_frequency(held_out)
        self.estimator_, self.classes_ = model, labels.classes
        self.input_shape_, self.n_holdout_ = source.sample_shape, split.n_holdout
        return self

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the log odds of being positive; above 0 is positive.

        Where the probability is cut off at 1 they still rise with g, by less than 1: what is
        certain is ranked too.

        Parameters
        ----------
        X : array-like of shape (n, d)
        """
        labeled = self.labeled_probability(X)
        probability = positive_probability(labeled, self.label_frequency_, self.scenario)
        beyond = np.where(probability >= 1 - _EDGE, labeled, 0.0)
        return np.asarray(np.log(probability) - np.log1p(-probability) + beyond)

    def labeled_probability(self, X: ArrayLike) -> Floats:
        """Return g(x), the probability of being labelled, in the order of the scores.

        Parameters
        ----------
        X : array-like of shape (n, d)
        """
        source = check_prediction_data(self, X)
        return _labeled_probability(self.estimator_, source.array)

    @property
    def _chosen(self) -> Any:
        return default_classifier() if self.estimator is None else self.estimator

    @property
    def _takes_gaps(self) -> bool:
        return takes_gaps(self._chosen)

    def _check_parameters(self) -> None:
        Scenario.parse(self.scenario)
        check_real("holdout", self.holdout, 0, 0.5, open_high=False)


def positive_probability(labeled: Floats, label_frequency: float, scenario: str) -> Floats:
    """Return the probability of being positive, at most 1.

    Parameters
    ----------
    labeled : ndarray of shape (n,)
        g(x).
    label_frequency : float
        c.
    scenario : {"case-control", "single-set"}
    """
    g = np.clip(labeled, _EDGE, 1 - _EDGE)
    c = min(max(label_frequency, _EDGE), 1 - _EDGE)
    if Scenario.parse(scenario) is Scenario.SINGLE_SET:
        probability = g / c
    else:
        probability = (1 - c) / c * g / (1 - g)
    return np.clip(probability, _EDGE, 1 - _EDGE)


def _label_frequency(held_out: Floats) -> float:
    frequency = float(held_out.mean())
    if frequency == 0:
        raise InputError(
            "All held-out positives have probability 0 of being labelled, so c is 0 and nothing "
            "can be divided by it. Give an estimator whose probabilities are calibrated."
        )
    return frequency


def _labeled_probability(model: Any, samples: NDArray[Any]) -> Floats:
    return checked_probability(model, model.predict_proba(samples)[:, 1])
