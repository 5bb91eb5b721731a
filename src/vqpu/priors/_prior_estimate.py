"""What a method finds, before the scenario gives it a meaning."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Finding(NamedTuple):
    """The share of positives inside U, as the formula gives it.

    Attributes
    ----------
    alpha : float
        May lie outside [0, 1].
    interval : tuple of float or None
        Where the method says alpha lies, with 90 % confidence; not cut to [0, 1].
    """

    alpha: float
    interval: tuple[float, float] | None = None


def hidden_share(labelling_frequency: float, n_positive: int, n_unlabeled: int) -> float:
    """Return alpha from c, the share of the labelled among all positives of P and U together.

    c = n_p / (n_p + alpha n_u), solved for alpha.
    """
    return (1 / labelling_frequency - 1) * n_positive / n_unlabeled
