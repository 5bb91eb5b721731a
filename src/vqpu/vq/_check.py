"""A check: how the network stands now, measured without a single negative."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from vqpu.base._source import ArraySource
from vqpu.nn import fold_batch_norm, nearest_code_pruned
from vqpu.training import CheckSample, Split, holdout_auc, separation
from vqpu.vq._clusters import find_clusters
from vqpu.vq._decision_rule import DecisionRule, HeldOut, make_answer
from vqpu.vq._network import Encodings, VQNetwork

Indices = NDArray[np.int64]
Floats = NDArray[np.float64]


class Check(NamedTuple):
    """What a callback is given at every check.

    Attributes
    ----------
    row : dict
        The new row of the history.
    network : VQNetwork
        The averaged network as it is now, batch norm folded. Look, do not touch.
    answer : DecisionRule
        How it would judge samples if training stopped here.
    judged : HeldOut
        The held-out samples that the answer was fitted on.
    device : torch.device
        Where the network is.
    """

    row: dict[str, Any]
    network: VQNetwork
    answer: DecisionRule
    judged: HeldOut
    device: torch.device

    def encode(self, source: ArraySource) -> Encodings:
        """Return the encodings of all samples of a source."""
        return self.network.encode(source, None, self.device)


class Checker:
    """Makes a row of the history out of the averaged network.

    Parameters
    ----------
    network : VQNetwork
        Averaged encoder with the current codebook.
    source : ArraySource
    split : Split
    sample : CheckSample
        What a check looks at.
    decision : str
    n_starts, seed : int
        Of K-means.
    device : torch.device
    steps_per_epoch : int
    round_number : int
        From 1.
    before : dict or None
        The last row of the round before, whose steps and epochs are counted on.
    """

    def __init__(
        self,
        network: VQNetwork,
        source: ArraySource,
        split: Split,
        sample: CheckSample,
        *,
        decision: str,
        n_starts: int,
        seed: int,
        device: torch.device,
        steps_per_epoch: int,
        round_number: int = 1,
        before: dict[str, Any] | None = None,
    ) -> None:
        self.network = network
        self._source, self._split, self._sample, self._device = source, split, sample, device
        self._decision, self._n_starts, self._seed = decision, n_starts, seed
        self._steps_per_epoch, self._round_number = steps_per_epoch, round_number
        self._before = {"step": 0, "epoch": 0.0} if before is None else before
        self._started = time.perf_counter()

    def __call__(self, step: int, terms: dict[str, float]) -> Check:
        """Return the check after ``step`` steps with the mean ``terms`` since the last one."""
        # Folded for speed: a check costs a twentieth of an epoch, not a tenth.
        folded = VQNetwork(
            fold_batch_norm(self.network.encoder), self.network.codebook, self.network.encoding
        )
        (positive, unlabeled), judged = self._encode(folded)
        clusters = find_clusters(
            unlabeled.representation,
            positive.representation,
            n_starts=self._n_starts,
            seed=self._seed,
        )
        answer = make_answer(self._decision, clusters, judged)
        row = {
            "round": self._round_number,
            "step": self._before["step"] + step,
            "epoch": self._before["epoch"] + step / self._steps_per_epoch,
            **terms,
            **self._signals(*judged.projections()),
            "center_distance": clusters.distance,
            "found_positives": clusters.found_positives,
            "positive_share": float((answer.log_odds(unlabeled) > 0).mean()),
            "alpha": answer.projection_posterior.alpha,
            "codes_in_use": self._codes_in_use(positive, unlabeled),
            "seconds": time.perf_counter() - self._started,
        }
        return Check(row, folded, answer, judged, self._device)

    def _encode(self, network: VQNetwork) -> tuple[list[Encodings], HeldOut]:
        def encode(indices: Indices) -> Encodings:
            return network.encode(self._source, indices, self._device, search=nearest_code_pruned)

        clustered, judged = self._sample
        seen = list(map(encode, clustered))
        unseen = seen if judged is clustered else list(map(encode, judged))
        return seen, HeldOut(self._split, judged, *unseen)

    def _signals(self, positive: Floats, unlabeled: Floats) -> dict[str, float]:
        # Who is drawn to the unlabelled anchor in this round; the others must not speak for it.
        drawn = unlabeled[~self._split.is_left_out[self._sample.judged.unlabeled]]
        # The first terms of equation 1 along the line between the anchors.
        loss = np.mean((positive - 1) ** 2) + np.mean(drawn**2)
        return {
            "holdout_loss": float(loss),
            "holdout_auc": holdout_auc(positive, drawn),
            "separation": separation(unlabeled),
        }

    def _codes_in_use(self, *parts: Encodings) -> int:
        if not self.network.is_quantized:
            return 0
        size = len(self.network.codebook.vectors)
        used = np.zeros(size, dtype=bool)
        for part in parts:
            used |= np.bincount(part.representation.ravel(), minlength=size) > 0
        return int(used.sum())
