"""A check: how the network stands now, measured without a single negative."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vqpu.base._seeding import Stream, derive_seed
from vqpu.base._split import Split
from vqpu.nn import fold_batch_norm, nearest_code_pruned
from vqpu.training import CheckResult, FitContext, RowMaker, holdout_auc, separation
from vqpu.vq._clusters import find_clusters
from vqpu.vq._decision_rule import DecisionRule, HeldOut, fit_decision_rule
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

        search = partial(folded.encode, search=nearest_code_pruned)
        encode = partial(encode_together, self.context, search)
        seen = measure(self.context, self.split, self.variant, self.shares, encode)
        row = self.rows(step, terms, seen.columns)
        return CheckResult(row, 0, folded, self.context.device, seen.rule, seen.held_out)


def encode_together(
    context: FitContext, encode: Callable[..., Encodings], indices: NDArray[np.int64]
) -> Encodings:
    """Return the encodings of some samples, each rank's share gathered from it.

    Parameters
    ----------
    context : FitContext
    encode : callable
        Of source, indices and device.
    indices : ndarray of int, shape (n,)
    """
    ranks, n = context.ranks, len(indices)
    if ranks.size == 1 or n < ranks.size:
        return encode(context.source, indices, context.device)
    own = encode(context.source, ranks.own_part(indices), context.device)
    return Encodings(*(ranks.gathered(part, n) for part in own))


class Measured(NamedTuple):
    """What a check saw: columns of the history, and how it would decide if training ended here."""

    columns: dict[str, Any]
    rule: DecisionRule
    held_out: HeldOut


def measure(
    context: FitContext,
    split: Split,
    variant: Variant,
    shares: Floats | None,
    encode: Callable[[NDArray[np.int64]], Encodings],
) -> Measured:
    """Cluster the samples that a check looks at and fit the decision rule on the held-out ones.

    Parameters
    ----------
    context, split, variant, shares
        As in :class:`Checker`.
    encode : callable
        What an encoder says of the samples at some indices.
    """
    clustered, judged = context.sample
    positive, unlabeled = seen = list(map(encode, clustered))
    unseen = seen if judged is clustered else list(map(encode, judged))
    held_out = HeldOut(split, judged, *unseen)
    clusters = find_clusters(
        unlabeled.representation,
        positive.representation,
        n_starts=variant.n_init,
        seed=derive_seed(context.seed, Stream.TWO_MEANS),
    )
    rule = fit_decision_rule(variant.decision, clusters, held_out)
    columns = {
        **_signals(held_out, shares),
        "center_distance": clusters.distance,
        "found_positives": clusters.found_positives,
        "positive_share": float((rule.log_odds(unlabeled) > 0).mean()),
        "alpha": rule.projection_posterior.alpha,
        "codes_in_use": _codes_in_use(positive, unlabeled),
    }
    return Measured(columns, rule, held_out)


def _signals(held_out: HeldOut, shares: Floats | None) -> dict[str, Any]:
    positive, unlabeled = held_out.projections()
    # Who is drawn somewhere in this round; the others must not speak for it.
    indices = held_out.indices.unlabeled
    is_drawn = ~held_out.split.is_left_out[indices]
    drawn = unlabeled[is_drawn]
    target = 0.0 if shares is None else shares[indices[is_drawn]]
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


def _codes_in_use(*parts: Encodings) -> int:
    codes = [part.representation for part in parts]
    if not np.issubdtype(codes[0].dtype, np.integer):  # vectors of a continuous encoding
        return 0
    size = 1 + max(int(part.max()) for part in codes)
    used = np.zeros(size, dtype=bool)
    for part in codes:
        used |= np.bincount(part.ravel(), minlength=size) > 0
    return int(used.sum())
