"""A check: how the network stands now, measured without a single negative."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.base._seeding import Stream, derive_seed
from vqpu.base._split import Split
from vqpu.nn import fold_batch_norm, nearest_code_pruned
from vqpu.training import CheckResult, FitContext, RowMaker, holdout_auc, separation
from vqpu.vq._clusters import find_clusters
from vqpu.vq._decision_rule import HeldOut, fit_decision_rule
from vqpu.vq._network import Encodings, VQNetwork
from vqpu.vq._variant import Variant

Floats = NDArray[np.float64]


class Checker(NamedTuple):
    """Makes a check of the averaged network.

    Attributes
    ----------
    context : FitContext
    split : Split
        Of the round.
    network : VQNetwork
        Averaged encoder with the current codebook.
    variant : Variant
    rows : RowMaker
    shares : ndarray of shape (n_samples,) or None
        Where unlabelled samples are drawn to in this round, between 0 and 1; None: all to 0.
    """

    context: FitContext
    split: Split
    network: VQNetwork
    variant: Variant
    rows: RowMaker
    shares: Floats | None = None

    def check(self, step: int, terms: dict[str, float]) -> CheckResult:
        """Return the check after ``step`` steps with the mean ``terms`` since the last one."""
        folded = fold_network(self.network)  # a check costs a twentieth of an epoch, not a tenth
        (positive, unlabeled), held_out = self._encode(folded)
        clusters = find_clusters(
            unlabeled.representation,
            positive.representation,
            n_starts=self.variant.n_init,
            seed=derive_seed(self.context.seed, Stream.TWO_MEANS),
        )
        rule = fit_decision_rule(self.variant.decision, clusters, held_out)
        measured = {
            **self._signals(*held_out.projections()),
            "center_distance": clusters.distance,
            "found_positives": clusters.found_positives,
            "positive_share": float((rule.log_odds(unlabeled) > 0).mean()),
            "alpha": rule.projection_posterior.alpha,
            "codes_in_use": _codes_in_use(folded, positive, unlabeled),
        }
        row = self.rows(step, terms, measured)
        return CheckResult(row, 0, folded, self.context.device, rule, held_out)

    def _encode(self, network: VQNetwork) -> tuple[list[Encodings], HeldOut]:
        def encode(indices: NDArray[np.int64]) -> Encodings:
            source, device = self.context.source, self.context.device
            return network.encode(source, indices, device, search=nearest_code_pruned)

        clustered, judged = self.context.sample
        seen = list(map(encode, clustered))
        unseen = seen if judged is clustered else list(map(encode, judged))
        return seen, HeldOut(self.split, judged, *unseen)

    def _signals(self, positive: Floats, unlabeled: Floats) -> dict[str, Any]:
        # Who is drawn somewhere in this round; the others must not speak for it.
        indices = self.context.sample.judged.unlabeled
        is_drawn = ~self.split.is_left_out[indices]
        drawn = unlabeled[is_drawn]
        target = 0.0 if self.shares is None else self.shares[indices[is_drawn]]
        # The first terms of equation 1 along the line between the anchors.
        loss = np.mean((positive - 1) ** 2) + np.mean((drawn - target) ** 2)
        return {
            "holdout_loss": float(loss),
            "holdout_auc": holdout_auc(positive, drawn),
            "separation": separation(unlabeled),
        }


def fold_network(network: VQNetwork) -> VQNetwork:
    """Return the network with batch norm folded into its encoder, for speed."""
    return VQNetwork(fold_batch_norm(network.encoder), network.codebook, network.encoding)


def _codes_in_use(network: VQNetwork, *parts: Encodings) -> int:
    if not network.is_quantized:
        return 0
    size = len(network.codebook.vectors)
    used = np.zeros(size, dtype=bool)
    for part in parts:
        used |= np.bincount(part.representation.ravel(), minlength=size) > 0
    return int(used.sum())
