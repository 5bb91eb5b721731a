"""From encodings to an answer: one increasing function of one number per sample."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu._posterior import Posterior, fit_posterior
from vqpu.vq._clusters import Clusters
from vqpu.vq._network import Encodings

DECISIONS = ("nearest-center", "posterior")


class Answer(NamedTuple):
    """How a sample is judged.

    Attributes
    ----------
    decision : {"nearest-center", "posterior"}
    clusters : Clusters
    projection_posterior : Posterior
        Positives and negatives along s(x); its alpha is the estimate of alpha.
    place_posterior : Posterior
        The same along the line of centres.
    """

    decision: str
    clusters: Clusters
    projection_posterior: Posterior
    place_posterior: Posterior

    @property
    def needs_codes(self) -> bool:
        """Whether the answer depends on the representation and not on s(x) alone."""
        return self.decision == "nearest-center"

    def log_odds_of_projection(self, projection: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the log odds of being positive for ``decision="posterior"``."""
        return self.projection_posterior.log_odds(projection)

    def log_odds(self, encodings: Encodings) -> NDArray[np.float64]:
        """Return a score per sample; above 0 is positive.

        For "nearest-center" the log odds are shifted so that 0 lies midway between the centres:
        the answer is the nearer centre, and the probability says 1/2 where the answer changes.
        """
        if not self.needs_codes:
            return self.log_odds_of_projection(encodings.projection)
        places = self.clusters.place(encodings.representation)
        # Midway is decided by the places alone; rounding in the log odds must not tip it.
        shifted = self.place_posterior.log_odds(places) - self.place_posterior.log_odds(
            np.array([0.5])
        )
        return np.where(places > 0.5, np.maximum(shifted, 1e-12), np.minimum(shifted, 0.0))


def make_answer(
    decision: str, clusters: Clusters, positive: Encodings, unlabeled: Encodings
) -> Answer:
    """Fit the posteriors on held-out samples.

    Parameters
    ----------
    decision : str
    clusters : Clusters
    positive, unlabeled : Encodings
        Of held-out labelled positives and unlabelled samples.
    """
    places = [clusters.place(part.representation) for part in (positive, unlabeled)]
    return Answer(
        decision,
        clusters,
        fit_posterior(positive.projection, unlabeled.projection),
        fit_posterior(*places),
    )
