"""From encodings to a decision: one increasing function of one number per sample."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from vqpu.base._source import ArraySource
from vqpu.base._split import Sets, Split
from vqpu.errors import (
    CollapsedCodesError,
    CollapsedCodesWarning,
    NoHiddenPositivesWarning,
    ParameterError,
)
from vqpu.priors._posterior import (
    RAISED_BY,
    Posterior,
    best_bin_alpha,
    fit_posterior,
    log_odds_of_share,
)
from vqpu.vq._clusters import Clusters
from vqpu.vq._network import Encodings, SampleEncoder

Floats = NDArray[np.float64]

DECISIONS = ("nearest-center", "posterior", "balanced")

NO_HIDDEN_POSITIVES = (
    "No part of the unlabelled samples looks like the labelled positives: there may be no hidden "
    "positives. Check that P and U come from where you think they do."
)
_FEW_LOOKALIKES = 2.5
_ENOUGH_TO_TELL = 50
_FEWEST_POSITIVES = 10  # labelled ones, to say that nothing looks like them
_NO_SPREAD = 1e-6


class HeldOut(NamedTuple):
    """Labelled positives and unlabelled samples as seen by members that were kept from them.

    Attributes
    ----------
    split : Split
    indices : Sets
        Which samples they are.
    positive, unlabeled : Encodings
        According to all members.
    """

    split: Split
    indices: Sets
    positive: Encodings
    unlabeled: Encodings

    def among(self, wanted: Sets) -> HeldOut:
        """Return some of the samples."""
        encoded = zip(self[2:], self.indices, wanted, strict=True)
        parts = (part.at(np.searchsorted(every, some)) for part, every, some in encoded)
        return HeldOut(self.split, wanted, *parts)

    def projections(self) -> list[Floats]:
        """Return s(x) of positives and of unlabelled samples, each by a member kept from it."""
        return [
            self.split.unseen(part.member_projections, indices)
            for part, indices in zip(self[2:], self.indices, strict=True)
        ]

    def places(self, clusters: Clusters) -> list[Floats]:
        """Return the places along the line of centres in the same way."""
        n_members = self.split.n_members
        return [
            self.split.unseen(clusters.member_places(part.representation, n_members), indices)
            for part, indices in zip(self[2:], self.indices, strict=True)
        ]


class DecisionRule(NamedTuple):
    """How a sample is judged.

    Attributes
    ----------
    decision : {"nearest-center", "posterior", "balanced"}
    clusters : Clusters
    projection_posterior : Posterior
        Positives and negatives along s(x); its alpha is the estimate of alpha. For "balanced" as if
        both classes were as frequent.
    place_slope : float
        Of the log odds along the line of centres, for "nearest-center".
    """

    decision: str
    clusters: Clusters
    projection_posterior: Posterior
    place_slope: float

    @property
    def needs_codes(self) -> bool:
        """Whether the decision depends on the representation and not on s(x) alone."""
        return self.decision == "nearest-center"

    def scores(self, network: SampleEncoder, source: ArraySource, device: torch.device) -> Floats:
        """Return the log odds of all samples of a source, codes being looked up only if needed."""
        if self.needs_codes:
            return self.log_odds(network.encode(source, None, device))
        return self.projection_posterior.log_odds(network.project(source, device))

    def log_odds(self, encodings: Encodings) -> Floats:
        """Return a score per sample; above 0 is positive.

        For "nearest-center" the log odds are shifted so that 0 lies midway between the centres:
        the nearer centre decides, and the probability says 1/2 where the decision changes.
        """
        if not self.needs_codes:
            return self.projection_posterior.log_odds(encodings.projection)
        return self._log_odds_of_places(self.clusters.place(encodings.representation))

    def held_out_log_odds(self, held_out: HeldOut) -> tuple[Floats, ...]:
        """Return the scores of held-out positives and unlabelled samples."""
        if not self.needs_codes:
            return tuple(map(self.projection_posterior.log_odds, held_out.projections()))
        return tuple(map(self._log_odds_of_places, held_out.places(self.clusters)))

    def among_unlabeled(self) -> DecisionRule:
        """Return the rule whose log odds are those in U; "balanced" has others."""
        if self.decision != "balanced":
            return self
        posterior = self.projection_posterior
        intercept = posterior.intercept + log_odds_of_share(posterior.alpha)
        return self._replace(
            decision="posterior", projection_posterior=posterior._replace(intercept=intercept)
        )

    def aimed_at(self, alpha: float) -> DecisionRule:
        """Return the rule for a population with another share of positives."""
        if self.decision != "posterior":
            raise ParameterError(
                f"The border of the decision {self.decision!r} does not depend on alpha. Fit with "
                "decision='posterior' to aim at another population."
            )
        return self._replace(projection_posterior=self.projection_posterior.aimed_at(alpha))

    def _log_odds_of_places(self, places: Floats) -> Floats:
        return self.place_slope * (places - 0.5)


def fit_decision_rule(
    decision: str,
    clusters: Clusters,
    held_out: HeldOut,
    alpha: float | None = None,
    raised_by: float = RAISED_BY,
) -> DecisionRule:
    """Fit the posteriors on held-out samples.

    Parameters
    ----------
    decision : str
    clusters : Clusters
    held_out : HeldOut
    alpha : float or None
        Share of positives in U. None: it is estimated by best bin, which is quick.
    raised_by : float
        By how many standard errors the fit takes it larger; 0 for one that is known.
    """
    place_slope = 1.0
    if decision == "nearest-center":
        place_slope = fit_posterior(*held_out.places(clusters)).slope
    posterior = fit_posterior(*held_out.projections(), alpha=alpha, raised_by=raised_by)
    if decision == "balanced":
        posterior = posterior.balanced()
    return DecisionRule(decision, clusters, posterior, place_slope)


def report_trouble(
    rule: DecisionRule, projections: tuple[Floats, ...], *, is_reviewed: bool = False
) -> None:
    """Raise or warn if the clusters say nothing, or if U seems to hold no positives.

    Parameters
    ----------
    rule : DecisionRule
    projections : tuple of two ndarray
        s(x) of the labelled positives and unlabelled samples that alpha was estimated from.
    is_reviewed : bool
        Whether some labels are known: the positives of U may all have been found then.
    """
    if rule.clusters.is_collapsed:
        message = (
            "All samples have the same codes, so there are no two clusters. Try more steps "
            "(max_steps), codebook_update='follow', a larger learning_rate, or less dropout."
        )
        if rule.needs_codes or np.ptp(projections[1]) < _NO_SPREAD:
            raise CollapsedCodesError(message)
        warnings.warn(message, CollapsedCodesWarning, stacklevel=4)
    elif not is_reviewed and not _found_positives(rule, projections):
        warnings.warn(NO_HIDDEN_POSITIVES, NoHiddenPositivesWarning, stacklevel=4)


def _found_positives(rule: DecisionRule, projections: tuple[Floats, ...]) -> bool:
    """Return whether some of the unlabelled samples look like the labelled positives."""
    if rule.needs_codes:
        return rule.clusters.found_positives
    # Best bin never finds fewer than two samples' worth, so small samples cannot tell.
    n_judged = len(projections[1])
    if n_judged < _ENOUGH_TO_TELL or len(projections[0]) < _FEWEST_POSITIVES:
        return True
    return best_bin_alpha(*projections) * n_judged > _FEW_LOOKALIKES
