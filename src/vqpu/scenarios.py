"""The two PU scenarios, and what they make of class prior, alpha and labelling frequency.

=================  ============================================================================
pi                 ``class_prior``: share of positives in the population
c                  ``label_frequency``: share of the positives that are labelled
alpha              ``alpha``: share of positives inside U
case-control       P and U drawn apart, U from the population: ``alpha = pi``
single-set         one draw from the population, a share c of its positives labelled and taken
                   out of U: ``alpha = (1 - c) pi / (1 - c pi)``, ``n_positive / n = c pi``
=================  ============================================================================

Sampling, priors and scores take their relations from here and from nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vqpu.base._parameters import check_choice, check_integer, check_real
from vqpu.errors import ParameterError


class Scenario(StrEnum):
    """How P and U came about; the strings ``"case-control"`` and ``"single-set"`` are its values.

    Examples
    --------
    >>> Scenario.parse("single-set") is Scenario.SINGLE_SET
    True
    """

    CASE_CONTROL = "case-control"
    SINGLE_SET = "single-set"

    @classmethod
    def parse(cls, value: Any) -> Scenario:
        """Return the scenario of that name, or refuse an unknown one."""
        check_choice("scenario", value, [scenario.value for scenario in cls])
        return cls(value)

    def population_mask(self, is_labeled: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Tell which samples are, together, a draw from the population.

        Parameters
        ----------
        is_labeled : ndarray of bool, shape (n_samples,)

        Returns
        -------
        ndarray of bool, shape (n_samples,)
            U alone in case-control data; P and U together in single-set data, where the labelled
            positives were taken out of U.
        """
        return ~is_labeled if self is Scenario.CASE_CONTROL else np.ones_like(is_labeled)


@dataclass(frozen=True)
class Proportions:
    """The shares of one PU data set, which agree with its sizes and its scenario.

    Make one with `from_alpha` or `from_class_prior`.

    Attributes
    ----------
    scenario : Scenario
    alpha : float
        Share of positives inside U.
    class_prior : float
        Share of positives in the population (pi).
    label_frequency : float
        Share of the positives in P and U together that are labelled (c). A trait of the
        population in the single-set scenario only; in case-control it follows from the sizes.
    labeled_share : float
        n_positive / (n_positive + n_unlabeled); ``c pi`` in the single-set scenario.

    Examples
    --------
    >>> shares = Proportions.from_alpha(0.25, scenario="single-set", n_positive=20, n_unlabeled=80)
    >>> shares.class_prior, shares.label_frequency
    (0.4, 0.5)
    """

    scenario: Scenario
    alpha: float
    class_prior: float
    label_frequency: float
    labeled_share: float

    @classmethod
    def from_alpha(
        cls, alpha: float, *, scenario: str, n_positive: int, n_unlabeled: int
    ) -> Proportions:
        """Complete the shares, given the share of positives inside U."""
        parsed, labeled_share = _check_sizes(scenario, n_positive, n_unlabeled)
        check_real("alpha", alpha, 0, 1, open_high=False)
        hidden = alpha * n_unlabeled
        # The population is U in case-control data, P and U together in single-set data.
        class_prior = alpha
        if parsed is Scenario.SINGLE_SET:
            class_prior = (n_positive + hidden) / (n_positive + n_unlabeled)
        frequency = n_positive / (n_positive + hidden)
        return cls(parsed, float(alpha), float(class_prior), frequency, labeled_share)

    @classmethod
    def from_class_prior(
        cls, class_prior: float, *, scenario: str, n_positive: int, n_unlabeled: int
    ) -> Proportions:
        """Complete the shares, given the share of positives in the population."""
        parsed, labeled_share = _check_sizes(scenario, n_positive, n_unlabeled)
        check_real("class_prior", class_prior, 0, 1, open_high=False)
        alpha = class_prior
        if parsed is Scenario.SINGLE_SET:
            if class_prior < labeled_share:
                raise ParameterError(
                    f"class_prior={class_prior:g} is impossible in the single-set scenario, where "
                    f"{n_positive} labelled positives among {n_positive + n_unlabeled} samples are "
                    f"a share of {labeled_share:g} already: give a class_prior of at least that, "
                    "or scenario='case-control' if P and U were drawn apart."
                )
            alpha = (class_prior - labeled_share) / (1 - labeled_share)
        frequency = n_positive / (n_positive + alpha * n_unlabeled)
        return cls(parsed, float(alpha), float(class_prior), frequency, labeled_share)


def single_set_alpha(class_prior: float, label_frequency: float) -> float:
    """Return the share of positives left in U: ``(1 - c) pi / (1 - c pi)``."""
    check_real("class_prior", class_prior, 0, 1, open_high=False)
    check_real("label_frequency", label_frequency, 0, 1, open_high=False)
    if class_prior * label_frequency == 1:
        raise ParameterError(
            "class_prior=1 with label_frequency=1 leaves no unlabelled sample, so alpha is not "
            "defined: one of them must be below 1."
        )
    return (1 - label_frequency) * class_prior / (1 - label_frequency * class_prior)


def single_set_class_prior(alpha: float, label_frequency: float) -> float:
    """Return the share of positives in the population: ``alpha / (1 - c + c alpha)``."""
    check_real("alpha", alpha, 0, 1, open_high=False)
    check_real("label_frequency", label_frequency, 0, 1, open_high=False)
    if label_frequency == 1:
        raise ParameterError(
            "label_frequency=1 leaves no positive in U whatever the class prior, so alpha does not "
            "determine it: give a label_frequency below 1, or the sizes of P and U."
        )
    return alpha / (1 - label_frequency + label_frequency * alpha)


def single_set_label_frequency(class_prior: float, alpha: float) -> float:
    """Return the share of positives that are labelled: ``(pi - alpha) / (pi (1 - alpha))``."""
    check_real("class_prior", class_prior, 0, 1, open_low=True, open_high=False)
    check_real("alpha", alpha, 0, 1)
    if class_prior < alpha:
        raise ParameterError(
            f"class_prior={class_prior:g} with alpha={alpha:g} is impossible in the single-set "
            "scenario: taking labelled positives out of U lowers their share there, so class_prior "
            "must be at least alpha."
        )
    return (class_prior - alpha) / (class_prior * (1 - alpha))


def _check_sizes(scenario: str, n_positive: int, n_unlabeled: int) -> tuple[Scenario, float]:
    parsed = Scenario.parse(scenario)
    check_integer("n_positive", n_positive, 1)
    check_integer("n_unlabeled", n_unlabeled, 1)
    return parsed, n_positive / (n_positive + n_unlabeled)
