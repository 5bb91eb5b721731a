"""The parts of a VQ K-means fit, made from the estimator's parameters."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import nn

from vqpu.base._parameters import check_choice, check_integer, check_real
from vqpu.base._seeding import Stream, derive_seed, seed_torch, torch_generator
from vqpu.base._source import ArraySource
from vqpu.errors import ParameterError
from vqpu.estimators._network import NetworkClassifier
from vqpu.nn import Codebook
from vqpu.priors._posterior import Posterior
from vqpu.training import SIGNALS, Split, TrainingResult, WeightAverage, draw_check_sample
from vqpu.vq import (
    Checker,
    Clusters,
    DecisionRule,
    VQNetwork,
    VQObjective,
    blank_codebook,
    draw_codebook,
)
from vqpu.vq._decision_rule import DECISIONS
from vqpu.vq._network import ENCODINGS
from vqpu.vq._objective import CODEBOOK_RATES

_ROUNDS_OF_VECTORS, _ROUNDS_OF_IMAGES = 3, 2  # see results/rounds/summary.md


class VQParts(NetworkClassifier):
    """Base of :class:`vqpu.VQKMeansClassifier`: its parameters checked, and what they stand for."""

    _saved: ClassVar[tuple[str, ...]] = (
        "cluster_centers_", "alpha_", "theoretical_alpha_", "positive_share_",
        "holdout_projections_", "holdout_log_odds_", "_answer",
    )  # fmt: skip
    _absent_means: ClassVar[dict[str, Any]] = {"n_rounds": 1}
    _folded: VQNetwork
    _records = (*NetworkClassifier._records, DecisionRule, Clusters, Posterior)

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        check_integer("codebook_size", self.codebook_size, 2)
        check_choice("encoding", self.encoding, ENCODINGS)
        check_choice("anchors", self.anchors, ("frozen", "moving"))
        check_real("anchor_mean", self.anchor_mean, -1e6, 1e6, optional=True)
        check_choice("codebook_update", self.codebook_update, tuple(CODEBOOK_RATES))
        check_real("codebook_learning_rate", self.codebook_learning_rate, 0, 1, open_low=True,
                   open_high=False, optional=True)  # fmt: skip
        check_choice("stopping_signal", self.stopping_signal, tuple(SIGNALS))
        check_choice("decision", self.decision, DECISIONS)
        check_integer("n_init", self.n_init, 1)
        check_integer("n_rounds", self.n_rounds, 1, optional=True)
        if self.anchor_mean == 0 and self.encoding != "codes":
            raise ParameterError(
                "anchor_mean must differ from 0 for continuous encodings: both targets would be "
                "the same point. Got 0 instead."
            )

    def _make_objective(
        self, source: ArraySource, split: Split, seed: int, device: torch.device
    ) -> VQObjective:
        seed_torch(device, seed, Stream.INITIAL_WEIGHTS)
        encoder = self._make_encoder(source, self._output_dim, split.n_members)
        network = VQNetwork(encoder, self._draw_codebook(seed), self.encoding).to(device)
        return VQObjective(
            network,
            WeightAverage(network.encoder, self.weight_average),
            self._make_feeds(source, split, seed, device),
            codebook_update=self.codebook_update,
            codebook_rate=self._codebook_rate(),
        )

    def _blank_modules(self) -> dict[str, nn.Module]:
        codebook = blank_codebook(
            self.codebook_size,
            self.vector_dim,
            encoding=self.encoding,
            moving_anchors=self.anchors == "moving",
        )
        encoder = self._blank_encoder(self._output_dim)
        return {"network_": VQNetwork(encoder, codebook, self.encoding)}

    @property
    def _output_dim(self) -> int:
        return int(self.vector_dim * (2 if self.encoding == "distribution" else 1))

    def _draw_codebook(self, seed: int) -> Codebook:
        return draw_codebook(
            self.codebook_size,
            self.vector_dim,
            encoding=self.encoding,
            anchor_mean=self.anchor_mean,
            moving_anchors=self.anchors == "moving",
            generator=torch_generator(seed, Stream.CODEBOOK),
        )

    def _codebook_rate(self) -> float:
        if self.codebook_learning_rate is None:
            return CODEBOOK_RATES[self.codebook_update]
        return float(self.codebook_learning_rate)

    def _count_rounds(self, source: ArraySource) -> int:
        """Resolve ``n_rounds``: a third gains little on images and costs as much as the others."""
        if self.n_rounds is not None:
            return int(self.n_rounds)
        return _ROUNDS_OF_IMAGES if source.is_image else _ROUNDS_OF_VECTORS

    def _make_checker(
        self,
        objective: VQObjective,
        source: ArraySource,
        split: Split,
        seed: int,
        device: torch.device,
        round_number: int = 1,
        before: TrainingResult | None = None,
    ) -> Checker:
        averaged = VQNetwork(
            objective.average.averaged, objective.network.codebook, self.encoding
        ).eval()
        return Checker(
            averaged,
            source,
            split,
            draw_check_sample(split, seed),
            decision=self.decision,
            n_starts=self.n_init,
            seed=derive_seed(seed, Stream.TWO_MEANS),
            device=device,
            steps_per_epoch=objective.feeds[0].batches.steps_per_epoch,
            round_number=round_number,
            before=None if before is None else before.history[-1],
        )
