"""A check of a network that ends in one logit: what a callback may look at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from vqpu.base._inference import encode_in_chunks
from vqpu.base._source import ArraySource
from vqpu.nn import fold_batch_norm


class NetworkCheck(NamedTuple):
    """What a callback is given at every check.

    Attributes
    ----------
    row : dict
        The new row of the history.
    stage : int
        0 for the main stage, 1 for a warm-up, 2 for a network that only estimates alpha.
    network : Module
        The averaged network as it is now. Look, do not touch.
    offset : float
        What the classifier adds to its logits.
    device : torch.device
        Where the network is.
    """

    row: dict[str, Any]
    stage: int
    network: nn.Module
    offset: float
    device: torch.device

    def log_odds(self, source: ArraySource) -> NDArray[np.float64]:
        """Return the scores of all samples of a source, if training stopped here."""
        logits = network_logits(fold_batch_norm(self.network), source, None, self.device)
        return np.asarray(logits.mean(axis=1) + self.offset)


Callback = Callable[[NetworkCheck], None]


def network_logits(
    network: nn.Module,
    source: ArraySource,
    indices: NDArray[np.int64] | None,
    device: torch.device,
) -> NDArray[np.float64]:
    """Return the logits of every member, shape (n, n_members)."""
    (logits,) = encode_in_chunks(lambda x: (network(x).double(),), source, indices, device)
    return logits
