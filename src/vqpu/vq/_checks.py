"""A check: how the network stands now, measured without a single negative."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from vqpu._sources import ArraySource
from vqpu.nn import fold_batch_norm
from vqpu.training import Split, holdout_auc, separation
from vqpu.vq._answer import Answer, make_answer
from vqpu.vq._clusters import find_clusters
from vqpu.vq._network import Encodings, VQNetwork

Indices = NDArray[np.int64]


class Check(NamedTuple):
    """What a callback is given at every check.

    Attributes
    ----------
    row : dict
        The new row of the history.
    network : VQNetwork
        The averaged network as it is now, batch norm folded. Look, do not touch.
    answer : Answer
        How it would judge samples if training stopped here.
    device : torch.device
        Where the network is.
    """

    row: dict[str, Any]
    network: VQNetwork
    answer: Answer
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
    samples : Split
        What a check looks at.
    decision : str
    n_starts, seed : int
        Of K-means.
    device : torch.device
    steps_per_epoch : int
    """

    def __init__(
        self,
        network: VQNetwork,
        source: ArraySource,
        samples: Split,
        *,
        decision: str,
        n_starts: int,
        seed: int,
        device: torch.device,
        steps_per_epoch: int,
    ) -> None:
        self.network = network
        self._source, self._samples, self._device = source, samples, device
        self._decision, self._n_starts, self._seed = decision, n_starts, seed
        self._steps_per_epoch = steps_per_epoch
        self._started = time.perf_counter()

    def __call__(self, step: int, terms: dict[str, float]) -> Check:
        """Return the check after ``step`` steps with the mean ``terms`` since the last one."""
        # Folded for speed: a check costs a twentieth of an epoch, not a tenth.
        folded = VQNetwork(
            fold_batch_norm(self.network.encoder), self.network.codebook, self.network.encoding
        )
        positive, unlabeled, held_positive, held_unlabeled = self._encode(folded)
        clusters = find_clusters(
            unlabeled.representation,
            positive.representation,
            n_starts=self._n_starts,
            seed=self._seed,
        )
        answer = make_answer(self._decision, clusters, held_positive, held_unlabeled)
        row = {
            "step": step,
            "epoch": step / self._steps_per_epoch,
            **terms,
            **self._signals(held_positive, held_unlabeled),
            "center_distance": clusters.distance,
            "found_positives": clusters.found_positives,
            "positive_share": float((answer.log_odds(unlabeled) > 0).mean()),
            "alpha": answer.projection_posterior.alpha,
            "codes_in_use": self._codes_in_use(positive, unlabeled),
            "seconds": time.perf_counter() - self._started,
        }
        return Check(row, folded, answer, self._device)

    def _encode(self, network: VQNetwork) -> list[Encodings]:
        def encode(indices: Indices) -> Encodings:
            return network.encode(self._source, indices, self._device)

        positive, unlabeled = encode(self._samples.positive), encode(self._samples.unlabeled)
        if self._samples.holdout_positive is self._samples.positive:
            return [positive, unlabeled, positive, unlabeled]
        held_out = (self._samples.holdout_positive, self._samples.holdout_unlabeled)
        return [positive, unlabeled, *map(encode, held_out)]

    @staticmethod
    def _signals(positive: Encodings, unlabeled: Encodings) -> dict[str, float]:
        s_positive, s_unlabeled = positive.projection, unlabeled.projection
        # The first terms of equation 1 along the line between the anchors.
        loss = np.mean((s_positive - 1) ** 2) + np.mean(s_unlabeled**2)
        return {
            "holdout_loss": float(loss),
            "holdout_auc": holdout_auc(s_positive, s_unlabeled),
            "separation": separation(s_unlabeled),
        }

    def _codes_in_use(self, *parts: Encodings) -> int:
        if not self.network.is_quantized:
            return 0
        size = len(self.network.codebook.vectors)
        used = np.zeros(size, dtype=bool)
        for part in parts:
            used |= np.bincount(part.representation.ravel(), minlength=size) > 0
        return int(used.sum())
