"""A network that ends in one logit, trained by cross entropy on two balanced sets."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from vqpu._estimator import NetworkClassifier
from vqpu._feeding import Feed, encode_batches
from vqpu._inference import encode_in_chunks
from vqpu._parameters import draw_seed
from vqpu._seeding import (
    Stream,
    choose_device,
    derive_seed,
    preserved_torch_state,
)
from vqpu._sources import ArraySource
from vqpu.nn import EncoderEnsemble, fold_batch_norm
from vqpu.training import (
    Outcome,
    Sets,
    Split,
    StoppingRule,
    WeightAverage,
    draw_check_sample,
    progress_reporter,
    split_holdout,
    train_with_checks,
)


class PooledLogit(nn.Module):
    """Encoder, mean over each member's K vectors, one linear layer.

    Parameters
    ----------
    encoder : EncoderEnsemble
    vector_dim : int
        p.
    """

    def __init__(self, encoder: EncoderEnsemble, vector_dim: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(vector_dim, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return a logit per sample and member, shape (n, n_members)."""
        by_member = self.encoder(x).unflatten(1, (len(self.encoder.members), -1))
        return self._logits(by_member)

    def forward_member(self, x: Tensor, member: int) -> Tensor:
        """Return the logits of one member, shape (n,)."""
        return self._logits(self.encoder.forward_member(x, member))

    def _logits(self, vectors: Tensor) -> Tensor:
        logits: Tensor = self.head(vectors.mean(dim=-2)).squeeze(-1)
        return logits


class _CrossEntropy:
    """Balanced cross entropy of one set against the other."""

    def __init__(
        self, network: PooledLogit, average: WeightAverage[PooledLogit], feeds: list[Feed]
    ) -> None:
        self.network, self.average, self.feeds = network, average, feeds

    def loss(self, step: int) -> tuple[Tensor, dict[str, Tensor]]:
        logits, n_positive = encode_batches(self.network.forward_member, self.feeds, step)
        loss = balanced_cross_entropy(logits, n_positive)
        return loss, {"loss": loss}

    def after_step(self, step: int) -> None:
        self.average.update(step + 1)


def balanced_cross_entropy(logits: Tensor, n_positive: int) -> Tensor:
    """Return the mean of two cross entropies, that of the positives and that of the rest.

    Parameters
    ----------
    logits : Tensor of shape (n,)
        Those of positives first.
    n_positive : int
    """
    positive, other = logits[:n_positive], logits[n_positive:]
    first = binary_cross_entropy_with_logits(positive, torch.ones_like(positive))
    second = binary_cross_entropy_with_logits(other, torch.zeros_like(other))
    return (first + second) / 2


class LogisticNetworkClassifier(NetworkClassifier):
    """Base of classifiers that put one set against another."""

    _title = "cross entropy"
    _offset = 0.0

    def __init__(
        self,
        *,
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
        self.encoder = encoder
        self.n_members = n_members
        self.n_vectors = n_vectors
        self.vector_dim = vector_dim
        self.dropout = dropout
        self.augment = augment
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.weight_average = weight_average
        self.max_steps = max_steps
        self.max_epochs = max_epochs
        self.check_every = check_every
        self.patience = patience
        self.holdout = holdout
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike) -> Any:
        """Train the network on the two sets that ``y`` marks.

        Parameters
        ----------
        X : array-like of shape (n, d), (n, h, w), (n, h, w, c) or (n, c, h, w)
        y : array-like of shape (n,)
            Two values; the larger marks the positives.
        """
        self._check_parameters()
        source, labels = self._check_training_data(X, y)
        seed, self._device = draw_seed(self.random_state), choose_device(self.device)
        n_members = self._count_members(source)
        split = split_holdout(labels.is_positive, self.holdout, n_members, seed)
        with preserved_torch_state(self._device):
            outcome = self._train(source, split, seed)
        self.network_ = outcome.state
        self._folded = fold_batch_norm(self.network_)
        self._set_outcome(outcome)
        self.classes_, self.input_shape_ = labels.classes, source.sample_shape
        self.n_holdout_ = split.n_holdout
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the logit of being positive; above 0 is positive.

        Parameters
        ----------
        X : array-like of the shape given to ``fit``
        """
        source = self._source_for_prediction(X)
        return np.asarray(self._logits(self._folded, source, None).mean(axis=1) + self._offset)

    def _check_parameters(self) -> None:
        self._check_shared_parameters()

    def _logits(
        self, network: nn.Module, source: ArraySource, indices: NDArray[np.int64] | None
    ) -> NDArray[np.float64]:
        (logits,) = encode_in_chunks(
            lambda x: (network(x).double(),), source, indices, self._device
        )
        return logits

    def _make_objective(self, source: ArraySource, split: Split, seed: int) -> _CrossEntropy:
        torch.manual_seed(derive_seed(seed, Stream.INITIAL_WEIGHTS))
        encoder = self._make_encoder(source, self.vector_dim, split.n_members)
        network = PooledLogit(encoder, self.vector_dim).to(self._device)
        feeds = self._make_feeds(source, split, seed, self._device)
        return _CrossEntropy(network, WeightAverage(network, self.weight_average), feeds)

    def _train(self, source: ArraySource, split: Split, seed: int) -> Outcome:
        objective = self._make_objective(source, split, seed)
        averaged = objective.average.averaged
        max_steps, check_every = self._budget(objective.feeds[0].batches.steps_per_epoch)
        judged = draw_check_sample(split, seed).judged
        started = time.perf_counter()

        def make_row(step: int, terms: dict[str, float]) -> dict[str, Any]:
            loss = self._holdout_loss(averaged, source, split, judged)
            seconds = time.perf_counter() - started
            return {"step": step, **terms, "holdout_loss": loss, "seconds": seconds}

        with progress_reporter(self.verbose, self._title, max_steps) as report:
            return train_with_checks(
                objective,
                torch.optim.Adam(objective.network.parameters(), lr=self.learning_rate, fused=True),
                StoppingRule("holdout-loss", self.patience),
                state=averaged,
                make_row=make_row,
                report=report,
                schedule=self.schedule,
                max_steps=max_steps,
                check_every=check_every,
            )

    def _holdout_loss(
        self, network: nn.Module, source: ArraySource, split: Split, judged: Sets
    ) -> float:
        logits = [split.unseen(self._logits(network, source, part), part) for part in judged]
        joined = torch.from_numpy(np.concatenate(logits))
        return float(balanced_cross_entropy(joined, len(judged.positive)))
