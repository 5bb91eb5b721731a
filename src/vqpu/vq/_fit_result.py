"""The end of a fit: all unlabelled samples clustered by the chosen network, and the answer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from vqpu.base._source import ArraySource
from vqpu.training import Split
from vqpu.vq._clusters import find_clusters
from vqpu.vq._decision_rule import DecisionRule, HeldOut, make_answer
from vqpu.vq._network import VQNetwork

Floats = NDArray[np.float64]


class FitResult(NamedTuple):
    """What the chosen network says.

    Attributes
    ----------
    answer : DecisionRule
    positive_share : float
        Share of the unlabelled samples that is called positive.
    held_out_projections, held_out_log_odds : tuple of two ndarray
        s(x) and the score of labelled positives and of unlabelled samples, each by a member that
        was kept from the sample.
    """

    answer: DecisionRule
    positive_share: float
    held_out_projections: tuple[Floats, ...]
    held_out_log_odds: tuple[Floats, ...]


def conclude(
    network: VQNetwork,
    source: ArraySource,
    split: Split,
    *,
    decision: str,
    n_starts: int,
    seed: int,
    device: torch.device,
) -> FitResult:
    """Cluster all unlabelled samples and fit the posterior on the held-out ones.

    Parameters
    ----------
    network : VQNetwork
        The chosen one, batch norm folded.
    source : ArraySource
    split : Split
    decision : str
    n_starts, seed : int
        Of K-means.
    device : torch.device
    """
    samples = [np.flatnonzero(mask) for mask in (split.is_positive, ~split.is_positive)]
    positive, unlabeled = (network.encode(source, part, device) for part in samples)
    clusters = find_clusters(
        unlabeled.representation, positive.representation, n_starts=n_starts, seed=seed
    )
    indices = split.judged_sets()
    encoded = zip((positive, unlabeled), samples, indices, strict=True)
    held_out = (part.at(np.searchsorted(every, wanted)) for part, every, wanted in encoded)
    judged = HeldOut(split, indices, *held_out)
    answer = make_answer(decision, clusters, judged)
    share = float((answer.log_odds(unlabeled) > 0).mean())
    return FitResult(answer, share, tuple(judged.projections()), answer.held_out_log_odds(judged))
