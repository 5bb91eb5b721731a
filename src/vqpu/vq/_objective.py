"""What is minimised: equation 1, or the losses of the continuous ablations."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from vqpu.nn import EncoderEnsemble, equation_1, gaussian_kl_loss, nearest_code_pruned, target_loss
from vqpu.training import OPTIMIZERS, Changing, Feed, WeightAverage, encode_batches
from vqpu.vq._network import VQNetwork

# The ways to update the codes, and the rate of each where the user gives none.
CODEBOOK_RATES = {"follow": 0.05, "adam": 3e-3, "none": 0.0}


def make_optimizer(
    network: VQNetwork,
    optimizer: str,
    learning_rate: float,
    codebook_update: str,
    codebook_rate: float,
) -> torch.optim.Optimizer:
    """Return the optimiser of the encoder, with Adam on the codes if asked for.

    Parameters
    ----------
    network : VQNetwork
    optimizer : {"adam", "muon"}
    learning_rate : float
    codebook_update : str
        A key of :data:`CODEBOOK_RATES`.
    codebook_rate : float
    """
    made = OPTIMIZERS[optimizer](network.encoder.parameters(), learning_rate)
    if codebook_update == "adam" and network.is_quantized:
        codes = {"params": network.codebook.parameters(), "lr": codebook_rate}
        made.add_param_group({**codes, "is_matrix": False})
    else:
        network.codebook.requires_grad_(False)
    return made


class VQObjective:
    """Equation 1 on one batch, and the update of the codes.

    Parameters
    ----------
    network : VQNetwork
    average : WeightAverage
        Of the network's encoder.
    feeds : sequence of Feed
        One for each member of the encoder.
    codebook_update : {"follow", "adam", "none"}
    codebook_rate : float
        Share of the way to the mean, for "follow".
    shares : Tensor of shape (n_samples,) or None
        For every sample how far the target of an unlabelled one lies towards c_m; None: at c_1.
    """

    def __init__(
        self,
        network: VQNetwork,
        average: WeightAverage[EncoderEnsemble],
        feeds: Sequence[Feed],
        *,
        codebook_update: str,
        codebook_rate: float,
        shares: Tensor | None = None,
    ) -> None:
        self.network, self.average, self.feeds = network, average, feeds
        self._shares = shares
        self._update, self._rate = codebook_update, codebook_rate
        self._sums: Tensor | None = None

    def loss(self, step: int) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the loss of step ``step`` and its named terms."""
        encoded, n_positive = encode_batches(self.network.encoder.forward_member, self.feeds, step)
        target = self._unlabeled_target(step)
        if self.network.encoding == "distribution":
            return self._sum(self._kl_terms(encoded, n_positive, target))
        if self.network.encoding == "constant":
            return self._sum(self._constant_terms(encoded, n_positive, target))
        return self._sum(self._quantized_terms(encoded, n_positive, target))

    def after_step(self, step: int) -> None:
        """Average the weights and let the codes follow the encodings."""
        self.average.update(step + 1)
        if self._sums is not None:
            self.network.codebook.follow_sums(self._sums, self._rate)

    def shared(self) -> list[Tensor]:
        """Return what ranks average besides gradients: running moments, and what codes follow.

        Every rank normalises by the moments of its own part of the batch.
        """
        norms = [one for one in self.network.encoder.modules() if isinstance(one, _BatchNorm)]
        moments = [
            moment
            for norm in norms
            for moment in (norm.running_mean, norm.running_var)
            if moment is not None
        ]
        return moments if self._sums is None else [*moments, self._sums]

    def changing(self) -> Changing:
        """Return what the steps change: network and average."""
        return Changing({"network": self.network, "average": self.average.averaged})

    def _unlabeled_target(self, step: int) -> Tensor:
        r"""Return c_1, or :math:`c_1 + q(x) (c_m - c_1)` of every unlabelled sample of a step."""
        book = self.network.codebook
        if self._shares is None:
            return book.unlabeled_anchor
        drawn = [torch.from_numpy(feed.batches[step].unlabeled) for feed in self.feeds]
        shares = self._shares[torch.cat(drawn)].to(book.vectors).view(-1, 1, 1)
        return book.unlabeled_anchor + shares * (book.positive_anchor - book.unlabeled_anchor)

    @staticmethod
    def _sum(terms: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        total = torch.stack(list(terms.values())).sum()
        return total, {"loss": total, **terms}

    def _quantized_terms(
        self, vectors: Tensor, n_positive: int, target: Tensor
    ) -> dict[str, Tensor]:
        book = self.network.codebook
        codes = nearest_code_pruned(vectors, book.vectors)
        quantized = torch.nn.functional.embedding(codes, book.vectors)
        if self._update == "follow":
            self._sums = book.anchor_sums(vectors.detach(), codes, n_positive)
        terms = equation_1(
            vectors[:n_positive],
            vectors[n_positive:],
            quantized[:n_positive],
            quantized[n_positive:],
            book.positive_anchor,
            target,
        )
        return terms._asdict()

    def _constant_terms(
        self, vectors: Tensor, n_positive: int, target: Tensor
    ) -> dict[str, Tensor]:
        book = self.network.codebook
        return {
            "positive_target": target_loss(vectors[:n_positive], book.positive_anchor),
            "unlabeled_target": target_loss(vectors[n_positive:], target),
        }

    def _kl_terms(self, encoded: Tensor, n_positive: int, target: Tensor) -> dict[str, Tensor]:
        book = self.network.codebook
        mean, log_variance = encoded.chunk(2, dim=-1)
        positive, unlabeled = slice(None, n_positive), slice(n_positive, None)
        return {
            "positive_target": gaussian_kl_loss(
                mean[positive], log_variance[positive], book.positive_anchor
            ),
            "unlabeled_target": gaussian_kl_loss(mean[unlabeled], log_variance[unlabeled], target),
        }
