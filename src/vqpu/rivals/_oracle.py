"""OracleClassifier: fully supervised, for experiments that have the truth."""

from __future__ import annotations

import math
from typing import Any

from vqpu._parameters import check_real
from vqpu.rivals._logistic import LogisticNetworkClassifier, shared_parameters


class OracleClassifier(LogisticNetworkClassifier):
    """Supervised classifier: what the same encoder reaches when every label is known.

    Unlike every other estimator here it wants the true labels in ``y``. For experiments only.

    Parameters
    ----------
    class_prior : float, default=0.5
        Share of positives where the answer is used. Batches are balanced, so the logit is shifted
        by the log odds of this share; 0.5 shifts nothing.
    **parameters
        As in :class:`vqpu.NaivePUClassifier`.
    """

    _title = "supervised oracle"

    def __init__(
        self,
        *,
        class_prior: float = 0.5,
        encoder: Any = "auto",
        n_members: int | None = None,
        n_vectors: int = 8,
        vector_dim: int = 64,
        dropout: float | None = None,
        augment: str = "auto",
        batch_size: int = 128,
        learning_rate: float = 1e-3,
        schedule: str = "cosine",
        weight_average: float = 0.99,
        max_steps: int = 4000,
        max_epochs: int | None = None,
        check_every: int | None = None,
        patience: int = 5,
        holdout: float = 0.15,
        random_state: Any = None,
        device: str = "auto",
        verbose: int = 0,
    ) -> None:
        self.class_prior = class_prior
        super().__init__(**shared_parameters(locals()))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_real("class_prior", self.class_prior, 0, 1, open_low=True)

    @property
    def _offset(self) -> float:  # type: ignore[override]
        return math.log(self.class_prior / (1 - self.class_prior))
