"""What is minimised: equation 1, or the losses of the continuous ablations."""

from __future__ import annotations

import torch
from torch import Tensor

from vqpu._seeding import Stream, derive_seed, torch_generator
from vqpu._sources import ArraySource
from vqpu.nn import Augmentation, equation_1, gaussian_kl_loss, nearest_code_pruned, target_loss
from vqpu.training import BalancedBatches, WeightAverage
from vqpu.vq._network import VQNetwork

CODEBOOK_UPDATES = ("follow", "adam", "none")


class VQObjective:
    """Equation 1 on one batch, and the update of the codes.

    Parameters
    ----------
    network : VQNetwork
    average : WeightAverage
        Of the network's encoder.
    source : ArraySource
    batches : BalancedBatches
    augmentation : Augmentation
    codebook_update : {"follow", "adam", "none"}
    codebook_rate : float
        Share of the way to the mean, for "follow".
    seed : int
    device : torch.device
    """

    def __init__(
        self,
        network: VQNetwork,
        average: WeightAverage,
        source: ArraySource,
        batches: BalancedBatches,
        augmentation: Augmentation,
        *,
        codebook_update: str,
        codebook_rate: float,
        seed: int,
        device: torch.device,
    ) -> None:
        self.network = network
        self.average = average
        self.batches = batches
        self._source, self._augmentation = source, augmentation
        self._update, self._rate = codebook_update, codebook_rate
        self._seed, self._device = seed, device
        self._last: tuple[Tensor, Tensor, int] | None = None

    def loss(self, step: int) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of step ``step`` and its named terms."""
        batch = self.batches[step]
        n_positive = len(batch.positive)
        x = torch.cat([self._source.batch(batch.positive), self._source.batch(batch.unlabeled)])
        x = self._augmentation(x, torch_generator(self._seed, Stream.AUGMENTATION, step))
        torch.manual_seed(derive_seed(self._seed, Stream.DROPOUT, step))  # for dropout
        encoded = self.network.encoder(x.to(self._device))
        if self.network.encoding == "distribution":
            return self._sum(self._kl_terms(encoded, n_positive))
        if self.network.encoding == "constant":
            return self._sum(self._constant_terms(encoded, n_positive))
        return self._sum(self._quantized_terms(encoded, n_positive))

    def after_step(self, step: int) -> None:
        """Average the weights and let the codes follow the encodings."""
        self.average.update(step + 1)
        if self._update == "follow" and self._last is not None:
            vectors, codes, n_positive = self._last
            self.network.codebook.follow(vectors, codes, n_positive, self._rate)

    @staticmethod
    def _sum(terms: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        total = torch.stack(list(terms.values())).sum()
        return total, {"loss": total, **terms}

    def _quantized_terms(self, vectors: Tensor, n_positive: int) -> dict[str, Tensor]:
        book = self.network.codebook
        codes = nearest_code_pruned(vectors, book.vectors)
        quantized = torch.nn.functional.embedding(codes, book.vectors)
        self._last = (vectors.detach(), codes, n_positive)
        terms = equation_1(
            vectors[:n_positive],
            vectors[n_positive:],
            quantized[:n_positive],
            quantized[n_positive:],
            book.positive_anchor,
            book.unlabeled_anchor,
        )
        return terms._asdict()

    def _constant_terms(self, vectors: Tensor, n_positive: int) -> dict[str, Tensor]:
        book = self.network.codebook
        return {
            "positive_target": target_loss(vectors[:n_positive], book.positive_anchor),
            "unlabeled_target": target_loss(vectors[n_positive:], book.unlabeled_anchor),
        }

    def _kl_terms(self, encoded: Tensor, n_positive: int) -> dict[str, Tensor]:
        book = self.network.codebook
        mean, log_variance = encoded.chunk(2, dim=-1)
        positive, unlabeled = slice(None, n_positive), slice(n_positive, None)
        return {
            "positive_target": gaussian_kl_loss(
                mean[positive], log_variance[positive], book.positive_anchor
            ),
            "unlabeled_target": gaussian_kl_loss(
                mean[unlabeled], log_variance[unlabeled], book.unlabeled_anchor
            ),
        }
