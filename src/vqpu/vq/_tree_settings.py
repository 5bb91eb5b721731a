"""Trees as the encoder: when they are meant, what they can do, and how they are grown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from vqpu.base._source import ArraySource
from vqpu.base._sparse import SparseSource
from vqpu.errors import InputError, ParameterError
from vqpu.estimators._sizes import MEMBERS
from vqpu.trees import GrowthSettings
from vqpu.vq._variant import Variant

if TYPE_CHECKING:
    from vqpu.vq._settings import VQSettings

TREES = "trees"
_MOST_TREES, _FEWEST_TREES = 200, 80
_ROUNDS = 2  # see results/encoders/summary.md
_RATE_OF_TREES = 50  # times the learning rate of Adam; with many samples up to three times that
_VALUES_WORTH_THREADS = 1 << 12
_MOST_COLUMNS_OF_A_TREE = 2048  # of a dense table: 20,000 columns would take minutes


# What a form of the method may be with trees, which have no gradients.
_POSSIBLE = {
    "encoding": ("codes",),
    "anchors": ("frozen",),
    "codebook_update": ("follow", "none"),
    "rounds": ("soft",),
}


def suits_trees(variant: Variant) -> bool:
    """Return whether a form of the method can do without gradients.

    Parameters
    ----------
    variant : Variant
    """
    return all(getattr(variant, name) in possible for name, possible in _POSSIBLE.items())


def check_tree_variant(variant: Variant) -> None:
    """Raise if a form of the method asks for gradients, which trees do not have.

    Parameters
    ----------
    variant : Variant
    """
    for name, possible in _POSSIBLE.items():
        if (value := getattr(variant, name)) not in possible:
            allowed = " or ".join(map(repr, possible))
            raise ParameterError(
                f"encoder='trees' has no gradients to train codes or distributions with, so "
                f"variant__{name} must be {allowed}. Got {value!r} instead."
            )


def is_trees(encoder: Any, variant: Variant | None = None) -> bool:
    """Return whether the parameter ``encoder`` asks for trees.

    Parameters
    ----------
    encoder : str or callable
    variant : Variant or None
        Of a fit on vectors, for which "auto" means trees if the form can do without gradients.
    """
    if not isinstance(encoder, str):
        return False
    return encoder == TREES or (encoder == "auto" and variant is not None and suits_trees(variant))


def growth_settings(
    n_samples: int, n_features: int, learning_rate: float, *, is_sparse: bool = False
) -> GrowthSettings:
    """Return how trees are grown on so many samples: in small steps where there are few.

    Parameters
    ----------
    n_samples, n_features : int
    learning_rate : float
        The estimator's.
    is_sparse : bool
        Columns of sparse matrices cost little, so that a tree may use them all.
    """
    n_leaves = int(np.clip(round(n_samples**0.5 / 5), 4, 24))
    min_samples = int(np.clip(round(n_samples**0.5 / 4), 1, 20))
    haste = float(np.clip((n_samples / 1_000) ** 0.4, 1.0, 3.0))
    n_trees = int(np.clip(round(240 / haste), _FEWEST_TREES, _MOST_TREES))
    is_large = n_samples * n_features >= _VALUES_WORTH_THREADS
    threads = torch.get_num_threads() if is_large else 1
    rate = _RATE_OF_TREES * learning_rate * haste
    column_share = 1.0 if is_sparse else min(1.0, _MOST_COLUMNS_OF_A_TREE / n_features)
    return GrowthSettings(rate, n_trees, n_leaves, min_samples, threads, column_share)


def tree_settings(
    settings: VQSettings, source: ArraySource, n_members: int | None, n_rounds: int | None
) -> VQSettings:
    """Return the settings of a fit for trees.

    Parameters
    ----------
    settings : VQSettings
        As for networks.
    source : ArraySource
    n_members, n_rounds : int or None
        The estimator's parameters.
    """
    if source.is_image:
        raise InputError(
            f"encoder='trees' needs (n, d). Got samples of shape {source.sample_shape}."
        )
    members = MEMBERS if n_members is None else int(n_members)
    trees = growth_settings(
        len(source),
        source.sample_shape[0],
        settings.learning_rate,
        is_sparse=isinstance(source, SparseSource),
    )
    epochs = trees.n_trees if settings.max_epochs is None else settings.max_epochs
    return settings._replace(
        spec=settings.spec._replace(n_members=members, dropout=0.0),
        max_steps=min(settings.max_steps, epochs, trees.n_trees),
        n_rounds=_ROUNDS if n_rounds is None else int(n_rounds),
        trees=trees,
    )
